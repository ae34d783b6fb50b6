"""The pages of the examples: draw and read, play and hear, begin a text and see it go on."""

import json
import math
import shutil
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
from support.examples import EXAMPLES
from support.node_tools import Browser, output
from support.npm_packages import package
from support.sites import site
from support.tools import require, require_module

from edgekit import convert, generate, quantize_model
from examples.keywords import record
from examples.keywords.speech import RATE, features

MANUAL = EXAMPLES / "manual" / "model"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as their READMEs build them."""
    require_module("ziglang")
    folder = tmp_path_factory.mktemp("examples")
    for name, helpers in (("digits", ("image",)), ("keywords", ())):
        ignored = shutil.ignore_patterns("build")
        shutil.copytree(EXAMPLES / name / "web", folder / name, ignore=ignored)
        with np.load(EXAMPLES / name / "calib.npz") as data:
            samples = {"x": data["x"][::4]}
        graph, _ = quantize_model(EXAMPLES / name / f"{name}.onnx", samples, io="int8")
        package(graph, folder / name / "build", "wasm32-simd", helpers=helpers)
    shutil.copytree(EXAMPLES / "manual" / "web", folder / "manual", ignore=ignored)
    package(convert(MANUAL, name="manual"), folder / "manual" / "build", "wasm32-simd")
    return folder


def circle(x: float, y: float, wide: float, high: float, turns: float = 1.0) -> list[tuple[float, float]]:
    angles = [2 * math.pi * turns * i / 16 - math.pi / 2 for i in range(17)]
    return [(x + wide * math.cos(angle), y + high * math.sin(angle)) for angle in angles]


@pytest.mark.parametrize(
    ("digit", "strokes"),
    [
        (0, [circle(140, 140, 60, 95)]),
        (1, [[(115, 80), (145, 40), (145, 240)]]),
        (4, [[(150, 40), (70, 160), (210, 160)], [(165, 100), (165, 250)]]),
        (7, [[(70, 50), (200, 50), (120, 240)]]),
    ],
)
def test_a_drawn_digit_is_read(
    either: Browser, pages: Path, tmp_path: Path, digit: int, strokes: list[list[tuple[float, float]]]
) -> None:
    screenshot = tmp_path / "digit.png"
    with site(pages / "digits") as url:
        actions = Path(__file__).parent / "draw.mjs"
        visit = either.visit(f"{url}/", actions, strokes=strokes, screenshot=str(screenshot))
    assert visit.result == [f"This is a {digit}.", str(digit), "Draw on the board."]
    assert visit.errors == []
    assert screenshot.read_bytes().startswith(PNG)


def test_recorded_words_are_heard(either: Browser, pages: Path, tmp_path: Path) -> None:
    screenshot = tmp_path / "words.png"
    with site(pages / "keywords") as url:
        actions = Path(__file__).parent / "listen.mjs"
        visit = either.visit(f"{url}/", actions, screenshot=str(screenshot))
    assert visit.result == {word: f"I heard: {word}" for word in record.SPOKEN}
    assert visit.errors == []
    assert screenshot.read_bytes().startswith(PNG)


def test_a_page_goes_on_with_a_text(either: Browser, pages: Path, tmp_path: Path) -> None:
    screenshot, text, tokens = tmp_path / "text.png", "The return statement", 12
    with site(pages / "manual") as url:
        actions = Path(__file__).parent / "write.mjs"
        visit = either.visit(f"{url}/", actions, text=text, tokens=tokens, screenshot=str(screenshot))
    assert visit.result == text + "".join(generate(convert(MANUAL), text, tokens=tokens))
    assert visit.errors == []
    assert screenshot.read_bytes().startswith(PNG)


def test_recordings_are_those_of_the_script() -> None:
    for word, seed in record.SPOKEN.items():
        with wave.open(str(record.WEB / f"{word}.wav"), "rb") as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
            found = struct.unpack(f"<{RATE}h", file.readframes(RATE))
        assert np.abs(np.array(found) - record.samples(word, seed)).max() <= 1  # sines of other machines


def test_javascript_computes_the_same_features(tmp_path: Path) -> None:
    script = tmp_path / "script.mjs"
    script.write_text(
        f'import {{ features, samplesOf }} from "{(record.WEB / "features.js").as_uri()}";\n'
        'import { readFileSync } from "node:fs";\n'
        "const fileOf = (path) => new Uint8Array(readFileSync(path)).buffer;\n"
        "const found = process.argv.slice(2).map((path) => Array.from(features(samplesOf(fileOf(path)))));\n"
        "console.log(JSON.stringify(found));\n"
    )
    paths = [record.WEB / f"{word}.wav" for word in record.SPOKEN]
    found = json.loads(output([require("node"), str(script), *map(str, paths)], tmp_path))
    for path, numbers in zip(paths, found, strict=True):
        with wave.open(str(path), "rb") as file:
            sound = np.frombuffer(file.readframes(RATE), "<i2") / 32768 * record.FULL_SCALE
        assert numbers == features(sound).reshape(-1).tolist()

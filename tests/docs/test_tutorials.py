"""Tutorials and memory.md: files are written and commands run as a page shows, and print what it says."""

import contextlib
import doctest
import importlib
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from support import cargo
from support.command_line import CommandLine
from support.node_tools import browser
from support.page_pictures import drawn, pictures, texts
from support.sites import site
from support.tools import ROOT, require, require_module, require_shared

import edgekit

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [*TUTORIALS, ROOT / "docs" / "memory.md"]
NEEDS = {
    "pytorch-to-board": ("torch", "sklearn"),
    "wake-word": ("torch",),
    "learning-head": ("torch", "sklearn"),
}
DOWNLOADED = {"tflite-in-a-web-page": "models/tflite_micro/person_detect.tflite"}
PERSON = ROOT / "docs" / "assets" / "person.png"
NEW = "run pytest tests/docs/test_tutorials.py --update-golden, and look at it"
PLAIN = ("grep", "head", "ls", "pip")  # that every machine of the tests has
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """The commands of a page with what they print, and "write NAME" with the text of a file."""
    for kind, name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            for command in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                line, _, expected = command.partition("\n")
                yield line, expected
        elif name:
            yield f"write {name}", text


def run(cli: CommandLine, words: list[str]) -> str:
    """What a command prints; ours and those of Python run in this process, which imports torch once."""
    if words[0] == "edgekit":
        return cli.ok(*words[1:]).out
    if words[0] == "python":
        return script(words[1:])
    if "/" not in words[0] and words[0] not in PLAIN:
        require(words[0])
    line = " ".join(word if "*" in word else shlex.quote(word) for word in words)
    done = subprocess.run(["bash", "-ec", line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def script(words: list[str]) -> str:
    printed = io.StringIO()
    importlib.invalidate_caches()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(sys, "argv", words)
        runpy.run_path(words[0], run_name="__main__")
    return printed.getvalue()


@pytest.fixture
def app_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the page asks pip for goes into a folder of its own, and what it asks Cargo for is Debian's."""
    for program in ("g++", "cmake"):
        require(program)
    cargo.configure(folder)
    known = {**cargo.settings(folder / ".cargo"), "PIP_TARGET": str(folder / "site"), "PIP_NO_DEPS": "1"}
    known["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for name, value in known.items():
        monkeypatch.setenv(name, value)
    (folder / "site").mkdir()
    monkeypatch.syspath_prepend(folder / "site")
    yield
    sys.modules.pop("digits", None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_step_does_what_the_page_says(
    page: Path, cli: CommandLine, folder: Path, request: pytest.FixtureRequest
) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    for module in NEEDS.get(page.stem, ()):
        require_module(module)
        if module == "torch":
            request.getfixturevalue("torch_settings")
            require_module("torch").set_num_threads(1)
    if page.stem in DOWNLOADED:
        shutil.copy(require_shared(DOWNLOADED[page.stem]), folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    if page.stem == "model-in-an-app":
        request.getfixturevalue("app_tools")
    seen = []
    for line, expected in steps(page):
        words = shlex.split(line)
        if words[0] == "write":
            Path(words[1]).write_text(expected, encoding="utf-8")
            continue
        printed = run(cli, words)
        seen.append(line)
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), (
            f"$ {line}\n{printed}"
        )
    assert len(seen) > 2
    is_update = bool(request.config.getoption("--update-golden"))
    for picture in pictures(page):
        made = drawn(picture)
        if is_update:
            picture.file.write_text(made, encoding="utf-8")
        assert texts(picture.file.read_text(encoding="utf-8")) == texts(made), f"{picture.file}: {NEW}"
    if (folder / "page" / "index.html").exists():
        the_page_says_what_the_simulator_does(folder, is_update)


def portrait(size: int) -> npt.NDArray[np.uint8]:
    """A person, drawn of ellipses in greys: head and shoulders before a wall."""
    y, x = np.mgrid[:size, :size] / size
    picture = 152 - 60 * y
    for center_x, center_y, radius_x, radius_y, grey in (
        *((0.5, 0.95, 0.36, 0.42, 43), (0.5, 0.58, 0.09, 0.14, 87), (0.5, 0.36, 0.2, 0.26, 80)),
        (0.5, 0.4, 0.165, 0.215, 102),
        *((0.5 + side, 0.37, 0.03, 0.015, 30) for side in (-0.07, 0.07)),
        *((0.5 + side, 0.335, 0.04, 0.012, 80) for side in (-0.07, 0.07)),
        *((0.5, 0.45, 0.02, 0.04, 82), (0.5, 0.52, 0.06, 0.015, 51)),
    ):
        is_inside = ((x - center_x) / radius_x) ** 2 + ((y - center_y) / radius_y) ** 2 < 1
        picture = np.where(is_inside, grey, picture)
    return np.rint(picture).astype(np.uint8)


def the_page_says_what_the_simulator_does(folder: Path, is_update: bool) -> None:
    """Of a grey picture of the size of the input, so that no scaling is between the pixels and the model; the
    larger one is that of the tutorial."""
    pixels = np.random.default_rng(7).integers(0, 256, (6, 6)).repeat(16, 0).repeat(16, 1)
    graph = edgekit.load(folder / "page" / "person_detect.ek")
    quant = graph.type("input").quant
    assert quant
    x = np.rint((pixels - 127.5) / 127.5 / quant.scale[0]) + quant.zero[0]
    x = np.clip(x, -128, 127).astype(np.int8)
    (y,) = edgekit.run(graph, {"input": x.reshape(1, 1, 96, 96, 1)}).values()
    score = (int(y.reshape(-1)[1]) + 128) / 256
    with site(folder / "page") as url, browser("chromium") as chromium:
        actions = ROOT / "tests" / "browser" / "picture.mjs"
        visit = chromium.visit(f"{url}/", actions, pixels=pixels.reshape(-1).tolist(), width=96)
        taken = PERSON if is_update else folder / "person.png"
        person = portrait(192).reshape(-1).tolist()
        given = {"pixels": person, "width": 192, "screenshot": str(taken), "stored": str(PERSON)}
        drawing = chromium.visit(f"{url}/", actions, **given)
    assert visit.errors == drawing.errors == []
    assert visit.result["shown"] == ["A person" if score > 0.5 else "No person", f"{100 * score:.1f} %"]
    assert drawing.result["shown"][0] == "A person"
    assert drawing.result["off"] < 2, f"{PERSON}: {NEW}"


def test_every_tutorial_has_pictures_that_are_small_and_described() -> None:
    assets = ROOT / "docs" / "assets"
    shown: set[str] = set()
    for page in TUTORIALS:
        links = re.findall(r"!\[([^\]]*)\]\(\.\./assets/([^)]+)\)", page.read_text(encoding="utf-8"))
        assert links, page
        assert all(len(words) > 20 for words, _ in links), page
        made = {picture.file.name for picture in pictures(page)}
        assert {name for _, name in links} - made <= {PERSON.name}
        shown |= {name for _, name in links}
    assert all((assets / name).stat().st_size < 30_000 for name in shown)
    elsewhere = {"terminal.svg", "report.png", "site.css"}
    assert {path.name for path in assets.iterdir()} == shown | elsewhere


def test_every_tutorial_is_listed() -> None:
    pages = [f"tutorials/{page.name}" for page in TUTORIALS]
    for name in ("README.md", "mkdocs.yml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert [page for page in pages if page not in text] == []

"""The examples of docs/browser.md do what the page says."""

import doctest
import re
import shlex
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.node_tools import Browser, output, tool
from support.npm_packages import simulated
from support.sites import site
from support.tools import ROOT, require, require_module

from edgekit import load
from edgekit.core.types import Array

PAGE = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
SNIPPETS = dict(re.findall(r"^```\w+ ([\w.]+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """What the commands of the page leave, beside its snippets."""
    require_module("ziglang")
    monkeypatch.chdir(tmp_path)
    for name in ("digits.onnx", "calib.npz"):
        shutil.copy(DIGITS / name, tmp_path)
    cli, checker = CommandLine(capsys), doctest.OutputChecker()
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for example in block.split("$ ")[1:]:
        line, _, expected = example.partition("\n")
        answer = cli(*shlex.split(line)[1:])
        found = answer.out + answer.err
        expected = "...".join(expected.splitlines(keepends=True))  # the page shows the lines that matter
        assert checker.check_output(f"...{expected}...", found, doctest.ELLIPSIS), f"{line}\n{found}"
    for name, text in SNIPPETS.items():
        (tmp_path / name).write_text(text)
    shutil.copytree(tmp_path / "out" / "npm", tmp_path / "npm")
    return tmp_path


def test_all_snippets(chromium: Browser, folder: Path) -> None:
    """One test, as the package takes most of the time."""
    assert set(SNIPPETS) == {"index.html", "worker.html", "main.js", "classify.mjs"}
    with np.load(DIGITS / "test.npz") as data:
        image = data["x"][7, 0]
    (folder / "digit.png").write_bytes(png(np.rint(image * 255).astype(np.uint8)))
    graph = load(folder / "small.ek")
    quant = graph.type("x").quant
    assert quant
    x = np.clip(np.rint(image / quant.scale[0]) + quant.zero[0], -128, 127).astype(np.int8)
    ((scores,),) = simulated(graph, [{"x": x.reshape(1, 1, 8, 8)}])

    with site(folder) as url:
        said = text_of("output", folder)
        assert chromium.visit(f"{url}/index.html", said).result == str(np.argmax(scores))
        assert chromium.visit(f"{url}/worker.html", said).result == "10"

    (folder / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    output([require("npm"), "install", "--offline", "--no-audit", "--no-fund", "./out/npm"], folder)
    assert output([require("node"), "classify.mjs"], folder) == "1\n"

    (folder / "index.html").write_text('<!doctype html><body><script type="module" src="./main.js"></script>')
    tool("vite", "build", "--logLevel", "warn", folder=folder)
    with site(folder / "dist") as url:
        assert re.fullmatch(r"digit \d", chromium.visit(url, text_of("body", folder)).result)


def text_of(element: str, folder: Path) -> Path:
    """Actions that wait for the text of an element."""
    actions = folder / f"{element}.mjs"
    text = f"document.querySelector('{element}').innerText.trim()"
    wait = f"await page.waitForFunction(() => {text});"
    actions.write_text(f"export default async (page) => {{ {wait} return page.evaluate(() => {text}); }};")
    return actions


def png(pixels: Array) -> bytes:
    """A grey image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )

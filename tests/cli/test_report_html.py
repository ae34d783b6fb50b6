"""The HTML report is one small page that needs nothing else, and says what the JSON says."""

import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.nets import Net

from edgekit import Difference, diff, save
from edgekit.comparison.histogram import Histogram
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.reports import comparison_page

VOID = {"meta", "line", "path", "rect"}


class Page(HTMLParser):
    """The elements of a page, which must be closed in order, and the cells of its table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.rows: list[list[dict[str, Any]]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag == "td" or dict(attrs).get("scope") == "row":
            self.rows[-1].append({"v": dict(attrs).get("data-v"), "text": "", "paths": ""})
        if tag == "path":
            self.rows[-1][-1]["paths"] += dict(attrs)["d"] or ""
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        assert tag in VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data
        if {"td", "th"} & {*self.open} and self.rows[-1] and self.open[-1] != "small":
            self.rows[-1][-1]["text"] += data.strip()

    @property
    def body(self) -> list[list[dict[str, Any]]]:
        return [row for row in self.rows if row]


@pytest.fixture
def quantized(cli: CommandLine) -> str:
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "--calibrate", "minmax", "-o", "small.ek")
    return "small.ek"


def value(number: float | None) -> float:
    """A cell's number for what JSON says: null where nothing differs."""
    return math.inf if number is None else number


def test_the_page_says_what_the_json_says(cli: CommandLine, quantized: str) -> None:
    line = ("diff", "digits.onnx", quantized, "--data", "x.npz", "--report", "page.html", "--json")
    layers = cli.ok(*line).json["layers"]
    rows = Page(Path("page.html").read_text(encoding="utf-8")).body
    assert len(rows) == len(layers) == 10
    for row, layer in zip(rows, layers, strict=True):
        number, name, op, format, noise, alone, accumulated, values, clipped, macs, size = row
        assert int(number["v"]) == layer["place"] + 1
        shown = layer["origin"] or layer["name"]
        assert (name["text"], op["text"], format["text"]) == (shown, layer["op"], layer["format"])
        assert float(noise["v"]) == layer["noise_share"]
        assert float(alone["v"]) == value(layer["alone_db"])
        assert float(accumulated["v"]) == value(layer["sqnr_db"])
        assert float(clipped["v"]) == layer["clipped"]
        assert (int(macs["v"]), int(size["v"])) == (layer["macs"], layer["weight_bytes"])
        counts = layer["histogram"]["counts"]
        assert values["paths"].count("M") == sum(count > 0 for count in counts)


def test_the_page_of_quantize_has_the_figures_of_the_command(cli: CommandLine) -> None:
    line = ("quantize", "digits.onnx", "--data", "calib.npz", "--calibrate", "minmax", "--json")
    found = cli.ok(*line, "--report", "page.html").json["quantization"]
    page = Page(Path("page.html").read_text(encoding="utf-8"))
    measured = {layer["origin"]: layer["sqnr_db"] for layer in found["layers"] if layer["op"] != "Reshape"}
    shown = {row[1]["text"]: row[6] for row in page.body if row[2]["text"] not in ("Reshape", "input")}
    assert shown.keys() == measured.keys()
    assert all(float(shown[layer]["v"]) == ratio for layer, ratio in measured.items())
    assert f"{shown['node_linear']['text']}, on 64 samples held out" in page.texts["dd"]
    assert "10 layers on 16 samples, accumulated errors on 64 samples held out" in page.texts["dd"]


def test_the_page_needs_nothing_else(cli: CommandLine, quantized: str) -> None:
    cli.ok("diff", "digits.onnx", quantized, "--data", "x.npz", "--report", "page.html")
    text = Path("page.html").read_text(encoding="utf-8")
    assert len(text) < 60_000
    assert "prefers-color-scheme: dark" in text
    for reference in ("http:", "https:", "//cdn", "url(", "@import", "src=", "<link"):
        assert reference not in text
    targets = [a["href"] or "" for tag, a in Page(text).seen if tag == "a"]
    assert len(targets) == 10
    assert all(f'id="{target[1:]}"' in text for target in targets)


def test_a_large_network_stays_under_500_kilobytes(digits: Difference) -> None:
    layer = digits.layers[0]
    histogram = Histogram(-1.0, 0.05, tuple(range(1, 65)), -0.9, 2.1)
    named = [
        replace(layer, name=f"features/block{i}/convolution/activation", place=i, histogram=histogram)
        for i in range(200)
    ]
    text = comparison_page.render(replace(digits, layers=tuple(named)), ["a", "b"])
    assert 200_000 < len(text.encode()) < 500_000
    assert len(Page(text).body) == 200


@pytest.fixture
def digits(cli: CommandLine, quantized: str) -> Difference:
    return diff("digits.onnx", quantized, "x.npz")


HOSTILE = "</td><script>alert('1')</script>&\"<b>"


def test_names_are_text_whatever_they_are(cli: CommandLine) -> None:
    for file, factor in (("a.ek", 2.0), ("b.ek", 2.5)):
        net = Net()
        product = net(Mul(), net.x(2), np.float32(factor), name=HOSTILE)
        save(net.done(net(Add(), product, np.float32(1), name="y")), file)
    found = diff("a.ek", "b.ek")
    text = comparison_page.render(found, [HOSTILE, "b"], [HOSTILE])
    page = Page(text)
    assert page.body[0][1]["text"] == HOSTILE
    assert page.texts["h1"] == f"{HOSTILE} and b"
    assert page.texts["li"] == HOSTILE
    assert [tag for tag, _ in page.seen].count("script") == 1
    assert any(HOSTILE in (a.get("title") or "") for _, a in page.seen)


def test_what_is_wrong_stands_on_top(cli: CommandLine, digits: Difference) -> None:
    worst = replace(digits.layers[2], clipped=0.07, noise_share=0.5)
    worst = replace(worst, name="a/very/long/name" * 5, origin="layer_7")
    real = replace(digits.layers[3], scale=None, is_float=True, range=None, clipped=None)
    found = replace(digits, layers=(worst, real, *digits.layers[4:]))
    listed = Page(comparison_page.render(found, ["a", "b"])).texts["li"]
    assert "1 of 7 layers stay in floats" in listed
    assert "clipped: layer_7 (7.0%)" in listed
    told = Page(comparison_page.render(found, ["a", "b"], ["told before"])).texts["li"]
    assert told.startswith("told before")
    assert "clipped" in told
    assert "stay in floats" not in told


def test_quantize_writes_the_report_from_the_calibration_data(cli: CommandLine) -> None:
    line = (
        "quantize",
        "digits.onnx",
        "--data",
        "calib.npz",
        "--calibrate",
        "minmax",
        "--report",
        "page.html",
    )
    page = Page(cli.ok(*line) and Path("page.html").read_text(encoding="utf-8"))
    assert page.texts["h1"] == "digits.onnx and digits_int8.ek"
    assert len(page.body) == 10
    assert "16 samples" in page.texts["dd"]


@pytest.mark.parametrize(
    "line",
    [
        ("quantize", "digits.onnx", "--data", "calib.npz", "--report"),
        ("diff", "digits.onnx", "digits.ek", "--report"),
    ],
)
def test_other_file_names_are_refused_before_the_work_is_done(
    cli: CommandLine, line: tuple[str, ...]
) -> None:
    answer = cli(*line, "page.pdf")
    assert answer.code == 2
    assert "E0105 cannot write page.pdf" in answer.err
    assert not answer.out
    assert not Path("page.pdf").exists()
    assert not Path("digits_int8.ek").exists()


def test_json_holds_the_histograms_too(cli: CommandLine, quantized: str) -> None:
    found = json.loads(cli.ok("diff", "digits.onnx", quantized, "--data", "x.npz", "--json").out)
    for layer in found["layers"]:
        assert sum(layer["histogram"]["counts"]) == 3 * math.prod(layer["type"]["shape"])

"""`edgekit report` and `build --report` write a page about a library, and compare it with another build."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.report_pages import figures, library, residual
from support.row_networks import random_row_network
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, save
from edgekit.core import target
from edgekit.core.ops._linear import Linear
from edgekit.reports import build_comparison, library_page
from edgekit.reports.build_comparison import BuildSummary, compared, read
from edgekit.reports.what_if import Wanted, changes

DOCS = ROOT / "docs" / "reports.md"


@pytest.fixture
def page(tmp_path: Path) -> tuple[Path, BuildSummary]:
    """A page on disk, and what it keeps of its build."""
    found = figures(library(residual(2), 9))
    path = tmp_path / "old.html"
    path.write_text(library_page.render(found), encoding="utf-8")
    return path, library_page.summary(found)


def test_the_page_says_what_the_json_says(cli: CommandLine) -> None:
    require_module("ziglang")
    build = cli.ok("report", "digits.ek", "-t", "cortex-m4", "--json").json["build"]
    estimate = cli.ok("estimate", "digits.ek", "-t", "cortex-m4", "--json").json
    text = Path("digits.html").read_text(encoding="utf-8")
    for name in ("flash", "code", "constant", "arena", "stack"):
        key = "constants" if name == "constant" else name
        assert build["bytes"][key] == estimate[f"{name}_bytes"]
    assert build["numbers"]["instructions"] == estimate["instructions"]
    assert f"arena {estimate['arena_bytes']:,} + stack {estimate['stack_bytes']:,}" in text
    assert [layer["name"] for layer in build["layers"]] == [x["name"] for x in estimate["layers"]]
    assert text.count('<a class="card') == len(build["layers"])


def test_changes_to_a_library_by_rows_are_planned_by_rows(cli: CommandLine) -> None:
    require("gcc")
    graph, host = random_row_network(0), target.load("host")
    save(graph, "rows.ek")
    cli.ok("build", "rows.ek", "-o", "out", "--optimize", "ram", "--report", "rows.html")
    text = Path("rows.html").read_text(encoding="utf-8")
    assert "optimized for speed and least RAM" in text
    halves: list[Wanted] = [(n.outputs[0], "half") for n in graph.nodes if isinstance(n.op, Linear)]
    whole, by_rows = (
        {f"\N{MINUS SIGN}{-change.arena_bytes:,} B of arena" for change in changes(graph, t, halves).values()}
        for t in (host, replace(host, least_ram=True))
    )
    assert any(words in text for words in by_rows - whole)
    assert not any(words in text for words in whole - by_rows)


def test_a_build_writes_the_page_too(cli: CommandLine) -> None:
    require("gcc")
    found = cli.ok("build", "digits.ek", "-o", "out", "--report", "page.html", "--json").json
    assert "map" not in found
    text = Path("page.html").read_text(encoding="utf-8")
    assert f"compiled with {found['compiler']}" in text
    assert "equal to the simulator within rounding" in text
    assert sum(x.weight_bytes for x in read(Path("page.html")).layers) == found["weight_bytes"]
    # And compares with it, by the page as by the model.
    line = ("report", "digits.ek", "--layers", "-o", "new.html", "--before")
    cli.ok(*line, "page.html")
    by_page = Path("new.html").read_text(encoding="utf-8")
    assert "No layer changed" in by_page
    assert "Time, us: measured on host" in by_page


def test_what_quantization_costs_is_on_the_page(cli: CommandLine) -> None:
    require("gcc")
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "--calibrate", "minmax", "-o", "small.ek")
    cli.ok("report", "small.ek")
    alone = Path("small.html").read_text(encoding="utf-8")
    assert "Accumulated" not in alone
    assert alone.count("holds 0 to") >= 6  # the tips of histograms
    line = ("report", "small.ek", "--reference", "digits.onnx", "--data", "x.npz", "--before", "digits.onnx")
    cli.ok(*line)
    text = Path("small.html").read_text(encoding="utf-8")
    assert "Accumulated" in text
    assert text.count("weights from") == 4
    assert "Before: digits on host, for speed" in text


def test_a_page_keeps_its_build(page: tuple[Path, BuildSummary]) -> None:
    path, summary = page
    assert read(path) == summary
    same = compared(read(path), summary)
    assert (same.layers, same.same) == ((), 9)
    assert {change.kind for change in same.figures} == {"same"}


def test_changes_are_sorted_by_size(page: tuple[Path, BuildSummary]) -> None:
    _, old = page
    first, second, *others = old.layers
    layers = (
        build_comparison.LayerSize("new", "", 5, 7, 5.0),
        build_comparison.LayerSize("other name", first.origin, first.macs + 9, first.weight_bytes - 3, 1.0),
        *others,
    )
    new = BuildSummary("b", "host", "size", {"flash": 1, "code": None}, old.numbers, old.cost, layers)
    found = compared(old, new)
    changes = {change.name: (change.change, change.kind, change.note) for change in found.layers}
    assert changes["new"] == ("new", "same", "weights +7 B")
    assert changes["other name"][0].startswith("+9, ")
    assert changes["other name"][1:] == ("worse", "weights -3 B")
    assert changes[second.name] == ("gone", "same", f"weights -{second.weight_bytes:,} B")
    assert (found.cost, found.same) == ("MACs", len(others))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('id="edgekit-build"', 'id="another"'),
        lambda text: text.replace('{"version":1', '{"version":2'),
        lambda text: text.replace('"macs":', '"max":'),
        lambda text: text.replace('"weight_bytes":', '"weight_bytes":"x","no":'),
        lambda text: text.replace('{"version":1', '{"version":1' + '{"a":' * 9999),
        lambda text: text.replace('"layers":[', '"layers":[[],'),
        lambda text: text.replace('"name":"network"', '"name":7'),
        lambda text: text.replace('"weight_bytes":', '"weight_bytes":1e999,"no":'),
        lambda text: text.replace('"macs":', '"macs":1' + "0" * 400 + ',"no":'),
        lambda text: text.replace('"cost":', '"cost":NaN,"no":'),
        lambda text: text[: len(text) // 4],
    ],
)
def test_other_pages_are_refused(page: tuple[Path, BuildSummary], damage) -> None:
    path, _ = page
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(EdgeKitError, match="E0401"):
        read(path)


def test_a_page_that_is_not_there(cli: CommandLine) -> None:
    assert "E0104 cannot read nothing.html" in cli("report", "digits.ek", "--before", "nothing.html").err
    for words in (("report", "digits.ek", "-o"), ("build", "digits.ek", "--report")):
        answer = cli(*words, "page.pdf")
        assert (answer.code, answer.out) == (2, "")
        assert "E0105 cannot write page.pdf" in answer.err


def test_json_of_a_page_holds_no_tags(page: tuple[Path, BuildSummary]) -> None:
    _, summary = page
    text = BuildSummary("</script><b>", "&", "", {}, {}, "<", ()).as_code()
    assert not set("<>&") & set(text)
    assert json.loads(text)["name"] == "</script><b>"
    assert summary.as_code() == summary.as_code()


def test_the_python_example(cli: CommandLine, capsys: pytest.CaptureFixture[str]) -> None:
    require_module("ziglang")
    (text,) = re.findall(
        r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    exec(compile(text, "docs/reports.md", "exec"), {})
    flash, instructions = map(int, capsys.readouterr().out.split())
    assert flash > 20_000
    assert instructions > 100_000
    assert Path("digits.html").exists()

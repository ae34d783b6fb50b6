"""Results in notebooks: short in words, tables as HTML, names as text; the notebook of digits runs."""

import ast
import json
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.report_pages import tuned
from support.tools import ROOT, require

from edgekit.core.notebook import MAX_ROWS, Number, card
from edgekit.core.ops.arithmetic import Add

DIGITS = ROOT / "examples" / "digits"
HOSTILE = "</td><script>alert('1')</script>&\"<b>"


class Page(HTMLParser):
    """Elements, which must be closed in order, and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert "script" not in self.open
        self.text += data
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def shown(result: object) -> Page:
    """What a notebook shows; the words are for terminals."""
    assert len(repr(result)) < 200
    assert repr(result).startswith(f"<{type(result).__name__} ")
    return Page(result._repr_html_())


def test_the_notebook_of_digits_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc")
    for name in ("digits.onnx", "calib.npz"):
        shutil.copy(DIGITS / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((DIGITS / "digits.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    results = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            *statements, last = ast.parse("".join(cell["source"])).body
            assert isinstance(last, ast.Expr)
            exec(compile(ast.Module(statements, []), "digits.ipynb", "exec"), names)
            results.append(eval(compile(ast.Expression(last.value), "digits.ipynb", "eval"), names))
    graph, quality, library, page = results
    assert [row[1] for row in shown(graph).rows[1:]] == [type(node.op).__name__ for node in graph.nodes]
    assert len(shown(quality).rows) == 1 + len(quality.layers)
    assert f"{library.flash_bytes:,} B" in shown(library).text
    assert "verifiedyes" in shown(library).text
    assert repr(library).endswith("verified>")
    assert "Accumulated" in Path(page.page).read_text(encoding="utf-8")


def test_a_search_shows_its_pareto_optimal_variants() -> None:
    found = tuned(HOSTILE)
    page = shown(found)
    assert HOSTILE in page.text
    assert len(page.rows) == 1 + len(found.front)
    assert [row[1] for row in page.rows if row[0] == "chosen"] == ["int4"]
    closest = shown(replace(found, best=None))
    assert closest.text.count("chosen") == 0


def test_names_are_text_and_long_tables_end() -> None:
    net = Net()
    x = net.x(2)
    for i in range(MAX_ROWS + 5):
        x = net(Add(), x, np.float32(i), name=f"{HOSTILE}{i}")
    page = shown(replace(net.done(x), name=HOSTILE))
    assert page.text.startswith(f"Graph {HOSTILE}")
    assert len(page.rows) == 1 + MAX_ROWS
    assert page.text.endswith("and 5 more")


def test_numbers_are_aligned_right_and_may_have_bars() -> None:
    text = card("t", [], ("a", "b"), [("x", Number("1", 0.5)), ("y", Number("2", 7.0))])
    assert text.count("text-align:right") == 3
    assert "width:50.0%" in text
    assert "width:100.0%" in text

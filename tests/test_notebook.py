"""Results in notebooks: short in words, tables as HTML, names as text; the notebook of digits runs."""

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.report_pages import tuned
from support.tools import ROOT, require, require_module

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


SHELL = """
import json, sys
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shown = []
for kernel in (None, object()):  # as shells of notebooks have one
    shell.kernel = kernel
    shell.display_pub = CapturingDisplayPublisher()
    for cell in sys.argv[1:]:
        shell.run_cell(cell).raise_error()
    shown.append([(output["data"]["text/html"], output["update"]) for output in shell.display_pub.outputs])
print("shown:" + json.dumps(shown))
"""
CELLS = (
    "import time\nimport numpy as np\nimport edgekit\nfrom edgekit.api.notebook_progress import show",
    "for i in range(1, 4):\n    show(f'<sample> {i} of 3')\n    time.sleep(0.15)",
    "show('compiling')",
    "edgekit.run('digits.onnx', np.zeros((2, 1, 1, 8, 8), np.float32))",
)


def test_progress_is_a_line_with_a_bar_until_the_cell_ends(tmp_path: Path) -> None:
    """In a shell of IPython without a kernel, as in terminals, and in one with a kernel."""
    require_module("IPython")
    shutil.copy(DIGITS / "digits.onnx", tmp_path)
    environment = {**os.environ, "IPYTHONDIR": str(tmp_path)}
    command = [sys.executable, "-c", SHELL, *CELLS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    in_terminal, shown = json.loads(done.stdout.partition("shown:")[2])
    assert in_terminal == []
    counted = [f'<progress value="{i}" max="3"></progress> &lt;sample&gt; {i} of 3' for i in (1, 2, 3)]
    lines = [[f'<div class="edgekit">{line}</div>', i > 0] for i, line in enumerate(counted)]
    assert shown[:6] == [*lines, ["", True], ['<div class="edgekit">compiling</div>', False], ["", True]]
    assert not shown[6][1]  # run has a line of its own
    assert shown[-1] == ["", True]

"""CONTRIBUTING.md shows how to add an operator in five steps: this test does them, in a copy."""

import re
from pathlib import Path

import pytest
from support import page_steps
from support.page_steps import pytest_in, python
from support.tools import ROOT, require
from support.type_check import mypy

pytestmark = pytest.mark.slow

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = page_steps.files(page_steps.section(PAGE, "Add an operator in 5 steps"))
# A model of the made-up operator, through the converter and compiled C; `build` verifies that C agrees.
USE = """
import sys
from pathlib import Path
import numpy as np
from onnx import TensorProto, helper, save
import edgekit

x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy")
node = helper.make_node("ExponentialSmoothing", ["x"], ["y"], domain="com.example", rate=0.25)
domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)]
save(helper.make_model(helper.make_graph([node], "net", [x], [y]), opset_imports=domains), "net.onnx")
graph = edgekit.convert("net.onnx")
given = np.array([[4, 8, 0, 0], [1, 1, 1, 5]], np.float32)
print(edgekit.run(graph, {"x": given}, target="host")["y"].tolist())
report = edgekit.build(graph, "out", target="host")
assert report.verification is not None and report.verification.exact
assert "ek_smooth_f32__ref" in Path("out/net.c").read_text()
assert Path(edgekit.__file__).is_relative_to(sys.argv[1])
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the five steps done."""
    folder = page_steps.copied(tmp_path_factory.mktemp("checkout"))
    page_steps.follow(STEPS, folder)
    return folder


def test_the_steps_show_each_kind_of_file() -> None:
    parts = ["tests", "edgekit", "runtime_c", "runtime_c", "converters"]
    assert [Path(path).parts[0] for path in STEPS] == parts


def test_its_cases_hold(checkout: Path) -> None:
    require("cc")
    (words,) = re.findall(r'`pytest tests/ops -k "(.*?)"`', PAGE)
    done = pytest_in(checkout, "tests/ops", "-k", words)
    assert done.returncode == 0, done.stdout[-3000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 20
    assert "skipped" not in done.stdout


def test_a_model_runs_in_c(checkout: Path) -> None:
    require("cc")
    done = python(checkout, "-c", USE, str(checkout))
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[0] == "[[4.0, 5.0, 3.75, 2.8125], [1.0, 1.0, 1.0, 2.0]]"


def test_an_operator_without_cases_is_noticed(checkout: Path) -> None:
    cases = checkout / "tests/ops/cases/smooth.py"
    hidden = cases.rename(cases.with_suffix(".hidden"))
    try:
        done = pytest_in(checkout, "tests/ops", "-k", "has_cases")
        assert done.returncode == 1, done.stdout[-3000:]
        assert "Smooth" in done.stdout
    finally:
        hidden.rename(cases)


def test_the_files_keep_the_rules(checkout: Path) -> None:
    page_steps.rules(STEPS, checkout)
    done = mypy(checkout, "edgekit/core/ops/smooth.py")
    assert done.returncode == 0, done.stdout + done.stderr

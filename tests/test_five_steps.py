"""CONTRIBUTING.md shows how to add an operator in five steps: this test does them, in a copy."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.tools import ROOT, require

pytestmark = pytest.mark.slow

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STEPS = re.search(r"^## Add an operator in 5 steps$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
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


def blocks() -> dict[str, str]:
    """Path -> text of each file that the steps show: the path is the last one named before the block."""
    assert STEPS, "CONTRIBUTING.md has no such heading"
    found: dict[str, str] = {}
    parts = re.split(r"^( *)```\w+\n(.*?)^ *```$", STEPS[1], flags=re.MULTILINE | re.DOTALL)
    for prose, text in zip(parts[0::3], parts[2::3], strict=False):
        path = re.findall(r"`([\w/]+/\w+\.\w+)`", prose)[-1]
        assert path not in found, f"{path} is shown twice"
        found[path] = textwrap.dedent(text)
    return found


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that is in git or about to be, with the five steps done."""
    command = [require("git"), "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    folder = tmp_path_factory.mktemp("checkout")
    for name in filter(None, names):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    for path, text in blocks().items():
        assert not (folder / path).exists(), f"{path} is there already: choose another example"
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process that sees the copy instead of what is installed."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_the_steps_show_each_kind_of_file() -> None:
    assert [Path(path).parts[0] for path in blocks()] == [
        "tests",
        "edgekit",
        *["runtime_c"] * 2,
        "converters",
    ]


def test_its_cases_hold(checkout: Path) -> None:
    require("cc")
    (words,) = re.findall(r'`pytest tests/ops -k "(.*?)"`', PAGE)
    done = python(checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ops", "-k", words)
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
        done = python(
            checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ops", "-k", "has_cases"
        )
        assert done.returncode == 1, done.stdout[-3000:]
        assert "Smooth" in done.stdout
    finally:
        hidden.rename(cases)


def test_the_files_keep_the_rules(checkout: Path) -> None:
    names = list(blocks())
    sources = [name for name in names if name.endswith(".py")]
    headers = [name for name in names if not name.endswith(".py")]
    for command in (
        ["ruff", "check", "--no-cache", *sources],
        ["ruff", "format", "--no-cache", "--check", *sources],
        ["clang-format", "--dry-run", "--Werror", *headers],
        ["mypy", "--cache-dir=/dev/null", "edgekit/ops/smooth.py"],
    ):
        done = subprocess.run(
            [require(command[0]), *command[1:]], cwd=checkout, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

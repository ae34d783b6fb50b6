"""docs/kernels.md adds a kernel and an instruction set: this test does it, in a copy, and checks the page."""

import doctest
import importlib.util
import json
import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from support import page_steps
from support.page_steps import pytest_in
from support.tools import ROOT, require, require_module

from edgekit.codegen.kernels import kernel_files
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.core.ops._integer import FACTS

PATH = ROOT / "docs" / "kernels.md"
PAGE = PATH.read_text(encoding="utf-8")
KERNEL = page_steps.section(PAGE, "Add a kernel in 4 steps")
SET = page_steps.section(PAGE, "Add an instruction set in 4 steps")
STEPS = {**page_steps.files(KERNEL), **page_steps.files(SET)}
SOURCE, TEST = "runtime_c/kernels/avx2/dense_int.oc1.c", "tests/kernels/test_dense_oc1.py"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the steps done."""
    folder = page_steps.copied(tmp_path_factory.mktemp("checkout"))
    page_steps.follow(STEPS, folder)
    return folder


def commands(text: str) -> list[list[str]]:
    """The words behind each `pytest` of the steps."""
    return [line.split() for line in re.findall(r"`pytest (.*?)`", text)]


def assert_passed(done: CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    if "skipped" in done.stdout:
        pytest.skip(done.stdout[-500:])


def test_the_steps_show_each_kind_of_file() -> None:
    folders = [["tests", "runtime_c"], ["targets", "runtime_c", "runtime_c", "tests"]]
    found = [[Path(path).parts[0] for path in page_steps.files(text)] for text in (KERNEL, SET)]
    assert found == folders


@pytest.mark.slow
@pytest.mark.parametrize("words", [commands(KERNEL)[0], *commands(SET)], ids=" ".join)
def test_its_tests_pass(words: list[str], checkout: Path) -> None:
    require("gcc")
    require_module("ziglang")
    assert_passed(pytest_in(checkout, *words))


def test_a_case_takes_each_kernel(checkout: Path, tmp_path: Path) -> None:
    """As tests/kernels/test_every_file.py plans them, which takes all tests of kernels."""
    assert commands(KERNEL)[1] == ["tests/kernels/test_every_file.py"]
    tests = [path for path in STEPS if path.startswith("tests/kernels/")]
    planned = tmp_path / "planned.json"
    assert_passed(pytest_in(checkout, "-p", "support.planning", *tests, PLANNED_TO=str(planned)))
    assert {"avx2/dense_int.oc1", "sse/dense"} < json.loads(planned.read_text()).keys()


@pytest.mark.slow
def test_a_new_set_is_tested_without_a_line_in_any_list(checkout: Path) -> None:
    require("clang")
    edges = ["tests/kernels/test_edges.py", "-k", "floats and x86-64-sse"]
    assert_passed(pytest_in(checkout, *edges))
    everywhere = ["edges", "orders", "dimensions"]
    files = [f"tests/kernels/test_{name}.py" for name in everywhere] + ["tests/codegen/test_selection.py"]
    done = pytest_in(checkout, "--collect-only", *files, "-k", "x86-64-sse")
    assert {line.partition("::")[0] for line in done.stdout.splitlines() if "[x86-64-sse]" in line} == {
        *files
    }


def test_a_kernel_that_computes_something_else_fails(checkout: Path) -> None:
    require("gcc")
    path, right = checkout / SOURCE, STEPS[SOURCE]
    wrong = right.replace("rest[k - i] = x[k]", "rest[k - i] = 0")
    assert wrong != right
    path.write_text(wrong, encoding="utf-8")
    try:
        done = pytest_in(checkout, TEST)
    finally:
        path.write_text(right, encoding="utf-8")
    if "skipped" in done.stdout:
        pytest.skip(done.stdout[-500:])
    assert "AssertionError" in done.stdout


def test_the_files_keep_the_rules(checkout: Path) -> None:
    page_steps.rules(STEPS, checkout)


def test_layouts_are_as_shown() -> None:
    result = doctest.testfile(str(PATH), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_every_tag_is_described() -> None:
    described = set(re.findall(r"^\| `@(\w+)", PAGE, re.MULTILINE))
    assert described == set(re.findall(r"^    @(\w+)", kernel_files.__doc__ or "", re.MULTILINE))


def test_every_fact_is_described() -> None:
    text = "".join(
        re.findall(r"^\| (`.*?) \|", page_steps.section(PAGE, "The header of a kernel file"), re.MULTILINE)
    )
    assert {*FACTS, WEIGHT_LIMIT} <= set(re.findall(r"`(\w+)", text))


def test_what_is_named_is_there() -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)\)", PAGE)
    assert len(links) > 15
    assert [link for link in links if not (PATH.parent / link).exists()] == []
    modules = set(re.findall(r"python -m ([\w.]+)", PAGE))
    assert len(modules) == 7
    assert [name for name in modules if not importlib.util.find_spec(name)] == []

"""Each kernel of every instruction set is taken by a test that runs it and compares numbers: pytest -rP."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import kernel_records as records
from support.kernel_records import TESTS, WITHOUT, Takers, read
from support.tools import ROOT

from edgekit.codegen.kernels.kernel_files import Variant, all_variants

SETS = sorted({variant.isa for variant in all_variants()})
HOW = 'no case takes these kernels: CONTRIBUTING.md, "Add a case for a kernel", says how to add one'
EXAMPLES = """\
from support import x86
from support.integer_bench import Bench, Seeded

from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.codegen.program import compile_graph
from edgekit.core.ops.arithmetic import Sub


def program():
    bench = Bench(Seeded(1))
    bench.result(Sub(), bench.input(2, 40), bench.input(2, 40), quant=bench.quant(-3, 3))
    return compile_graph(bench.graph(), targets.load("x86-64-avx2")), bench.inputs


def test_that_compares(tmp_path):
    made, inputs = program()
    x86.check(made, x86.drive(made, tmp_path, "size"), [inputs])
    raise AssertionError("runs on")


def test_that_simulates_first(tmp_path):
    made, inputs = program()
    expected = simulate.run(made.graph, inputs)
    assert x86.drive(made, tmp_path, "size").run(made, inputs).keys() == expected.keys()


def test_that_only_runs(tmp_path):
    made, inputs = program()
    x86.drive(made, tmp_path, "size").run(made, inputs)


def test_that_only_compiles(tmp_path):
    made, inputs = program()
    x86.drive(made, tmp_path, "size")
    simulate.run(made.graph, inputs)
"""


def planned(folder: Path, known: Takers, *tests: str) -> Takers:
    """Tests that take each kernel, found by planning them in a process of its own."""
    to = folder / "taken.json"
    to.write_text(json.dumps(known), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.planning", "-p", "no:cacheprovider"]
    command += [f"--ignore={Path(__file__).relative_to(ROOT)}", f"--basetemp={folder / 'tests'}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [*command, f"--rootdir={ROOT}", "-k", " and ".join(f"not {word}" for word in WITHOUT), *tests],
        cwd=ROOT,
        env={**own, "PYTHONPATH": paths, "PLANNED_TO": str(to), "EDGEKIT_TEST_CACHE": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    found: Takers = json.loads(to.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def taken(kernel_records: Path, tmp_path_factory: pytest.TempPathFactory) -> Takers:
    """Tests that take each kernel: those that ran before this file or, where it runs alone, would."""
    recorded = read(kernel_records)
    if not without_case(all_variants(), recorded):
        return recorded
    return planned(tmp_path_factory.mktemp("planned"), recorded, *TESTS)


def without_case(variants: Iterable[Variant], taken: Takers) -> Sequence[str]:
    """Kernels that no test takes: each with its file, and what it says of itself."""
    missing = [variant for variant in variants if variant.file not in taken]
    files = ["/".join(variant.path.parts[-3:]) for variant in missing]
    return [f"{v.file}, in {file}\n{v.words}" for v, file in zip(missing, files, strict=True)]


@pytest.mark.parametrize("isa", SETS)
def test_each_kernel_is_taken_by_a_case(isa: str, taken: Takers) -> None:
    variants = [variant for variant in all_variants() if variant.isa == isa]
    missing = without_case(variants, taken)
    assert not missing, "\n\n".join([HOW, *missing])
    for name in (variant.file for variant in variants):
        print(f"{name}: {taken[name][0]}")


def test_only_what_would_be_run_and_compared_counts(tmp_path: Path) -> None:
    examples = tmp_path / "test_examples.py"
    examples.write_text(EXAMPLES, encoding="utf-8")
    found = planned(tmp_path, {}, str(examples))
    tests = {test.removeprefix("::") for tests in found.values() for test in tests}
    assert tests == {"test_that_compares", "test_that_simulates_first"}


def test_only_what_is_run_and_compared_is_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    examples: dict[str, Any] = {}
    exec(EXAMPLES, examples)
    taken = {}
    for name in [name for name in examples if name.startswith("test_")]:
        monkeypatch.setattr(records, "current", test := records.Test(name))
        (tmp_path / name).mkdir()
        with contextlib.suppress(AssertionError):
            examples[name](tmp_path / name)
        taken[name] = test.taken
    both = {"test_that_compares", "test_that_simulates_first"}
    assert {name for name, files in taken.items() if files} == both


def test_records_of_all_processes_are_read_up_to_their_last_line(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('["one", ["a", "b"]]\n["two", ["b"]]\n', encoding="utf-8")
    (tmp_path / "2.jsonl").write_text('["three", ["a"]]\n["fo', encoding="utf-8")
    assert read(tmp_path) == {"a": ["one", "three"], "b": ["one", "two"]}


def test_a_kernel_without_a_case_is_named_with_its_file() -> None:
    rows = [variant for variant in all_variants() if variant.path.name == "depthwise2d_int.c"]
    shared = next(v for v in rows if v.isa == "avxvnni")  # a row in the file of avx2
    others = {v.file: ["test"] for v in rows if v is not shared}
    (missing,) = without_case(rows, others)
    assert missing == f"avxvnni/depthwise2d_int, in kernels/avx2/depthwise2d_int.c\n{shared.words}"


def test_contributing_says_how() -> None:
    assert "## Add a case for a kernel\n" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

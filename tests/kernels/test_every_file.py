"""Each kernel of every instruction set is taken by a test that runs it and compares numbers: pytest -rP."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from support.tools import ROOT

from edgekit.codegen.kernels.kernel_files import Variant, all_variants

SETS = sorted({variant.isa for variant in all_variants()})
# Networks need reference models, which may be absent; the others take no other files, or run nothing.
OTHERS = "not network and not parts_of and not lack and not speed and not nearer and not for_their_shapes"
TESTS = ("tests/kernels", "tests/ops/test_ops.py::test_c_computes_what_the_operator_means")
TESTS += ("tests/quantize/test_integers.py::test_c_gives_the_integers_of_the_simulator",)
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
    assert x86.drive(made, tmp_path, "size").run(made, inputs) == expected


def test_that_only_runs(tmp_path):
    made, inputs = program()
    x86.drive(made, tmp_path, "size").run(made, inputs)


def test_that_only_compiles(tmp_path):
    made, inputs = program()
    x86.drive(made, tmp_path, "size")
    simulate.run(made.graph, inputs)
"""


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[str]]:
    """Tests that take each kernel, found by planning them in a process of its own."""
    folder = tmp_path_factory.mktemp("planned")
    to, examples = folder / "taken.json", folder / "test_examples.py"
    examples.write_text(EXAMPLES, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.planning", "-p", "no:cacheprovider"]
    command += [f"--ignore={Path(__file__).relative_to(ROOT)}", f"--basetemp={folder / 'tests'}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [*command, f"--rootdir={ROOT}", "-k", OTHERS, str(examples), *TESTS],
        cwd=ROOT,
        env={**own, "PYTHONPATH": paths, "PLANNED_TO": str(to), "EDGEKIT_TEST_CACHE": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    found: Mapping[str, Sequence[str]] = json.loads(to.read_text(encoding="utf-8"))
    return found


def without_case(variants: Iterable[Variant], taken: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Kernels that no test takes: each with its file, and what it says of itself."""
    missing = [variant for variant in variants if variant.file not in taken]
    files = ["/".join(variant.path.parts[-3:]) for variant in missing]
    return [f"{v.file}, in {file}\n{v.words}" for v, file in zip(missing, files, strict=True)]


@pytest.mark.parametrize("isa", SETS)
def test_each_kernel_is_taken_by_a_case(isa: str, taken: Mapping[str, Sequence[str]]) -> None:
    variants = [variant for variant in all_variants() if variant.isa == isa]
    missing = without_case(variants, taken)
    assert not missing, "\n\n".join([HOW, *missing])
    for name in (variant.file for variant in variants):
        print(f"{name}: {taken[name][0]}")


def test_only_what_is_run_and_compared_counts(taken: Mapping[str, Sequence[str]]) -> None:
    examples = {
        test.removeprefix("::") for tests in taken.values() for test in tests if test.startswith("::")
    }
    assert examples == {"test_that_compares", "test_that_simulates_first"}


def test_a_kernel_without_a_case_is_named_with_its_file() -> None:
    rows = [variant for variant in all_variants() if variant.path.name == "depthwise2d_int.c"]
    shared = next(v for v in rows if v.isa == "avxvnni")  # a row in the file of avx2
    others = {v.file: ["test"] for v in rows if v is not shared}
    (missing,) = without_case(rows, others)
    assert missing == f"avxvnni/depthwise2d_int, in kernels/avx2/depthwise2d_int.c\n{shared.words}"


def test_contributing_says_how() -> None:
    assert "## Add a case for a kernel\n" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

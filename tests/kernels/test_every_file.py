"""Each kernel of every instruction set is taken by a test that runs it and compares numbers."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.tools import ROOT

from edgekit.codegen.kernel_files import all_variants

SETS = sorted({variant.isa for variant in all_variants()})
# Networks need reference models, which not everybody has; the others take no other files, or run nothing.
OTHERS = "not network and not lack and not speed and not nearer and not for_their_shapes"
TESTS = ("tests/kernels", "tests/ops/test_ops.py::test_c_computes_what_the_operator_means")
TESTS += ("tests/quantize/test_integers.py::test_c_gives_the_integers_of_the_simulator",)


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sequence[str]]:
    """The tests that take each kernel, found by planning them in a process of its own."""
    to = tmp_path_factory.mktemp("planned") / "taken.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.planning", "-p", "no:cacheprovider"]
    command += [f"--ignore={Path(__file__).relative_to(ROOT)}", f"--basetemp={to.parent / 'tests'}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [*command, "-k", OTHERS, *TESTS],
        cwd=ROOT,
        env={**own, "PYTHONPATH": paths, "PLANNED_TO": str(to)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    found: Mapping[str, Sequence[str]] = json.loads(to.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("isa", SETS)
def test_each_kernel_is_taken_by_a_case(isa: str, taken: Mapping[str, Sequence[str]]) -> None:
    missing = [v for v in all_variants() if v.isa == isa and f"{isa}/{v.stem}" not in taken]
    words = "\n\n".join(f"{isa}/{v.stem}, in {v.path.name}\n{v.words}" for v in missing)
    assert not missing, f"no case of tests/kernels takes these: add one that is as they say\n{words}"

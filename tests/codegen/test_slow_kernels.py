"""Slower kernels, planted in a copy of the repository, are not selected, or do not pass the gate of speed."""

import re
from pathlib import Path

import pytest
from support import page_steps
from support.each_target import EVERY
from support.page_steps import python
from support.tools import ROOT, require

KERNELS = Path("runtime_c") / "kernels"
_PLANS = (0, 1, 6, 7, 13, 15)  # every family of layers
_PLAN = f"""
import sys
from benchmarks.kernel_layers import graph
from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.lowering.lower import lower
from edgekit.core import target
from edgekit.core.ops import Call
graphs = [graph(1, plan) for plan in {_PLANS}]
for one in map(target.load, sys.argv[1:]):
    for layers in (lower(graph, one) for graph in graphs):
        print(*(variant_of(c, one).file for layer in layers for c in layer.steps if isinstance(c, Call)))
"""
_CONDITIONS = "".join(f" * @when {n} == {n}\n" for n in range(20))


def renamed(stem: str) -> str:
    return f"{stem}_slow" if "." in stem else f"{stem}.slow"


def slow(text: str) -> str:
    """The text of a kernel's file with other names, no costs, and more conditions, which are always true."""
    names = re.compile(r"(?<=[ ,])(\w+)/(\w+(?:\.\w+)?)")
    rows = re.compile(r"@as [^@\n*]*")
    text = rows.sub(lambda row: names.sub(lambda found: f"{found[1]}/{renamed(found[2])}", row[0]), text)
    text = re.sub(r" @work [^\n*@]*", "", text)
    return re.sub(r"(?<=\n)( \* @for)", lambda found: _CONDITIONS + found[1], text)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_steps.copied(tmp_path_factory.mktemp("checkout"))


def test_slower_kernels_with_more_conditions_are_selected_on_no_instruction_set(checkout: Path) -> None:
    plain = python(checkout, "-c", _PLAN, *EVERY)
    assert plain.returncode == 0, plain.stderr
    for path in (ROOT / KERNELS).glob("*/*.c"):
        if path.parent.name != "ref":
            place = checkout / KERNELS / path.parent.name / f"{renamed(path.stem)}.c"
            place.write_text(slow(path.read_text(encoding="utf-8")), encoding="utf-8")
    found = python(checkout, "-c", _PLAN, *EVERY)
    assert found.returncode == 0, found.stderr
    assert "slow" not in found.stdout
    assert found.stdout == plain.stdout


def test_a_slow_kernel_that_says_it_is_cheap_does_not_pass_the_gate(checkout: Path) -> None:
    require("gcc")
    require("qemu-x86_64")
    text = (ROOT / KERNELS / "avx2" / "depthwise2d.c").read_text(encoding="utf-8")
    comment, code = re.split(r"(?=#include)", text, maxsplit=1)
    assert "{\n" in code
    head = comment[: comment.index("*/")].rstrip().rpartition(" @work")[0].rstrip(" *\n")
    wait = "    for (volatile int32_t turn = 0; turn < 20000; turn++)\n        ;\n"
    begin = re.search(r"EK_KERNEL void EK_FN\([^{]*\{\n", code)
    assert begin
    code = code[: begin.end()] + wait + code[begin.end() :]
    place = checkout / KERNELS / "avx2" / "depthwise2d.slow.c"
    place.write_text(f"{head}\n{_CONDITIONS} * @work calls 1 */\n{code}", encoding="utf-8")
    done = python(checkout, "scripts/speed.py", "x86-64-avx2", "--check")
    assert done.returncode == 1
    rises = [line for line in done.stderr.splitlines() if "instructions rose from" in line]
    assert any(line.startswith("keywords on x86-64-avx2, layer node_conv2d_1: ") for line in rises), (
        done.stderr
    )

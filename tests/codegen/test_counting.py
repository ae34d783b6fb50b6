"""Counts of vector instructions by the registers that they work on."""

from pathlib import Path

import pytest
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import counting
from edgekit.codegen.execution import runner
from edgekit.core import target as targets

_PROGRAM = """\
__attribute__((noinline)) void ek_begin(void)
{{
    __asm volatile("" ::: "memory");
}}
__attribute__((noinline)) void ek_end(void)
{{
    __asm volatile("" ::: "memory");
}}
int main(void)
{{
    static int numbers[64];
    const int *p = numbers;
    ek_begin();
    __asm volatile("vsetvli t0, x0, e16, {group}, ta, ma\\n{code}" ::"r"(p) : "t0", "ft0", "memory");
    ek_end();
    return 0;
}}
"""


@pytest.mark.parametrize(
    ("code", "of_one", "of_four"),
    [
        ("vadd.vv v8, v8, v8", 1, 4),
        ("vle16.v v8, (%0)", 1, 4),
        ("vwmacc.vx v8, t0, v16", 2, 8),  # of results, which are twice as wide
        ("vnsra.wi v8, v16, 3", 2, 8),
        ("vfwcvt.f.x.v v8, v16", 2, 8),
        ("vmv.v.x v8, t0", 1, 4),
        ("flw ft0, 0(%0)", 0, 0),
        ("addi t0, t0, 1", 0, 0),
        ("c.addi t0, 1", 0, 0),
    ],
)
def test_vector_instructions_count_once_more_for_each_register(
    code: str, of_one: int, of_four: int, tmp_path: Path
) -> None:
    require("qemu-riscv64")
    require_module("ziglang")
    target = targets.load("riscv64-rvv")
    compiler = toolchain.find(target)
    totals = []
    for group in ("m1", "m4", "mf2"):
        (tmp_path / "main.c").write_text(_PROGRAM.format(group=group, code="\\n".join([code] * 10)))
        flags = ["-O1", "-g", *target.cflags, *runner.compile_flags(target, is_counted=True)]
        runner.link(target, compiler, [*flags, "main.c", "-o", group], tmp_path)
        plain = counting.count(target, tmp_path / group).total
        totals.append(counting.count(target, tmp_path / group, by_registers=True).total - plain)
    assert totals == [10 * of_one, 10 * of_four, 10 * of_one]

"""Each kernel compiles in a library that has no other: what it uses is defined by what it includes."""

import re
from pathlib import Path

import pytest
from support.each_target import EVERY, UNOPTIMIZED
from support.kernel_instances import instances, written

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.runner import compile_flags
from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.core import target as targets
from edgekit.core.target import Target

SETS = sorted({variant.isa for variant in all_variants()} - {"ref"})  # whose kernels are for many types
_ASKS_FOR_SIZE = re.compile(r"^#if.*\b(?:__OPTIMIZE_SIZE__|EK_IS_COMPACT)\b", re.MULTILINE)


def first_with(isa: str) -> Target:
    """The target that has this instruction set before others."""
    known = [target for target in map(targets.load, EVERY) if isa in target.isa]
    return min(known, key=lambda target: target.isa.index(isa))


@pytest.mark.parametrize("isa", SETS)
def test_each_kernel_includes_all_that_it_uses(isa: str, tmp_path: Path) -> None:
    """By every rule. Those that include the same are one file, compiled for size where that is other code."""
    target = first_with(isa)
    texts = written([*instances(target, isa)], tmp_path)
    compiler = toolchain.find(target)
    # zig keeps what it makes of each file, and takes it for a fault if that is nothing.
    least = ["-c", *UNOPTIMIZED] if "zig" in compiler.name else ["-fsyntax-only"]
    flags = ["-std=c99", "-Werror=implicit", *target.cflags, *compile_flags(target), *least, "-I."]
    compiler.run([*flags, *texts], tmp_path)
    if compact := [name for name, text in texts.items() if _ASKS_FOR_SIZE.search(text)]:
        compiler.run([*flags, "-Os", *compact], tmp_path)

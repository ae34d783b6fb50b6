"""Which kernel a call takes: one that fits, of the best instruction set of the target that has one.

Of several, the one with the most conditions. What kernels are for, their files say: kernel_files.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from edgekit.codegen.blocks import is_stream, tiled
from edgekit.codegen.kernel_files import Variant, variants_of
from edgekit.codegen.pack import is_tiled
from edgekit.ops import Call


def fits(variant: Variant, call: Call, operands: Sequence[str]) -> bool:
    """Can this kernel compute the call, whose operands have these names in C?"""
    types = {letter: dtype.value for letter, dtype in call.types.items()}
    if any(types.get(letter) != wanted for letter, wanted in variant.types.items()):
        return False
    if variant.rules and call.rule not in variant.rules:
        return False
    for operand, tag in variant.pack.items():
        if is_tiled(tag) and call.args[operands.index(operand)].value.data is None:
            return False
    return all(condition.of(call) for condition in variant.conditions)


@cache
def variants(isa: str, kernel: str) -> tuple[Variant, ...]:
    """The kernels of an instruction set for a contract, the most special ones first."""
    found = [variant for variant in variants_of(isa) if kernel in variant.kernels]
    return tuple(sorted(found, key=lambda v: (-len(v.conditions), v.name)))


def select(call: Call, name: str, isas: Sequence[str], operands: Sequence[str]) -> Variant:
    """The kernel for a call on a target with these instruction sets. `name` is that of the instance: a file
    of exactly this name goes first."""
    for isa in isas:
        for variant in (*variants(isa, name), *variants(isa, call.kernel)):
            if fits(variant, call, operands):
                return variant
    raise AssertionError(f"no kernel {name} or {call.kernel} in kernels/{{{','.join(isas)}}}")


def tile_of(isas: Sequence[str]) -> tuple[int, int] | None:
    """Outputs and inputs of the blocks of zeros that kernels of these sets leave out; None if none does."""
    tags = (variant.pack.get("w", "") for isa in isas for variant in variants(isa, "dense_int"))
    return next((tiled(tag)[1:] for tag in tags if is_stream(tag)), None)

"""Which kernels fit a call: those of the best instruction set of the target that has any.

What kernels are for, their files say: kernel_files.py. Of several, selection.py takes one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from edgekit.codegen.kernels.block_sparsity import is_stream, tiled
from edgekit.codegen.kernels.expressions import IS_BLOCK, expression
from edgekit.codegen.kernels.kernel_files import Variant, all_variants, variants_of
from edgekit.codegen.kernels.pack import is_tiled
from edgekit.core.ops import Call
from edgekit.core.types import DType

_BRACES = re.compile(r"\{(.*?)\}")


def fits(variant: Variant, call: Call, operands: Sequence[str]) -> bool:
    """Can this kernel compute the call, whose operands have these names in C?"""
    return not unmet(variant, call, operands)


def unmet(variant: Variant, call: Call, operands: Sequence[str]) -> str:
    """The first tag of the kernel's file that the call does not meet; empty where it fits."""
    for letter, wanted in variant.types.items():
        if letter not in call.types or call.types[letter].value != wanted:
            return f"@for {letter}={wanted}"
    if variant.rules and call.rule not in variant.rules:
        return f"@rule {' '.join(variant.rules)}"
    for operand, tag in _tiled(variant):
        if operand not in operands:  # of another contract that the text fulfils
            continue
        if call.args[operands.index(operand)].value.data is None:
            return f"@pack {operand}: {tag}"
    failed = next((condition for condition in variant.conditions if not condition.of(call)), None)
    return f"@when {failed.text}" if failed else ""


@cache
def _tiled(variant: Variant) -> Sequence[tuple[str, str]]:
    """The operands that must be constant, with their layouts."""
    return [(operand, tag) for operand, tag in variant.pack.items() if is_tiled(tag)]


def layouts(variant: Variant, call: Call) -> Mapping[str, str]:
    """Of the kernel's constant operands, with the numbers of this call."""
    return {
        operand: _BRACES.sub(lambda found: str(expression(found[1]).of(call)), tag)
        for operand, tag in variant.pack.items()
    }


@cache
def variants(isa: str, kernel: str) -> tuple[Variant, ...]:
    """The kernels of an instruction set for a contract, in the order of their names: general ones first."""
    return tuple(sorted(variants_of(isa, kernel), key=lambda v: v.name))


@cache
def _of_types(isa: str, kernel: str, types: tuple[tuple[str, DType], ...], rule: str) -> Sequence[Variant]:
    """Those of them that are for these types and this rule."""
    known = {letter: dtype.value for letter, dtype in types}
    return [
        variant
        for variant in variants(isa, kernel)
        if variant.types.items() <= known.items() and (not variant.rules or rule in variant.rules)
    ]


def fitting(call: Call, name: str, isas: Sequence[str], operands: Sequence[str]) -> tuple[Variant, ...]:
    """The kernels for a call, of the first of these instruction sets that has any. `name` is that of the
    instance: files of exactly this name go first."""
    types = tuple(call.types.items())
    for isa in isas:
        for kernel in (name, call.kernel):
            possible = _of_types(isa, kernel, types, call.rule)
            if found := tuple(variant for variant in possible if fits(variant, call, operands)):
                return found
    raise AssertionError(f"no kernel {name} or {call.kernel} in kernels/{{{','.join(isas)}}}")


def competing() -> list[Variant]:
    """Kernels of whole layers beside which another one of the same instruction set may fit, as far as types
    and rules say."""
    everything = [
        each for each in all_variants() if not any(IS_BLOCK in when.names for when in each.conditions)
    ]
    return [one for one in everything if any(_may_compete(one, other) for other in everything)]


def _may_compete(one: Variant, other: Variant) -> bool:
    if one.isa != other.isa or one is other or set(one.kernels).isdisjoint(other.kernels):
        return False
    same_rule = not one.rules or not other.rules or not set(one.rules).isdisjoint(other.rules)
    types = {*one.types.items(), *other.types.items()}
    return same_rule and len(types) == len({letter for letter, _ in types})


def variant_named(file: str, kernels: Sequence[str]) -> Variant:
    """The kernel file of this name, which has one of these contracts."""
    isa, _, stem = file.partition("/")
    return next(v for kernel in kernels for v in variants(isa, kernel) if v.stem == stem)


def tile_of(isas: Sequence[str]) -> tuple[int, int] | None:
    """Outputs and inputs of the blocks of zeros that kernels of these sets leave out; None if none does."""
    tags = (variant.pack.get("w", "") for isa in isas for variant in variants(isa, "dense_int"))
    return next((tiled(tag)[1:] for tag in tags if is_stream(tag)), None)

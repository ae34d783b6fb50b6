"""Which of the kernels that fit a call is selected: the one with the fewest instructions.

A kernel's instructions are those of the processor's calibration, or else of its own tag @work. One that has
neither is selected only where nothing else fits. A call may have a limit of the bytes of its weights in the
layout of a kernel: `weight_limit`, of compact_weights.py. See docs/adr/0066, 0073, 0162 and 0203.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from typing import NamedTuple

import numpy as np

from edgekit.codegen.cost.calibrations import calibration, counted
from edgekit.codegen.cost.cost_features import work_of
from edgekit.codegen.kernels.block_sparsity import is_stream
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.overflow_safe import is_light
from edgekit.codegen.kernels.pack import pack, stream_size
from edgekit.codegen.kernels.symbols import kernel_id
from edgekit.codegen.kernels.variants import layouts
from edgekit.core.ops import Arg, Call
from edgekit.core.target import Target


@dataclass(frozen=True, order=True)
class KernelCost:
    """Of a call by one kernel: less is better."""

    instructions: float
    scratch: int  # bytes of working memory


_UNKNOWN = KernelCost(inf, 0)


def cheapest(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
    """Of kernels that fit."""
    return ranked(call, found, target, operands)[0]


def ranked(
    call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]
) -> Sequence[Variant]:
    """Kernels that fit, from the cheapest one on, those that keep a limit of their weights first."""
    if len(found) == 1:
        return found
    least = {variant: cost(variant, call, target, operands) or _UNKNOWN for variant in found}
    limit = call.facts.get(WEIGHT_LIMIT)
    within = found if limit is None else keeping(limit, call, found, operands)
    return sorted(found, key=lambda variant: (variant not in within, least[variant]))


def cost(variant: Variant, call: Call, target: Target, operands: Sequence[str]) -> KernelCost | None:
    """None where neither the target's processor is calibrated for the kernel nor its file says."""
    known = calibration(target.core, "speed", kernel_id(call, variant, target.isa).function)
    if not known and not variant.work:
        return None
    tags = layouts(variant, call)
    sizes = {
        operand: _packed(tags.get(operand, ""), arg, call.groups).size
        for operand, arg in zip(operands, call.args, strict=False)
        if arg.value.data is not None
    }
    scratch = variant.scratch.of(call) if variant.scratch else 0
    done = work_of(replace(call, scratch=scratch), sizes, variant.counts)
    return KernelCost(known.count(done) if known else counted(variant.work, done), scratch)


def keeping(limit: int, call: Call, found: Sequence[Variant], operands: Sequence[str]) -> Sequence[Variant]:
    """The kernels whose weights take no more bytes, or else those with small ones."""
    sizes = [weight_bytes(variant, call, operands) for variant in found]
    most = max(limit, small(sizes))
    return [variant for variant, size in zip(found, sizes, strict=True) if size <= most]


def small(sizes: Sequence[int]) -> int:
    """Bytes up to which layouts differ from the smallest one in how they fill up blocks, not in form."""
    return 4 * min(sizes) // 3


def weight_bytes(variant: Variant, call: Call, operands: Sequence[str], name: str = "w") -> int:
    """Of the weights of a call, in the layout of a kernel. 0 where they are computed."""
    if name not in operands or (arg := call.args[operands.index(name)]).value.data is None:
        return 0
    return _packed(layouts(variant, call).get(name, ""), arg, call.groups).bytes


class _Packed(NamedTuple):
    """Elements and bytes of a constant in a layout."""

    size: int
    bytes: int


def _packed(tag: str, arg: Arg, groups: int) -> _Packed:
    data = arg.value.data
    assert data is not None
    if is_stream(tag):
        words = stream_size(tag, data)
        return _Packed(words, 4 * words)
    if is_light(tag):
        made = pack(tag, data, groups)  # as many as its zeros leave
        return _Packed(made.size, made.nbytes)
    return _packed_of(tag, data.shape, data.dtype, groups) if tag else _Packed(data.size, arg.type.bytes)


@cache
def _packed_of(tag: str, shape: tuple[int, ...], dtype: np.dtype, groups: int) -> _Packed:
    made = pack(tag, np.zeros(shape, dtype), groups)
    return _Packed(made.size, made.nbytes)

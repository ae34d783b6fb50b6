"""Which of the kernels that fit a call is selected: the one with the fewest instructions.

A kernel's instructions are those of the processor's calibration, or else of its own tag @work. One that has
neither is selected only where nothing else fits. Where a call asks for small weights, kernels with small ones
come first. See docs/adr/0066, 0073 and 0162.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

import numpy as np

from edgekit.codegen.cost.calibrations import calibrations, counted
from edgekit.codegen.cost.cost_features import work_of
from edgekit.codegen.kernels.block_sparsity import is_stream
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.overflow_safe import is_light
from edgekit.codegen.kernels.pack import pack, stream_size
from edgekit.codegen.kernels.symbols import kernel_id
from edgekit.codegen.kernels.variants import layouts
from edgekit.core.ops import Call
from edgekit.core.target import Target
from edgekit.core.types import Array


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
    """Kernels that fit, from the cheapest one on."""
    if len(found) == 1:
        return found
    least = {variant: cost(variant, call, target, operands) or _UNKNOWN for variant in found}
    wants_compact = bool(call.facts.get("compact"))
    return sorted(found, key=lambda variant: (wants_compact and not _is_compact(variant), least[variant]))


def cost(variant: Variant, call: Call, target: Target, operands: Sequence[str]) -> KernelCost | None:
    """None where neither the target's processor is calibrated for the kernel nor its file says."""
    known = calibrations(target.core, "speed").get(kernel_id(call, variant, target.isa).function)
    if not known and not variant.work:
        return None
    tags = layouts(variant, call)
    sizes = {
        operand: _size(tags.get(operand, ""), arg.value.data, call.groups)
        for operand, arg in zip(operands, call.args, strict=False)
        if arg.value.data is not None
    }
    scratch = variant.scratch.of(call) if variant.scratch else 0
    done = work_of(replace(call, scratch=scratch), sizes, variant.counts)
    return KernelCost(known.count(done) if known else counted(variant.work, done), scratch)


def _is_compact(variant: Variant) -> bool:
    return any(condition.text == "compact" for condition in variant.conditions)


def _size(tag: str, data: Array, groups: int) -> int:
    """Elements of a constant as it is packed."""
    if is_stream(tag):
        return stream_size(tag, data)
    if is_light(tag):
        return pack(tag, data, groups).size  # as many as its zeros leave
    return _size_of(tag, data.shape, data.dtype, groups) if tag else data.size


@cache
def _size_of(tag: str, shape: tuple[int, ...], dtype: np.dtype, groups: int) -> int:
    return pack(tag, np.zeros(shape, dtype), groups).size

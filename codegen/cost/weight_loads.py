"""How many bytes of weights a run loads.

A kernel goes over its weights once for each tile of pixels or rows, as its file says behind @loads: where
flash is slow, that decides over time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.expressions import values
from edgekit.codegen.kernels.selection import weight_bytes
from edgekit.codegen.kernels.symbols import instance_name
from edgekit.codegen.kernels.variants import variant_named
from edgekit.codegen.lowering.row_loops import LoopedLayer
from edgekit.core.ops import Call

# Operands that are weights, where they are constant: of inputs, and of the last state.
WEIGHTS = ("w", "r")


class _Planned(Protocol):
    """A call of a program, or of a plan of its memory."""

    @property
    def call(self) -> Call: ...

    @property
    def rows(self) -> LoopedLayer | None: ...


def loaded_bytes(planned: _Planned) -> int | None:
    """That a call loads of its weights, in all of its blocks of rows; None where its kernel's file does not
    say how often."""
    call = planned.call
    if not call.file:  # a copy
        return 0
    name = instance_name(call)
    variant = variant_named(call.file, (name, call.kernel))
    operands = contracts.operands_of(call.kernel, name)
    total = 0.0
    for weights in WEIGHTS:
        size = weight_bytes(variant, call, operands, weights)
        if not size:
            continue
        if weights not in variant.loads:
            return None
        for block, count in planned.rows.calls if planned.rows else ((call, 1),):
            total += count * size * variant.loads[weights].exactly(block, values(variant.counts, block))
    return round(total)


def total_loads(planned: Iterable[_Planned]) -> int | None:
    """Of a whole run; None where nothing is known of a layer."""
    found = [loaded_bytes(each) for each in planned]
    return None if None in found else sum(each or 0 for each in found)

"""What the self-test on a GPU gives a model, and how far its results may be from those of the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.codegen.printing.literal import number
from edgekit.codegen.verification.output_coverage import work
from edgekit.codegen.verification.rounding_error import RoundingError
from edgekit.codegen.verification.selftest import BYTES, count, row
from edgekit.core import simulate
from edgekit.core.escape import Code
from edgekit.core.input_ranges import InputRange, input_ranges
from edgekit.core.ir import Graph
from edgekit.core.ops.dynamic_quantize import DynamicQuantize
from edgekit.core.ops.dynamic_rows import QuantizeRows
from edgekit.core.types import DType, Type

# Of the largest value, where nothing was measured: drivers round differently, and small differences change
# how 16 bits are rounded.
_USUAL = {DType.F32: 1e-4, DType.F16: 1e-2, DType.BF16: 8e-2}
# The same where floats become integers in each run: one of them rounds to its other neighbour in some runs.
# 2.3e-2 is the largest difference in 7,680 steps of three small decoders, in int8 and int4.
_DYNAMIC = 5e-2
_MEASURED_WORK = 1e7  # operations of a run above which nothing is measured


@dataclass(frozen=True)
class PortCheck:
    """Fields of struct ek_gpu_port, as C text."""

    tolerance: Code
    low: Code
    step: Code
    width: int
    row: int
    least: Code
    count: int


def port_checks(graph: Graph) -> dict[str, PortCheck]:
    """Of each input and output."""
    ranges, tolerances = input_ranges(graph), _tolerances(graph)
    none = InputRange(0, 0)
    return {
        name: _check(graph.type(name), ranges.get(name, none), tolerances.get(name, _usual(graph)))
        for name in (*graph.inputs, *graph.outputs)
    }


def _check(type: Type, span: InputRange, tolerance: float) -> PortCheck:
    if type.dtype.is_float:
        low, step = (number(value, "float") for value in (span.low, (span.high - span.low) / BYTES))
        return PortCheck(
            Code(number(tolerance, "float")), Code(low), Code(step), type.dtype.bytes, 0, Code("0"), 1
        )
    least, steps = number(int(span.low), "int32_t"), count(span)
    mask = row(type) if span.is_mask else 0
    return PortCheck(Code("0"), Code("0"), Code("0"), type.dtype.bytes, mask, Code(least), steps)


def _usual(graph: Graph) -> float:
    computed = {graph.type(name).dtype for node in graph.nodes for name in node.outputs}
    is_dynamic = any(isinstance(node.op, DynamicQuantize | QuantizeRows) for node in graph.nodes)
    least = _DYNAMIC if is_dynamic else _USUAL[DType.F32]
    return max(least, *(_USUAL.get(dtype, 0.0) for dtype in computed))


def _tolerances(graph: Graph) -> dict[str, float]:
    """Of each output of floats the usual one, or twice what rounding was measured to explain."""
    usual = _usual(graph)
    names = [name for name in graph.outputs if graph.type(name).dtype.is_float]
    if work(graph) > _MEASURED_WORK or graph.states:
        return dict.fromkeys(names, usual)
    errors = RoundingError(graph, [simulate.random_inputs(graph, 0)])
    found = {}
    for name in names:
        explained = errors.explain(0, name)
        largest, limit = (
            float(np.abs(v[np.isfinite(v)]).max(initial=0.0)) for v in (explained.exact, explained.limit)
        )
        found[name] = max(usual, min(2 * limit / max(largest, 1e-3), 1.0))
    return found

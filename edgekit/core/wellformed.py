"""The rules that every graph keeps: asserted after every pass, and demanded of every file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from edgekit.core.builder import absurd
from edgekit.core.fixed import int_range
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.reasons import reason_of
from edgekit.core.types import DType, Type, Value, type_of

ROUNDINGS = ("E", "tfl", "tflm")
_NARROW = (DType.S8, DType.U8, DType.S16)


def faults(graph: Graph) -> Iterator[str]:
    """The broken rules, as sentences."""
    known: set[str] = set()
    for name, value in graph.values.items():
        yield from (f"{name} {fault}" for fault in _value_faults(value))
        if value.data is not None:
            known.add(name)
    for name in graph.entries:
        if name not in graph.values:
            yield f"input {name} has no type"
        if name in known:
            yield f"input {name} is there twice or is a constant"
        known.add(name)
    yield from _state_faults(graph)
    for node in graph.nodes:
        kind = type(node.op).__name__
        unknown = [name for name in node.inputs if name not in known or name not in graph.values]
        untyped = [name for name in node.outputs if name not in graph.values]
        yield from (f"{kind} reads {name} before it is computed" for name in unknown)
        yield from (f"{kind} computes {name}, which has no type" for name in untyped)
        if unknown or untyped:
            return
        results = _inferred(node.op, [graph.type(name) for name in node.inputs])
        if isinstance(results, str):
            yield f"{kind}: {results}"
            return
        if len(results) != len(node.outputs):
            yield f"{kind} has {len(results)} results, not {len(node.outputs)}"
        else:
            yield from (f"{kind}: {fault}" for fault in _integer_faults(graph, node))
        for name, result in zip(node.outputs, results, strict=False):
            if name in known:
                yield f"{name} is computed twice"
            expected = result if node.op.is_data_movement else result.real
            found = graph.type(name) if node.op.is_data_movement else graph.type(name).real
            if found != expected:  # what computes new integers may have any scale
                yield f"{name} is {graph.type(name)}, {kind} computes {result}"
            known.add(name)
    yield from (f"output {name} is never computed" for name in graph.exits if name not in known)
    yield from (f"output {name} is there twice" for name, times in Counter(graph.exits).items() if times > 1)


def _state_faults(graph: Graph) -> Iterator[str]:
    for state in graph.states:
        read, written = (graph.values.get(name) for name in (state.input, state.output))
        yield from (f"the start of state {state.input} {fault}" for fault in _value_faults(state.initial))
        if state.initial.data is None:
            yield f"state {state.input} starts from nothing"
        if read is not None and read.type != state.initial.type:
            yield f"state {state.input} is {read.type}, it starts from {state.initial.type}"
        if read is not None and written is not None and read.type != written.type:
            yield f"state {state.input} is {read.type}, its next content {state.output} is {written.type}"


def _value_faults(value: Value) -> Iterator[str]:
    t, quant = value.type, value.type.quant
    if absurd(t.shape):
        yield f"has the absurd shape {list(t.shape[:8])}"
    if value.data is not None and type_of(value.data) != t.real:
        yield f"is {t}, its data are {type_of(value.data)}"
    if quant is None:
        return
    count = 1
    if quant.axis is not None:
        if not 0 <= quant.axis < t.rank:
            yield f"is quantized along axis {quant.axis}, which {t} does not have"
            return
        count = t.shape[quant.axis]
    if not len(quant.scale) == len(quant.zero) == count:
        yield f"has {len(quant.scale)} scales and {len(quant.zero)} zero points, not {count}"
        return
    yield from _number_faults(value)


def _number_faults(value: Value) -> Iterator[str]:
    """Of scales and zero points, one for each of what they are for."""
    dtype, quant = value.type.dtype, value.type.quant
    assert quant is not None
    if not dtype.is_integer:
        yield f"is quantized, but {dtype.value} holds no integers"
        return
    with np.errstate(over="ignore", under="ignore"):
        scales = np.asarray(quant.scale, np.float32)  # as everybody computes with them
    bad = ~(np.isfinite(scales) & (scales > 0))
    if bad.any():
        yield f"has the scale {quant.scale[int(bad.argmax())]}: scales are above 0 and finite"
    low, high = int_range(dtype)
    outside = [zero for zero in quant.zero if not low <= zero <= high]
    if outside:
        yield f"has the zero point {outside[0]}, which {dtype.value} cannot hold"
    if quant.rounding not in ROUNDINGS:
        yield f"is rounded by the unknown rule {quant.rounding!r:.40}"
    if quant.axis is not None and value.data is None:
        yield "has a scale for each channel, which only weights have"


def _integer_faults(graph: Graph, node: Node) -> Iterator[str]:
    """What operators cannot compute with integers that stand for reals."""
    ins, outs = ([graph.type(name) for name in names] for names in (node.inputs, node.outputs))
    if not any(t.quant for t in (*ins, *outs)) or node.op.is_data_movement:
        return
    if isinstance(node.op, BitCast | FlipSign):  # they say what integers stand for, or that it is nothing
        return
    if isinstance(node.op, Linear) and ins[0].quant:
        w, b = ins[1:]
        if w.quant is None:
            yield f"its weights {node.inputs[1]} have no scale"
        elif w.quant.axis not in (None, 0) or any(w.quant.zero):
            yield f"its weights {node.inputs[1]} need scales along axis 0, and zero points of 0"
        if b.quant is not None or b.dtype not in (DType.S32, DType.S64):
            yield f"its bias {node.inputs[2]} should hold integers of 32 or 64 bits, without a scale"
    for name, t in zip(node.outputs, outs, strict=True):
        if t.quant is None and t.dtype in _NARROW:
            yield f"its result {name} has no scale"
    if any(t.quant for t in outs):
        for name, t in zip(node.inputs, ins, strict=True):
            if t.quant is None and t.dtype in _NARROW and graph.data(name) is None:  # or it may be a table
                yield f"its operand {name} has no scale"


def _inferred(op: Op, types: Sequence[Type]) -> tuple[Type, ...] | str:
    """The types of an operator's results, or why it has none. A file may combine operators, attributes and
    types as no converter would, so every exception of `infer` is an answer."""
    try:
        return op.infer(*types)
    except TypeError as error:
        return reason_of(error)
    except Exception as error:
        return f"cannot be applied to {', '.join(map(str, types))}: {reason_of(error)}"

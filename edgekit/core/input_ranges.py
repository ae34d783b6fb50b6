"""Plausible inputs, inferred from the graph: indices within their table, masks of 0 and 1, lengths, ranges.

Random numbers that a model never meets test nothing: a mask of -128 to 127 makes every output of a
transformer NaN. So each integer input is followed to the operators that give it a meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from edgekit.core.fixed import int_range
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add, Mul, Neg, Sub
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.logic import Equal, Less, LessOrEqual, Where
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter, ScatterND
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType, Type

_COPIES = (Reshape, Transpose, Expand, Slice, Pad)
_HUGE = 1e3  # a mask times such a number says what softmax leaves out
_MAX_STEPS = 4096  # of following one input
# Floats, in the order in which they are tried until outputs are finite and vary.
_FLOATS = ((-1.0, 1.0), (0.0, 1.0), (0.5, 1.5), (-8.0, 8.0), (-0.0625, 0.0625), (0.0, 256.0))


@dataclass(frozen=True)
class InputRange:
    """What an input may be, both ends included. Of a mask the first element of every row is set."""

    low: float
    high: float
    is_mask: bool = False


MASK = InputRange(0, 1, is_mask=True)
CHOICES = len(_FLOATS)  # how many ranges there are to try for inputs that the graph says nothing about


def input_ranges(graph: Graph, choice: int = 0) -> dict[str, InputRange]:
    """The range of each input. `choice`, below CHOICES, picks one where the graph says nothing about it."""
    return {name: _range(graph, name, choice) for name in graph.inputs}


def _range(graph: Graph, name: str, choice: int) -> InputRange:
    type = graph.type(name)
    if type.dtype is DType.BOOL:
        return MASK if type.size > 1 else InputRange(0, 1)
    if type.dtype.is_float:
        return InputRange(*_FLOATS[choice])
    low, high = int_range(type.dtype)
    if type.quant is not None:
        return _quantized(type, choice)
    known = list(_meanings(graph, name))
    indices = [found for found in known if not found.is_mask]
    if indices:
        least, most = max(found.low for found in indices), min(found.high for found in indices)
        if least > most:  # meant for several things: one of them
            least, most = indices[0].low, indices[0].high
        if max(least, low) <= min(most, high):
            return InputRange(max(least, low), min(most, high))
    if known:
        return MASK
    if type.dtype.bits <= 8:
        return InputRange(low, high)
    sizes = ((-128, 127), (0, 1), (0, 7), (1, 100))
    least, most = sizes[min(choice, len(sizes) - 1)]
    return InputRange(max(least, low), min(most, high))


def _quantized(type: Type, choice: int) -> InputRange:
    """All that the format holds, or a part of it around zero, where outputs saturate less."""
    assert type.quant is not None
    low, high = int_range(type.dtype)
    part = (1, 4, 2, 16, 8, 1)[choice]
    zero = type.quant.zero[0]
    return InputRange(zero + (low - zero) // part, zero + (high - zero) // part)


@dataclass(frozen=True)
class _Followed:
    """A value that is `scale * input + offset`, with offsets between two ends."""

    name: str
    scale: float = 1.0
    least: float = 0.0
    most: float = 0.0

    def solved(self, low: float, high: float) -> InputRange:
        """The inputs for which the value lies between low and high."""
        ends = sorted(((low - self.least) / self.scale, (high - self.most) / self.scale))
        return InputRange(ceil(ends[0]), floor(ends[1]))


def _meanings(graph: Graph, name: str) -> Iterator[InputRange]:
    """What the users of an input take it for."""
    queue, seen = [_Followed(name)], {name}
    while queue:
        value = queue.pop()
        for node in graph.users(value.name):
            for position in (i for i, operand in enumerate(node.inputs) if operand == value.name):
                yield from _meaning(graph, node, position, value)
                passed = _passed(graph, node, position, value)
                if passed is not None and passed.name not in seen and len(seen) < _MAX_STEPS:
                    seen.add(passed.name)
                    queue.append(passed)


def _meaning(graph: Graph, node: Node, position: int, value: _Followed) -> Iterator[InputRange]:
    """What one operand is for."""
    types = [graph.type(operand) for operand in node.inputs]
    match node.op:
        case Gather(axis=axis) | Scatter(axis=axis) if position == 1:
            yield value.solved(0, types[0].shape[axis] - 1)
        case CachedAttention() if position == 3:
            yield value.solved(0, types[1].shape[2] - 1)
        case QuantizedCachedAttention() if position == 6:
            yield value.solved(0, types[2].shape[2] - 1)
        case GatherND(batch=batch) if position == 1:
            yield value.solved(0, min(types[0].shape[batch : batch + types[1].shape[-1]], default=1) - 1)
        case ScatterND() if position == 1:
            yield value.solved(0, min(types[0].shape[: types[1].shape[-1]], default=1) - 1)
        case Cast(to=DType.BOOL):
            yield MASK
        case Equal() | Less() | LessOrEqual():
            yield from _compared(node, graph.data(node.inputs[1 - position]), position, value)
        case Mul():
            factor = graph.data(node.inputs[1 - position])
            if factor is None:  # weights of what counts, as in a mean of some tokens
                if types[1 - position].dtype.is_float:
                    yield MASK
            elif factor.dtype.kind == "f" and factor.size and float(np.abs(factor).max()) >= _HUGE:
                yield MASK


def _compared(node: Node, other: Array | None, position: int, value: _Followed) -> Iterator[InputRange]:
    """What is compared with each of several places is one of them, or a length; what is told from 0 or 1, and
    is no index that may count from the back, is a mask."""
    if other is None or not other.size:
        return
    low, high = float(other.min()), float(other.max())
    zero, one = value.least, value.scale + value.least  # what 0 and 1 have become
    if low == high:
        between = low in (zero, one) if isinstance(node.op, Equal) else min(zero, one) < low < max(zero, one)
        above = isinstance(node.op, Less) and low == (zero if position == 1 else one)
        if value.least == value.most and (between or above):
            yield MASK
    elif isinstance(node.op, Equal):
        yield value.solved(low, high)
    else:
        yield value.solved(low + 1, high + 1)


def _is_selected(graph: Graph, node: Node | None) -> bool:
    """Is it a value times 0 or 1? `condition * a + (1 - condition) * b` chooses one of two, as Where does."""
    if node is None or not isinstance(node.op, Mul):
        return False
    makers = [graph.producer(name) for name in node.inputs]
    return any(
        maker and isinstance(maker.op, Cast) and graph.type(maker.inputs[0]).dtype is DType.BOOL
        for maker in makers
    )


def _is_part(graph: Graph, name: str) -> bool:
    return _is_selected(graph, graph.producer(name))


def _passed(graph: Graph, node: Node, position: int, value: _Followed) -> _Followed | None:
    """The result where it is the value, copied, scaled or moved."""
    result = node.outputs[0]
    scale, least, most = value.scale, value.least, value.most
    op = node.op
    if isinstance(op, Concat) or (isinstance(op, (*_COPIES, Cast, Gather)) and position == 0):
        return _Followed(result, scale, least, most)
    if isinstance(op, Where) and position > 0:
        return _Followed(result, scale, least, most)
    if _is_selected(graph, node) or (
        isinstance(op, Add) and all(_is_part(graph, name) for name in node.inputs)
    ):
        return _Followed(result, scale, least, most)
    if isinstance(op, Neg):
        return _Followed(result, -scale, -most, -least)
    if not isinstance(op, Add | Sub | Mul):
        return None
    other = graph.data(node.inputs[1 - position])
    if other is None or not other.size or not np.isfinite(other.astype(np.float64)).all():
        return None
    low, high = float(other.min()), float(other.max())
    match op:
        case Add():
            return _Followed(result, scale, least + low, most + high)
        case Sub() if position == 0:
            return _Followed(result, scale, least - high, most - low)
        case Sub():
            return _Followed(result, -scale, low - most, high - least)
        case _ if low == high and 0 < abs(low) < _HUGE:
            ends = sorted((least * low, most * low))
            return _Followed(result, scale * low, *ends)
        case _:
            return None

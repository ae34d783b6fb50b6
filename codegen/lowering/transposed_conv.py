"""Transposed convolutions as convolutions, for targets that have better kernels for these.

A result takes the cells of x that are whole strides away from it, so that results which are as far from the
next stride are a convolution of their own. One with an output for each of these phases computes all of them,
on the grid of x, and copies put them into their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call
from edgekit.core.ops._copy import copy
from edgekit.core.ops._strided import contiguous
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.target import Target
from edgekit.core.types import Array, Value

_MAX_PRODUCTS = 2.5  # as many as the transposed convolution has
_SLOW_FLOATS = ("ref", "wasm", "relaxed")  # as fast by portable C
_PHASES = "the part of a transposed convolution's operands for each phase of its stride"


@dataclass(frozen=True)
class _Axis:
    """One dimension: result u is phase (u + pad) % stride of cell (u + pad) // stride."""

    cells: int  # of x
    size: int  # of y
    taps: int
    stride: int
    pad: int

    @property
    def window(self) -> int:
        return -(-self.taps // self.stride)

    @property
    def first(self) -> int:
        """The first cell, counted from the first one of x, that has results."""
        return self.pad // self.stride

    @property
    def count(self) -> int:
        return (self.size - 1 + self.pad) // self.stride - self.first + 1

    @property
    def pads(self) -> tuple[int, int]:
        """Of the convolution, in front and behind."""
        front = self.window - 1 - self.first
        return front, self.count - self.cells - front + self.window - 1

    def phase(self, number: int) -> tuple[int, int, int]:
        """The first cell that has a result of this phase, how many have one, and the first of these."""
        start = self.first * self.stride + number - self.pad
        skipped = -(start // self.stride) if start < 0 else 0
        start += skipped * self.stride
        return skipped, max(0, -(-(self.size - start) // self.stride)), start


def as_convolution(layer: LoweredLayer, graph: Graph, target: Target) -> LoweredLayer:
    """The layer by a convolution and copies, if that is one of a better instruction set."""
    op = layer.node.op
    match layer.steps:
        case [Call() as call] if isinstance(op, ConvTranspose2d) and variant_of(call, target).isa == "ref":
            bias = layer.node.inputs[2]
            operands = [*call.args[:2], Arg(bias, graph.values[bias])]
            steps = _steps(op, operands, call)
            isa = variant_of(steps[0], target).isa if steps else "ref"
            if isa not in (_SLOW_FLOATS if call.types.get("T") else ("ref",)):
                return replace(layer, steps=tuple(steps))
    return layer


def _steps(op: ConvTranspose2d, operands: Sequence[Arg], call: Call) -> list[Call]:
    """The convolution, and the copies; nothing where there is none."""
    (x, w, b), y = operands, call.args[-1]
    if op.groups != 1 or op.dilations != (1, 1) or w.value.data is None or b.value.data is None:
        return []
    down, across = (
        _Axis(*numbers)
        for numbers in zip(
            x.type.shape[1:3], y.type.shape[1:3], w.type.shape[1:3], op.strides, op.pads, strict=True
        )
    )
    pads = (down.pads[0], across.pads[0], down.pads[1], across.pads[1])
    products = (down.window * down.stride * across.window * across.stride) / (down.taps * across.taps)
    # Weights of 0 make NaN of an infinity, where a result has none.
    if min(*pads, *op.pads) < 0 or products > (1 if x.type.dtype.is_float else _MAX_PRODUCTS):
        return []
    phases = down.stride * across.stride
    shape = (x.type.shape[0], down.count, across.count, phases * y.type.shape[3])
    z = y if shape == y.type.shape else Arg(f"{y.name}#phases", Value(replace(y.type, shape=shape)))
    weights = Arg(f"{w.name}#phases", _weights(w, down, across), _PHASES)
    biases = np.tile(b.value.data, phases)
    bias = Arg(f"{b.name}#phases", Value(replace(b.type, shape=biases.shape), biases), _PHASES)
    made = Conv2d((1, 1), pads, lo=op.lo, hi=op.hi, dtype=op.dtype).lower([x, weights, bias], [z])
    (convolution,) = (step for step in made if isinstance(step, Call))
    if convolution.rule != call.rule or not _scales_alike(convolution, call):
        return []
    return [replace(convolution, macs=call.macs), *(() if z is y else _copies(z, y, down, across))]


def _weights(w: Arg, down: _Axis, across: _Axis) -> Value:
    """Those of all phases, the last tap first: it meets the first cell of a window."""
    outputs, _, _, depth = w.type.shape
    taps = (down.window * down.stride, across.window * across.stride)
    whole = np.zeros((outputs, *taps, depth), w.type.dtype.numpy)
    assert w.value.data is not None, "asked before"
    whole[:, : down.taps, : across.taps] = w.value.data
    split = whole.reshape(outputs, down.window, down.stride, across.window, across.stride, depth)
    data = split[:, ::-1, :, ::-1].transpose(2, 4, 0, 1, 3, 5).reshape(-1, down.window, across.window, depth)
    quant = w.type.quant
    if quant and len(quant.scale) > 1:
        phases = down.stride * across.stride
        quant = replace(quant, scale=quant.scale * phases, zero=quant.zero * phases)
    return Value(replace(w.type, shape=data.shape, quant=quant), np.ascontiguousarray(data))


def _scales_alike(convolution: Call, call: Call) -> bool:
    """Are sums requantized by the same multipliers and exponents? Floats are not at all."""
    pairs = zip(convolution.args[3:-1], call.args[3:-1], strict=True)
    sizes = [(ours.value.data, theirs.value.data) for ours, theirs in pairs]
    return all(
        ours is not None and theirs is not None and np.array_equal(ours, _repeated(theirs, len(ours)))
        for ours, theirs in sizes
    )


def _repeated(data: Array, size: int) -> Array:
    return np.tile(data, size // len(data))


def _copies(z: Arg, y: Arg, down: _Axis, across: _Axis) -> Iterator[Call]:
    """Each phase to its places."""
    batch, *_, outputs = y.type.shape
    from_strides, to_strides = contiguous(z.type.shape), contiguous(y.type.shape)
    for i in range(down.stride):
        for j in range(across.stride):
            (row, rows, top), (column, columns, left) = down.phase(i), across.phase(j)
            start = row * from_strides[1] + column * from_strides[2] + (i * across.stride + j) * outputs
            yield from copy(
                z,
                y,
                (batch, rows, columns, outputs),
                from_strides,
                (to_strides[0], down.stride * to_strides[1], across.stride * to_strides[2], 1),
                start,
                top * to_strides[1] + left * to_strides[2],
            )

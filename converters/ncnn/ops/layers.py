"""Convolutions, full layers, products of matrices, attention, poolings and recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.ncnn.activation import activated as _activated
from edgekit.converters.ncnn.file import Layer as _Layer
from edgekit.converters.ncnn.file import Weights as _Weights
from edgekit.converters.semantics import recurrent as _recurrent
from edgekit.converters.semantics.aten import pool as _torch
from edgekit.converters.semantics.compose import dense as _dense
from edgekit.converters.semantics.compose import matmul as _matmul
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.convolution import SlidingWindow as _Sliding
from edgekit.converters.semantics.convolution import conv as _conv
from edgekit.converters.semantics.convolution import pads_of as _pads_of
from edgekit.converters.semantics.movement import box as _box
from edgekit.converters.semantics.movement import pad as _pad
from edgekit.converters.semantics.movement import transposed as _transposed
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.semantics.onnx.conv import ConvTranspose as _ConvTranspose
from edgekit.converters.semantics.onnx.pool import AveragePool as _AveragePool
from edgekit.converters.semantics.onnx.pool import MaxPool as _MaxPool
from edgekit.converters.semantics.recurrent import Activation as _Activation
from edgekit.converters.semantics.recurrent import RecurrentLayer as _Recurrent
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array as _Array

_WAYS = {-233: "SAME_UPPER", -234: "SAME_LOWER"}
_SAME = (2, 3)  # kinds of padding of poolings
_KEEP = -233


def Convolution(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _convolution(layer, weights, x, 2, 1)


def ConvolutionDepthWise(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _convolution(layer, weights, x, 2, layer.integer(7, 1))


def Convolution1D(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _convolution(layer, weights, x, 1, 1)


def ConvolutionDepthWise1D(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _convolution(layer, weights, x, 1, layer.integer(7, 1))


def Deconvolution(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _deconvolution(layer, weights, x, 1)


def DeconvolutionDepthWise(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _deconvolution(layer, weights, x, layer.integer(7, 1))


def InnerProduct(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """Over rows that are as long as the weights, or over the whole blob."""
    layer.refuse(8)
    outputs = layer.integer(0)
    inputs = layer.integer(2) // max(outputs, 1)
    w = x.new(weights.tagged(outputs, inputs))
    b = x.new(weights.plain(outputs)) if layer.integer(1) else None
    if x.rank == 2 and x.shape[1] == inputs:
        return _activated(_dense(x, w, b), layer.integer(9), layer.numbers(10))
    y = _dense(x.reshape(1, x.type.size), w, b).reshape(outputs)
    return _activated(y, layer.integer(9), layer.numbers(10))


def MatMul(builder: Builder, layer: _Layer, weights: _Weights, a: Tensor, b: Tensor) -> Tensor:
    return _matmul(a, _transposed(b, bool(layer.integer(0))))


def Gemm(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> Tensor:
    """(a b + beta c) alpha, each of which may be a constant."""
    layer.refuse(11, 14, 18)
    m, n, k = (layer.integer(key) for key in (7, 8, 9))
    is_a, is_b, is_c = (bool(layer.integer(key)) for key in (4, 5, 6))
    trans_a, trans_b = bool(layer.integer(2)), bool(layer.integer(3))
    left = list(xs)

    def operand(is_constant: bool, shape: Sequence[int]) -> Tensor:
        if is_constant:
            return Tensor(builder, builder.const(weights.tagged(*shape)))
        if not left:
            raise EdgeKitError("E0401", f"Gemm with {len(xs)} blobs")
        return left.pop(0)

    a = operand(is_a, (k, m) if trans_a else (m, k))
    b = operand(is_b, (n, k) if trans_b else (k, n))
    y = _matmul(_transposed(a, trans_a), _transposed(b, trans_b))
    shapes = {0: (1,), 1: (m, 1), 2: (m, 1), 3: (m, n), 4: (1, n)}
    kind = layer.integer(10)
    if is_c and kind in shapes:
        y = y + operand(True, shapes[kind]) * layer.number(1, 1.0)
    elif left and not is_c:
        y = y + left.pop(0) * layer.number(1, 1.0)
    alpha = layer.number(0, 1.0)
    return y if alpha == 1 else y * alpha


def Pooling(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """Of one size of the image, of the whole of it, or to a size."""
    return _pooled(layer, x, 2)


def Pooling1D(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return _pooled(layer, x, 1)


def LSTM(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> tuple[Tensor, ...]:
    layer.refuse(8)
    if layer.integer(3, layer.integer(0)) != layer.integer(0):
        raise EdgeKitError("E0205", "LSTM with a projection is not supported")
    return _sequence(layer, weights, xs, (0, 2, 1, 3), 4)


def GRU(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> tuple[Tensor, ...]:
    layer.refuse(8)
    return _sequence(layer, weights, xs, (1, 0, 2), 4)


def RNN(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> tuple[Tensor, ...]:
    layer.refuse(8)
    return _sequence(layer, weights, xs, (0,), 1)


def _pairs(layer: _Layer, n: int, width: int, height: int, default: int) -> list[int]:
    """A setting of each dimension of an image, or of a line; that of the height is that of the width, where
    it is not stated."""
    w = layer.integer(width, default)
    return [layer.integer(height, w), w] if n == 2 else [w]


def _borders(layer: _Layer, n: int) -> list[int]:
    """Begins, then ends."""
    left = layer.integer(4)
    top = layer.integer(14, left)
    right, bottom = layer.integer(15, left), layer.integer(16, top)
    return [top, left, bottom, right] if n == 2 else [left, right]


def _convolution(layer: _Layer, weights: _Weights, x: Tensor, n: int, groups: int) -> Tensor:
    layer.refuse(8, 19)
    outputs, kernel = layer.integer(0), _pairs(layer, n, 1, 11, 0)
    holes, strides = _pairs(layer, n, 2, 12, 1), _pairs(layer, n, 3, 13, 1)
    inputs = x.shape[0] // max(groups, 1)
    if x.rank != n + 1 or layer.integer(6) != outputs * inputs * int(np.prod(kernel)):
        raise EdgeKitError("E0401", f"a convolution of {x.type} with {layer.integer(6)} weights")
    w = x.new(weights.tagged(outputs, inputs, *kernel))
    b = x.new(weights.plain(outputs)) if layer.integer(5) else None
    pads = _borders(layer, n)
    way = _WAYS.get(pads[0], "NOTSET")
    given = _pads_of(way, pads, x.shape[1:], kernel, strides, holes)
    if min(given) < 0:
        raise EdgeKitError("E0401", f"padding {pads}")
    images = x.reshape(1, *x.shape)
    if fill := layer.number(18):
        images = _pad(images, (0, 0, *given[:n]), (0, 0, *given[n:]), "constant", fill)
        given = (0,) * (2 * n)
    y = _conv(images, w, b, _Sliding(strides, holes, given), groups)
    return _activated(y.reshape(*y.shape[1:]), layer.integer(9), layer.numbers(10))


def _deconvolution(layer: _Layer, weights: _Weights, x: Tensor, groups: int) -> Tensor:
    layer.refuse(28)
    outputs, kernel = layer.integer(0), _pairs(layer, 2, 1, 11, 0)
    holes, strides = _pairs(layer, 2, 2, 12, 1), _pairs(layer, 2, 3, 13, 1)
    channels = x.shape[0]
    if x.rank != 3 or groups < 1 or outputs % groups or channels % groups:
        raise EdgeKitError("E0401", f"a transposed convolution of {x.type} in {groups} groups")
    # From [groups, outputs of each, inputs of each, ...] to [inputs, outputs of each, ...].
    w = x.new(weights.tagged(groups, outputs // groups, channels // groups, *kernel))
    w = w.transpose(0, 2, 1, 3, 4).reshape(channels, outputs // groups, *kernel)
    b = x.new(weights.plain(outputs)) if layer.integer(5) else None
    pads, size = _borders(layer, 2), [layer.integer(21, layer.integer(20)), layer.integer(20)]
    if pads[0] in _WAYS or any(size):
        raise EdgeKitError("E0205", "a transposed convolution to a given size is not supported")
    extra = layer.integer(18)
    y = _ConvTranspose(
        x.reshape(1, *x.shape),
        w,
        b,
        dilations=tuple(holes),
        group=groups,
        output_padding=(layer.integer(19, extra), extra),
        pads=tuple(pads),
        strides=tuple(strides),
    )
    return _activated(y.reshape(*y.shape[1:]), layer.integer(9), layer.numbers(10))


def _pooled(layer: _Layer, x: Tensor, n: int) -> Tensor:
    if x.rank != n + 1:
        raise EdgeKitError("E0401", f"a pooling of {x.type}")
    kind = {0: "max", 1: "mean"}.get(layer.integer(0))
    if kind is None:
        raise EdgeKitError("E0203", f"pooling of the kind {layer.integer(0)} is not supported")
    if layer.integer(4):
        return _reduce(x, kind, range(1, x.rank), keepdims=False)
    images = x.reshape(1, *x.shape)
    if layer.integer(7):
        wanted = _pairs(layer, n, 8, 18, 0)
        size = [m if w == _KEEP else w for w, m in zip(wanted, x.shape[1:], strict=True)]
        pools = (_torch.adaptive_avg_pool1d, _torch.adaptive_avg_pool2d)
        if kind == "max":
            pools = (_torch.adaptive_max_pool1d, _torch.adaptive_max_pool2d)
        y = pools[n - 1](images, output_size=size)
        return y.reshape(*y.shape[1:])
    kernel, strides = _pairs(layer, n, 1, 11, 0), _pairs(layer, n, 2, 12, 1)
    extent, steps = tuple(kernel), tuple(strides)
    pads = tuple(_pool_borders(layer, n, x.shape[1:], kernel, strides))
    if kind == "max":
        (y,) = _MaxPool(images, kernel_shape=extent, strides=steps, pads=pads)
    else:
        counts = layer.integer(6) or int(layer.integer(5) in _SAME)  # as ncnn computes it
        y = _AveragePool(images, kernel_shape=extent, strides=steps, pads=pads, count_include_pad=counts)
    return y.reshape(*y.shape[1:])


def _pool_borders(
    layer: _Layer, n: int, size: Sequence[int], kernel: Sequence[int], strides: Sequence[int]
) -> Sequence[int]:
    """Begins, then ends, where those also hold what full windows need beyond the end."""
    mode = layer.integer(5)
    if mode in _SAME:
        return _pads_of(_WAYS[-231 - mode], None, size, kernel, strides, (1,) * n)
    left = layer.integer(3)
    top = layer.integer(13, left)
    right, bottom = layer.integer(14, left), layer.integer(15, top)
    begins, ends = ([top, left], [bottom, right]) if n == 2 else ([left], [right])
    if mode == 0:
        steps = [m + a + z - k for m, a, z, k in zip(size, begins, ends, kernel, strict=True)]
        ends = [z + -step % s for z, step, s in zip(ends, steps, strides, strict=True)]
    elif mode != 1:
        raise EdgeKitError("E0203", f"padding of the kind {mode} is not supported")
    return [*begins, *ends]


def _sequence(
    layer: _Layer, weights: _Weights, xs: Sequence[Tensor], order: Sequence[int], biases: int
) -> tuple[Tensor, ...]:
    """x [T, I], and the states [directions, H] where they are blobs, too."""
    x, *states = xs
    size, direction, gates = layer.integer(0), layer.integer(2), len(order)
    count = 2 if direction == 2 else 1
    inputs = layer.integer(1) // max(count * size * gates, 1)
    if x.rank != 2 or x.shape[1] != inputs or direction not in (0, 1, 2):
        raise EdgeKitError("E0401", f"a recurrent layer over {x.type} with {layer.integer(1)} weights")
    w = weights.tagged(count, gates, size, inputs)[:, list(order)]
    b = weights.tagged(count, biases, size)
    r = weights.tagged(count, gates, size, size)[:, list(order)]
    zeros = [x.new(np.zeros((count, size), np.float32)) for _ in range(2 - len(states))]
    h, c = (*states, *zeros)[:2]
    results = []
    for i in range(count):
        own, inner = _biases(b[i], order)
        rows = _Recurrent(
            x=x.reshape(x.shape[0], 1, inputs),
            w=x.new(w[i].reshape(gates * size, inputs)),
            r=x.new(r[i].reshape(gates * size, size)),
            input_bias=x.new(own),
            state_bias=x.new(inner),
            h=_box(h, (i, 0), (1, size)),
            c=_box(c, (i, 0), (1, size)) if gates == 4 else None,
            reverse=direction == 1 or i == 1,
            activations=_functions(gates),
        )
        results.append(_run(rows, gates))
    y = _concat([y.reshape(y.shape[0], size) for y, _, _ in results], 1)
    last = [h for _, h, _ in results], [c for _, _, c in results if c is not None]
    return (y, *(_concat(found, 0) for found in last if found))[: len(layer.outputs)]


def _run(rows: _Recurrent, gates: int) -> _recurrent.Result:
    match gates:
        case 4:
            return _recurrent.lstm(rows, False)
        case 3:
            return _recurrent.gru(rows, True)
    return _recurrent.rnn(rows)


def _functions(gates: int) -> Sequence[_Activation]:
    sigmoid, tanh = _Activation("sigmoid", _onnx.Sigmoid), _Activation("tanh", _onnx.Tanh)
    return {4: (sigmoid, tanh, tanh), 3: (sigmoid, tanh), 1: (tanh,)}[gates]


def _biases(b: _Array, order: Sequence[int]) -> tuple[_Array, _Array]:
    """Those of the input and of the state. The last one of a GRU is of the state alone, in its new memory."""
    own = b[list(order)]
    inner = np.zeros_like(own)
    if len(order) == 3:
        inner[2] = b[3]
    return own.reshape(-1), inner.reshape(-1)

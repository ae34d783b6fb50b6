"""Random layers of every kind that networks are made of, as independent nodes of one graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np

from benchmarks.calibration_graph import MAX_PRODUCTS, Layers
from edgekit.core.ops.activations import Gelu, HardSwish, PRelu, Sigmoid, Swish, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Quant, Type

Family = Callable[[Layers], object]


def _pads(height: int, width: int, strides: tuple[int, int]) -> tuple[int, int, int, int]:
    """So that a result has the size of its image, or of what strides leave of it."""
    down, across = (
        height - 1 if strides[0] == 1 else height // 2,
        width - 1 if strides[1] == 1 else width // 2,
    )
    return down // 2, across // 2, down - down // 2, across - across // 2


def _convolution(net: Layers, k_h: int, k_w: int, channels: int, outputs: int, groups: int = 1) -> str:
    depth = channels // groups
    height, width = net.image(max(channels, outputs), k_h * k_w * depth * outputs, max(k_h, k_w))
    strides = net.pick((1, 1), (1, 1), (2, 2))
    pads = (0, 0, 0, 0) if k_h == k_w == 1 or net.rng.random() < 0.3 else _pads(k_h, k_w, strides)
    x, parameters = net.x(1, height, width, channels), net.weights(outputs, k_h, k_w, depth)
    lo, quant = net.pick(0.0, -np.inf), net.quant(net.kinds[2])
    if lo == 0 and net.kinds[2] is DType.S8 and net.rng.random() < 0.5:
        assert quant is not None
        quant = replace(quant, zero=(-128,))  # as quantizers have it: no number is lost to what is cut off
    op = Conv2d(strides, pads, groups=groups, dtype=net.dtype, lo=lo)
    return net.add(op, x, *parameters, quant=quant)


def convolution(net: Layers) -> None:
    k = net.pick(2, 3, 3, 3, 5)
    _convolution(net, k, net.pick(k, k, 1), net.channels(64), net.channels(64))


def pixels(net: Layers) -> None:
    _convolution(net, 1, 1, net.channels(), net.channels())


def in_groups(net: Layers) -> None:
    groups = net.pick(2, 4)
    _convolution(net, 3, 3, groups * net.channels(16), groups * net.channels(16), groups)


def convolution_of_blocks(net: Layers) -> None:
    _convolution(net, 3, 3, *(net.pick(16, 32, 48, 64) for _ in range(2)))


def first_convolution(net: Layers) -> None:
    """Of an image, whose channels are few: its lines are not whole words."""
    _convolution(net, 3, 3, net.pick(1, 3, 3), net.pick(8, 16, 24, 32))


def image_in_planes(net: Layers) -> None:
    """A first convolution as PyTorch's networks have it."""
    k, channels, outputs = net.pick(3, 3, 5, 7), net.pick(3, 3, 3, 4, 8), net.pick(8, 16, 24, 32)
    height, width = net.image(max(channels, outputs), k * k * channels * outputs, k)
    strides = net.pick((1, 1), (2, 2))
    image = net.builder.add(Transpose((0, 2, 3, 1)), net.x(1, channels, height, width))[0]
    op = Conv2d(strides, _pads(k, k, strides), dtype=net.dtype, lo=net.pick(0.0, -np.inf))
    net.add(op, image, *net.weights(outputs, k, k, channels))


def patches(net: Layers) -> None:
    """Of an image in planes, as transformers begin: side by side."""
    k, outputs = net.pick(2, 4, 8), net.pick(16, 24, 32, 64)
    height, width = net.image(3 * k * k, k * k * 3 * outputs)
    image = net.builder.add(Transpose((0, 2, 3, 1)), net.x(1, 3, k * height, k * width))[0]
    net.add(Conv2d((k, k), dtype=net.dtype), image, *net.weights(outputs, k, k, 3))


def large_convolution(net: Layers) -> None:
    """As many products as kernels for matrices are for."""
    outputs, op = net.pick(32, 48), Conv2d((1, 1), _pads(3, 3, (1, 1)), dtype=net.dtype)
    net.add(op, net.x(1, 12, 12, 32), *net.weights(outputs, 3, 3, 32))


def large_patches(net: Layers) -> None:
    image = net.builder.add(Transpose((0, 2, 3, 1)), net.x(1, 3, 80, 80))[0]
    net.add(Conv2d((8, 8), dtype=net.dtype), image, *net.weights(64, 8, 8, 3))


def residual(net: Layers) -> None:
    _residual(net, net.channels(64), net.pick(1, 3))


def residual_of_blocks(net: Layers) -> None:
    _residual(net, net.pick(16, 32, 48, 64), 3)


def _residual(net: Layers, channels: int, k: int) -> None:
    height, width = net.image(channels, k * k * channels * channels)
    stride = net.pick(1, 1, 2)
    y = net.builder.add(
        Conv2d((stride, stride), _pads(k, k, (stride, stride)), dtype=net.dtype, lo=net.pick(0.0, -np.inf)),
        net.x(1, stride * height, stride * width, channels),
        *net.weights(channels, k, k, channels),
        quant=net.quant(net.kinds[2]),
    )[0]
    net.add(Add(), net.x(1, height, width, channels), y, quant=net.quant(net.kinds[2], 0.08))


def depthwise(net: Layers) -> None:
    channels = max(net.channels(), 2)
    _convolution(net, 3, 3, channels, channels, channels)


def depthwise_of_any_size(net: Layers) -> None:
    channels = max(net.channels(), 2)
    _convolution(net, net.pick(1, 2, 4, 5, 7), net.pick(1, 2, 4, 5), channels, channels, channels)


def convolution_of_few_outputs(net: Layers) -> None:
    k = net.pick(1, 2, 3, 3, 5)
    _convolution(net, k, net.pick(k, k, 1), net.channels(64), net.count(1, 4))


def depthwise_of_few_channels(net: Layers) -> None:
    channels = net.pick(2, 4)
    _convolution(net, net.pick(2, 3, 3, 5), net.pick(1, 3, 3, 5), channels, channels, channels)


def convolution_of_3_by_3(net: Layers) -> None:
    _convolution(net, 3, 3, net.channels(64), net.channels(64))


def filters_of_one_channel(net: Layers) -> None:
    _convolution(net, net.count(1, 10), net.count(1, 5), 1, net.channels(64))


def _dense(net: Layers, rows: tuple[int, ...], inputs: int, outputs: int) -> None:
    op = Dense(dtype=net.dtype, lo=net.pick(0.0, -np.inf))
    net.add(op, net.x(*rows, inputs), *net.weights(outputs, inputs))


def dense(net: Layers) -> None:
    _dense(net, (net.pick(1, 1, 4),), net.channels(512), net.channels(256))


def dense_of_rows(net: Layers) -> None:
    """As transformers have them."""
    inputs, outputs, rows = net.channels(), net.channels(), net.count(2, 64)
    _dense(net, (1, min(rows, max(MAX_PRODUCTS // (inputs * outputs), 2))), inputs, outputs)


def dense_of_many(net: Layers) -> None:
    """Whose sums may leave 32 bits where inputs have 16."""
    _dense(net, (1,), net.count(300, 1000), net.count(8, 128))


def pruned_pixels(net: Layers) -> None:
    channels, outputs = net.pick(16, 32, 64, 128), net.pick(16, 32, 64, 128)
    size = net.image(max(channels, outputs), channels * outputs)
    w, bias = net.pruned_weights(outputs, 1, 1, channels)
    net.add(Conv2d(dtype=net.dtype, lo=net.pick(0.0, -np.inf)), net.x(1, *size, channels), w, bias)


def pruned_dense(net: Layers) -> None:
    inputs, outputs = net.pick(64, 128, 256, 512), net.pick(16, 64, 128)
    op = Dense(dtype=net.dtype, lo=net.pick(0.0, -np.inf))
    net.add(op, net.x(net.pick(1, 1, 4), inputs), *net.pruned_weights(outputs, inputs))


def transposed(net: Layers) -> None:
    channels, outputs, k = net.channels(32), net.channels(32), net.pick(2, 3)
    height, width = net.image(max(channels, outputs), k * k * channels * outputs)
    op = ConvTranspose2d((2 * height, 2 * width), (2, 2), dtype=net.dtype)
    net.add(op, net.x(1, height, width, channels), *net.weights(outputs, k, k, channels))


def pool(net: Layers) -> None:
    channels, k = net.channels(), net.pick(2, 3)
    height, width = net.image(channels, 1, k)
    pads = net.pick((0, 0, 0, 0), _pads(k, k, (2, 2)))
    op = Pool2d(net.pick("mean", "max"), (k, k), (2, 2), pads)
    finer = op.kind == "mean" and net.rng.random() < 0.3
    net.add(op, net.x(1, height, width, channels), quant=net.quant(net.kinds[2], 0.025 if finer else 0.05))


def mean_of_image(net: Layers) -> None:
    channels = net.channels()
    height, width = net.image(channels, 1)
    net.add(Pool2d("mean", (height, width), (height, width)), net.x(1, height, width, channels))


def mean(net: Layers) -> None:
    channels = net.pick(1, net.channels(), net.channels())
    net.add(Reduce("mean", (1, 2), keepdims=False), net.x(1, *net.image(channels, 1), channels))


def total(net: Layers) -> None:
    channels = net.channels()
    size = net.image(channels, 1)
    quant = net.quant(net.kinds[2], 0.05 * net.pick(1, size[0] * size[1]))
    net.add(Reduce("sum", (1, 2), keepdims=False), net.x(1, *size, channels), quant=quant)


def shape(net: Layers) -> tuple[int, ...]:
    channels = net.channels()
    return (1, *net.image(channels, 1), channels)


def pair(net: Layers) -> None:
    sizes = shape(net)
    quant = net.quant(net.kinds[2], float(net.rng.uniform(0.05, 0.1)))
    other = net.pick(0.05, float(net.rng.uniform(0.02, 0.05)))
    net.add(net.pick(Add(), Add(), Mul(), Sub()), net.x(*sizes), net.x(*sizes, scale=other), quant=quant)


def weighed(net: Layers) -> None:
    """Each channel by a number of its own, as squeeze and excitation have it."""
    sizes = shape(net)
    quant = net.quant(net.kinds[2], float(net.rng.uniform(0.05, 0.1)))
    net.add(net.pick(Add(), Mul(), Mul()), net.x(*sizes), net.x(1, 1, 1, sizes[3]), quant=quant)


def rows_by_one_number(net: Layers) -> None:
    rows = net.count(1, 8)
    net.add(net.pick(Add(), Mul()), net.x(rows, net.count(4, 500)), net.x(rows, 1))


def joined(net: Layers) -> None:
    _, *sizes, channels = shape(net)
    x = net.x(1, *sizes, channels)
    y = net.input(replace(net.builder.type(x), shape=(1, *sizes, net.channels())))
    net.add(Concat(3), x, y)


def moved(net: Layers) -> None:
    net.add(Transpose((0, 3, 1, 2)), net.x(*shape(net)))


def activation(net: Layers) -> None:
    for op in (Sigmoid(), Tanh(), HardSwish(), Gelu()):
        net.add(op, net.x(*shape(net)))
    net.add(Swish(), net.x(*shape(net)), net.builder.const(np.float32(1)))


def few_activations(net: Layers) -> None:
    """At the end of a network, or of a row of numbers."""
    for op in (Sigmoid(), Tanh()):
        net.add(op, net.x(1, net.count(1, 60)))


def clamp(net: Layers) -> None:
    limits = [net.builder.const(np.float32(limit)) for limit in (0.0, net.pick(6.0, np.inf))]
    net.add(Clip(), net.x(*shape(net)), *limits)


def softmax(net: Layers) -> None:
    quant = Quant((1 / 256,), (-128,), None, net.rounding) if net.kinds[2] is DType.S8 else None
    net.add(Softmax(), net.x(net.count(1, 8), net.count(2, 100)), quant=quant)


def larger(net: Layers) -> None:
    """By interpolation along one side."""
    _, *sizes, channels = shape(net)
    side, across = max(sizes[0], 2), max(sizes[1] // 2, 1)
    places = (np.arange(2 * side) - 0.5) / 2
    low = np.clip(np.floor(places), 0, side - 2).astype(np.int32)
    share = np.clip(places - low, 0, 1).astype(np.float32)
    index, w = np.stack([low, low + 1], 1), np.stack([1 - share, share], 1)
    axis, x = net.pick((1, (1, side, across, channels)), (2, (1, across, side, channels)))
    net.add(Resample(axis), net.x(*x), net.constant(index), net.constant(w))


def slopes(net: Layers) -> None:
    *sizes, channels = shape(net)
    numbers = net.builder.const(np.linspace(0.1, 0.5, channels, dtype=np.float32))
    net.add(PRelu(), net.x(*sizes, channels), numbers)


def norm(net: Layers) -> None:
    n = net.channels()
    numbers = [net.builder.const(np.linspace(0.5, 1, n, dtype=np.float32)) for _ in range(2)]
    net.add(LayerNorm(1e-5), net.x(net.count(1, 40), n), *numbers)


def product(net: Layers) -> None:
    heads, rows, inputs, columns = net.pick(1, 2, 4), net.count(1, 32), net.channels(64), net.channels(64)
    if net.rng.random() < 0.5:
        net.add(MatMul(), net.x(heads, rows, inputs), net.x(heads, inputs, columns))
    else:
        net.add(MatMul(perm_b=(0, 2, 1)), net.x(heads, rows, inputs), net.x(heads, columns, inputs))


def sign(net: Layers) -> None:
    x = net.x(*shape(net))
    quant = net.builder.type(x).quant
    assert quant is not None
    net.add(FlipSign(), x, quant=Quant(quant.scale, (quant.zero[0] + 128,), None, net.rounding))


def between_integers_and_floats(net: Layers) -> None:
    floats = net.input(Type(DType.F32, shape(net)))
    net.outputs.append(net.builder.add(Quantize(net.kinds[0]), floats, quant=net.quant(net.kinds[0]))[0])
    net.outputs.append(net.builder.one(Dequantize(), net.x(*shape(net))))


def between_scales(net: Layers) -> None:
    other = DType.S16 if net.kinds[0] is DType.S8 else DType.S8
    kind = other if net.rounding == "E" and net.rng.random() < 0.5 else net.kinds[0]
    net.add(Requantize(kind), net.x(*shape(net)), quant=net.quant(kind, 0.1))


def recurrent(net: Layers) -> None:
    for op in (Lstm(), Gru(), Gru(reset_after=False), Rnn()):
        _recurrent(net, op)


def recurrent_with_relu(net: Layers) -> None:
    _recurrent(net, Rnn(activation="relu"))


def _recurrent(net: Layers, op: Lstm | Gru | Rnn) -> None:
    gates, size, steps = {Lstm: 4, Gru: 3, Rnn: 1}[type(op)], net.channels(160), net.count(1, 16)
    narrow, wide = net.quant(net.kinds[0], 1 / 128), Quant((2.0**-13,), (0,)) if net.is_integer else None
    states = {Lstm: (narrow, wide), Gru: (wide,), Rnn: (narrow,)}[type(op)]
    kinds = {narrow: DType.S8, wide: DType.S16, None: DType.F32}
    sums = Type(kinds[wide], (steps, 1, gates * size), Quant((2.0**-12,), (0,)) if net.is_integer else None)
    operands = [net.input(Type(kinds[quant], (1, size), quant)) for quant in states]
    operands += [net.builder.const(np.linspace(-1, 1, size, dtype=np.float32))] if isinstance(op, Gru) else []
    results = (narrow, *states) if net.is_integer else None
    weights, _ = net.weights(gates * size, size)
    net.outputs.append(net.builder.add(op, net.input(sums), weights, *operands, quant=results)[0])


def whose_weights_are(kind: str, family: Family) -> Family:
    @wraps(family)
    def drawn(net: Layers) -> None:
        net.weights_are = kind
        family(net)
        net.weights_are = ""

    return drawn


LAYERS: tuple[Family, ...] = (convolution, pixels, in_groups, depthwise, depthwise_of_any_size)
LAYERS += (filters_of_one_channel, dense, dense_of_rows, dense_of_many, transposed, image_in_planes, patches)
OTHERS: tuple[Family, ...] = (pool, mean_of_image, mean, pair, joined, moved, activation, softmax, slopes)
OTHERS += (norm, product, residual, total, rows_by_one_number, larger, weighed, few_activations)
FLOATS: tuple[Family, ...] = (clamp,)
INTEGERS: tuple[Family, ...] = (sign, between_integers_and_floats, between_scales)
# For which there are special kernels of floats.
SPECIAL: tuple[Family, ...] = (convolution_of_3_by_3, convolution_of_3_by_3, convolution_of_few_outputs)
SPECIAL += (depthwise_of_few_channels, depthwise, product)
INT16: tuple[Family, ...] = (joined, moved, pool, pair)
COMMON: tuple[Family, ...] = (pixels, pixels, dense, convolution, depthwise)
COMMON += (convolution_of_blocks, residual_of_blocks, first_convolution, first_convolution)
PRUNED: tuple[Family, ...] = (pruned_pixels, pruned_dense)
# Which few networks have, and without which some kernels were of no layer.
RARE: tuple[Family, ...] = (large_convolution, large_patches)
RARE += tuple(whose_weights_are("least", f) for f in (convolution, dense, depthwise, depthwise_of_any_size))
RARE += tuple(whose_weights_are(kind, dense) for kind in ("alike", "light"))

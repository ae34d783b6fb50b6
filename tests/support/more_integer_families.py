"""More families of quantized operators: attention, normalization, resizing, reductions, extremes, slopes."""

import numpy as np
from support.integer_bench import Bench, Family

from edgekit.core.ops import Op
from edgekit.core.ops.activations import PRelu
from edgekit.core.ops.arithmetic import Max, Min
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.logic import Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru, Lstm, Recurrent, Rnn
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, DType, Quant


def _reals(b: Bench, *shape: int, spread: float = 1.0) -> Array:
    return b.choices.generator().normal(0, spread, shape).astype(np.float32)


def transposed_convolutions(b: Bench) -> None:
    of_x, of_w, of_y = b.formats()
    groups = b.pick((1, 1, 2, 3))
    channels, outputs = (b.size(5), b.size(4)) if groups > 1 else (b.width(), b.width())
    x = b.input(b.pick((1, 1, 2)), b.size(4), b.size(4), groups * channels, dtype=of_x)
    w, bias = b.weights(of_w, groups * outputs, b.size(4), b.size(4), channels)
    size, strides, pads, dilations = ((b.size(n), b.size(n)) for n in (9, 3, 3, 2))
    before = (pads[0] - 2, pads[1] - 2)  # less than 0: cells in front of all windows
    op = ConvTranspose2d(
        size, strides, before, dilations, groups, *b.limits(), None if of_y is of_x else of_y
    )
    b.result(op, x, w, bias, quant=b.quant(dtype=of_y))


def phases(b: Bench) -> None:
    """Transposed convolutions that are convolutions, of as many outputs as strides have phases."""
    channels, outputs = b.width(), b.width()
    x = b.input(b.pick((1, 1, 2)), b.size(6), b.size(6), channels)
    windows, strides = (b.size(5), b.size(5)), (b.size(3), b.size(3))
    w, bias = b.weights(DType.S8, outputs, *windows, channels)
    pads = (b.size(windows[0]) - 1, b.size(windows[1]) - 1)
    op = ConvTranspose2d((b.size(20), b.size(20)), strides, pads, (1, 1), 1, *b.limits())
    b.result(op, x, w, bias, quant=b.quant())


def matrices(b: Bench) -> None:
    """Products of two computed matrices, in any order of their dimensions."""
    batch, inner = (b.size(3), b.size(2)), b.pick((b.width(), b.size(200)))
    other = tuple(1 if b.is_rare() else n for n in batch)
    operands, perms = [], []
    for matrix in ((*batch, b.width(), inner), (*other, inner, b.width())):
        perm = b.pick(((), (0, 1, 3, 2), (0, 2, 1, 3), (2, 0, 3, 1)))
        shape = [matrix[perm.index(i)] for i in range(4)] if perm else matrix
        operands.append(b.input(*shape))
        perms.append(perm)
    b.result(MatMul(*perms), *operands, quant=b.quant())


def wide_matrices(b: Bench) -> None:
    """Products of more rows than a tile has, of columns that fill vectors or not, dense and turned."""
    rows, inner, columns = 4 + b.size(40), b.pick((b.width(), b.size(300))), b.pick((b.width(), b.size(150)))
    turned = b.pick(((), (0, 2, 1)))
    right = (columns, inner) if turned else (inner, columns)
    b.result(MatMul((), turned), b.input(2, rows, inner), b.input(b.size(2), *right), quant=b.quant())


def dilated_convolutions(b: Bench) -> None:
    """Of one group and of several, with strides that dilations divide, and others."""
    groups, kernel, dilations = b.size(3), b.pick(((1, 3), (3, 3), (2, 5))), (b.size(2), 1 + b.size(4))
    height, width = (1 + (n - 1) * dilation for n, dilation in zip(kernel, dilations, strict=True))
    x = b.input(b.size(2), height + b.size(4), width + b.size(20), groups * b.size(20))
    w, bias = b.weights(DType.S8, groups * b.size(40), *kernel, b.builder.type(x).shape[3] // groups)
    pads = b.size(2) - 1, b.size(6) - 1, b.size(2) - 1, b.size(6) - 1
    op = Conv2d((b.size(2), b.size(4)), pads, dilations, groups, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def batches_of_matrices(b: Bench) -> None:
    """Products whose right matrices differ by batch: they are no dense layers."""
    rows, inner, columns = b.size(20), b.width(), b.width()
    b.result(MatMul(), b.input(2, rows, inner), b.input(2, inner, columns), quant=b.quant())


def softmaxes_by_rule_e(b: Bench) -> None:
    """The others have the arithmetic of TFLite."""
    x = b.input(b.size(3), b.pick((b.width(), b.size(300))))
    b.result(Softmax(), x, quant=Quant((1 / 256,), (-128,), None, "E"))


def norms(b: Bench) -> None:
    n = b.pick((b.width(), b.size(300), b.size(300), b.size(3000)))
    x = b.input(b.size(3), n)
    scale, bias = (b.constant(_reals(b, n, spread=2.0)) for _ in range(2))
    epsilon = b.pick((0.0, 1e-12, 1e-5, 1.0))
    if b.is_rare(2):
        b.result(LayerNorm(epsilon), x, scale, bias, quant=b.quant())
    else:
        b.result(RmsNorm(epsilon), x, scale, quant=b.quant())


def filters(b: Bench) -> None:
    """Interpolation, whose weights add up to 1, and filters of any weights."""
    axis = b.size(3) - 1
    shape = b.size(3), b.size(4), b.width()
    taps, results = b.size(4), b.size(9)
    index = b.choices.generator().integers(0, shape[axis], (results, taps)).astype(np.int32)
    weights = _reals(b, results, taps, spread=b.pick((0.01, 1.0, 30.0)))
    if b.is_rare(2):
        weights = np.abs(weights) + np.float32(0.01)
        weights /= weights.sum(axis=1, keepdims=True)
    b.result(Resample(axis), b.input(*shape), b.constant(index), b.constant(weights), quant=b.quant())


def recurrent_layers(b: Bench) -> None:
    """Rows of weights end anywhere within a word, gates are open, shut and between."""
    op = b.pick((Lstm(), Lstm(True), Gru(), Gru(True), Gru(reset_after=False), Rnn(), Rnn(activation="relu")))
    b.outputs.append(recurrent_layer(b, op, b.width())[0])


def recurrent_layer(b: Bench, op: Recurrent, size: int) -> tuple[str, ...]:
    """A layer of so many units: its results of all steps, and the last states."""
    gates, batch = {Lstm: 4, Gru: 3, Rnn: 1}[type(op)], b.size(2)
    narrow, wide = b.quant(-8, -5), Quant((2.0 ** (b.size(6) - 16),), (0,), None, b.rounding)
    sums = b.input(b.size(4), batch, gates * size, dtype=DType.S16, quant=b.quant(-5, 0, DType.S16))
    weights, _ = b.weights(DType.S8, gates * size, size)
    states = {Lstm: (narrow, wide), Gru: (wide,), Rnn: (narrow,)}[type(op)]
    dtypes = {narrow: DType.S8, wide: DType.S16}
    operands = [b.input(batch, size, dtype=dtypes[quant], quant=quant) for quant in states]
    operands += [b.constant(_reals(b, size))] if isinstance(op, Gru) else []
    return b.builder.add(op, sums, weights, *operands, quant=[narrow, *states])


def reductions(b: Bench) -> None:
    shape = [b.size(5) for _ in range(b.size(4))] + [b.width()]
    axes = tuple(i for i in range(len(shape)) if b.is_rare(2))
    kind = b.pick(("sum", "sum", "mean", "mean", "max", "min"))
    x = b.input(*shape)
    quant = b.quant() if kind in ("sum", "mean") else b.builder.type(x).quant
    b.result(Reduce(kind, axes, b.is_rare(2)), x, quant=quant)


def border_means(b: Bench) -> None:
    """At the border of an image, fewer cells count."""
    b.rounding = "E"
    kernel, dilations = (b.size(4), b.size(4)), (b.size(2), b.size(2))
    pads = tuple(b.choices.integer(0, kernel[i % 2] - 1) for i in range(4))
    counted = tuple(b.choices.integer(0, n) for n in pads)
    x = b.input(
        b.size(2), *((k - 1) * d + b.size(4) for k, d in zip(kernel, dilations, strict=True)), b.width()
    )
    op = Pool2d("mean", kernel, (b.size(2), b.size(2)), pads, dilations, counted)  # type: ignore[arg-type]  # four
    b.result(op, x, quant=b.quant())


def extremes(b: Bench) -> None:
    """Elements of tensors that share a scale, by size or by a condition; or of one tensor beside a number."""
    shape = tuple(b.size() for _ in range(b.size(3)))
    other = tuple(1 if b.is_rare() else n for n in shape)
    quant = b.quant()
    x = b.input(*shape, quant=quant)
    op: Op = b.pick((Max(), Min(), Where()))
    if isinstance(op, Where):
        condition = b.constant(b.choices.generator().integers(0, 2, other).astype(np.bool_))
        b.result(op, condition, x, b.input(*other, quant=quant), quant=quant)
    elif b.is_rare():
        b.result(op, x, b.constant(np.array(b.choices.real(-3, 3), np.float32)), quant=b.quant())
    else:
        b.result(op, x, b.input(*other, quant=quant), quant=quant)


def slopes(b: Bench) -> None:
    shape = b.size(3), b.size(4), b.width()
    slope = _reals(b, *(n for n in shape[b.size(3) - 1 :]), spread=b.pick((0.01, 1.0, 9.0)))
    b.result(PRelu(), b.input(*shape, dtype=DType.S8), b.constant(slope), quant=b.quant())


MORE: tuple[Family, ...] = (
    transposed_convolutions, matrices, norms, filters, reductions, border_means, extremes, slopes
)  # fmt: skip

"""Families of quantized layers at the edges of what kernels distinguish, where random ones seldom are."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from support.blocks import with_zeros
from support.integer_bench import Bench
from support.more_integer_families import recurrent_layer

from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Quant, Type

ROUNDINGS = ("E", "tfl", "tflm")


def one(scale: float, zero: int = 0, rounding: str = "E") -> Quant:
    return Quant((scale,), (zero,), None, rounding)


def far_results(b: Bench) -> None:
    """Sums that leave 30 bits at the scale of their results, in both directions."""
    for rounding, groups in product(ROUNDINGS, (0, 1, 8)):
        b.rounding = rounding
        bias = b.constant(b.choices.generator().integers(-(2**26), 2**26, 8).astype(np.int32))
        image = (2, 8) if groups == 0 else (1, 4, 4, 8)
        weights = (8, 8) if groups == 0 else (8, 3, 3, 8 // groups)
        w = b.constant(b.integers(weights, DType.S8, -127), one(0.97, 0, rounding))
        x = b.input(*image, quant=one(1.0, 3, rounding))
        op = Dense() if groups == 0 else Conv2d(groups=groups)
        b.result(op, x, w, bias, quant=one(2.0**-10, -5, rounding))


def exact_products(b: Bench) -> None:
    """Layers of weights with many zeros, whose scales are powers of two: nothing is left to round."""
    for rounding in ROUNDINGS:
        data = with_zeros(b.integers((16, 128), DType.S8, -127) & -8, (16, 4), 0.8, b.choices.generator())
        w = b.constant(data, one(0.25, 0, rounding))
        bias = b.constant(np.zeros(16, np.int32))
        for rows in (2, 5, 17):
            x = b.input(rows, 128, quant=one(0.5, 0, rounding))
            b.result(Dense(), x, w, bias, quant=one(4.0, 0, rounding))


def long_equal_rows(b: Bench) -> None:
    """Of so many equal numbers that their exponentials add up to the largest sums; of one; and far apart."""
    for rounding, (n, scale) in product(ROUNDINGS, ((1, 0.05), (300, 0.05), (700, 0.05), (20, 1.0))):
        x = b.input(2, n, quant=one(scale, 0, rounding))
        b.inputs[x][0] = 7
        b.result(Softmax(), x, quant=one(1 / 256, -128, rounding))
        if rounding != "E":
            b.result(Softmax(wide=True), x, quant=one(2.0**-16, -(2**15), rounding))


def powers_of_two(b: Bench) -> None:
    """Rows whose variance is a power of two, also the least."""
    ones, zeros = (b.constant(np.full(16, value, np.float32)) for value in (1, 0))
    for low, high in ((-4, 4), (-1, 1), (0, 0), (-64, 64)):
        x = b.input(3, 16, quant=one(1.0))
        b.inputs[x][:] = np.resize(np.array([low, high], np.int8), (3, 16))
        b.result(LayerNorm(0.0 if high else 1.0), x, ones, zeros, quant=one(0.05))
        b.result(RmsNorm(0.0 if high else 1.0), x, ones, quant=one(0.05))


def loud_means(b: Bench) -> None:
    """Means on a scale so much finer that few of them fit, and on the same one."""
    for channels, scale, counted in product((5, 16), (2.0**-24, 1.0, 0.7), (0, 1)):
        x = b.input(1, 4, 4, channels, quant=one(1.0, 1))
        pads = (1, 1, 1, 1)
        op = Pool2d("mean", (2, 2), (1, 1), pads, counted=(counted,) * 4)  # type: ignore[arg-type]  # four
        b.result(op, x, quant=one(scale, -3))


def loud_filters(b: Bench) -> None:
    """Filters whose weights are far beyond the scale of the result."""
    for axis, weight in product((0, 1, 2), (0.25, 1.0, 2.0**20)):
        weights = np.array([[weight, -weight], [weight, 0.0], [0.0, -3 * weight]], np.float32)
        index = np.array([[0, 1], [1, 0], [1, 1]], np.int32)
        x = b.input(3, 3, 9, quant=one(1.0, 2))
        b.result(Resample(axis), x, b.constant(index), b.constant(weights), quant=one(1.0, 1))


def long_norms(b: Bench) -> None:
    """Rows as loud and as long as rows are, whose sums of squares have the most bits."""
    n = 2048
    scale, bias = (b.constant(b.choices.generator().normal(size=n).astype(np.float32)) for _ in range(2))
    x = b.input(2, n, quant=one(1.0, 127))
    b.inputs[x][:] = np.resize(np.array([-128, 127], np.int8), (2, n))
    b.result(LayerNorm(1e-5), x, scale, bias, quant=one(0.05))
    b.result(RmsNorm(1e-5), x, scale, quant=one(0.05))


def bounded_above(b: Bench) -> None:
    """Results of 16 bits that have a highest number and no lowest one, and the other way round."""
    for bounds, groups in product(((-np.inf, 9.0), (0.0, np.inf)), (0, 1, 8)):
        image, depth = ((3, 8), 8) if groups == 0 else ((1, 5, 5, 8), 8 // groups)
        w, bias = b.weights(DType.S8, 8, *(() if groups == 0 else (3, 3)), depth)
        op = Dense(*bounds) if groups == 0 else Conv2d((1, 1), (0, 1, 0, 1), (1, 1), groups, *bounds)
        x = b.input(*image)
        b.result(replace(op, dtype=DType.S16), x, w, bias, quant=b.quant(0, 6, DType.S16))


def windows_beside_images(b: Bench) -> None:
    """Of images smaller than windows, in borders that are wider: some windows see nothing else."""
    for channels, (top, left, bottom, right), stride in product(
        (3, 8, 16), ((4, 4, 4, 4), (0, 0, 4, 4), (4, 4, 0, 0), (0, 4, 0, 4)), (1, 9)
    ):
        image, kernel = (1, 3, 3, channels), (3, 3)
        for groups in (1, channels):
            w, bias = b.weights(DType.S8, channels, *kernel, channels // groups)
            op = Conv2d((stride, stride), (top, left, bottom, right), (1, 1), groups)
            b.result(op, b.input(*image), w, bias, quant=b.quant(0, 6))


def long_lines(b: Bench) -> None:
    """Of more pixels and numbers than kernels hold at a time."""
    for channels, groups, kernel, zeros in (
        (8, 1, 3, 0.0),
        (16, 1, 1, 0.8),
        (64, 1, 1, 0.8),
        (16, 16, 3, 0.0),
    ):
        weights = (16, kernel, kernel, channels // groups)
        w, bias = b.weights(DType.S8, *weights)
        data = with_zeros(b.integers(weights, DType.S8, -127), (16, 4), zeros, b.choices.generator())
        w = b.constant(data, b.builder.type(w).quant)
        b.result(Conv2d(groups=groups), b.input(1, kernel + 1, 150, channels), w, bias, quant=b.quant(0, 6))
    for length, outputs in product((1, 2, 3, 5, 8, 9, 11, 12, 13, 16, 17, 25, 50), (8, 40)):
        w, bias = b.weights(DType.S8, outputs, 1, 1, 8)
        b.result(Conv2d(), b.input(1, 1, length, 8), w, bias, quant=b.quant(0, 6))
    for rows, outputs in product((1, 4, 17), (3, 64, 300)):
        w, bias = b.weights(DType.S8, outputs, 40)
        b.result(Dense(), b.input(rows, 40), w, bias, quant=b.quant(0, 6))
    for op, image, kernel in ((Dense(), (3, 8), ()), (Conv2d(), (1, 1, 3, 8), (1, 1))):
        w, bias = b.weights(DType.S8, 256, *kernel, 8)  # three rows make no four parts: their outputs do
        b.result(op, b.input(*image), w, bias, quant=b.quant(0, 6))
    for other in ((3, 700), (3, 1), (1, 700)):
        b.result(Mul(), b.input(3, 700), b.input(*other), quant=b.quant(-8, 4))


def high_windows(b: Bench) -> None:
    """Depthwise windows of all heights, at strides that lead to rows that were read before, or do not."""
    for height, width, stride, channels in product((1, 4, 6, 9), (3,), (1, 2, 3), (5, 16)):
        w, bias = b.weights(DType.S8, channels, height, width, 1)
        op = Conv2d((stride, 1), (height - 1, 1, 0, 0), (1, 1), channels)
        b.result(op, b.input(1, 9, 7, channels), w, bias, quant=b.quant(0, 6))


def planes(b: Bench) -> None:
    """Images in planes of channels and on their side, with borders and without; planes of one pixel."""
    for channels, pad, outputs in product((1, 3, 9), (0, 1, 3), (5, 16)):
        if outputs == 5:
            (x,) = b.builder.add(Transpose((0, 2, 3, 1)), b.input(1, channels, 4, 5))
        else:
            (x,) = b.builder.add(Transpose((0, 2, 1, 3)), b.input(1, 5, 4, channels))
        w, bias = b.weights(DType.S8, outputs, 3, 3, channels)
        b.result(Conv2d((1, 1), (pad,) * 4), x, w, bias, quant=b.quant(0, 6))  # type: ignore[arg-type]  # four
    for pad in (0, 1):
        (x,) = b.builder.add(Transpose((0, 2, 3, 1)), b.input(1, 3, 1, 1))
        w, bias = b.weights(DType.S8, 5, 1 + 2 * pad, 1 + 2 * pad, 3)
        b.result(Conv2d((1, 1), (pad,) * 4), x, w, bias, quant=b.quant(0, 6))  # type: ignore[arg-type]  # four


# Strides, and padding below and at the right: as many results as pixels in both directions, or not.
POINTS = (((1, 1), (0, 0)), ((1, 2), (0, 1)), ((2, 1), (0, 0)), ((1, 1), (1, 0)), ((1, 1), (0, 1)))


def points(b: Bench) -> None:
    """Windows of one pixel that read whole images as they lie, or nearly so; also in planes."""
    for (strides, (bottom, right)), channels in product(POINTS, (8, 11)):
        w, bias = b.weights(DType.S8, 12, 1, 1, channels)
        op = Conv2d(strides, (0, 0, bottom, right))
        b.result(op, b.input(1, 4, 4, channels), w, bias, quant=b.quant(0, 6))
    (x,) = b.builder.add(Transpose((0, 2, 3, 1)), b.input(1, 8, 4, 4))
    w, bias = b.weights(DType.S8, 12, 1, 1, 8)
    b.result(Conv2d(), x, w, bias, quant=b.quant(0, 6))


def matrices(b: Bench) -> None:
    """Products of matrices of whole vectors and with rests, as they lie and turned."""
    for rows, inner, columns in ((4, 16, 16), (3, 8, 8), (5, 9, 24), (33, 13, 70), (4, 3, 3), (2, 9, 5)):
        b.result(MatMul(), b.input(1, rows, inner), b.input(1, inner, columns), quant=b.quant(0, 4))
        op = MatMul((), (0, 2, 1))
        b.result(op, b.input(1, rows, inner), b.input(1, columns, inner), quant=b.quant(0, 4))
    for perm, other in (((), (3, 7, 9)), ((0, 2, 1), (3, 9, 7))):  # three matrices, cut in four by rows
        b.result(MatMul((), perm), b.input(3, 130, 7), b.input(*other), quant=b.quant(0, 4))
    b.result(Mul(), b.input(2, 32), b.input(2, 32), quant=b.quant(-8, 4))


def tables(b: Bench) -> None:
    """Functions of one number, of some, of whole vectors and of more."""
    for n in (1, 15, 16, 64, 70, 200):
        b.result(Tanh(), b.input(1, n), quant=b.quant())


def widths(b: Bench) -> None:
    """Of whole vectors alone, and with rests of any size."""
    for channels in (1, 2, 3, 5, 6, 7, 8, 16, 32):
        x = b.input(1, 4, 3, channels)
        b.result(Pool2d("max", (2, 2)), x, quant=b.builder.type(x).quant)
        b.result(Dequantize(), b.input(1, channels))


def states(b: Bench) -> None:
    """Recurrent layers whose cells have all the numbers of bits before the point."""
    b.rounding = "E"
    for op, units in ((Lstm(), 7), (Gru(), 5), (Lstm(reverse=True), 28), (Rnn(), 200)):
        for _ in range(4 if units < 100 else 1):
            b.outputs += recurrent_layer(b, op, units)


def sums_by_the_rule(b: Bench, scales: Sequence[float] = (2.0, 0.3, 0.02)) -> None:
    """Sums at scales near and far, of rows with vectors and rests."""
    for op, first, other in product((Add(), Sub()), scales, scales):
        shape, zero = (2, b.size(40)), b.size(9)
        operands = [b.input(*shape, quant=one(scale, zero, "tfl")) for scale in (first, other)]
        b.result(op, *operands, quant=one(3.0, -zero, "tfl"))
    near = [b.input(2, 20, quant=one(scale, 1, "tfl")) for scale in (2.0, 0.3)]
    b.result(Add(), *near, quant=one(5.5e-6, 0, "tfl"))  # hardly coarser than the sums of TFLite's rule


def far_beside_ties(b: Bench) -> None:
    """Results that leave 30 bits, beside one exactly between two integers."""
    for rounding, rows in product(ROUNDINGS, (1, 7)):
        weights = Quant((1.0, 2.0**-11, 1.0), (0,) * 3, 0, rounding)
        w = b.constant(np.array([[1] * 8, [0] * 8, [-1] * 8], np.int8), weights)
        bias = b.constant(np.array([2**25, 3, -(2**25)], np.int32))
        b.result(
            Dense(), b.input(rows, 8, quant=one(1.0, 3, rounding)), w, bias, quant=one(2.0**-10, 0, rounding)
        )


def hardly_scaled(b: Bench) -> None:
    """Sums whose scales are just below those of their results, down to a quarter."""
    for rounding, rows in product(ROUNDINGS, (1, 3)):
        scales = (0.24, 0.26, 0.49, 0.5, 0.51, 0.74, 0.97)
        w = b.constant(b.integers((7, 9), DType.S8, -127) % 3 - 1, Quant(scales, (0,) * 7, 0, rounding))
        x, bias = b.input(rows, 9, quant=one(1.0, 3, rounding)), b.constant(np.arange(7, dtype=np.int32) - 3)
        b.result(Dense(), x, w, bias, quant=one(1.0, -5, rounding))


def whole_rows(b: Bench) -> None:
    """Sums of rows of whole vectors, by the rule of numbers times a factor."""
    b.rounding = "E"
    for shape in ((2, 64), (1, 128)):
        b.result(Add(), b.input(*shape), b.input(*shape), quant=b.quant(-3, 3))


def few_pixels(b: Bench) -> None:
    """Pixels one by one, less than kernels take at a time, with weights of which most blocks are zero."""
    for width in (2, 5, 9, 17):
        w, bias = b.weights(DType.S8, 16, 1, 1, 64)
        data = with_zeros(b.integers((16, 1, 1, 64), DType.S8, -127), (16, 4), 0.8, b.choices.generator())
        w = b.constant(data, b.builder.type(w).quant)
        b.result(Conv2d(), b.input(1, 1, width, 64), w, bias, quant=b.quant(0, 6))


def bounded(b: Bench) -> None:
    """Results of 8 bits with bounds on both sides, inside of what their type holds."""
    for groups in (0, 1, 8, 16):
        image, depth = ((3, 16), 16) if groups == 0 else ((1, 5, 5, 16), 16 // groups)
        w, bias = b.weights(DType.S8, 16, *(() if groups == 0 else (3, 3)), depth)
        op = Dense(-1.0, 1.0) if groups == 0 else Conv2d((1, 1), (1, 1, 1, 1), (1, 1), groups, -1.0, 1.0)
        b.result(op, b.input(*image), w, bias, quant=one(1 / 64, 3, b.rounding))


def rests_of_words(b: Bench) -> None:
    """Results of 16 bits whose number leaves any rest, of one row and of several."""
    b.rounding = "E"
    for rows, outputs in product((1, 3, 6), (5, 6, 7)):
        w, bias = b.weights(DType.S8, outputs, 8)
        b.result(Dense(dtype=DType.S16), b.input(rows, 8), w, bias, quant=b.quant(0, 6, DType.S16))


def lines_of_whole_vectors(b: Bench) -> None:
    """Lines with two whole vectors of outputs for AVX-512; sums of rows of whole vectors by TFLite's rule."""
    for length in (1, 3, 5, 8, 12, 13, 24, 25):
        w, bias = b.weights(DType.S8, 32, 1, 1, 8)
        b.result(Conv2d(), b.input(1, 1, length, 8), w, bias, quant=b.quant(0, 6))
    near = [b.input(2, 64, quant=one(scale, 1, "tfl")) for scale in (2.0, 0.3)]
    b.result(Add(), *near, quant=one(3.0, -1, "tfl"))


def few_outputs(b: Bench) -> None:
    """That share vectors with those of the next pixel, on lines of each length that has tiles of its own."""
    for b.rounding, outputs, columns in product(ROUNDINGS, (8, 2), (1, 5, 9, 32)):
        kernel, channels = b.pick(((1, 1), (3, 3), (2, 5))), b.size(9)
        x = b.input(1, kernel[0] + 1, columns + kernel[1] - 1, channels)
        w, bias = b.weights(DType.S8, outputs, *kernel, channels)
        b.result(Conv2d(), x, w, bias, quant=b.quant(0, 6))


def many_dimensions(b: Bench) -> None:
    """More dimensions than kernels loop over, no two of which are one."""
    shape, other = (2, 1, 2, 1, 3, 1, 3), (1, 2, 1, 2, 1, 2, 3)
    for rounding, op in product(("E", "tfl"), (Add(), Mul())):
        quant = one(0.3, 5, rounding)
        b.result(op, b.input(*shape, quant=quant), b.input(*other, quant=quant), quant=one(0.7, -3, rounding))
    for kind, axes in product(("sum", "mean"), ((0, 2, 4), (1, 3))):
        b.result(Reduce(kind, axes), b.input(2, 3, 4, 2, 3, quant=one(0.3, 5)), quant=one(2.0, -3))


def rests_of_vectors(b: Bench) -> None:
    """Numbers one by one, windows and rows of whole vectors, up to four of AVX-512, and of what is left."""
    for b.rounding, rest in product(("E", "tfl"), (0, 19)):
        image = (1, 4, 5, 16 + rest)
        b.result(Mul(), b.input(2, 64 + rest), b.input(2, 64 + rest), quant=b.quant(-6, 2))
        b.result(Mul(), b.input(2, 64 + rest), b.input(2, 1), quant=b.quant(-6, 2))
        x = b.input(*image)
        if b.rounding == "E":
            b.result(Pool2d("mean", (2, 3)), x, quant=b.quant())
            scale, bias = (b.constant(np.linspace(-1, 2, 64 + rest).astype(np.float32)) for _ in range(2))
            b.result(LayerNorm(1e-5), b.input(2, 64 + rest), scale, bias, quant=one(0.05))
        else:
            b.result(Pool2d("mean", (3, 3), (1, 2), (1, 1, 1, 1)), x, quant=b.builder.type(x).quant)
        quant = b.quant(-6, 0)
        reals = np.arange(64 + rest, dtype=np.float32) * quant.scale[0] / 2 - 8
        reals[5:13] = (np.inf, -np.inf, np.nan, -0.0, 3e38, -3e38, 0.49999997, 1e-40)
        name = f"x{len(b.inputs)}"
        b.builder.input(name, Type(DType.F32, reals.shape))
        b.inputs[name] = reals
        b.result(Quantize(DType.S8), name, quant=quant)


FAMILIES = (
    far_results,
    exact_products,
    long_equal_rows,
    powers_of_two,
    loud_means,
    loud_filters,
    long_norms,
    bounded_above,
    windows_beside_images,
    long_lines,
    high_windows,
    planes,
    points,
    matrices,
    tables,
    widths,
    states,
    sums_by_the_rule,
    far_beside_ties,
    whole_rows,
    few_pixels,
    bounded,
    rests_of_words,
    lines_of_whole_vectors,
    few_outputs,
    hardly_scaled,
    many_dimensions,
    rests_of_vectors,
)

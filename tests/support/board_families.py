"""Families of int8 operators as kernels of microcontrollers see them: residual blocks, long rows."""

import numpy as np
from support import integer_families as families
from support import more_integer_families as more
from support.integer_bench import Bench, Family

from edgekit.core.ops.activations import PRelu
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import DType, Type


def residuals(b: Bench) -> None:
    """A block of a residual network: what two convolutions make of an image, and the result of the first."""
    channels = b.pick((16, b.size(20)))
    x = b.input(1, b.size(7), b.size(7), channels)
    made: list[str] = []
    for _ in range(2):
        w, bias = b.weights(DType.S8, channels, 3, 3, channels)
        op = Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 1, *b.limits())
        made += b.builder.add(op, made[-1] if made else x, w, bias, quant=b.quant(0, 6))
    b.result(Add(), *b.pick((made, made[::-1])), quant=b.quant(0, 6))


def long_sums(b: Bench) -> None:
    """Of all elements, of which there are more than a word."""
    shape = (b.size(3), b.size(40))
    b.result(Add(), b.input(*shape), b.input(*shape), quant=b.quant())


def long_products(b: Bench) -> None:
    """Of all elements, or by a number for each channel."""
    shape = (b.size(3), b.size(3), b.size(40))
    operands = [b.input(*shape), b.input(*b.pick((shape, (1, 1, shape[2]))))]
    b.result(Mul(), *b.pick((operands, operands[::-1])), quant=b.quant(-8, 4))


def rows_and_numbers(b: Bench) -> None:
    """Sums and products of rows and one number each, or one for all."""
    rows, columns = b.size(4), b.size(40)
    operands = [b.input(rows, columns), b.input(b.pick((1, rows)), 1)]
    op = b.pick((Add(), Sub(), Mul(), Mul()))
    operands = operands if isinstance(op, Sub) else b.pick((operands, operands[::-1]))
    b.result(op, *operands, quant=b.quant(-8, 4))


def wide_numbers(b: Bench) -> None:
    """int16 to int8 and to reals, and back from there."""
    x = b.input(b.size(2), b.size(40), dtype=DType.S16)
    if b.is_rare(3):
        b.result(Dequantize(), x)
    elif b.is_rare(2):
        b.result(Requantize(DType.S8), x, quant=b.quant(-8, 8))
    else:
        steps_to_integers(b, DType.S16)


def long_slopes(b: Bench) -> None:
    """PRelu with a slope for each number of a row, or one for each row."""
    shape = 1 + b.size(2), 1 + b.size(150)  # one slope alone would be a table
    slopes = b.choices.generator().normal(0, b.pick((0.01, 1.0, 9.0)), b.pick(((shape[1],), (shape[0], 1))))
    x = b.input(*shape)
    b.result(PRelu(), x, b.constant(slopes.astype(np.float32)), quant=b.quant())


def long_totals(b: Bench) -> None:
    """Sums and means over more cells than 16 bits have room for, some of them as low as can be."""
    channels = b.size(20)
    x = b.input(b.size(2), b.size(3), b.pick((255, 256, 257, 600)), channels)
    if b.is_rare(2):
        b.inputs[x][:] = -128
    b.result(Reduce(b.pick(("sum", "mean")), b.pick(((2,), (0, 2), (1, 2))), False), x, quant=b.quant())


def borders(b: Bench) -> None:
    """Means of windows that differ in how many cells count."""
    b.rounding = "E"
    height, width = (b.size(4), b.size(4)), (b.size(5) + 1, b.size(5) + 1)
    pads = tuple(b.size(k) - 1 for k in (*width, *width))
    counted = tuple(b.pick((0, p)) for p in pads)
    x = b.input(b.size(2), width[0] + height[0], width[1] + height[1], b.width())
    op = Pool2d("mean", width, (b.size(3), b.size(3)), pads, counted=counted)  # type: ignore[arg-type]
    b.result(op, x, quant=b.quant())


def steps_to_int8(b: Bench) -> None:
    steps_to_integers(b, DType.S8)


def steps_to_integers(b: Bench, dtype: DType) -> None:
    """Of reals on, beside and far from the middle between two integers."""
    quant, numbers = b.quant(dtype=dtype), b.choices.generator()
    halves = numbers.integers(-600, 600, b.size(40)) / 2 * quant.scale[0]
    far = numbers.choice(np.array([np.inf, -np.inf, np.nan, -np.nan, 3e38, -3e38, 0.0, 1e9, -1e9]), 9)
    name = f"x{len(b.inputs)}"
    beside = np.nextafter(halves, 9), np.nextafter(halves, -9)
    b.inputs[name] = np.concatenate([halves, *beside, far]).astype(np.float32)
    b.builder.input(name, Type(DType.F32, b.inputs[name].shape))
    b.result(Quantize(dtype), name, quant=quant)


def other_formats(b: Bench) -> None:
    """Weights of four bits, and layers with numbers of 16 bits at either end."""
    b.rounding = "E"
    of_x, of_w, of_y = b.pick(
        (
            (DType.S8, DType.S4, DType.S8),
            (DType.S16, DType.S8, DType.S16),
            (DType.S16, DType.S8, DType.S8),
            (DType.S8, DType.S8, DType.S16),
        )
    )
    channels, outputs, different = b.size(20), b.size(20), None if of_y is of_x else of_y
    if b.is_rare(3):
        x = b.input(b.size(3), 4 * channels, dtype=of_x)
        w, bias = b.weights(of_w, outputs, 4 * channels)
        b.result(Dense(*b.limits(), different), x, w, bias, quant=b.quant(-3, 6, of_y))
        return
    kernel, groups, depth = b.pick(((1, 1), (1, 1), (3, 3), (1, 4))), b.pick((1, 1, 2)), 4 * channels
    if of_x is DType.S8 and of_y is DType.S16 and b.is_rare(2):
        groups, outputs, depth = channels, 1, 1
    x = b.input(1, kernel[0] + b.size(4), kernel[1] + b.size(4), groups * depth, dtype=of_x)
    w, bias = b.weights(of_w, groups * outputs, *kernel, depth)
    pads = b.pick(((0, 0, 0, 0), (1, 0, 0, 1)))
    op = Conv2d((b.size(2), b.size(2)), pads, (1, 1), groups, *b.limits(), different)
    b.result(op, x, w, bias, quant=b.quant(-3, 6, of_y))


def enlarged(b: Bench) -> None:
    """Transposed convolutions whose windows cover what their strides leave between them."""
    groups, strides = b.pick((1, 1, 2)), (b.size(3), b.size(3))
    channels, outputs = b.pick((b.width(), b.size(9))), b.pick((8, b.size(20)))
    kernel = [stride + b.size(3) - 1 for stride in strides]
    x = b.input(b.pick((1, 1, 2)), b.size(4), b.size(4), groups * channels)
    w, bias = b.weights(DType.S8, groups * outputs, *kernel, channels)
    before = (b.size(4) - 2, b.size(4) - 2)  # less than 0: cells in front of all windows
    op = ConvTranspose2d((b.size(9), b.size(9)), strides, before, (1, 1), groups, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def wide_channels(b: Bench) -> None:
    """Depthwise convolutions of int16, whose last channels end within a vector."""
    b.rounding = "E"
    of_y, width = b.pick((DType.S16, DType.S8)), b.pick((1, 7, 8, 9, 24))
    kernel, dilations = (
        b.pick(((3, 3), (2, 2), (1, 5), (4, 1))),
        b.pick(((1, 1), (1, 1), (b.size(2), b.size(2)))),
    )
    height, columns = ((k - 1) * d + b.size(4) for k, d in zip(kernel, dilations, strict=True))
    x = b.input(b.size(2), height, columns, width, dtype=DType.S16)
    w, bias = b.weights(DType.S8, width, *kernel, 1)
    top, left, bottom, right = (b.size(3) - 1 for _ in range(4))
    different = None if of_y is DType.S16 else of_y
    pads = (top, left, bottom, right)
    op = Conv2d((b.size(2), b.size(2)), pads, dilations, width, *b.limits(), different)
    b.result(op, x, w, bias, quant=b.quant(2, 8, of_y))


ELEMENTWISE: tuple[Family, ...] = (
    long_sums,
    families.sums,
    long_products,
    families.products,
    families.means,
    borders,
    families.averages,
    families.maxima,
    families.functions,
    steps_to_int8,
    rows_and_numbers,
    wide_numbers,
    long_slopes,
    long_totals,
    families.reals,
)

MORE: tuple[Family, ...] = (
    more.matrices,
    families.attentions,
    families.softmaxes,
    more.norms,
    more.filters,
    more.transposed_convolutions,
    enlarged,
    wide_channels,
)

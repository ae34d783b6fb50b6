"""Families of quantized operators, with any shapes and attributes: layers, elementwise, pooling, movement."""

import numpy as np
from support.integer_bench import Bench, Family

from edgekit.core.ops.activations import Gelu, HardSwish, PRelu, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Quant, Type


def _convolution(b: Bench, groups: int, channels: int, outputs: int, *, first: bool = False) -> None:
    """Over an image that is a little larger than the window; channels first: read with strides."""
    of_x, of_w, of_y = b.formats()
    kernel, dilations = (b.size(3), b.size(3)), (b.size(2), b.size(2))
    pads = tuple(b.size(3) - 1 for _ in range(4))
    height, width = ((k - 1) * d + b.size(4) for k, d in zip(kernel, dilations, strict=True))
    batch = b.pick((1, 1, 2))
    if first:
        image = b.input(batch, groups * channels, height, width, dtype=of_x)
        (x,) = b.builder.add(Transpose((0, 2, 3, 1)), image)
    else:
        x = b.input(batch, height, width, groups * channels, dtype=of_x)
    w, bias = b.weights(of_w, groups * outputs, *kernel, channels)
    strides = b.size(2), b.size(2)
    op = Conv2d(strides, pads, dilations, groups, *b.limits(), None if of_y is of_x else of_y)  # type: ignore[arg-type]  # four pads
    b.result(op, x, w, bias, quant=b.quant(dtype=of_y))


def convolutions(b: Bench) -> None:
    groups = b.pick((1, 1, 1, 2, 3))
    _convolution(b, groups, b.size(5) if groups > 1 else b.width(), b.size(17) if groups > 1 else b.width())


def grouped_convolutions(b: Bench) -> None:
    """Of whole vectors of outputs a group."""
    groups, kernel = 1 + b.size(3), b.pick(((1, 1), (3, 3), (1, 4)))
    x = b.input(b.size(2), kernel[0] + b.size(4), kernel[1] + b.size(6), groups * b.size(9))
    depth = b.builder.type(x).shape[3] // groups
    w, bias = b.weights(DType.S8, 4 * groups * b.size(6), *kernel, depth)
    pads = (b.size(2) - 1, b.size(3) - 1, b.size(2) - 1, b.size(3) - 1)
    b.result(
        Conv2d((b.size(2), b.size(2)), pads, (1, 1), groups, *b.limits()), x, w, bias, quant=b.quant(0, 6)
    )


def depthwise_convolutions(b: Bench) -> None:
    _convolution(b, b.width(), 1, b.pick((1, 1, 2, 3)))


def depthwise_runs(b: Bench) -> None:
    """Of whole vectors of channels, by windows that share cells."""
    channels, kernel = 4 * b.size(6), b.pick(((3, 3), (1, 4), (2, 3)))
    x = b.input(b.size(2), kernel[0] + b.size(4), kernel[1] + b.size(9), channels)
    w, bias = b.weights(DType.S8, channels, *kernel, 1)
    pads = (b.size(2) - 1, b.size(3) - 1, b.size(2) - 1, b.size(3) - 1)
    strides = b.size(2), b.size(2)
    b.result(Conv2d(strides, pads, (1, 1), channels, *b.limits()), x, w, bias, quant=b.quant(0, 6))


def channels_first_convolutions(b: Bench) -> None:
    _convolution(b, 1, b.size(16), b.width(), first=True)


def dense_layers(b: Bench) -> None:
    of_x, of_w, of_y = b.formats()
    inputs = b.pick((b.width(), b.size(300)))
    x = b.input(*(b.size(3) for _ in range(b.size(3) - 1)), inputs, dtype=of_x)
    w, bias = b.weights(of_w, b.width(), inputs)
    op = Dense(*b.limits(), None if of_y is of_x else of_y)
    b.result(op, x, w, bias, quant=b.quant(dtype=of_y))


def sums(b: Bench) -> None:
    shape = tuple(b.size() for _ in range(b.size(4)))
    other = tuple(1 if b.is_rare() else n for n in shape)
    operands = [b.input(*shape), b.input(*other)]
    if b.is_rare():
        operands.reverse()
    b.result(b.pick((Add(), Sub())), *operands, quant=b.quant())


def products(b: Bench) -> None:
    shape = tuple(b.size() for _ in range(b.size(4)))
    other = tuple(1 if b.is_rare() else n for n in shape)
    b.result(Mul(), b.input(*shape), b.input(*other), quant=b.quant(-8, 4))


def long_rows(b: Bench) -> None:
    """Sums and products of rows longer than a vector, number by number or all with the same one."""
    shape = (b.size(3), b.size(60))
    op = b.pick((Add(), Sub(), Mul()))
    other = b.input(*((*shape[:1], 1) if b.is_rare(3) else shape))
    b.result(op, b.input(*shape), other, quant=b.quant(-8, 4) if isinstance(op, Mul) else b.quant())


def attentions(b: Bench) -> None:
    """Products of computed matrices as they lie: of rows and columns, or of rows and rows."""
    batch, rows, inner, columns = b.size(3), b.size(9), b.size(40), b.size(40)
    if b.is_rare(2):
        op, other = MatMul((), (0, 2, 1)), b.input(batch, columns, inner)
    else:
        op, other = MatMul(), b.input(batch, inner, columns)
    b.result(op, b.input(batch, rows, inner), other, quant=b.quant(0, 4))


def means(b: Bench) -> None:
    """All windows have as many cells: EdgeKit's rule wants that."""
    b.rounding = "E"
    kernel = b.size(7), b.size(7)
    x = b.input(b.size(2), kernel[0] + b.size(4) - 1, kernel[1] + b.size(4) - 1, b.width())
    pad = b.size(2) - 1
    pads = (pad, 0, pad, 0)  # that count
    b.result(Pool2d("mean", kernel, (b.size(3), b.size(3)), pads, counted=pads), x, quant=b.quant())


def averages(b: Bench) -> None:
    """Over what lies inside of the image, in the scale of the operand: TFLite's rule."""
    b.rounding = b.pick(("tfl", "tflm"))
    kernel = b.size(5), b.size(5)
    x = b.input(b.size(2), kernel[0] + b.size(4) - 1, kernel[1] + b.size(4) - 1, b.width())
    pads = tuple(b.size(k) - 1 for k in (*kernel, *kernel))
    op = Pool2d("mean", kernel, (b.size(3), b.size(3)), pads)  # type: ignore[arg-type]  # four pads
    b.result(op, x, quant=b.builder.type(x).quant)


def maxima(b: Bench) -> None:
    kernel, dilations = (b.size(4), b.size(4)), (b.size(2), b.size(2))
    height, width = ((k - 1) * d + b.size(4) for k, d in zip(kernel, dilations, strict=True))
    x = b.input(b.size(2), height, width, b.width(), dtype=b.pick((DType.S8, DType.S16)))
    pads = tuple(b.size(k) - 1 for k in (*kernel, *kernel))
    op = Pool2d("max", kernel, (b.size(2), b.size(2)), pads, dilations)  # type: ignore[arg-type]  # four pads
    b.result(op, x, quant=b.builder.type(x).quant)


def functions(b: Bench) -> None:
    op = b.pick((Sigmoid(), Tanh(), Gelu(), HardSwish(), PRelu()))
    slopes = [b.constant(np.array(b.choices.real(-1, 1), np.float32)) for _ in range(op.arity - 1)]
    b.result(op, b.input(b.size(), b.width()), *slopes, quant=b.quant(-9, 2))


def clamps(b: Bench) -> None:
    low = b.choices.real(-3, 0)
    ends = [b.constant(np.array(v, np.float32)) for v in (low, b.choices.real(low, 3))]
    x = b.input(b.size(), b.width())
    b.result(Clip(), x, *ends, quant=b.pick((b.builder.type(x).quant, b.quant())))


def softmaxes(b: Bench) -> None:
    rows = [b.size(3) for _ in range(b.size(2) - 1)]
    x = b.input(*rows, b.pick((b.width(), b.size(300))))
    wide = b.rounding != "E" and b.pick((False, True))
    steps = 1 << 16 if wide else 1 << 8
    b.result(Softmax(wide), x, quant=Quant((1 / steps,), (-steps // 2,), None, b.rounding))


def flips_of_the_sign(b: Bench) -> None:
    of_x = b.pick((DType.S8, DType.U8))
    x = b.input(b.size(), b.width(), dtype=of_x)
    known = b.builder.type(x).quant
    assert known is not None
    zero = known.zero[0] + (128 if of_x is DType.S8 else -128)
    b.result(FlipSign(), x, quant=Quant(known.scale, (zero,), None, b.rounding))


NARROW = (DType.S8, DType.S8, DType.U8, DType.S16)


def other_scales(b: Bench) -> None:
    of_y = b.pick(NARROW)
    b.result(Requantize(of_y), b.input(b.size(), b.width(), dtype=b.pick(NARROW)), quant=b.quant(dtype=of_y))


def reals(b: Bench) -> None:
    """From integers to floats and back."""
    dtype = b.pick(NARROW)
    if b.is_rare(2):
        b.result(Dequantize(), b.input(b.size(), b.width(), dtype=dtype))
        return
    quant = b.quant(dtype=dtype)
    halves = b.choices.generator().integers(-600, 600, (b.size(), b.width())) / 2 * quant.scale[0]
    special = np.array([np.inf, -np.inf, 0.0, -0.0, 0.5, 3e38, np.nan])
    data = b.pick(
        (halves, b.choices.generator().normal(0, 30, halves.shape), np.resize(special, halves.shape))
    )
    name = f"x{len(b.inputs)}"
    b.builder.input(name, Type(DType.F32, data.shape))
    b.inputs[name] = data.astype(np.float32)
    b.result(Quantize(dtype), name, quant=quant)


def movements(b: Bench) -> None:
    shape = b.size(), b.size(), b.width()
    quant, kind = b.quant(), b.size(5)
    x = b.input(*shape, quant=quant)
    if kind == 1:
        b.result(Transpose(b.pick(((2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)))), x)
    elif kind == 2:
        b.result(Concat(1), x, b.input(shape[0], b.size(), shape[2], quant=quant))
    elif kind == 3:
        value = b.constant(np.array(quant.zero[0], np.int8), quant)
        b.result(Pad((b.size(2) - 1, 0, 2), (0, b.size(), 1)), x, value)
    elif kind == 4:
        first = b.size(shape[2]) - 1
        b.result(Slice((0, 0, first), (1, 1, b.size(2)), (*shape[:2], (shape[2] - first + 1) // 2)), x)
    else:
        b.result(Expand((b.size(3), *shape)), x)


FAMILIES: tuple[Family, ...] = (
    convolutions, depthwise_convolutions, channels_first_convolutions, dense_layers, sums, products, means,
    averages, maxima, functions, clamps, softmaxes, other_scales, reals, flips_of_the_sign, movements,
)  # fmt: skip

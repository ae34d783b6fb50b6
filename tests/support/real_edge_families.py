"""Families of layers of floats at the edges of what kernels distinguish, where random ones seldom are."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from support.edge_families import POINTS
from support.integer_bench import Bench

from edgekit.core.ops._linear import Linear
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type

REALS = (DType.F32, DType.BF16, DType.F16)


def real_layer(b: Bench, op: Linear, image: Sequence[int], weights: Sequence[int], dtype: DType) -> None:
    numbers, x = b.choices.generator(), f"x{len(b.inputs)}"
    b.inputs[x] = numbers.normal(size=image).astype(np.float32)
    b.builder.input(x, Type(DType.F32, tuple(image)))
    w = b.constant(numbers.normal(size=weights).astype(dtype.numpy))
    b.result(op, x, w, b.constant(numbers.normal(size=weights[0]).astype(np.float32)))


def real_windows(b: Bench) -> None:
    """Convolutions of floats, with weights of all types: small images in wide borders."""
    for dtype, (top, left, bottom, right), stride in product(
        REALS, ((4, 4, 4, 4), (0, 0, 4, 4), (1, 1, 0, 1)), (1, 9)
    ):
        for depth, outputs, groups in (
            (1, 8, 1),
            (3, 2, 1),
            (3, 17, 1),
            (8, 24, 1),
            (4, 13, 2),
            (1, 1, 3),
            (1, 1, 16),
        ):
            op = Conv2d((stride, stride), (top, left, bottom, right), (1, 1), groups, -1.0, 1.0)
            real_layer(b, op, (1, 3, 3, depth * groups), (outputs * groups, 3, 3, depth), dtype)


def real_lines(b: Bench) -> None:
    """Lines of all lengths and vectors of all widths."""
    for dtype, width in product(REALS, range(1, 10)):
        real_layer(b, Conv2d(), (1, 2, width, 5), (4 * width - 3, 1, 1, 5), dtype)
        real_layer(b, Conv2d(groups=2 * width), (1, 3, width + 2, 2 * width), (2 * width, 3, 3, 1), dtype)
        real_layer(b, Dense(-1.0, 1.0), (width, 7), (5 * width - 4, 7), dtype)


def real_shapes(b: Bench) -> None:
    """Of whole vectors and tiles, tall and wide; with a bound above alone."""
    for bounds, outputs in product(((-np.inf, np.inf), (-np.inf, 0.5)), (2, 16, 24, 64)):
        lo, hi = bounds
        real_layer(b, Conv2d(lo=lo, hi=hi), (1, 7, 9, 8), (outputs, 1, 1, 8), DType.F32)
        real_layer(b, Conv2d(lo=lo, hi=hi), (1, 14, 12, 8), (outputs, 3, 3, 8), DType.F32)
        real_layer(b, Conv2d((2, 2), lo=lo, hi=hi), (1, 41, 9, 12), (outputs, 3, 3, 12), DType.F32)
        real_layer(b, Dense(lo, hi), (9, 16), (2 * outputs, 16), DType.F32)
    for dtype in REALS:  # three rows make no four parts: their outputs do
        real_layer(b, Dense(), (3, 8), (256, 8), dtype)
        real_layer(b, Conv2d(), (1, 1, 3, 8), (256, 1, 1, 8), dtype)
    for dtype, (height, width), channels in product(REALS[:2], ((2, 8), (3, 3), (1, 7)), (1, 2, 8, 40)):
        for stride, pad in ((1, 0), (1, width), (2, width)):
            op = Conv2d((1, stride), (1, pad, 1, pad), (1, 1), channels)
            real_layer(b, op, (1, 9, 12, channels), (channels, height, width, 1), dtype)
    for strides, (bottom, right) in POINTS:
        real_layer(b, Conv2d(strides, (0, 0, bottom, right)), (1, 4, 3, 8), (12, 1, 1, 8), DType.F32)


def real_images(b: Bench) -> None:
    """So high, of so many channels, that kernels go through them in bands; in planes of channels."""
    for channels in (16, 24, 32, 64):
        op = Conv2d((1, 1), (1, 1, 1, 1), (1, 1), channels)
        real_layer(b, op, (1, 60, 20, channels), (channels, 3, 3, 1), DType.F32)
    for channels, outputs, pad, size in ((2, 3, 0, 3), (8, 16, 3, 3), (2, 16, 3, 3), (8, 12, 0, 1)):
        image = b.choices.generator().normal(size=(1, channels, 5, 7)).astype(np.float32)
        name = b.builder.input(f"x{len(b.inputs)}", Type(DType.F32, image.shape))
        b.inputs[name] = image
        (x,) = b.builder.add(Transpose((0, 2, 3, 1)), name)
        w = b.constant(b.choices.generator().normal(size=(outputs, size, size, channels)).astype(np.float32))
        b.result(Conv2d((1, 1), (pad,) * 4), x, w, b.constant(np.zeros(outputs, np.float32)))  # type: ignore[arg-type]  # four


def real_rests(b: Bench) -> None:
    """Windows wider than images beside one border; two and three pixels in a row; long rows, low images."""
    for channels, outputs, groups in ((2, 3, 1), (2, 2, 2), (4, 4, 4)):
        op = Conv2d((1, 1), (0, 1, 0, 4), (1, 1), groups)
        real_layer(b, op, (1, 2, 2, channels), (outputs, 1, 5, channels // groups), DType.F32)
    for width, stride, channels, dtype in product((2, 3), (1, 2), (8, 16), REALS[:2]):
        op = Conv2d((stride, stride), groups=channels)
        real_layer(b, op, (1, 5, stride * (width - 1) + 3, channels), (channels, 3, 3, 1), dtype)
    real_layer(b, Conv2d(), (1, 1, 3, 8), (16, 1, 1, 8), DType.F32)
    real_layer(b, Conv2d(groups=64), (1, 3, 100, 64), (64, 3, 3, 1), DType.F32)
    real_layer(b, Conv2d((2, 2)), (1, 5, 33, 32), (8, 3, 3, 32), DType.F32)
    for width in (6, 24):  # windows apart, no border, lines of rows and of columns
        real_layer(b, Conv2d((4, 4)), (1, 62, width, 3), (16, 4, 4, 3), DType.F32)


def real_high_windows(b: Bench) -> None:
    """Windows that nowhere lie inside of the image, in one direction or both; borders at the sides alone."""
    for kernel, pads in (((5, 5), (0, 0, 4, 4)), ((1, 5), (0, 0, 0, 4)), ((1, 3), (0, 2, 0, 2))):
        real_layer(b, Conv2d((1, 1), pads), (1, 2, 2, 3), (17, *kernel, 3), DType.F32)


def real_products(b: Bench) -> None:
    """Products of matrices, as they lie: of whole tiles and with rests, of rows and of columns; and two that
    are cut in three by rows."""
    for rows, inner, columns in ((1, 5, 3), (4, 16, 16), (9, 24, 65), (13, 7, 40), (2, 3, 1), (26, 17, 70)):
        for perm, other in (((0, 1, 2), (2, inner, columns)), ((0, 2, 1), (2, columns, inner))):
            factors = []
            for shape in ((2, rows, inner), other):
                factors.append(b.builder.input(f"x{len(b.inputs)}", Type(DType.F32, shape)))
                b.inputs[factors[-1]] = b.choices.generator().normal(size=shape).astype(np.float32)
            b.result(MatMul((), perm), *factors)


def real_attention(b: Bench) -> None:
    """Attention to a cache: rows of whole vectors and not, heads that share keys, a few keys and many."""
    numbers = b.choices.generator()
    for heads, shared, keys, size, values in (
        (2, 2, 5, 3, 2),
        (4, 2, 40, 16, 33),
        (6, 1, 17, 24, 64),
        (3, 3, 33, 1, 1),
    ):
        given = [
            numbers.normal(size=shape).astype(np.float32)
            for shape in ((1, heads, 3, size), (1, shared, keys, size), (1, shared, keys, values))
        ]
        given.append(np.array([keys - 1, 0, keys // 2], np.int32))
        names = [f"x{len(b.inputs) + i}" for i in range(4)]
        for name, data in zip(names, given, strict=True):
            b.inputs[name] = data
            b.builder.input(name, Type(DType.of(data.dtype), data.shape))
        b.result(CachedAttention(size**-0.5), *names)


REAL_FAMILIES = (
    *(real_windows, real_lines, real_shapes, real_images, real_rests),
    *(real_high_windows, real_products, real_attention),
)

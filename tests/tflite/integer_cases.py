"""Models of one operator on quantized tensors with random shapes, scales and zero points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from support.tflite_writer import Operator, Tensor, constant

Rng = np.random.Generator
Make = Callable[[Rng], Operator]


def scale(rng: Rng, low: float = 0.002, high: float = 0.3) -> tuple[float]:
    return (float(np.float32(np.exp(rng.uniform(np.log(low), np.log(high))))),)


def zero(rng: Rng) -> tuple[int]:
    drawn = rng.integers(-128, 128, 2).tolist()
    return (int(rng.choice([-128, 127, 0, *drawn])),)


def s8(rng: Rng, shape: Sequence[int], **quant: Any) -> Tensor:
    quant = {"scale": scale(rng), "zero": zero(rng)} | quant
    return Tensor(tuple(shape), "int8", **quant)


def s16(rng: Rng, shape: Sequence[int]) -> Tensor:
    return Tensor(tuple(shape), "int16", scale=scale(rng, 1e-5, 1e-3), zero=(0,))


def like(x: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    return Tensor(tuple(x.shape if shape is None else shape), x.dtype, scale=x.scale, zero=x.zero)


def sizes(rng: Rng, rank: int, most: int = 6) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(1, most + 1, rank))


def weights(rng: Rng, shape: Sequence[int], axis: int | None) -> Tensor:
    """int8 around zero, with one scale a channel or one for all."""
    count = 1 if axis is None else shape[axis]
    scales = [scale(rng, 0.001, 0.05)[0] for _ in range(count)]
    data = rng.integers(-127, 128, shape)
    return constant(data, "int8", scale=scales, zero=[0] * count, axis=axis or 0)


def bias(rng: Rng, x: Tensor, w: Tensor, dtype: str = "int32") -> Tensor:
    scales = [float(np.float32(x.scale[0]) * np.float32(s)) for s in w.scale]
    return constant(
        rng.integers(-3000, 3000, w.shape[w.axis] if len(w.scale) > 1 else w.shape[0]),
        dtype,
        scale=scales,
        zero=[0] * len(scales),
    )


def fitting(rng: Rng, x: Tensor, w: Tensor, terms: int) -> tuple[float]:
    """A result scale for which some, but not all, results saturate."""
    spread = 74 * 74 * np.sqrt(terms) * x.scale[0] * float(np.mean(w.scale))
    return (float(np.float32(spread / 64 * rng.uniform(0.5, 4))),)


# Layers


def _window(rng: Rng) -> dict[str, int]:
    return {
        "padding": int(rng.integers(2)),
        "strideW": int(rng.integers(1, 3)),
        "strideH": int(rng.integers(1, 3)),
        "fusedActivationFunction": int(rng.integers(4)),
    }


def _out(n: int, k: int, stride: int, dilation: int, padding: int) -> int:
    return -(-n // stride) if padding == 0 else (n - (k - 1) * dilation - 1) // stride + 1


def _out_shape(x: Tensor, k_h: int, k_w: int, o: dict[str, int], outputs: int) -> tuple[int, ...]:
    return (
        x.shape[0],
        _out(x.shape[1], k_h, o["strideH"], o.get("dilationHFactor", 1), o["padding"]),
        _out(x.shape[2], k_w, o["strideW"], o.get("dilationWFactor", 1), o["padding"]),
        outputs,
    )


def conv_2d(rng: Rng, wide: bool = False) -> Operator:
    c, outputs = (int(n) for n in rng.integers(1, 6, 2))
    k_h, k_w = (int(n) for n in rng.integers(1, 4, 2))
    groups = 1 if rng.random() < 0.8 else c
    shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(5, 9, 2)), c)
    x = s16(rng, shape) if wide else s8(rng, shape)
    w = weights(rng, (outputs * groups, k_h, k_w, c // groups), (0, None)[rng.integers(2)])
    o = _window(rng) | {
        "dilationWFactor": int(rng.integers(1, 3)),
        "dilationHFactor": int(rng.integers(1, 3)),
    }
    y = _out_shape(x, k_h, k_w, o, w.shape[0])
    out = _result(rng, x, w, y, k_h * k_w * c // groups)
    inputs = [x, w, bias(rng, x, w, "int64" if wide else "int32")]
    return Operator("CONV_2D", inputs, [out], "Conv2DOptions", o)


def _result(rng: Rng, x: Tensor, w: Tensor, shape: Sequence[int], terms: int) -> Tensor:
    if x.dtype == "int16":
        s = float(np.float32(fitting(rng, x, w, terms)[0] / 2))
        return Tensor(tuple(shape), "int16", scale=(s,), zero=(0,))
    return s8(rng, shape, scale=fitting(rng, x, w, terms))


def depthwise_conv_2d(rng: Rng, wide: bool = False) -> Operator:
    c, multiplier = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    k_h, k_w = (int(n) for n in rng.integers(1, 4, 2))
    shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(5, 9, 2)), c)
    x = s16(rng, shape) if wide else s8(rng, shape)
    w = weights(rng, (1, k_h, k_w, c * multiplier), 3)
    o = _window(rng) | {
        "dilationWFactor": int(rng.integers(1, 3)),
        "dilationHFactor": int(rng.integers(1, 3)),
        "depthMultiplier": multiplier,
    }
    y = _out_shape(x, k_h, k_w, o, c * multiplier)
    b = constant(
        rng.integers(-3000, 3000, c * multiplier),
        "int64" if wide else "int32",
        scale=[x.scale[0] * s for s in w.scale],
        zero=[0] * len(w.scale),
    )
    return Operator(
        "DEPTHWISE_CONV_2D", [x, w, b], [_result(rng, x, w, y, k_h * k_w)], "DepthwiseConv2DOptions", o
    )


def fully_connected(rng: Rng, wide: bool = False) -> Operator:
    shape = sizes(rng, int(rng.integers(2, 4)), 7)
    x = s16(rng, shape) if wide else s8(rng, shape)
    w = weights(rng, (int(rng.integers(1, 20)), shape[-1]), (0, None)[rng.integers(2)])
    keeps = bool(rng.integers(2))
    rows = int(np.prod(shape[:-1]))
    y = (*shape[:-1], w.shape[0]) if keeps else (rows, w.shape[0])
    b = bias(rng, x, w, "int64" if wide else "int32") if rng.random() < 0.8 else None
    o = {"keepNumDims": keeps, "fusedActivationFunction": int(rng.integers(4))}
    return Operator(
        "FULLY_CONNECTED", [x, w, b], [_result(rng, x, w, y, shape[-1])], "FullyConnectedOptions", o
    )


def halves(wide: bool) -> Make:
    """Biases in steps of half a unit of the result: sums that lie between two integers of it."""

    def make(rng: Rng) -> Operator:
        count, shift = 256, int(rng.integers(1, 9))
        kind, name = (s16, "int16") if wide else (s8, "int8")
        x = replace(kind(rng, (1, 1)), scale=(2.0**-8,))
        w = constant(np.zeros((count, 1)), "int8", scale=(2.0**-4,), zero=(0,))
        b = constant((np.arange(count) - count // 2) << (shift - 1), "int64" if wide else "int32")
        b = replace(b, scale=(2.0**-12,), zero=(0,))
        y = Tensor((1, count), name, scale=(2.0 ** (shift - 12),), zero=(0,))
        return Operator("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", {})

    return make


def transpose_conv(rng: Rng, wide: bool = False) -> Operator:
    c, outputs = (int(n) for n in rng.integers(1, 5, 2))
    k_h, k_w = (int(n) for n in rng.integers(1, 4, 2))
    shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(2, 6, 2)), c)
    x = s16(rng, shape) if wide else s8(rng, shape)
    w = weights(rng, (outputs, k_h, k_w, c), 0)
    o = _window(rng) | {"fusedActivationFunction": 0}
    size = [
        n * s if o["padding"] == 0 else (n - 1) * s + k
        for n, s, k in zip(x.shape[1:3], (o["strideH"], o["strideW"]), (k_h, k_w), strict=True)
    ]
    y = (x.shape[0], *size, outputs)
    inputs = [
        constant(y),
        w,
        x,
        *([bias(rng, x, w, "int64" if wide else "int32")] if rng.random() < 0.5 else []),
    ]
    return Operator(
        "TRANSPOSE_CONV", inputs, [_result(rng, x, w, y, k_h * k_w * c)], "TransposeConvOptions", o
    )


def batch_matmul(rng: Rng, wide: bool = False) -> Operator:
    batch, i, j, k = (int(n) for n in rng.integers(1, 6, 4))
    left, right = (bool(v) for v in rng.integers(0, 2, 2))
    made = s16 if wide else s8
    a = made(rng, (batch, k, i) if left else (batch, i, k))
    b = made(rng, (batch, j, k) if right else (batch, k, j))
    y = _result(rng, a, b, (batch, i, j), k)
    if wide:
        y = Tensor(y.shape, "int16", scale=(y.scale[0] * 256,), zero=(0,))
    return Operator("BATCH_MATMUL", [a, b], [y], "BatchMatMulOptions", {"adjX": left, "adjY": right})


def pool(kind: str, wide: bool = False) -> Make:
    def make(rng: Rng) -> Operator:
        shape = (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(4, 9, 2)), int(rng.integers(1, 5)))
        x = s16(rng, shape) if wide else s8(rng, shape)
        o = _window(rng) | {"filterWidth": int(rng.integers(1, 4)), "filterHeight": int(rng.integers(1, 4))}
        y = _out_shape(x, o["filterHeight"], o["filterWidth"], o, x.shape[3])
        return Operator(kind, [x], [like(x, y)], "Pool2DOptions", o)

    return make


# Elementwise


def binary(kind: str, options: str = "", wide: bool = False) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, int(rng.integers(1, 5)))
        other = tuple(1 if rng.random() < 0.2 else n for n in shape)[int(rng.integers(0, 2)) :] or (1,)
        a, b = (s16(rng, s) if wide else s8(rng, s) for s in (shape, other))
        if rng.random() < 0.5:
            a, b = b, a
        y = s16(rng, shape) if wide else s8(rng, shape)
        if kind == "MUL":
            size = (2**15 if wide else 128) * a.scale[0] * b.scale[0] * rng.uniform(0.2, 2)
            y = Tensor(shape, y.dtype, scale=(float(np.float32(size)),), zero=y.zero)
        values: dict[str, Any] = {"fusedActivationFunction": int(rng.integers(4))} if options else {}
        if wide and options in ("AddOptions", "SubOptions"):
            values["potScaleInt16"] = False
        return Operator(kind, [a, b], [y], options, values)

    return make


def same_scale(kind: str, options: str = "") -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, int(rng.integers(1, 5)))
        a = s8(rng, shape)
        return Operator(kind, [a, like(a)], [like(a)], options)

    return make


def all_products(wide: bool) -> Make:
    """So many products that a ratio which is off in its last bit shows."""

    def make(rng: Rng) -> Operator:
        quant = s16 if wide else s8
        a, b = quant(rng, (300, 1)), quant(rng, (1, 300))
        size = (2**15 if wide else 128) * a.scale[0] * b.scale[0] * rng.uniform(0.5, 2)
        y = Tensor((300, 300), a.dtype, scale=(float(np.float32(size)),), zero=(0,))
        return Operator("MUL", [a, b], [y], "MulOptions")

    return make


def comparison(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, int(rng.integers(1, 4)))
        a, b = s8(rng, shape), s8(rng, shape)
        return Operator(
            kind, [a, b], [Tensor(shape, "bool")], f"{''.join(w.title() for w in kind.split('_'))}Options"
        )

    return make


def unary(kind: str, options: str = "", out: Mapping[str, Any] | None = None, **values: Any) -> Make:
    def make(rng: Rng) -> Operator:
        x = s8(rng, (256,), **(POSITIVE if kind in ("RSQRT", "SQRT") else {}))
        drawn = {name: value(rng) if callable(value) else value for name, value in values.items()}
        return Operator(kind, [x], [s8(rng, (256,), **(out or {}))], options, drawn)

    return make


def wide_unary(kind: str, options: str = "", **values: Any) -> Make:
    def make(rng: Rng) -> Operator:
        x = s16(rng, (300,))
        s = float(np.float32(x.scale[0] * rng.uniform(0.5, 4)))
        return Operator(kind, [x], [Tensor((300,), "int16", scale=(s,), zero=(0,))], options, values)

    return make


def interpolated(kind: str) -> Make:
    """int16 of all numbers; the scales are powers of two that have a rule of their own, and others."""

    def make(rng: Rng) -> Operator:
        s = (2.0**-12, 2.0**-11, 2.0**-9, float(np.float32(rng.uniform(1e-5, 2e-3))))[rng.integers(4)]
        x, y = (Tensor((1 << 16,), "int16", scale=(scale,), zero=(0,)) for scale in (s, 2.0**-15))
        return Operator(kind, [x], [y])

    return make


POSITIVE = {"zero": (-128,)}
LOGISTIC = {"scale": (1 / 256,), "zero": (-128,)}
TANH = {"scale": (1 / 128,), "zero": (0,)}


def prelu(rng: Rng) -> Operator:
    shape = (2, *sizes(rng, 3))
    x = s8(rng, shape)
    slope = constant(rng.integers(-128, 128, (1, 1, shape[-1])), "int8", scale=scale(rng), zero=zero(rng))
    return Operator("PRELU", [x, slope], [s8(rng, shape)])


def hard_swish(rng: Rng) -> Operator:
    x = s8(rng, (256,))
    least, most = ((0.05, 1.2), (0.008, 0.0155))[rng.integers(2)]  # next to the finest that the rule takes
    s = float(np.float32(x.scale[0] * rng.uniform(least, most)))
    return Operator("HARD_SWISH", [x], [s8(rng, (256,), scale=(s,))])


def softmax(rng: Rng) -> Operator:
    shape = (*sizes(rng, int(rng.integers(1, 4)), 4), int(rng.integers(1, 40)))
    beta = float(np.float32(rng.choice([1.0, 1.0, 0.5, 2.7])))
    wide = Tensor(shape, "int16", scale=(1 / 65536,), zero=(-32768,))
    y = wide if rng.integers(2) else s8(rng, shape, **LOGISTIC)
    x = s8(rng, shape) if rng.integers(4) else s8(rng, shape, scale=scale(rng, 0.3, 100))
    return Operator("SOFTMAX", [x], [y], "SoftmaxOptions", {"beta": beta})


def reduction(kind: str, wide: bool = False) -> Make:
    def make(rng: Rng) -> Operator:
        rank = int(rng.integers(2, 5))
        shape = sizes(rng, rank)
        axes = sorted(rng.choice(rank, int(rng.integers(1, rank + 1)), replace=False).tolist())
        keeps = bool(rng.integers(2))
        x = s16(rng, shape) if wide else s8(rng, shape)
        y = [1 if i in axes else n for i, n in enumerate(shape) if keeps or i not in axes]
        moves = kind in ("REDUCE_MAX", "REDUCE_MIN")
        ratio = rng.uniform(0.3, 3) * (float(np.prod(shape)) ** 0.5 if kind == "SUM" else 1)
        out = s8(rng, y, scale=(float(np.float32(x.scale[0] * ratio)),))
        if wide:
            out = Tensor(tuple(y), "int16", scale=out.scale, zero=(0,))
        if moves or (kind == "MEAN" and rng.random() < 0.3):
            out = like(x, y)
        return Operator(kind, [x, constant(axes)], [out], "ReducerOptions", {"keepDims": keeps})

    return make


def requantize(source: str, to: str) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, 3)
        x = {"int8": s8, "int16": s16}[source](rng, shape)
        y = s8(rng, shape) if to == "int8" else s16(rng, shape)
        s = float(np.float32(x.scale[0] * (2.0 ** rng.uniform(-3, 3)) * (256 if source == "int16" else 1)))
        if source != to and source == "int8":
            s = float(np.float32(x.scale[0] / 256 * rng.uniform(0.3, 3)))
        return Operator("QUANTIZE", [x], [Tensor(y.shape, to, scale=(s,), zero=y.zero)])

    return make


def from_bytes(rng: Rng) -> Operator:
    """What a model with images as inputs begins with."""
    z = int(rng.integers(0, 256))
    x = Tensor(sizes(rng, 3), "uint8", scale=scale(rng), zero=(z,))
    exact = rng.random() < 0.5
    y = Tensor(x.shape, "int8", scale=x.scale, zero=(z - 128,)) if exact else s8(rng, x.shape)
    return Operator("QUANTIZE", [x], [y])


def quantize(rng: Rng) -> Operator:
    shape = sizes(rng, 3)
    return Operator("QUANTIZE", [Tensor(shape)], [s8(rng, shape)])


def resize(kind: str, options: str) -> Make:
    def make(rng: Rng) -> Operator:
        x = s8(rng, (int(rng.integers(1, 3)), *sizes(rng, 2, 7), int(rng.integers(1, 4))))
        new = sizes(rng, 2, 12)
        corners, half = [(False, False), (True, False), (False, True)][int(rng.integers(3))]
        y = like(x, (x.shape[0], *new, x.shape[3]))
        return Operator(
            kind, [x, constant(new)], [y], options, {"alignCorners": corners, "halfPixelCenters": half}
        )

    return make


def concatenation(rng: Rng) -> Operator:
    shape = sizes(rng, int(rng.integers(1, 5)))
    axis = int(rng.integers(len(shape)))
    x = s8(rng, shape)
    others = [
        like(x, [int(rng.integers(1, 5)) if i == axis else n for i, n in enumerate(shape)])
        for _ in range(int(rng.integers(1, 4)))
    ]
    total = sum(t.shape[axis] for t in (x, *others))
    y = like(x, [total if i == axis else n for i, n in enumerate(shape)])
    return Operator("CONCATENATION", [x, *others], [y], "ConcatenationOptions", {"axis": axis})


def pad(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        x = s8(rng, sizes(rng, int(rng.integers(1, 5))))
        cells = rng.integers(0, 3, (len(x.shape), 2))
        y = like(x, [n + int(c.sum()) for n, c in zip(x.shape, cells, strict=True)])
        value = [constant(np.array([5]), "int8", scale=x.scale, zero=x.zero)] if kind == "PADV2" else []
        return Operator(kind, [x, constant(cells), *value], [y])

    return make


def l2_normalization(rng: Rng) -> Operator:
    shape = (*sizes(rng, 2), int(rng.choice([1, 3, 200])))
    y = Tensor(shape, "int8", scale=(1 / 128,), zero=(0,))
    return Operator("L2_NORMALIZATION", [s8(rng, shape)], [y], "L2NormOptions")


def leaky_relu(rng: Rng) -> Operator:
    x = s8(rng, (256,))
    alpha = float(np.float32(rng.uniform(0.01, 0.9)))
    return Operator("LEAKY_RELU", [x], [s8(rng, (256,))], "LeakyReluOptions", {"alpha": alpha})


def svdf(rng: Rng) -> Operator:
    batch, inputs, units, rank, steps = sizes(rng, 5, 4)
    count = units * rank
    x = s8(rng, (batch, inputs))
    features = weights(rng, (count, inputs), None)
    state = Tensor((batch, steps * count), "int16", scale=scale(rng, 1e-3, 1e-2), zero=(0,), variable=True)
    taps = constant(rng.integers(-(2**15), 2**15, (count, steps)), "int16", scale=(2.0**-15,), zero=(0,))
    b = constant(rng.integers(-3000, 3000, units), "int32", scale=(state.scale[0] * 2.0**-15,), zero=(0,))
    y = s8(rng, (batch, units), scale=scale(rng, 0.01, 0.1))
    return Operator(
        "SVDF",
        [x, features, taps, b, state],
        [y],
        "SVDFOptions",
        {"rank": rank, "fusedActivationFunction": 1},
    )


def lstm(rng: Rng) -> Operator:
    """With or without an input gate, peepholes, normalization, projection and bounds."""
    steps, batch, inputs, units, outputs = sizes(rng, 5)
    major, whole, peeps, normal, projects, clips = (bool(v) for v in rng.integers(0, 2, 6))
    outputs = outputs if projects and not peeps else units  # TFLite cannot do both
    x = s8(rng, (steps, batch, inputs) if major else (batch, steps, inputs), scale=scale(rng, 0.01, 0.05))
    state, hidden = (s8(rng, (batch, n), scale=scale(rng, 0.004, 0.02)) for n in (outputs, units))
    state = Tensor(state.shape, "int8", scale=state.scale, zero=state.zero, variable=True)
    cells = (2.0 ** int(rng.integers(-15, -8)),)

    def gates(*shape: int) -> list[Tensor | None]:
        made: list[Tensor | None] = [weights(rng, shape, None) for _ in range(4)]
        return made if whole else [None, *made[1:]]

    def biases() -> list[Tensor | None]:
        found = [
            constant(rng.integers(-3000, 3000, units), "int32", scale=(1e-4,), zero=(0,)) for _ in "ifco"
        ]
        return [*found] if whole else [None, *found[1:]]

    def words(low: float, high: float) -> Tensor:
        data = rng.integers(-(2**15), 2**15, units)
        return constant(data, "int16", scale=scale(rng, low, high), zero=(0,))

    operands = [
        x,
        *gates(units, inputs),
        *gates(units, outputs),
        *(words(1e-5, 1e-4) if peeps and (i > 0 or whole) else None for i in range(3)),
        *biases(),
        weights(rng, (outputs, units), None) if projects else None,
        constant(rng.integers(-3000, 3000, outputs), "int32") if projects and rng.random() < 0.5 else None,
        state,
        Tensor((batch, units), "int16", scale=cells, zero=(0,), variable=True),
        *(words(1e-5, 2e-4) if normal and (i > 0 or whole) else None for i in range(4)),
    ]
    values: dict[str, Any] = {"fusedActivationFunction": 4, "timeMajor": major}
    if clips:
        values |= {"cellClip": 0.7, "projClip": 0.4}
    return Operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        [like(state, (*x.shape[:2], outputs))],
        "UnidirectionalSequenceLSTMOptions",
        values,
        [*(s16(rng, (1,)) for _ in "ifco"), hidden],
    )


CASES: Mapping[str, Make] = {
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "CONV_2D": conv_2d,
    "CONV_2D 16x8": lambda rng: conv_2d(rng, wide=True),
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "DEPTHWISE_CONV_2D 16x8": lambda rng: depthwise_conv_2d(rng, wide=True),
    "FULLY_CONNECTED": fully_connected,
    "FULLY_CONNECTED 16x8": lambda rng: fully_connected(rng, wide=True),
    "FULLY_CONNECTED halves": halves(wide=False),
    "FULLY_CONNECTED 16x8 halves": halves(wide=True),
    "TRANSPOSE_CONV": transpose_conv,
    "BATCH_MATMUL": batch_matmul,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "AVERAGE_POOL_2D 16": pool("AVERAGE_POOL_2D", wide=True),
    "MAX_POOL_2D 16": pool("MAX_POOL_2D", wide=True),
    "L2_NORMALIZATION": l2_normalization,
    "ADD": binary("ADD", "AddOptions"),
    "SUB": binary("SUB", "SubOptions"),
    "MUL": binary("MUL", "MulOptions"),
    "MUL many": all_products(wide=False),
    "MUL many 16": all_products(wide=True),
    "ADD 16": binary("ADD", "AddOptions", wide=True),
    "SUB 16": binary("SUB", "SubOptions", wide=True),
    "MUL 16": binary("MUL", "MulOptions", wide=True),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE"),
    "MAXIMUM": same_scale("MAXIMUM"),
    "MINIMUM": same_scale("MINIMUM"),
    "LESS": comparison("LESS"),
    "GREATER_EQUAL": comparison("GREATER_EQUAL"),
    "EQUAL": comparison("EQUAL"),
    "RELU": unary("RELU"),
    "RELU6": unary("RELU6"),
    "RELU_N1_TO_1": unary("RELU_N1_TO_1"),
    "LEAKY_RELU": leaky_relu,
    "PRELU": prelu,
    "HARD_SWISH": hard_swish,
    "LOGISTIC": unary("LOGISTIC", out=LOGISTIC),
    "TANH": unary("TANH", out=TANH),
    "GELU": unary("GELU", "GeluOptions", approximate=lambda rng: bool(rng.integers(2))),
    "EXP": unary("EXP"),
    "LOG": unary("LOG"),
    "RSQRT": unary("RSQRT"),
    "SQRT": unary("SQRT"),
    "NEG": unary("NEG"),
    "LOGISTIC 16": interpolated("LOGISTIC"),
    "TANH 16": interpolated("TANH"),
    "RELU 16": wide_unary("RELU"),
    "RELU6 16": wide_unary("RELU6"),
    "LEAKY_RELU 16": wide_unary("LEAKY_RELU", "LeakyReluOptions", alpha=0.3),
    "MEAN 16": reduction("MEAN", wide=True),
    "BATCH_MATMUL 16": lambda rng: batch_matmul(rng, wide=True),
    "TRANSPOSE_CONV 16x8": lambda rng: transpose_conv(rng, wide=True),
    "ABS": unary("ABS"),
    "SOFTMAX": softmax,
    "MEAN": reduction("MEAN"),
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "QUANTIZE 8": requantize("int8", "int8"),
    "QUANTIZE 16 to 8": requantize("int16", "int8"),
    "QUANTIZE 8 to 16": requantize("int8", "int16"),
    "QUANTIZE bytes": from_bytes,
    "QUANTIZE": quantize,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "CONCATENATION": concatenation,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
}

# LiteRT's int8 SUM gives numbers that no formula explains, and its reference kernels know no ELU: these are
# compared with their meaning.
BY_MEANING: Mapping[str, Make] = {"SUM": reduction("SUM"), "ELU": unary("ELU")}
ALL = {**CASES, **BY_MEANING}

"""Layers of random TFLite networks that take the shapes they find: what converters make of image networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support.random_networks.tflite_net import Made, Rng, TfliteNet, varied
from support.random_networks.trial import UnfitError
from support.tflite_writer import Operator, Tensor, constant
from tflite.integer_cases import bias, fitting, like, s8, weights

Recipe = Callable[[TfliteNet], Any]


def _pick(net: TfliteNet, *ranks: int, fits: Callable[[Made], bool] = lambda _: True) -> Tensor:
    """An activation, quantized in the integer family."""
    kinds = ("int8",) if net.inputs[0].tensor.dtype == "int8" else ("float32",)
    found = net.pick(
        lambda m: m.tensor.dtype in kinds and m.data.ndim in ranks and varied(m.data) and fits(m)
    )
    return found.tensor


def _is_integer(x: Tensor) -> bool:
    return x.dtype == "int8"


def _weights(rng: Rng, x: Tensor, shape: Sequence[int], axis: int) -> tuple[Tensor, Tensor]:
    """Weights and a bias."""
    if _is_integer(x):
        w = weights(rng, shape, rng.choice([axis, None]) if axis == 0 else axis)
        count = shape[axis]
        scales = [float(np.float32(x.scale[0]) * np.float32(s)) for s in w.scale]
        b = (
            bias(rng, x, w)
            if axis == 0
            else constant(rng.integers(-3000, 3000, count), "int32", scale=scales, zero=[0] * len(scales))
        )
        return w, b
    fan = np.prod(shape) / shape[axis]
    return (
        constant(rng.standard_normal(shape) / np.sqrt(fan), "float32"),
        constant(rng.standard_normal(shape[axis]) * 0.3, "float32"),
    )


def _result(rng: Rng, x: Tensor, w: Tensor | None, terms: int) -> Tensor:
    """A tensor whose shape LiteRT finds out."""
    if not _is_integer(x):
        return Tensor((1,))
    return s8(rng, (1,), scale=fitting(rng, x, w, terms)) if w is not None else s8(rng, (1,))


def _window(rng: Rng, sizes: Sequence[int], kernel: Sequence[int]) -> dict[str, int]:
    valid = all(k <= n for k, n in zip(kernel, sizes, strict=True))
    strides = [int(s) for s in rng.choice([1, 1, 2, 3], 2)]
    return {
        "padding": int(rng.integers(2)) if valid else 0,
        "strideH": strides[0],
        "strideW": strides[1],
        "fusedActivationFunction": int(rng.choice([0, 0, 1, 1, 2, 3])),
    }


def conv(net: TfliteNet) -> None:
    rng, x = net.rng, _pick(net, 4)
    kernel = [int(k) for k in rng.integers(1, 5, 2)]
    channels = x.shape[3]
    w, b = _weights(rng, x, (int(rng.integers(1, 12)), *kernel, channels), 0)
    o = _window(rng, x.shape[1:3], kernel)
    net.add(
        Operator(
            "CONV_2D", [x, w, b], [_result(rng, x, w, int(np.prod(kernel)) * channels)], "Conv2DOptions", o
        )
    )


def depthwise(net: TfliteNet) -> None:
    rng, x = net.rng, _pick(net, 4)
    kernel, multiplier = [int(k) for k in rng.integers(1, 5, 2)], int(rng.choice([1, 1, 2]))
    w, b = _weights(rng, x, (1, *kernel, x.shape[3] * multiplier), 3)
    o = _window(rng, x.shape[1:3], kernel) | {"depthMultiplier": multiplier}
    y = _result(rng, x, w, int(np.prod(kernel)))
    net.add(Operator("DEPTHWISE_CONV_2D", [x, w, b], [y], "DepthwiseConv2DOptions", o))


def dense(net: TfliteNet) -> None:
    rng, x = net.rng, _pick(net, 2, 3, 4)
    w, b = _weights(rng, x, (int(rng.integers(1, 20)), x.shape[-1]), 0)
    o = {"keepNumDims": bool(rng.integers(2)), "fusedActivationFunction": int(rng.choice([0, 1, 3]))}
    y = _result(rng, x, w, x.shape[-1])
    net.add(Operator("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", o))


def residual(net: TfliteNet) -> None:
    x = _pick(net, 2, 3, 4)
    y = _pick(net, len(x.shape), fits=lambda m: _broadcasts(m.tensor.shape, x.shape))
    kind = net.rng.choice(["ADD", "ADD", "SUB", "MUL"])
    pair = [x, y] if net.rng.random() < 0.5 else [y, x]
    out = _result(net.rng, x, None, 1)
    if _is_integer(x) and kind == "MUL":
        size = 128 * x.scale[0] * y.scale[0] * net.rng.uniform(0.2, 2)
        out = Tensor((1,), "int8", scale=(float(np.float32(size)),), zero=out.zero)
    elif _is_integer(x):
        size = max(x.scale[0], y.scale[0]) * net.rng.uniform(0.5, 2)
        out = Tensor((1,), "int8", scale=(float(np.float32(size)),), zero=out.zero)
    options = f"{kind.title()}Options"
    net.add(
        Operator(kind, pair, [out], options, {"fusedActivationFunction": int(net.rng.choice([0, 0, 1, 3]))})
    )


def _broadcasts(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))


def joined(net: TfliteNet) -> None:
    x = _pick(net, 2, 3, 4)
    axis = int(net.rng.integers(len(x.shape)))

    def fits(m: Made) -> bool:
        other = m.tensor.shape
        same = (m.tensor.scale, m.tensor.zero) == (x.scale, x.zero)
        return same and all(a == b for i, (a, b) in enumerate(zip(other, x.shape, strict=True)) if i != axis)

    parts = [x, *(_pick(net, len(x.shape), fits=fits) for _ in range(int(net.rng.integers(1, 3))))]
    net.add(Operator("CONCATENATION", parts, [like(x)], "ConcatenationOptions", {"axis": axis}))


def pool(net: TfliteNet) -> None:
    rng, x = net.rng, _pick(net, 4)
    kernel = [int(k) for k in rng.integers(1, 4, 2)]
    o = _window(rng, x.shape[1:3], kernel) | {"filterHeight": kernel[0], "filterWidth": kernel[1]}
    net.add(Operator(str(rng.choice(["MAX_POOL_2D", "AVERAGE_POOL_2D"])), [x], [like(x)], "Pool2DOptions", o))


def mean(net: TfliteNet) -> None:
    x = _pick(net, 3, 4)
    axes = [1, 2] if len(x.shape) == 4 else [int(net.rng.integers(3))]
    y = like(x) if net.rng.random() < 0.5 or not _is_integer(x) else s8(net.rng, (1,), scale=x.scale)
    net.add(
        Operator("MEAN", [x, constant(axes)], [y], "ReducerOptions", {"keepDims": bool(net.rng.integers(2))})
    )


def pad(net: TfliteNet) -> None:
    x = _pick(net, 4)
    cells = np.zeros((4, 2), int)
    cells[1:3] = net.rng.integers(0, 3, (2, 2))
    net.add(Operator("PAD", [x, constant(cells)], [like(x)]))


def turned(net: TfliteNet) -> None:
    x = _pick(net, 2, 3, 4)
    perm = net.rng.permutation(len(x.shape))
    net.add(Operator("TRANSPOSE", [x, constant(perm)], [like(x)], "TransposeOptions"))


def reshaped(net: TfliteNet) -> None:
    x = _pick(net, 2, 3, 4)
    size = int(np.prod(x.shape))
    first = int(net.rng.choice([n for n in range(1, 13) if size % n == 0]))
    shape = [first, size // first] if net.rng.random() < 0.5 else [1, first, size // first]
    net.add(Operator("RESHAPE", [x, constant(shape)], [like(x)], "ReshapeOptions", {"newShape": shape}))


def function(net: TfliteNet) -> None:
    x = _pick(net, 1, 2, 3, 4)
    kind = str(net.rng.choice(["LOGISTIC", "TANH", "RELU", "RELU6", "HARD_SWISH", "SOFTMAX"]))
    if not _is_integer(x):
        y = Tensor((1,))
    elif kind in ("LOGISTIC", "SOFTMAX"):
        y = s8(net.rng, (1,), scale=(1 / 256,), zero=(-128,))
    elif kind == "TANH":
        y = s8(net.rng, (1,), scale=(1 / 128,), zero=(0,))
    else:
        y = s8(net.rng, (1,), scale=(float(np.float32(x.scale[0] * net.rng.uniform(0.3, 1.2))),))
    if kind == "SOFTMAX" and len(x.shape) < 2:
        raise UnfitError
    options = ("SoftmaxOptions", {"beta": 1.0}) if kind == "SOFTMAX" else ("", {})
    net.add(Operator(kind, [x], [y], *options))


RECIPES: tuple[Recipe, ...] = (
    conv, conv, conv, depthwise, depthwise, dense, residual, residual, residual, joined, pool, mean, pad,
    turned, reshaped, function, function,
)  # fmt: skip

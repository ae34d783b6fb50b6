"""Sums, extremes, normalizations and products along drawn dimensions, in the words of each reader."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
from support.handler_cases import Case, case, of_torch, softmax
from support.random_attributes import Draw

Found = Iterator[tuple[str, Case]]
Family = Callable[[Draw], Found]
Reduction = Callable[..., Any]  # of numpy, all called alike
_KINDS: dict[str, Reduction] = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}


def reductions(d: Draw) -> Found:
    rank, kind, keep = d.pick(1, 2, 3, 4), d.pick(*_KINDS), d.coin()
    x = d.x(*d.numbers(rank, 2, 4))
    axes = d.axes(rank)
    axis: int | tuple[int, ...] = axes[0] if len(axes) == 1 and d.coin() else axes
    wanted = _KINDS[kind](x, axis=axes, keepdims=keep)
    others = tuple(i for i in range(rank) if i not in {a % rank for a in axes})
    yield "mxnet", case(kind, x, axis=axis, keepdims=keep, expected=wanted)
    if others:
        yield "mxnet", case(kind, x, axis=others, keepdims=keep, exclude=True, expected=wanted)
    yield "mindspore", case(f"Reduce{kind.title()}", x, axis, keep, expected=wanted)
    yield "keras", case(kind.title(), x, axis=axis, keepdims=keep, expected=wanted)
    if kind == "sum":
        yield "mindspore", case("SumExt", x, axis, keep, expected=wanted)
        yield "mindspore", case("SumExt", x, None, False, expected=x.sum())
    else:
        yield "paddle", case(kind, x, axes, keepdim=keep, expected=wanted)
    yield "paddle", case(f"reduce_{kind}", x, dim=axes, keep_dim=keep, expected=wanted)
    yield "paddle", case(f"reduce_{kind}", x, reduce_all=True, expected=_KINDS[kind](x))
    logs = np.log(np.exp(x).sum(axes, keepdims=keep))
    yield "paddle", case("logsumexp", x, axis=axes, keepdim=keep, expected=logs)
    yield "mindspore", case("LogSumExp", x, axes, keep, expected=logs)
    norms = np.sqrt((x * x).sum(axes, keepdims=keep))
    yield "mxnet", case("norm", x, axis=axis, keepdims=keep, expected=norms)
    yield (
        "mxnet",
        case("norm", x, ord=1, axis=axis, keepdims=keep, expected=np.abs(x).sum(axes, keepdims=keep)),
    )


def extremes(d: Draw) -> Found:
    rank, keep = d.pick(1, 2, 3), d.coin()
    x = d.x(*d.numbers(rank, 2, 5))
    axis = d.axis(rank)
    kinds: dict[str, Reduction] = {"argmax": np.argmax, "argmin": np.argmin}
    for name, kind in kinds.items():
        at = np.asarray(kind(x, axis=axis, keepdims=keep))
        yield "mxnet", case(name, x, axis=axis, keepdims=keep, expected=at.astype(np.float32))
        yield "paddle", case(name, x, axis, keepdims=keep, expected=at)
        flat = np.asarray(kind(x))
        yield "paddle", case(name, x, axis, flatten=True, expected=flat)
    best = [x.argmax(axis), x.max(axis)]
    if keep:
        best = [np.expand_dims(b, axis) for b in best]
    yield "mindspore", case("ArgMaxWithValue", x, axis, keep, expected=best)
    k = d.pick(*range(1, x.shape[axis] + 1))
    order = np.argsort(-x, axis, kind="stable").take(range(k), axis)
    most = [np.take_along_axis(x, order, axis), order]
    yield "paddle", case("topk", x, k, axis=axis, expected=most)


def softmaxes(d: Draw) -> Found:
    rank = d.pick(2, 3, 4)
    x = d.x(*d.numbers(rank, 2, 5))
    axis, heat = d.axis(rank), d.pick(0.5, 1.0, 3.0)
    wanted = softmax(x, axis)
    yield (
        "mxnet",
        case("softmax", x, axis=axis, temperature=heat, expected=softmax(x / np.float32(heat), axis)),
    )
    yield (
        "mxnet",
        case(
            "log_softmax",
            x,
            axis=axis,
            temperature=heat,
            expected=np.log(softmax(x / np.float32(heat), axis)),
        ),
    )
    yield "caffe", case("Softmax", x, axis=axis, expected=wanted)
    yield "caffe", case("Softmax", x, expected=softmax(x, 1))
    yield "keras", case("Softmax", x, axis=axis, expected=wanted)
    yield "keras", case("Softmax", x, expected=softmax(x, -1))
    yield "paddle", case("softmax", x, axis=axis, expected=wanted)
    yield "paddle", case("log_softmax", x, axis=axis, expected=np.log(wanted))
    totals = x.cumsum(axis)
    yield "mindspore", case("CumsumExt", x, axis, expected=totals)


def normalizations(d: Draw) -> Found:
    rank, eps = d.pick(2, 3, 4), d.pick(1e-5, 1e-2, 0.5)
    x = d.x(*d.numbers(rank, 2, 5))
    first = d.axis(rank)
    inner = x.shape[first % rank :]
    scale, bias = d.x(prod(inner)), d.x(prod(inner))
    shaped = (scale.reshape(inner), bias.reshape(inner))
    over_rest = of_torch("layer_norm", x, inner, *shaped, eps)
    yield (
        "paddle",
        case("layer_norm", x, scale, bias, epsilon=eps, begin_norm_axis=first, expected=over_rest),
    )
    yield (
        "mindspore",
        case(
            "LayerNorm",
            *(x, *shaped),
            first,
            first,
            eps,
            expected=over_rest,
        ),
    )
    yield "mindspore", case("LayerNormExt", x, inner, *shaped, eps, expected=over_rest)
    along = d.axis(rank)
    n = x.shape[along]
    scale, bias = d.x(n), d.x(n)
    turned = np.moveaxis(x, along, -1)
    centred = turned - turned.mean(-1, keepdims=True)
    one = centred / np.sqrt(turned.var(-1, keepdims=True) + np.float32(eps)) * scale + bias
    yield (
        "mxnet",
        case("LayerNorm", x, scale, bias, axis=along, eps=eps, expected=np.moveaxis(one, -1, along)),
    )
    groups = d.pick(1, 2, 3)
    image = d.x(2, groups * d.pick(1, 2), *d.numbers(2, 2, 4))
    scale, bias = d.x(image.shape[1]), d.x(image.shape[1])
    grouped = of_torch("group_norm", image, groups, scale, bias, eps)
    yield "paddle", case("group_norm", image, scale, bias, epsilon=eps, groups=groups, expected=grouped)
    alone = of_torch("instance_norm", image, weight=scale, bias=bias, eps=eps)
    yield "mxnet", case("InstanceNorm", image, scale, bias, eps=eps, expected=alone)
    yield "paddle", case("instance_norm", image, scale, bias, epsilon=eps, expected=alone)
    mean, variance = d.x(image.shape[1]), np.abs(d.x(image.shape[1])) + np.float32(0.1)
    batch = of_torch("batch_norm", image, mean, variance, scale, bias, False, 0.1, eps)
    free = {"fix_gamma": False}
    yield "mxnet", case("BatchNorm", image, scale, bias, mean, variance, eps=eps, **free, expected=batch)


def products(d: Draw) -> Found:
    batch, (n, k, m) = d.numbers(d.pick(0, 1, 2), 1, 3), d.numbers(3, 2, 5)
    a, b = d.x(*batch, n, k), d.x(*batch, k, m)
    first, second = d.coin(), d.coin()
    given = (a.swapaxes(-1, -2) if first else a, b.swapaxes(-1, -2) if second else b)
    given = tuple(map(np.ascontiguousarray, given))
    yield "paddle", case("matmul", *given, transpose_x=first, transpose_y=second, expected=a @ b)
    yield (
        "paddle",
        case("matmul", *given, transpose_x=first, transpose_y=second, alpha=0.5, expected=a @ b / 2),
    )
    yield "paddle", case("matmul_v2", *given, trans_x=first, trans_y=second, expected=a @ b)
    if batch:
        yield "mindspore", case("BatchMatMul", *given, first, second, expected=a @ b)
        yield "mxnet", case("batch_dot", *given, transpose_a=first, transpose_b=second, expected=a @ b)
    else:
        yield "mindspore", case("MatMul", *given, first, second, expected=a @ b)
        yield "mxnet", case("dot", *given, transpose_a=first, transpose_b=second, expected=a @ b)
    x = d.x(2, *d.numbers(2, 2, 3), 2)
    at = d.pick(1, 2, 3)
    w = d.x(5, prod(x.shape[at:]))
    bias = d.x(5)
    wanted = (x.reshape(*x.shape[:at], -1) @ w.T + bias).astype(np.float32)
    turned = d.coin()
    yield (
        "caffe",
        case(
            "InnerProduct",
            *(x, np.ascontiguousarray(w.T) if turned else w, bias),
            num_output=5,
            axis=d.either(at, at - 4),
            transpose=turned,
            expected=wanted,
        ),
    )


FAMILIES: tuple[Family, ...] = (reductions, extremes, softmaxes, normalizations, products)

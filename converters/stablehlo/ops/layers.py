"""Convolutions, products of tensors and batch norm."""

from __future__ import annotations

import string as _string
from collections.abc import Sequence
from typing import Any

import numpy as np

from edgekit.converters.semantics.convolution import SlidingWindow, conv, conv_transpose
from edgekit.converters.semantics.einsum import einsum
from edgekit.converters.semantics.movement import cast, pad, take
from edgekit.converters.stablehlo.node import StablehloNode
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt

_LETTERS = _string.ascii_letters


def dot_general(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    batch_a, batch_b = _sides(node, "batching")
    inner_a, inner_b = _sides(node, "contracting")
    left, right = list(_LETTERS[: a.rank]), list(_LETTERS[26 : 26 + b.rank])
    if a.rank > 26 or b.rank > 26 or len(batch_a) != len(batch_b) or len(inner_a) != len(inner_b):
        raise EdgeKitError("E0401", f"dot_general of {a.type} and {b.type}")
    for i, j in zip((*batch_a, *inner_a), (*batch_b, *inner_b), strict=True):
        i, j = a.axis(i), b.axis(j)
        if a.shape[i] != b.shape[j] or left[i] in right:
            raise EdgeKitError("E0401", f"dot_general: dimension {i} of {a.type} is not {j} of {b.type}")
        right[j] = left[i]
    batch, inner = [left[i] for i in batch_a], [left[i] for i in inner_a]
    free = [label for label in (*left, *right) if label not in batch and label not in inner]
    a, b = cast(a, node.dtype), cast(b, node.dtype)
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join([*batch, *free])}", [a, b])


def dot(node: StablehloNode, a: Tensor, b: Tensor) -> Tensor:
    inner = _LETTERS[a.rank - 1 : a.rank]
    left, right = _LETTERS[: a.rank], inner + _LETTERS[26 : 26 + b.rank - 1]
    result = (left + right).replace(inner, "") if inner else left + right
    return einsum(f"{left},{right}->{result}", [cast(a, node.dtype), cast(b, node.dtype)])


def _sides(node: StablehloNode, kind: str) -> tuple[Sequence[int], Sequence[int]]:
    """The dimensions of both operands: `contracting_dims = [1] x [0]`, or #stablehlo.dot<...>."""
    numbers = node.attributes.get("dot_dimension_numbers", {})
    found = node.attributes.get(f"{kind}_dims")
    if found is None:
        found = tuple(numbers.get(f"{side}_{kind}_dimensions", []) for side in ("lhs", "rhs"))
    left, right = found
    if not all(type(i) is int for i in (*left, *right)):
        raise EdgeKitError("E0401", f"dot_general: {kind} dimensions should be integers")
    return left, right


def convolution(node: StablehloNode, x: Tensor, w: Tensor) -> Tensor:
    if node.integer("batch_group_count", default=1) != 1:
        raise EdgeKitError("E0205", "convolution with groups in the batch is not supported")
    groups, n = node.integer("feature_group_count", default=1), x.rank - 2
    ins, weights, outs = _orders(node, x.rank)
    x, w = cast(x, node.dtype).transpose(*ins), cast(w, node.dtype).transpose(*weights)
    own = node.within("window")
    strides = own.ints("stride", "window_strides", default=[1] * n, count=n)
    pads = own.pairs("pad", "padding", count=n)
    apart = own.ints("lhs_dilate", "lhs_dilation", default=[1] * n, count=n)
    dilations = own.ints("rhs_dilate", "rhs_dilation", default=[1] * n, count=n)
    flips = own.ints("reverse", "window_reversal", default=[0] * n, count=n)
    if min((*strides, *apart, *dilations, groups), default=1) < 1:
        raise EdgeKitError("E0401", "convolution with a step of no cell")
    w = _flipped(w, [i for i in range(n) if flips[i]])
    if any(step > 1 for step in apart):
        y = _transposed(x, w, strides, pads, apart, dilations, groups)
    else:
        # What a border takes away is cut off before: convolutions only know borders of zeros.
        cut = [[min(pair[side], 0) for pair in pads] for side in (0, 1)]
        x = pad(x, (0, 0, *cut[0]), (0, 0, *cut[1]), "constant")
        border = [max(pair[side], 0) for side in (0, 1) for pair in pads]
        y = conv(x, w, None, SlidingWindow(strides, dilations, border), groups)
    return y.transpose(*(outs.index(i) for i in range(len(outs))))


def _transposed(
    x: Tensor,
    w: Tensor,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    apart: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution over cells that stand apart is a transposed one with the weights the other way round."""
    reach = [(k - 1) * d for k, d in zip(w.shape[2:], dilations, strict=True)]
    begins = [r - low for r, (low, _) in zip(reach, pads, strict=True)]
    size = [
        (m - 1) * s + 1 + low + high - r
        for m, s, (low, high), r in zip(x.shape[2:], apart, pads, reach, strict=True)
    ]
    if any(s != 1 for s in strides) or min(begins) < 0 or min(size) < 1 or 0 in x.shape:
        raise EdgeKitError("E0205", f"convolution of {x.type} with lhs_dilation {list(apart)}")
    slide = SlidingWindow(apart, dilations, [*begins, *begins])
    return conv_transpose(x, _flipped(w, range(len(apart))), None, slide, size, groups)


def _flipped(w: Tensor, axes: Sequence[int]) -> Tensor:
    for axis in axes:
        w = take(w, axis + 2, np.arange(w.shape[axis + 2])[::-1])
    return w


def _orders(node: StablehloNode, rank: int) -> tuple[list[int], list[int], list[int]]:
    """Where the operands have N C ... and O I ..., and what each dimension of the result is among N C ..."""
    found = node.attributes.get("dim_numbers", node.attributes.get("dimension_numbers"))
    if not isinstance(found, tuple) or len(found) != 3 or any(len(labels) != rank for labels in found):
        raise EdgeKitError("E0401", f"convolution: {str(found)[:80]} does not fit {rank} dimensions")
    ins, weights, outs = ([str(label) for label in labels] for labels in found)
    space = [str(i) for i in range(rank - 2)]
    return _places(ins, "bf", space), _places(weights, "oi", space), _places(outs, "bf", space)


def _places(labels: list[Any], first: str, space: list[str]) -> list[int]:
    if sorted(labels) != sorted([*first, *space]):
        raise EdgeKitError("E0401", f"convolution: [{', '.join(labels)}] are no dimensions of it")
    return [labels.index(label) for label in (*first, *space)]


def batch_norm_inference(
    node: StablehloNode, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    axis = x.axis(node.integer("feature_index"))
    shape = [x.shape[axis] if i == axis else 1 for i in range(x.rank)]
    scale, offset, mean, variance = (t.reshape(*shape) for t in (scale, offset, mean, variance))
    deviation = (variance + node.number("epsilon")).apply(Sqrt())
    return (x - mean) * (scale / deviation) + offset

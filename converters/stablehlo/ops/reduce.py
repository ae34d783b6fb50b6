"""Reductions over dimensions and windows: what the region computes decides which."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.movement import cast, pad
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.stablehlo.node import StablehloNode
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import identity
from edgekit.core.types import DType

_KINDS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "and": "min", "or": "max"}


# What the region of argmax gives for x, y and their places i, j, as JAX writes it; argmin has LT for GT.
_BETTER = "or(compare GT(x,y),compare NE(x,x))"
_ARGMAX = (f"select({_BETTER},x,y)", f"select(or(and(compare EQ(x,y),compare LT(i,j)),{_BETTER}),i,j)")
_MAX_REGION = 12


def reduce(node: StablehloNode, *operands: Tensor) -> Tensor | tuple[Tensor, Tensor]:
    if len(operands) == 4:
        return _arg_extreme(node, *operands)
    kind = _kind(node, operands)
    x, start = operands
    axes = node.ints("dimensions")
    if x.dtype is DType.BOOL:
        return cast(_reduce(cast(x, DType.U8), kind, axes, keepdims=False), DType.BOOL)
    return _from(start, _reduce(x, kind, axes, keepdims=False), kind)


def reduce_window(node: StablehloNode, *operands: Tensor) -> Tensor:
    kind = _kind(node, operands)
    x, start = operands
    n = x.rank
    size = node.ints("window_dimensions", count=n)
    strides = node.ints("window_strides", default=[1] * n, count=n)
    apart = node.ints("base_dilations", default=[1] * n, count=n)
    dilations = node.ints("window_dilations", default=[1] * n, count=n)
    pads = node.pairs("padding", count=n)
    if any(a != 1 for a in apart) or kind not in ("max", "min", "sum") or x.dtype is DType.BOOL:
        raise EdgeKitError("E0205", f"reduce_window: {kind} of {x.type} with base_dilations {list(apart)}")
    if min((*size, *strides, *dilations), default=1) < 1:
        raise EdgeKitError("E0401", "reduce_window: a window of no cell")
    moving = [i for i in range(n) if (size[i], strides[i], pads[i]) != (1, 1, (0, 0))]
    if len(moving) > 2:
        raise EdgeKitError("E0205", f"reduce_window over {len(moving)} dimensions is not supported")
    # [N, H, W, C] of the two dimensions that the window moves over, side by side where they are.
    moving += [i for i in range(n) if i not in moving][: 2 - len(moving)]
    image = x if n == 4 and sorted(moving) == [1, 2] else None
    h, w = sorted(moving) if len(moving) == 2 else (0, 0)
    idle = [i for i in range(n) if i not in moving]
    order = [*idle[:1], h, w, *idle[1:]] if len(moving) == 2 else []
    if n < 2 or len(order) != n:
        raise EdgeKitError("E0205", f"reduce_window of {x.type} is not supported")
    moved = x.transpose(*order)
    if image is None:
        first = moved.shape[0] if idle else 1
        rest = moved.shape[3 if idle else 2 :]
        if not idle:
            moved = x.transpose(h, w)
        moved = moved.reshape(first, x.shape[h], x.shape[w], int(np.prod(rest, dtype=np.int64)))
    cut = [[0, *(min(pads[i][side], 0) for i in (h, w)), 0] for side in (0, 1)]
    moved = pad(moved, cut[0], cut[1], "constant")
    op = Pool2d(
        "sum" if kind == "sum" else "max",
        (size[h], size[w]),
        (strides[h], strides[w]),
        (max(pads[h][0], 0), max(pads[w][0], 0), max(pads[h][1], 0), max(pads[w][1], 0)),
        (dilations[h], dilations[w]),
    )
    op = op.fitted(*moved.shape[1:3])
    y = -(-moved).apply(op) if kind == "min" else moved.apply(op)
    if image is None:
        shape = [y.shape[1] if i == h else y.shape[2] if i == w else x.shape[i] for i in order]
        y = y.reshape(*shape)
    return _from(start, y.transpose(*(order.index(i) for i in range(n))), kind)


def _arg_extreme(
    node: StablehloNode, x: Tensor, places: Tensor, start: Tensor, first: Tensor
) -> tuple[Tensor, Tensor]:
    """The largest or the smallest, and where it is."""
    made = tuple(_formulas(node))
    is_max = made == _ARGMAX
    axes = node.ints("dimensions")
    kind = "max" if is_max else "min"
    if not is_max and made != tuple(text.replace("GT", "LT") for text in _ARGMAX):
        raise EdgeKitError("E0205", "reduce of two tensors at once by such a region is not supported")
    if len(axes) != 1:
        raise EdgeKitError("E0205", f"argmax over {len(axes)} dimensions is not supported")
    axis = x.axis(axes[0])
    counted = np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.rank)])
    if not np.array_equal(places.constant("what argmax counts"), np.broadcast_to(counted, x.shape)):
        raise EdgeKitError("E0205", "reduce of two tensors at once, of which none counts the cells")
    begins = start.constant("the start of argmax"), first.constant("the start of argmax")
    if np.any(begins[0] != identity(kind, x.dtype)) or np.any(begins[1] != 0):
        raise EdgeKitError("E0205", "argmax that begins with a number is not supported")
    arg = indexing.ArgMax if is_max else indexing.ArgMin
    best = _reduce(x, kind, [axis], keepdims=False)
    return best, cast(arg(x, axis=axis, keepdims=0), places.dtype)


def _formulas(node: StablehloNode) -> Iterator[str]:
    """What a region of four arguments returns, written out in them."""
    (region,) = node.operation.regions
    if len(region.arguments) != 4 or not 1 < len(region.operations) <= _MAX_REGION:
        return
    names = dict(zip(region.arguments, "xyij", strict=True))
    *steps, end = region.operations
    for step in steps:
        parts = [names.get(key, "?") for key in step.operands]
        parts = sorted(parts) if step.kind in ("or", "and") else parts
        kind = step.kind
        if kind == "compare":
            kind += f" {StablehloNode(step).choice('comparison_direction')}"
        names |= dict.fromkeys(step.results, f"{kind}({','.join(parts)})")
    for key in end.operands:
        yield names.get(key, "?")


def _kind(node: StablehloNode, operands: tuple[Tensor, ...]) -> str:
    """What the region computes: one operator of both of its arguments."""
    if len(operands) != 2:
        message = f"{node.operation.kind} of {len(operands) // 2} tensors at once is not supported"
        raise EdgeKitError("E0205", message)
    found = node.attributes.get("applies")
    match node.operation.regions:
        case (region,) if found is None and len(region.operations) == 2 and len(region.arguments) == 2:
            step, end = region.operations
            same = sorted(step.operands) == sorted(region.arguments)
            found = step.kind if same and end.kind == "return" and end.operands == step.results else None
    if found not in _KINDS:
        what = "such a region" if found is None else str(found)
        raise EdgeKitError("E0205", f"{node.operation.kind} by {what} is not supported")
    return _KINDS[found]


def _from(start: Tensor, y: Tensor, kind: str) -> Tensor:
    """What the reduction begins with changes nothing where it is the identity of the operator."""
    if start.data is not None and np.all(start.data == identity(kind, y.dtype)):
        return y
    match kind:
        case "sum":
            return y + start
        case "prod":
            return y * start
        case "max":
            return y.max(start)
        case _:
            return y.min(start)

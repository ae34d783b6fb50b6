"""Layers on single cells, and layers that move them."""

from __future__ import annotations

from itertools import pairwise
from math import e, log, prod

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx import activations, elementwise
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Pow

Ints = int | tuple[int, ...]
Floats = float | tuple[float, ...]


def ReLU(x: Tensor, *, negative_slope: float = 0.0) -> Tensor:
    return activations.LeakyRelu(x, alpha=negative_slope) if negative_slope else activations.Relu(x)


def PReLU(x: Tensor, slope: Tensor, *, channel_shared: bool = False) -> Tensor:
    n = slope.type.size
    if n not in (1, x.shape[1]):
        raise EdgeKitError("E0401", f"slopes {slope.type} do not fit {x.type}")
    return activations.PRelu(x, slope.reshape(n, *(1,) * (x.rank - 2)))


def ELU(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return activations.Elu(x, alpha=alpha)


def Sigmoid(x: Tensor) -> Tensor:
    return activations.Sigmoid(x)


def TanH(x: Tensor) -> Tensor:
    return activations.Tanh(x)


def AbsVal(x: Tensor) -> Tensor:
    return elementwise.Abs(x)


def Power(x: Tensor, *, power: float = 1.0, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    y = _affine(x, scale, shift)
    return y if power == 1 else y * y if power == 2 else y.apply(Pow(), power)


def Exp(x: Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    by = log(_base(base))
    return elementwise.Exp(_affine(x, scale * by, shift * by))


def Log(x: Tensor, *, base: float = -1.0, scale: float = 1.0, shift: float = 0.0) -> Tensor:
    return _affine(elementwise.Log(_affine(x, scale, shift)), 1 / log(_base(base)), 0.0)


def Eltwise(*xs: Tensor, operation: str = "SUM", coeff: Floats = (), stable_prod_grad: bool = True) -> Tensor:
    factors = coeff if isinstance(coeff, tuple) else (coeff,)
    if operation not in ("SUM", "PROD", "MAX"):
        raise EdgeKitError("E0203", f"Eltwise: operation {operation} is not supported")
    if factors and (operation != "SUM" or len(factors) != len(xs)):
        raise EdgeKitError("E0401", f"Eltwise: {len(factors)} coefficients for {operation} of {len(xs)}")
    if len({x.shape for x in xs}) != 1:
        raise EdgeKitError("E0401", f"Eltwise of {', '.join(str(x.type) for x in xs)}")
    first, *rest = [_affine(x, a, 0.0) for x, a in zip(xs, factors or (1.0,) * len(xs), strict=True)]
    for x in rest:
        first = first + x if operation == "SUM" else first * x if operation == "PROD" else first.max(x)
    return first


def Concat(*xs: Tensor, axis: int = 1, concat_dim: int | None = None) -> Tensor:
    return concat(xs, axis if concat_dim is None else concat_dim)


def Slice(
    x: Tensor, *, tops: int, axis: int = 1, slice_dim: int | None = None, slice_point: Ints = ()
) -> list[Tensor]:
    along = x.axis(axis if slice_dim is None else slice_dim)
    size = x.shape[along]
    points = slice_point if isinstance(slice_point, tuple) else (slice_point,)
    if not points and size % tops == 0:
        points = tuple(size // tops * i for i in range(1, tops))
    edges = [0, *points, size]
    if len(edges) != tops + 1 or edges != sorted(set(edges)):
        raise EdgeKitError("E0401", f"Slice of {size} cells at {list(points)[:8]} for {tops} results")
    return [part(x, along, a, b - a) for a, b in pairwise(edges)]


def Crop(x: Tensor, like: Tensor, *, axis: int = 2, offset: Ints = 0) -> Tensor:
    """The part of x that is as large as another tensor, from that axis on; offsets are one, or many."""
    first = x.axis(axis)
    offsets = offset if isinstance(offset, tuple) else (offset,) * (x.rank - first)
    if like.rank != x.rank or len(offsets) != x.rank - first:
        raise EdgeKitError("E0401", f"Crop of {x.type} to {like.type} from {list(offsets)[:8]} on")
    for i, start in enumerate(offsets, first):
        if start < 0 or start + like.shape[i] > x.shape[i]:
            raise EdgeKitError("E0401", f"Crop of {x.type} to {like.type} from {list(offsets)[:8]} on")
        x = part(x, i, start, like.shape[i])
    return x


def Split(x: Tensor, *, tops: int) -> list[Tensor]:
    return [x] * tops


def Softmax(x: Tensor, *, axis: int = 1) -> Tensor:
    return compose.softmax(x, axis)


def Dropout(x: Tensor, *, dropout_ratio: float = 0.5, scale_train: bool = True) -> Tensor:
    return x


def Flatten(x: Tensor, *, axis: int = 1, end_axis: int = -1) -> Tensor:
    first, last = x.axis(axis), x.axis(end_axis)
    if last < first:
        raise EdgeKitError("E0401", f"Flatten from axis {first} to {last}")
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def Reshape(x: Tensor, *, shape: Ints = (), axis: int = 0, num_axes: int = -1) -> Tensor:
    """0 copies a dimension, -1 is what is left; only `num_axes` from `axis` on take part."""
    first = axis if axis >= 0 else axis + x.rank + 1
    last = x.rank if num_axes == -1 else first + num_axes
    wanted = list(shape) if isinstance(shape, tuple) else [shape]
    if not 0 <= first <= last <= x.rank or any(d == 0 and first + i >= x.rank for i, d in enumerate(wanted)):
        raise EdgeKitError("E0401", f"shape {wanted[:8]} from axis {axis} on makes no sense for {x.type}")
    dims = [x.shape[first + i] if d == 0 else d for i, d in enumerate(wanted)]
    if -1 in dims:
        known = prod((*x.shape[:first], *(d for d in dims if d != -1), *x.shape[last:]))
        dims[dims.index(-1)] = x.type.size // known if known else 0
    return x.reshape(*x.shape[:first], *dims, *x.shape[last:])


def Permute(x: Tensor, *, order: Ints = ()) -> Tensor:
    """The dimensions that are not named come behind, in their order."""
    first = order if isinstance(order, tuple) else (order,)
    every = (*first, *(i for i in range(x.rank) if i not in first))
    if sorted(every) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"Permute {list(first)[:8]} of {x.type}")
    return x.transpose(*every)


def _affine(x: Tensor, scale: float, shift: float) -> Tensor:
    y = x if scale == 1 else x * scale
    return y if shift == 0 else y + shift


def _base(base: float) -> float:
    """-1 stands for e."""
    if base != -1 and (base <= 0 or base == 1):
        raise EdgeKitError("E0203", f"base {base} is not supported")
    return e if base == -1 else base

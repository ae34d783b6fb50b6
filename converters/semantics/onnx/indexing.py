"""Elements by index: gathers, scatters, extremes, the largest k, cumulative sums, selections."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import box, cast, take, where
from edgekit.converters.semantics.onnx.shape import unsqueeze
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import gather, rank, scatter
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.logic import Equal, Less
from edgekit.core.types import Array, DType


def Gather(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    axis = x.axis(axis)
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    if index.data is not None:
        return take(x, axis, _from_front(index.data, x.shape[axis])).reshape(*shape)
    flat = index.reshape(*(index.type.size if i == axis else 1 for i in range(x.rank)))
    return x.apply(gather.Gather(axis), flat).reshape(*shape)


def GatherElements(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    axis = x.axis(axis)
    x = box(x, (0,) * x.rank, [x.shape[i] if i == axis else n for i, n in enumerate(index.shape)])
    return x.apply(gather.Gather(axis), _checked(index, x.shape[axis]))


def GatherND(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    depth = index.shape[-1]
    if index.data is not None and batch_dims == 0 and depth:
        sizes = x.shape[:depth]
        parts = [_from_front(index.data[..., c], sizes[c]) for c in range(depth)]
        flat = x.reshape(int(np.prod(sizes)), *x.shape[depth:])
        return take(flat, 0, np.ravel_multi_index(parts, sizes)).reshape(*index.shape[:-1], *x.shape[depth:])
    return x.apply(gather.GatherND(batch_dims), index)


def ScatterElements(
    x: Tensor, index: Tensor, update: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    axis = x.axis(axis)
    if index.shape != update.shape:  # torch's exporter of TorchScript makes such files from x.scatter
        raise EdgeKitError("E0401", f"index {index.type} and updates {update.type} differ in shape")
    return x.apply(scatter.Scatter(axis, reduction), _checked(index, x.shape[axis]), update)


def ScatterND(x: Tensor, index: Tensor, update: Tensor, *, reduction: str = "none") -> Tensor:
    return x.apply(scatter.ScatterND(reduction), index, update)


def OneHot(index: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> Tensor:
    size = int(scalar(depth, "the depth of OneHot"))
    index.builder.afford((size,))
    axis = axis + index.rank + 1 if axis < 0 else axis
    index = unsqueeze(cast(index, DType.S64), [axis])
    index = where(index.apply(Less(), 0), index + size, index)
    cells = index.like(np.arange(size).reshape([-1 if i == axis else 1 for i in range(index.rank)]))
    off, on = (take(values, 0, np.array([i])).reshape() for i in (0, 1))
    return where(index.apply(Equal(), cells), on, off)


def ArgMax(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return _arg_extreme(x, axis, True, keepdims, select_last_index)


def ArgMin(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return _arg_extreme(x, axis, False, keepdims, select_last_index)


def CumSum(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return _cumulative("sum", x, axis, exclusive, reverse)


def CumProd(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return _cumulative("prod", x, axis, exclusive, reverse)


def _arg_extreme(x: Tensor, axis: int, largest: bool, keepdims: int, last: int) -> Tensor:
    axis = x.axis(axis)
    y = x.apply(rank.ArgExtreme(axis, largest, bool(last)))
    return y if keepdims else y.reshape(*x.shape[:axis], *x.shape[axis + 1 :])


def _cumulative(kind: str, x: Tensor, axis: Tensor, exclusive: int, reverse: int) -> Tensor:
    along = x.axis(int(scalar(axis, "the axis of a cumulative sum")))
    return x.apply(Cumulative(kind, along, bool(exclusive), bool(reverse)))


def _from_front(index: Array, size: int) -> Array:
    """Constant indices, counted from the front; an index that is outside is a fault of the model."""
    index = np.asarray(index, np.int64)
    if index.size and not -size <= index.min() <= index.max() < size:
        raise EdgeKitError("E0401", f"index {index.min()} or {index.max()} is outside of {size} elements")
    return np.where(index < 0, index + size, index)


def _checked(index: Tensor, size: int) -> Tensor:
    """Constant indices as the 32-bit numbers that kernels like best."""
    return index if index.data is None else index.new(_from_front(index.data, size).astype(np.int32), "index")

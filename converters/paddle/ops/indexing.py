"""Elements by index."""

from __future__ import annotations

import numpy as np

from edgekit.converters.paddle.arguments import Setting, integer
from edgekit.converters.semantics.aten import indexing as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import indexing as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def embedding(x: Tensor, weight: Tensor, *, padding_idx: int = -1, sparse: bool = False) -> Tensor:
    """Rows of a table; that of padding_idx is zero."""
    if padding_idx >= 0 and weight.data is not None:
        table = weight.data.copy()
        table[padding_idx] = 0
        weight = weight.new(table, "table")
    return _onnx.Gather(weight, x)


def lookup_table_v2(w: Tensor, ids: Tensor, *, padding_idx: int = -1) -> Tensor:
    return embedding(ids, w, padding_idx=padding_idx)


def gather(x: Tensor, index: Tensor, axis: Setting = 0) -> Tensor:
    return _onnx.Gather(x, index, axis=integer(axis, "an axis"))


def gather_nd(x: Tensor, index: Tensor) -> Tensor:
    return _onnx.GatherND(x, index)


def index_select(x: Tensor, index: Tensor, *, axis: int = 0, dim: int | None = None) -> Tensor:
    return _onnx.Gather(x, index, axis=axis if dim is None else dim)


def take_along_axis(input: Tensor, index: Tensor, *, axis: int) -> Tensor:
    return _onnx.GatherElements(input, index, axis=axis)


def one_hot(x: Tensor, num_classes: Setting = None) -> Tensor:
    values = x.new(np.asarray([0, 1], np.float32))
    return _onnx.OneHot(x, x.new(np.asarray(integer(num_classes, "the count of classes"))), values)


def one_hot_v2(
    x: Tensor, *, depth: Setting, dtype: DType | None = None, allow_out_of_range: bool = False
) -> Tensor:
    return _cast(one_hot(x, depth), dtype or DType.F32)


def scatter(x: Tensor, ids: Tensor, updates: Tensor, *, overwrite: bool = True) -> Tensor:
    """Whole rows are written over, or added to rows that are set to 0 first."""
    if not overwrite:
        raise EdgeKitError("E0205", "scatter that adds rows is not supported")
    at = ids.reshape(ids.type.size, 1)
    return _onnx.ScatterND(x, at, updates.reshape(ids.type.size, *x.shape[1:]))


def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    return _onnx.ScatterND(x, index, updates, reduction="add")


def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Tensor,
    *,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
) -> Tensor:
    how = {"assign": None, "add": "sum", "mul": "prod", "multiply": "prod", "amax": "amax", "amin": "amin"}
    if reduce not in how or not include_self:
        raise EdgeKitError("E0205", f"put_along_axis by {reduce[:20]} is not supported")
    return _torch.scatter(arr, dim=axis, index=indices, src=values, reduce=how[reduce])

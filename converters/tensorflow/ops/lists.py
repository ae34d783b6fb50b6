"""Operators of TensorList, as recurrent layers use them: the list is a tensor with a dimension more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.tensor import Tensor, scalar
from edgekit.converters.tensorflow.tensor_list import EmptyList
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_List = Tensor | EmptyList


def TensorListFromTensor(x: Tensor, element_shape: Tensor) -> Tensor:
    return x


def TensorListStack(items: _List, element_shape: Tensor, *, num_elements: int = -1) -> Tensor:
    return _filled(items)


def TensorListReserve(element_shape: Tensor, count: Tensor, *, element_dtype: DType) -> _List:
    made = EmptyList(int(scalar(count, "the size of a list")), element_dtype)
    if made.size < 0:
        raise EdgeKitError("E0401", f"a list of {made.size} elements")
    shape = _shape(element_shape)
    return made if shape is None else made.zeros(element_shape.builder, shape)


def TensorListGetItem(items: _List, index: Tensor, element_shape: Tensor) -> Tensor:
    return indexing.Gather(_filled(items), index, axis=0)


def TensorListSetItem(
    items: _List, index: Tensor, item: Tensor, *, resize_if_index_out_of_bounds: bool = False
) -> Tensor:
    whole = items.zeros(item.builder, item.shape) if isinstance(items, EmptyList) else items
    if whole.shape[1:] != item.shape:
        raise EdgeKitError("E0205", f"a list of {whole.type} takes {item.type}")
    return indexing.ScatterND(whole, index.reshape(1, 1), item.reshape(1, *item.shape))


def TensorListLength(items: _List) -> Tensor:
    whole = _filled(items)
    return whole.new(np.array(whole.shape[0], np.int32))


def _filled(items: _List) -> Tensor:
    if isinstance(items, EmptyList):
        raise EdgeKitError("E0205", "a list is read before any element is set")
    return items


def _shape(given: Tensor) -> Sequence[int] | None:
    """The shape of the elements; None where it is open."""
    sizes = given.ints("the shape of a list")
    return None if given.rank == 0 or min(sizes, default=0) < 0 else sizes

"""Tensors that are known at import: constants, ranges, identity matrices, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from edgekit.converters.semantics.onnx.cast import element_type
from edgekit.converters.semantics.selected_rows import check_end
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array


def Constant(
    *,
    value: Array | None = None,
    sparse_value: Array | None = None,
    value_float: float | None = None,
    value_floats: tuple[float, ...] | None = None,
    value_int: int | None = None,
    value_ints: tuple[int, ...] | None = None,
    value_string: str | None = None,
    value_strings: tuple[str, ...] | None = None,
    importer: Any,
) -> Tensor:
    forms = [value, sparse_value]
    forms += [np.array(v, np.float32) for v in (value_float, value_floats) if v is not None]
    forms += [np.array(v, np.int64) for v in (value_int, value_ints) if v is not None]
    given = [v for v in forms if v is not None]
    if value_string is not None or value_strings is not None:
        raise EdgeKitError("E0204", "Constant: strings are not supported")
    if len(given) != 1:
        raise EdgeKitError("E0401", f"Constant has {len(given)} values instead of one")
    return importer.const(given[0], "constant")  # type: ignore[no-any-return]  # the importer is not typed here


def ConstantOfShape(shape: Tensor, *, value: Array | None = None) -> Tensor:
    fill = np.zeros(1, np.float32) if value is None else value
    dims = shape.ints("the shape of ConstantOfShape")
    shape.builder.afford(dims)
    return shape.new(np.full(dims, fill.reshape(-1)[0], fill.dtype))


def Range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    first, end, step = (scalar(x, "the bounds of Range") for x in (start, limit, delta))
    count = max(0, int(np.ceil((end - first) / step)))
    start.builder.afford((count,))
    # As the specification has it: start + i * delta, in the type of the operands.
    dtype = start.dtype.numpy
    cells = np.arange(count).astype(dtype) * dtype.type(step) + dtype.type(first)
    return start.new(cells.astype(dtype))


def EyeLike(x: Tensor, *, dtype: int | None = None, k: int = 0) -> Tensor:
    if x.rank != 2:
        raise EdgeKitError("E0401", f"EyeLike takes a matrix, got {x.type}")
    for axis in range(x.rank):
        check_end(x, axis)
    x.builder.afford(x.shape)
    element = x.dtype if dtype is None else element_type(dtype, "EyeLike")
    return x.new(np.eye(x.shape[0], x.shape[1], k).astype(element.numpy))


def HannWindow(size: Tensor, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1) -> Tensor:
    return _window(size, output_datatype, periodic, (0.5, 0.5))


def HammingWindow(
    size: Tensor, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1
) -> Tensor:
    return _window(size, output_datatype, periodic, (25 / 46, 21 / 46))


def BlackmanWindow(
    size: Tensor, *, output_datatype: int = onnx.TensorProto.FLOAT, periodic: int = 1
) -> Tensor:
    return _window(size, output_datatype, periodic, (0.42, 0.5, 0.08))


def MelWeightMatrix(
    bins: Tensor,
    length: Tensor,
    rate: Tensor,
    low: Tensor,
    high: Tensor,
    *,
    output_datatype: int = onnx.TensorProto.FLOAT,
) -> Tensor:
    """Triangles whose corners lie equally far apart on the mel scale, over the lines of a spectrum."""
    parameters = [float(scalar(x, "a parameter of MelWeightMatrix")) for x in (bins, length, rate, low, high)]
    count, size = int(parameters[0]), int(parameters[1])
    bins.builder.afford((size // 2 + 1, count))
    bottom, top = (2595 * np.log10(1 + f / 700) for f in parameters[3:])
    # One step less than corners would reach the top: the specification counts the corners.
    mels = bottom + np.arange(count + 2) * (top - bottom) / (count + 2)
    corners = (size + 1) * (700 * (10 ** (mels / 2595) - 1)) // parameters[2]
    left, peak, right = corners[:-2], corners[1:-1], corners[2:]
    line = np.arange(size // 2 + 1)[:, None]
    rise = (line - left) / np.maximum(peak - left, 1)
    fall = (right - line) / np.maximum(right - peak, 1)
    weights = np.where(line == peak, 1, np.clip(np.where(line < peak, rise, fall), 0, 1))
    return bins.new(weights.astype(element_type(output_datatype, "MelWeightMatrix").numpy))


def _window(size: Tensor, output_datatype: int, periodic: int, cosines: tuple[float, ...]) -> Tensor:
    """The sum of cosines with alternating signs over one period."""
    n = int(scalar(size, "the size of a window"))
    size.builder.afford((n,))
    turns = 2 * np.pi * np.arange(n) / (n if periodic else max(n - 1, 1))
    y = sum((-1) ** i * c * np.cos(i * turns) for i, c in enumerate(cosines))
    return size.new(np.asarray(y).astype(element_type(output_datatype, "a window").numpy))

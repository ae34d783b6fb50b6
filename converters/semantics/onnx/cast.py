"""Conversions between element types."""

from __future__ import annotations

import onnx

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def element_type(code: int, what: str) -> DType:
    """The element type behind a number of TensorProto.DataType."""
    try:
        return DType.of(onnx.helper.tensor_dtype_to_np_dtype(code))
    except KeyError:
        names = {v: k for k, v in onnx.TensorProto.DataType.items()}
        raise EdgeKitError(
            "E0204", f"{what}: {names.get(code, f'type {code}').lower()} is not supported"
        ) from None

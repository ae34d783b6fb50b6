"""Reads ONNX files and their tensors; refuses what is damaged, oversized or points outside its folder."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, SparseTensorProto, TensorProto, ValueInfoProto, numpy_helper

from edgekit.converters.blame import blame
from edgekit.converters.inputs import Bindings
from edgekit.converters.onnx.check import messages
from edgekit.core import files, fixed
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Source
from edgekit.core.types import Array, DType, Type

_MAX_FILE = 1 << 31  # as much as protobuf can hold
_MAX_READS = 4  # of one file of external data
# Integers that a field of larger ones may hold, one each.
_WRITTEN_WIDE: dict[int, DType] = {
    TensorProto.INT8: DType.S8,
    TensorProto.UINT8: DType.U8,
    TensorProto.INT16: DType.S16,
    TensorProto.UINT16: DType.U16,
}


def load(path: Path) -> tuple[ModelProto, Source]:
    """A model without its external data, and where it came from."""
    raw = files.read(path, _MAX_FILE - 1, hint="export with external data")
    model = ModelProto()
    try:
        model.ParseFromString(raw)
    except DecodeError:
        raise EdgeKitError("E0401", f"{path.name} is no ONNX file or is damaged") from None
    if not model.HasField("graph") or not model.graph.output:
        raise EdgeKitError("E0401", f"{path.name} holds no graph", hint="is it an ONNX model, complete?")
    producer = " ".join(str(p) for p in (model.producer_name, model.producer_version) if p)
    name = path.name.encode(errors="replace").decode()  # a file name need not be text
    return model, Source(name, hashlib.sha256(raw).hexdigest(), "onnx", producer)


def load_external(model: ModelProto, folder: Path) -> None:
    """Replace references to external data by the bytes: only plain files inside the model's own folder."""
    left: dict[Path, int] = {}  # a small model could read a large file over and over
    for tensor in messages(model):
        if not isinstance(tensor, TensorProto) or tensor.data_location != TensorProto.EXTERNAL:
            continue
        where = f"tensor {tensor.name}"
        info = {entry.key: entry.value for entry in tensor.external_data}
        path = _external_path(folder, info.get("location", ""), where)
        size = path.stat().st_size
        offset, length = _external_range(info, size, where)
        _check_dims(tensor.dims, where)
        if length > 8 * math.prod(tensor.dims):
            raise EdgeKitError("E0401", f"{length} bytes are too many for {list(tensor.dims)}", where)
        left[path] = left.get(path, _MAX_READS * size) - length
        if left[path] < 0:
            raise EdgeKitError("E0404", f"external data {path.name!r} are read over and over", where)
        try:
            with files.opened(path, folder.resolve()) as file:
                file.seek(offset)
                tensor.raw_data = file.read(length)
        except OSError as error:
            raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}", where) from None
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]


def _external_path(folder: Path, location: str, where: str) -> Path:
    """The file of external data, if it is a plain one inside the folder."""
    if not location or Path(location).is_absolute() or ".." in Path(location).parts:
        raise EdgeKitError("E0404", f"external data {location!r} are outside of the model's folder", where)
    path = folder.resolve() / location
    try:
        if path.resolve() != path:
            raise EdgeKitError(
                "E0404", f"external data {location!r} are behind a link", where, "copy the file"
            )
        if path.exists() and not path.is_file():
            raise EdgeKitError("E0404", f"external data {location!r} are not in a regular file", where)
        found = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have
        found = False
    if not found:
        hint = "the file belongs beside the model"
        raise EdgeKitError("E0104", f"external data {location[:100]!r} are missing", where, hint)
    return path


def _external_range(info: Mapping[str, str], size: int, where: str) -> tuple[int, int]:
    """Offset and length of external data in a file of this size."""
    try:
        offset = int(info.get("offset", 0))
        length = int(info.get("length", size - offset))
    except ValueError:
        raise EdgeKitError("E0401", "offset or length of external data is not a number", where) from None
    if offset < 0 or length < 0 or offset + length > size:
        message = f"external data from {offset} to {offset + length} of a file of {size} bytes"
        raise EdgeKitError("E0401", message, where)
    return offset, length


def model_name(model: ModelProto, source: Source) -> str:
    """The model's name: that of its file, else of its graph."""
    return Path(source.file).stem or model.graph.name or "model"


def tensor(proto: TensorProto) -> Array:
    """The data of a tensor as a numpy array of an element type that EdgeKit knows."""
    where = f"tensor {proto.name}"
    if proto.data_type in (TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        raise EdgeKitError("E0204", f"tensors of {_type_name(proto.data_type)} are not supported", where)
    if proto.data_type == TensorProto.UNDEFINED:
        raise EdgeKitError("E0401", "a constant has no element type", where)
    if proto.data_location == TensorProto.EXTERNAL:  # to_array would look for them in the current folder
        raise EdgeKitError("E0404", "external data need a model file beside them", where, "convert the file")
    _check_dims(proto.dims, where)
    _check_range(proto, where)
    try:
        array = numpy_helper.to_array(proto).reshape(tuple(proto.dims))
    except Exception as error:  # onnx raises whatever it stumbles over
        shape = f"{_type_name(proto.data_type)}{list(proto.dims)}"
        raw = proto.HasField("raw_data")
        held = f"{len(proto.raw_data)} bytes" if raw else "numbers of another count or range"
        message = f"the data are no {shape}: there are {held}"
        raise EdgeKitError("E0401", message, where) from error
    if array.dtype == np.bool_:
        return np.asarray(array.view(np.uint8) != 0)  # numpy trusts that a bool is 0 or 1
    try:
        DType.of(array.dtype)
    except KeyError:
        raise EdgeKitError(
            "E0204", f"tensors of {_type_name(proto.data_type)} are not supported", where
        ) from None
    return array


def _check_range(proto: TensorProto, where: str) -> None:
    """Small integers may be written as large ones, of which a reader would drop what is too much."""
    if proto.data_type not in _WRITTEN_WIDE or not proto.int32_data:
        return
    least, most = fixed.int_range(_WRITTEN_WIDE[proto.data_type])
    for value in (min(proto.int32_data), max(proto.int32_data)):
        if not least <= value <= most:
            raise EdgeKitError("E0401", f"{value} is outside of {least} to {most}", where)


def sparse(proto: SparseTensorProto) -> Array:
    """A sparse tensor, made dense."""
    where = f"tensor {proto.values.name}"
    values, indices = tensor(proto.values), tensor(proto.indices)
    shape = tuple(proto.dims)
    _check_dims(shape, where)
    with blame(where):
        flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
        if flat.size != values.size or flat.dtype != np.int64 or (flat.size and flat.min() < 0):
            raise EdgeKitError("E0401", "sparse indices do not fit the tensor", where)
        dense = np.zeros(math.prod(shape), values.dtype)
        dense[flat] = values.reshape(-1)
    return dense.reshape(shape)


def _check_dims(dims: Sequence[int], where: str) -> None:
    if absurd(dims):
        raise EdgeKitError("E0402", f"shape {list(dims)[:8]} is absurd", where)


def input_type(value: ValueInfoProto, bindings: Bindings) -> Type:
    """The static type of a graph input."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise EdgeKitError(
            "E0204", f"inputs of type {kind or 'unknown'} are not supported", f"input {value.name}"
        )
    proto = value.type.tensor_type
    try:
        dtype = DType.of(onnx.helper.tensor_dtype_to_np_dtype(proto.elem_type))
    except (KeyError, TypeError):
        raise EdgeKitError(
            "E0204", f"inputs of {_type_name(proto.elem_type)} are not supported", f"input {value.name}"
        ) from None
    # Some exporters write -1 where they mean a dynamic dimension.
    dims = (
        [
            d.dim_value if d.HasField("dim_value") and d.dim_value != -1 else d.dim_param or None
            for d in proto.shape.dim
        ]
        if proto.HasField("shape")
        else None
    )
    return bindings.type(value.name, dtype, dims)


def _type_name(data_type: int) -> str:
    try:
        return str(TensorProto.DataType.Name(data_type)).lower()
    except ValueError:
        return f"type {data_type}"

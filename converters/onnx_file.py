"""Reads ONNX files and their tensors; refuses what is damaged, oversized or points outside its folder."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, SparseTensorProto, TensorProto, ValueInfoProto, numpy_helper

from edgekit.builder import MAX_ELEMENTS
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, DType, Source, Type


def load(path: Path) -> tuple[ModelProto, Source]:
    """A model with its external data, and where it came from."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None
    model = ModelProto()
    try:
        model.ParseFromString(raw)
    except DecodeError:
        raise EdgeKitError("E0401", f"{path.name} is no ONNX file or is damaged") from None
    if not model.HasField("graph") or not model.graph.output:
        raise EdgeKitError("E0401", f"{path.name} holds no graph", hint="is it an ONNX model, complete?")
    producer = " ".join(p for p in (model.producer_name, model.producer_version) if p)
    source = Source(path.name, hashlib.sha256(raw).hexdigest(), "onnx", producer)
    _load_external(model, path.parent)
    return model, source


def _load_external(model: ModelProto, folder: Path) -> None:
    """Replace references to external data by the bytes: only plain files inside the model's own folder."""
    for tensor in onnx.external_data_helper._get_all_tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        info = {entry.key: entry.value for entry in tensor.external_data}
        location = info.get("location", "")
        path = folder / location
        where = f"tensor {tensor.name}"
        if not location or Path(location).is_absolute() or ".." in Path(location).parts:
            raise EdgeKitError("E0404", f"external data {location!r} is outside the model's folder", where)
        if any(p.is_symlink() for p in [path, *path.parents] if p.is_relative_to(folder) and p != folder):
            raise EdgeKitError("E0404", f"external data {location!r} is a link", where, "copy the file")
        if not path.is_file():
            raise EdgeKitError(
                "E0104", f"external data {location!r} is missing", where, f"expected beside the model"
            )
        try:
            offset, length = int(info.get("offset", 0)), int(info.get("length", -1))
        except ValueError:
            raise EdgeKitError("E0401", "offset or length of external data is no number", where) from None
        size = path.stat().st_size
        length = size - offset if length < 0 else length
        if offset < 0 or offset + length > size:
            raise EdgeKitError(
                "E0401", f"external data ends at {offset + length}, {location!r} has {size} bytes", where
            )
        with path.open("rb") as file:
            file.seek(offset)
            tensor.raw_data = file.read(length)
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]


def model_name(model: ModelProto, source: Source) -> str:
    """The model's name: that of its file, else of its graph."""
    return Path(source.file).stem or model.graph.name or "model"


def tensor(proto: TensorProto) -> Array:
    """The data of a tensor as a numpy array of an element type that EdgeKit knows."""
    where = f"tensor {proto.name}"
    if proto.data_type in (TensorProto.STRING, TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        raise EdgeKitError("E0204", f"tensors of {_type_name(proto.data_type)} are not supported", where)
    if any(d < 0 for d in proto.dims) or math.prod(proto.dims) > MAX_ELEMENTS:
        raise EdgeKitError("E0402", f"shape {list(proto.dims)[:8]} is absurd", where)
    try:
        array = numpy_helper.to_array(proto)
        DType.of(array.dtype)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise EdgeKitError("E0401", f"the data do not match the type: {error}", where) from None
    return array


def sparse(proto: SparseTensorProto) -> Array:
    """A sparse tensor, made dense."""
    values, indices = tensor(proto.values), tensor(proto.indices)
    shape = tuple(proto.dims)
    if any(d < 0 for d in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", f"tensor {proto.values.name}")
    flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
    if flat.size != values.size or (flat.size and not 0 <= flat.min() <= flat.max() < math.prod(shape)):
        raise EdgeKitError("E0401", "sparse indices are outside the tensor", f"tensor {proto.values.name}")
    dense = np.zeros(math.prod(shape), values.dtype)
    dense[flat] = values
    return dense.reshape(shape)


def input_type(value: ValueInfoProto, bound: Sequence[int] | None) -> Type:
    """The static type of a graph input; `bound` are the dimensions that the user gave."""
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
    known = (
        [d.dim_value if d.HasField("dim_value") else None for d in proto.shape.dim]
        if proto.HasField("shape")
        else None
    )
    if bound is not None:
        if known is not None and (
            len(bound) != len(known)
            or any(k is not None and k != b for k, b in zip(known, bound, strict=True))
        ):
            text = ",".join("?" if k is None else str(k) for k in known)
            raise EdgeKitError(
                "E0103", f"shape {list(bound)} does not fit input {value.name}, which is [{text}]"
            )
        result = Type(dtype, tuple(int(b) for b in bound))
    else:
        if known and known[0] is None:
            known[0] = 1  # the batch
        if known is None or any(k is None for k in known):
            text = ",".join("?" if k is None else str(k) for k in known) if known is not None else "..."
            raise EdgeKitError(
                "E0302",
                f"input {value.name} has a dynamic shape [{text}]",
                hint=f"bind it: --shape {value.name}={text.replace('?', 'N')}",
                inputs=(value.name,),
            )
        result = Type(dtype, tuple(k for k in known if k is not None))
    if any(d < 0 for d in result.shape) or result.size > MAX_ELEMENTS:
        raise EdgeKitError("E0402", f"shape {list(result.shape)[:8]} is absurd", f"input {value.name}")
    return result


def _type_name(data_type: int) -> str:
    try:
        return TensorProto.DataType.Name(data_type).lower()
    except ValueError:
        return f"type {data_type}"

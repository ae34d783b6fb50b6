"""Graphs as .ek files: save and load; a file is versioned, checked and mapped; ek.fbs shows its layout."""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from edgekit.core import atomic, attributes, files, flatbuffer
from edgekit.core.builder import absurd
from edgekit.core.ek_tokenizer import tokenizer_of, tokenizer_record
from edgekit.core.errors import EdgeKitError
from edgekit.core.flatbuffer import Record
from edgekit.core.ir import (
    ClassNames,
    CountedRows,
    Graph,
    MeasuredTensor,
    Node,
    OneSidedBranch,
    OpenBatch,
    RemovedChannels,
    RemovedWork,
    Source,
    State,
)
from edgekit.core.reasons import DamageError, reason_of
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.core.wellformed import faults

# Raised by every change that an older reader would misunderstand, the meaning of an operator included. Files
# have the least version that knows all that is in them; states came with version 2.
VERSION = 2
SUFFIX = ".ek"
ALIGNMENT = 64  # a cache line; the widest vector load
_SIGNATURE = b"\x89EDGE\r\n\x1a"  # as PNG's: a transfer that changes line ends shows
# Signature, version, 0, sizes of structure and data, and the sha256 of everything else.
_HEADER = struct.Struct("<8sIIQQ32s")
_DIGEST = 32  # where the sha256 starts
_DTYPES = {dtype.value for dtype in DType}


def save(graph: Graph, path: Path) -> None:
    """Write a graph. The same graph gives the same bytes."""
    structure = flatbuffer.write(schema(), _graph_record(graph))
    structure += bytes(-len(structure) % ALIGNMENT)
    data_size = sum(_aligned(data.nbytes) for data in _stored(graph))
    version = 2 if graph.states else 1
    header = _HEADER.pack(_SIGNATURE, version, 0, len(structure), data_size, b"")[:_DIGEST]
    digest = hashlib.sha256(header + structure)
    for part in _data(graph):
        digest.update(part)

    def parts() -> Iterator[atomic.Bytes]:
        yield header + digest.digest() + structure
        yield from _data(graph)

    atomic.write(path, parts())


def load(path: Path) -> Graph:
    """Read a graph. Its constants are read-only views of the mapped file, nothing is copied."""
    content = _map(path)
    data = _sections(content, path)
    try:
        record = flatbuffer.read(schema(), bytes(content[_HEADER.size : len(content) - len(data)]))
        graph = _graph(record, data)
        fault = next(faults(graph), None)
    except attributes.UnknownOperatorError as error:
        raise EdgeKitError(
            "E0406", f"{path.name}: {reason_of(error)}", hint="update edgekit, or convert the model again"
        ) from None
    except ValueError as error:
        raise _damaged(path, reason_of(error)) from error
    if fault is not None:
        raise EdgeKitError(
            "E0401", f"{path.name} holds no valid graph: {fault:.300}", hint="convert the model again"
        )
    return graph


def is_ek(path: Path) -> bool:
    """Is this an .ek file, by its name or by its first bytes? A damaged one is, too."""
    if path.suffix.lower() == SUFFIX or not path.is_file():
        return path.suffix.lower() == SUFFIX
    with files.opened(path) as file:
        return file.read(len(_SIGNATURE)) == _SIGNATURE


@cache
def schema() -> flatbuffer.Schema:
    """The schema of the structure."""
    return flatbuffer.parse(resources.files("edgekit.core").joinpath("ek.fbs").read_text(encoding="utf-8"))


def _stored(graph: Graph) -> Iterator[Array]:
    """What the data section holds: constants, then the first contents of states."""
    yield from (data for _, data in graph.constants())
    yield from (state.start for state in graph.states)


def _data(graph: Graph) -> Iterator[atomic.Bytes]:
    """The data section: each array, filled up."""
    for data in _stored(graph):
        yield np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
        yield bytes(-data.nbytes % ALIGNMENT)


def _aligned(size: int) -> int:
    return size + -size % ALIGNMENT


# Opening


def _map(path: Path) -> memoryview:
    """The bytes of a plain file, mapped; devices and pipes could be endless."""
    try:
        with files.opened(path) as file:
            if files.size_of(file) < _HEADER.size:
                raise _damaged(path, "it is too short")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {reason_of(error)}") from None


def _sections(content: memoryview, path: Path) -> memoryview:
    """The data section of a file whose header and checksum are right."""
    signature, version, _, structure_size, data_size, digest = _HEADER.unpack_from(content)
    if signature != _SIGNATURE:
        raise EdgeKitError(
            "E0401", f"{path.name} is no .ek file", hint="edgekit convert makes one from a model"
        )
    if version > VERSION:
        raise EdgeKitError(
            "E0405",
            f"{path.name} has format version {version}, this edgekit reads up to {VERSION}",
            hint="update edgekit, or convert the model again with this version",
        )
    size = _HEADER.size + structure_size + data_size
    if len(content) != size:
        raise _damaged(path, f"it has {len(content)} bytes instead of {size}")
    actual = hashlib.sha256(content[:_DIGEST])
    actual.update(content[_HEADER.size :])
    if version < 1 or actual.digest() != digest:
        raise _damaged(path, "its checksum does not match")
    return content[_HEADER.size + structure_size :]


def _damaged(path: Path, reason: str) -> EdgeKitError:
    return EdgeKitError(
        "E0401", f"{path.name} is damaged: {reason}", hint="copy it or convert the model again"
    )


# Graph <-> record


def _graph_record(graph: Graph) -> Record:
    index = {name: i for i, name in enumerate(graph.values)}
    values = []
    offset = 0
    for name, value in graph.values.items():
        values.append(_value_record(name, value, offset))
        offset += _aligned(value.data.nbytes) if value.data is not None else 0
    states = []
    for state in graph.states:
        states.append({"input": index[state.input], "output": index[state.output], "data": offset})
        offset += _aligned(state.start.nbytes)
    return {
        "name": graph.name,
        "inputs": [index[name] for name in graph.inputs],
        "outputs": [index[name] for name in graph.outputs],
        "nodes": [
            {
                "op": type(node.op).__name__,
                "attributes": attributes.encode_fields(node.op),
                "inputs": [index[name] for name in node.inputs],
                "outputs": [index[name] for name in node.outputs],
                "origin": node.origin,
            }
            for node in graph.nodes
        ],
        "values": values,
        "source": _source_record(graph.source),
        "states": states or None,
        "tokenizer": tokenizer_record(graph.tokenizer) if graph.tokenizer else None,
    }


def _source_record(source: Source) -> Record:
    open_batches = [dict(vars(batch)) for batch in source.open_batches]
    one_sided = [dict(vars(branch)) for branch in source.one_sided]
    counted = [dict(vars(rows)) for rows in source.counted_rows]
    measured = [{**vars(tensor), "counts": list(tensor.counts)} for tensor in source.measured]
    named = [{**vars(names), "names": list(names.names)} for names in source.class_names]
    notes = {"open_batches": open_batches, "one_sided": one_sided, "counted_rows": counted}
    notes |= {"class_names": named, "measured": measured}
    record = {**vars(source), **{name: records or None for name, records in notes.items()}}
    if source.removed:
        layers = [dict(vars(layer)) for layer in source.removed.layers]
        record["removed"] = {**vars(source.removed), "layers": layers}
    return record


def _source(record: Record) -> Source:
    open_batches = tuple(OpenBatch(**batch) for batch in record.get("open_batches") or ())
    one_sided = tuple(OneSidedBranch(**branch) for branch in record.get("one_sided") or ())
    counted = tuple(CountedRows(**rows) for rows in record.get("counted_rows") or ())
    measured = tuple(
        MeasuredTensor(**{**tensor, "counts": tuple(map(int, tensor["counts"] or ()))})
        for tensor in record.get("measured") or ()
    )
    removed = None
    if found := record.get("removed"):
        layers = tuple(RemovedChannels(**layer) for layer in found["layers"] or ())
        removed = RemovedWork(layers, found["macs_before"])
    named = tuple(
        ClassNames(**{**names, "names": tuple(map(str, names["names"] or ()))})
        for names in record.get("class_names") or ()
    )
    notes = {"open_batches": open_batches, "one_sided": one_sided, "counted_rows": counted}
    notes |= {"class_names": named}
    return Source(**{**record, **notes, "measured": measured, "removed": removed})


def _value_record(name: str, value: Value, offset: int) -> Record:
    quant = value.type.quant
    return {
        "name": name,
        "dtype": value.type.dtype.value,
        "shape": value.type.shape,
        "quant": None if quant is None else {**vars(quant), "axis": -1 if quant.axis is None else quant.axis},
        "data": -1 if value.data is None else offset,
    }


def _graph(record: Record, data: memoryview) -> Graph:
    """The graph that a record describes; ValueError where it contradicts itself."""
    names = [value["name"] for value in record["values"]]
    if len(set(names)) != len(names):
        raise DamageError("two values have the same name")
    end = 0
    values = {}
    for name, value in zip(names, record["values"], strict=True):
        values[name], end = _value(value, data, end)

    def pick(indices: Sequence[int]) -> tuple[str, ...]:
        if any(i >= len(names) for i in indices):
            raise DamageError("a node refers to a value that is not there")
        return tuple(names[i] for i in indices)

    states = []
    for state in record["states"]:
        (read,), (written,) = pick([state["input"]]), pick([state["output"]])
        initial, end = _constant(read, values[read].type, state["data"], data, end)
        states.append(State(read, written, initial))
    if end != len(data):
        raise DamageError("it has more data than constants and states")
    nodes = tuple(
        Node(
            attributes.decode_op(node["op"], node["attributes"]),
            pick(node["inputs"]),
            pick(node["outputs"]),
            node["origin"],
        )
        for node in record["nodes"]
    )
    source = _source(record["source"] or {})
    inputs, outputs = pick(record["inputs"]), pick(record["outputs"])
    tokenizer = tokenizer_of(record["tokenizer"]) if record["tokenizer"] else None
    graph = Graph(record["name"], inputs, outputs, nodes, values, source, tuple(states))
    return replace(graph, tokenizer=tokenizer)


def _value(record: Record, data: memoryview, end: int) -> tuple[Value, int]:
    """A value, and where its data end in the data section; those of the values before it end at `end`."""
    quant = record["quant"]
    if quant is not None:
        quant = Quant(**{**quant, "axis": None if quant["axis"] == -1 else quant["axis"]})
    if record["dtype"] not in _DTYPES:
        raise DamageError(f"{record['name']} is of the unknown type {record['dtype']!r:.40}")
    if absurd(record["shape"]):
        raise DamageError(f"{record['name']} has the absurd shape {list(record['shape'][:8])}")
    type = Type(DType(record["dtype"]), record["shape"], quant)
    start = record["data"]
    if start == -1:
        return Value(type), end
    return _constant(record["name"], type, start, data, end)


def _constant(name: str, type: Type, start: int, data: memoryview, end: int) -> tuple[Value, int]:
    """What is stored at `start`, which must be `end`, and where it ends."""
    if start != end or min(type.shape, default=0) < 0 or start + type.bytes > len(data):
        raise DamageError(f"the data of {name} are not where they should be")
    return Value(type, _array(type, data[start : start + type.bytes])), start + _aligned(type.bytes)


def _array(type: Type, data: memoryview) -> Array:
    raw = np.frombuffer(data, np.uint8)
    if type.dtype is DType.BOOL and raw.max(initial=0) > 1:
        raise DamageError(f"{raw.max()} is no bool")
    return raw.view(type.dtype.numpy).reshape(type.shape)

"""Small programs of Paddle for tests, made by hand: PIR as JSON, and tensors as .pdiparams has them."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.caffe_files import part, varint

from edgekit.core.types import Array

_CODES = {"bool": 0, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "int8": 21}
_ELEMENTS = {"bool": "t_bool", "int32": "t_i32", "int64": "t_i64", "float32": "t_f32", "int8": "t_i8"}


def stored(array: Array, dims: Sequence[int] | None = None) -> bytes:
    """One tensor; `dims` may lie."""
    shape = array.shape if dims is None else dims
    described = b"\x08" + varint(_CODES[str(array.dtype)]) + b"".join(b"\x10" + varint(n) for n in shape)
    return struct.pack("<IQIi", 0, 0, 0, len(described)) + described + array.tobytes()


def type_of(dims: Sequence[int], element: str = "float32") -> dict[str, Any]:
    return {"#": "0.t_dtensor", "D": [{"#": f"0.{_ELEMENTS[element]}"}, list(dims), "NCHW", [], 0]}


def attribute(name: str, value: Any) -> dict[str, Any]:
    return {"N": name, "AT": _typed(value)}


def op(
    kind: str, inputs: Sequence[int], results: Mapping[int, Any] | None = None, **attributes: Any
) -> dict[str, Any]:
    """An operator: the numbers of its operands, and types by the number of the result."""
    return {
        "#": kind if "." in kind else f"1.{kind}",
        "A": [attribute(name, value) for name, value in attributes.items()],
        "I": [{"%": i} for i in inputs],
        "O": [{"%": i, "TT": type} for i, type in (results or {}).items()],
    }


def parameter(number: int, name: str, dims: Sequence[int], element: str = "float32") -> dict[str, Any]:
    made = {"%": number, "TT": type_of(dims, element)}
    return {"#": "p", "A": [0, 1, 1, name], "O": made, "OA": [1, 0, 1]}


def program(*ops: Mapping[str, Any], version: int = 4) -> str:
    region = {"#": "region_0", "blocks": [{"#": "block_0", "args": [], "ops": list(ops)}]}
    base = {"magic": "pir", "trainable": True, "version": version}
    return json.dumps({"base_code": base, "program": {"regions": [region]}})


def net(dims: Sequence[int], result: Sequence[int], *ops: Mapping[str, Any], element: str = "float32") -> str:
    """A program whose input is value 1 and whose output is value 2, with these operators between."""
    first = op("data", [], {1: type_of(dims)}, name="x")
    return program(first, *ops, op("fetch", [2], {99: type_of(result, element)}, name="y", col=0))


def write(folder: Path, text: str, parameters: Mapping[str, Array] | None = None) -> Path:
    tensors = (stored(array) for _, array in sorted((parameters or {}).items()))
    (folder / "net.pdiparams").write_bytes(b"".join(tensors))
    (folder / "net.json").write_text(text, encoding="utf-8")
    return folder / "net.json"


def desc_op(
    kind: str, inputs: Mapping[str, str], outputs: Mapping[str, str], **attributes: float | bool
) -> bytes:
    """An operator of an older program."""
    slots = b"".join(
        part(field, part(1, slot.encode()) + part(2, name.encode()))
        for field, given in ((1, inputs), (2, outputs))
        for slot, name in given.items()
    )
    given = (part(4, part(1, name.encode()) + _attribute(value)) for name, value in attributes.items())
    return slots + part(3, kind.encode()) + b"".join(given)


def _attribute(value: float | bool) -> bytes:
    """The type and the value."""
    if isinstance(value, bool):
        return b"\x10\x06\x50" + bytes([value])
    return b"\x10\x01\x25" + struct.pack("<f", value)


def desc(variables: Mapping[str, Array], *ops: bytes) -> bytes:
    """An older program: variables have the types of arrays; `feed` brings inputs, `fetch` takes outputs."""
    described = (
        part(3, part(1, name.encode()) + part(2, b"\x08\x07" + part(3, part(1, _tensor(array)))))
        for name, array in variables.items()
    )
    root = b"\x08\x00\x10" + b"\xff" * 9 + b"\x01"
    return part(1, root + b"".join(described) + b"".join(part(4, op) for op in ops))


def _tensor(array: Array) -> bytes:
    return b"\x08" + varint(_CODES[str(array.dtype)]) + b"".join(b"\x10" + varint(n) for n in array.shape)


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"#": "0.a_array", "D": [_typed(v) for v in value]}
    if isinstance(value, dict):
        return value
    kinds = {bool: "a_bool", int: "a_i32", float: "a_f32", str: "a_str"}
    return {"#": f"0.{kinds[type(value)]}", "D": value}

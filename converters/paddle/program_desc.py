"""Paddle's older programs, .pdmodel: a protocol buffer whose operators read and write variables by slot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from edgekit.converters.file_formats import protobuf
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.paddle.program import DTYPES, Declared, Names, Operator, PaddleProgram, declared
from edgekit.core.errors import EdgeKitError

# Numbers of fields, as framework.proto has them.
_BLOCKS, _VERSION = 1, 4
_VARS, _OPS = 3, 4
_INPUTS, _OUTPUTS, _TYPE, _ATTRIBUTES = 1, 2, 3, 4
_TENSOR = 7  # the type of a variable that is one
_CODES = {
    0: "bool",
    1: "int16",
    2: "int32",
    3: "int64",
    4: "float16",
    5: "float32",
    6: "float64",
    20: "uint8",
    21: "int8",
    22: "bfloat16",
}
# Slots that newer programs have first; all other results come behind these.
_RESULTS = ("Out", "Output", "Y", "Result", "DropoutState", "Indices", "Mask", "State")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_INSTEAD = re.compile(r"_tensor(_list)?$")
_TYPES = ("dtype", "in_dtype", "out_dtype")
_HEAD = re.compile(rb"\n[\x80-\xff]*[\x00-\x7f]\x08\x00\x10\xff{9}\x01\x1a")


def is_program(head: bytes) -> bool:
    """A message whose first field is block 0, which has no parent and begins with variables."""
    return _HEAD.match(head) is not None


def parse(raw: bytes, where: str) -> PaddleProgram:
    top = protobuf.message(raw, where)
    blocks = top.messages(_BLOCKS)
    if not blocks:
        raise EdgeKitError("E0401", "the program is empty", where)
    variables = {v.text(1): v for v in blocks[0].messages(_VARS)}
    types = {name: v.message(2) for name, v in variables.items()}
    known = {
        name: declared_tensor(type.message(3).message(1), f"variable {name}")
        for name, type in types.items()
        if type.integer(1) == _TENSOR and type.message(3).message(1).integer(1) in _CODES
    }
    parameters = [name for name, v in variables.items() if v.integer(3) and types[name].integer(1) == _TENSOR]
    operators = [_operator(op, i) for i, op in enumerate(blocks[0].messages(_OPS))]
    inputs = [op.made[0] for op in operators if op.kind == "feed" and op.made]
    outputs = [str(op.named["x"]) for op in operators if op.kind == "fetch" and "x" in op.named]
    version = top.message(_VERSION).integer(1)
    return PaddleProgram(
        inputs=[(name, name) for name in inputs],
        parameters=[(name, name) for name in parameters],
        outputs=[(name, name) for name in outputs],
        operators=[op for op in operators if op.kind not in ("feed", "fetch")],
        declared=known,
        producer=f"PaddlePaddle {_version(version)}",
    )


def declared_tensor(described: Message, where: str) -> Declared:
    """The type that a message describes."""
    code = described.integer(1, -1)
    if code not in _CODES:
        raise EdgeKitError("E0204", f"element type {code} is not supported", where)
    return declared(DTYPES[_CODES[code]], described.integers(2))


def _operator(op: Message, i: int) -> Operator:
    kind = op.text(_TYPE)
    given = {_spelled(key): names for key, names in _slots(op, _INPUTS)}
    made = dict(_slots(op, _OUTPUTS))
    order = [slot for slot in _RESULTS if slot in made]
    order += sorted(made.keys() - set(order))
    results = [made[slot] for slot in order]
    name = results[0] if results and isinstance(results[0], str) else f"{kind}_{i}"
    attributes = {key: value for key, value in _attributes(op, given) if key not in given}
    return Operator(kind, name, (), given, attributes, results)


def _slots(op: Message, field: int) -> Iterator[tuple[str, Names]]:
    """The slots in which there is something."""
    for slot in op.messages(field):
        names = slot.texts(2)
        if names:
            yield slot.text(1), names[0] if len(names) == 1 else names


def _attributes(op: Message, given: dict[str, Names]) -> Iterator[tuple[str, Any]]:
    """Attributes by name; those that are variables become operands."""
    for attribute in op.messages(_ATTRIBUTES):
        key = _spelled(attribute.text(1))
        kind = attribute.integer(2)
        if kind in (13, 14):
            given[key] = attribute.text(17) if kind == 13 else attribute.texts(18)
            continue
        value = _value(attribute, kind)
        if key in _TYPES and isinstance(value, int):
            value = DTYPES.get(_CODES.get(value, ""))
        yield key, value


def _value(attribute: Message, kind: int) -> Any:
    match kind:
        case 0:
            return attribute.integer(3)
        case 1:
            return attribute.number(4)
        case 2:
            return attribute.text(5)
        case 3:
            return attribute.integers(6)
        case 4:
            return attribute.numbers(7).tolist()
        case 5:
            return attribute.texts(8)
        case 6:
            return bool(attribute.integer(10))
        case 7:
            return [bool(v) for v in attribute.integers(11)]
        case 9:
            return attribute.integer(13)
        case 11:
            return attribute.integers(15)
        case 12:
            return attribute.numbers(16, "<f8").tolist()
        case 15:
            return attribute.number(19)
        case 16:
            return _scalar(attribute.message(20))
        case 17:
            return [_scalar(s) for s in attribute.messages(21)]
    return None  # a block, which only operators of control flow have


def _scalar(scalar: Message) -> Any:
    """A number of one of four types."""
    match scalar.integer(1):
        case 1:
            return bool(scalar.integer(2))
        case 2:
            return scalar.integer(3)
        case 3:
            return scalar.number(4)
    raise EdgeKitError("E0204", "complex numbers are not supported", scalar.where)


def _spelled(name: str) -> str:
    """Slots and attributes as newer programs spell them: StartsTensorList stands in for starts."""
    return _INSTEAD.sub("", _WORD.sub("_", name).lower())


def _version(version: int) -> str:
    return f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"

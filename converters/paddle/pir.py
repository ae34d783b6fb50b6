"""Paddle's newer programs, .json: operators of PIR, with numbered values, and attributes that state types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.files import parse_json
from edgekit.converters.paddle.program import (
    Declared,
    Names,
    Operator,
    PaddleProgram,
    declared,
    dtype_of,
    flat,
)
from edgekit.core.errors import EdgeKitError

_NEWEST = 4  # the version of PIR in Paddle 3.3
_HEAD = re.compile(rb'\s*\{\s*"base_code"\s*:\s*\{[^{}]*"magic"\s*:\s*"pir"')
# Dialects by the number that stands for them.
_BUILTIN, _PADDLE = "0", "1"
_PARAMETER = "p"
_FLOATS = {"INF": float("inf"), "-INF": float("-inf"), "NAN": float("nan")}
_TYPES = {
    "t_bool": "bool",
    "t_i8": "int8",
    "t_ui8": "uint8",
    "t_i16": "int16",
    "t_i32": "int32",
    "t_i64": "int64",
    "t_f16": "float16",
    "t_bf16": "bfloat16",
    "t_f32": "float32",
    "t_f64": "float64",
}
_UNDEFINED = re.compile(r"(?i)undefined.*")
# What says where something is computed, not what.
_IGNORED = {"place", "struct_name", "op_role", "op_callstack", "chunk_id", "stop_gradient", "persistable"}


def is_program(head: bytes) -> bool:
    return _HEAD.match(head) is not None


def parse(raw: bytes, where: str) -> PaddleProgram:
    top = Record.of(parse_json(raw, where), where)
    base = top.record("base_code")
    version = base.integer("version")
    if base.text("magic") != "pir" or not 0 <= version <= _NEWEST:
        message = f"version {version} of PIR is newer than {_NEWEST}, which EdgeKit knows"
        raise EdgeKitError("E0202", message, where, "save it with Paddle 3.3, or use a newer EdgeKit")
    regions = list(top.record("program").records("regions"))
    blocks = list(regions[0].records("blocks")) if len(regions) == 1 else []
    if len(blocks) != 1:
        raise EdgeKitError("E0401", f"a program of {len(regions)} regions and {len(blocks)} blocks", where)
    return _Reader().program(blocks[0])


class _Reader:
    """One pass over the operators; values that consist of several are followed to these."""

    def __init__(self) -> None:
        self.members: dict[str, Names] = {}
        self.declared: dict[str, Declared] = {}
        self.inputs: list[tuple[str, str]] = []
        self.outputs: list[tuple[str, str]] = []
        self.parameters: list[tuple[str, str]] = []
        self.operators: list[Operator] = []

    def program(self, block: Record) -> PaddleProgram:
        for op in block.records("ops"):
            self._read(op)
        return PaddleProgram(
            self.inputs, self.parameters, self.outputs, self.operators, self.declared, "PaddlePaddle"
        )

    def _read(self, op: Record) -> None:
        dialect, _, kind = op.text("#").rpartition(".")
        if op.text("#") == _PARAMETER:
            (value,) = flat(self._result(op.record("O")))
            if _is_stored(op):
                self.parameters.append((_parameter(op), value))
            else:
                self.members[value] = None
            return
        operands = [self._operand(given) for given in op.records("I")]
        if dialect == _BUILTIN:
            self._regroup(kind, op, operands)
            return
        results = [self._result(made) for made in op.records("O")]
        settings = dict(_attributes(op))
        kind = kind.removesuffix("_")  # in place, which only says where the result is put
        if dialect == _PADDLE and kind in ("data", "feed"):
            self.inputs.append((str(settings.get("name", "")), flat(results[0])[0]))
        elif dialect == _PADDLE and kind == "fetch":
            self.outputs.append((str(settings.get("name", "")), flat(operands[0])[0]))
        else:
            kind = kind if dialect == _PADDLE else f"{dialect}.{kind}"
            first = next((name for result in results for name in flat(result)), "")
            self.operators.append(Operator(kind, f"{kind}_{first[1:]}", operands, {}, settings, results))

    def _regroup(self, kind: str, op: Record, operands: list[Names]) -> None:
        """Operators that put values together or take them apart."""
        made = [_id(result) for result in op.records("O")]
        together = flat(operands[0]) if operands else ()
        if kind == "combine":
            self.members[made[0]] = [name for names in operands for name in flat(names)]
        elif kind == "split" and len(made) == len(together):
            self.members |= dict(zip(made, together, strict=True))
        elif kind == "slice":
            index = next((v for key, v in _attributes(op) if key == "index"), 0)
            self.members[made[0]] = together[index]
        else:
            raise EdgeKitError("E0201", f"unsupported op builtin.{kind}", op.where)

    def _operand(self, given: Record) -> Names:
        name = _id(given)
        return None if name == "%0" else self.members.get(name, name)

    def _result(self, made: Record) -> Names:
        """The values of a result; the type says whether it is several."""
        name = _id(made)
        if "TT" not in made or made.record("TT").text("#", "") == "NULL":
            return None
        return self._typed(name, made.record("TT"))

    def _typed(self, name: str, type: Record) -> Names:
        _, _, kind = type.text("#").rpartition(".")
        if kind == "t_vec":
            parts = [self._typed(f"{name}.{i}", part) for i, part in enumerate(type.records("D"))]
            self.members[name] = names = [n for part in parts for n in flat(part)]
            return names
        if kind == "t_dtensor":
            content = type.items("D")
            if len(content) < 2:
                raise EdgeKitError("E0401", f"{type.where} is no type of a tensor")
            element = Record.of(content[0], type.where).text("#").rpartition(".")[2]
            dims = [checked(n, int, f"shape of {type.where}") for n in checked(content[1], list, type.where)]
            if element in _TYPES:
                self.declared[name] = declared(dtype_of(_TYPES[element], type.where), dims)
        return name


def _id(value: Record) -> str:
    return f"%{value.integer('%')}"


def _parameter(op: Record) -> str:
    """The name of a parameter comes behind three flags."""
    settings = op.items("A")
    if len(settings) < 4:
        raise EdgeKitError("E0401", "a parameter has no name", op.where)
    return checked(settings[3], str, f"name of the parameter {op.where}")


def _is_stored(op: Record) -> bool:
    """The first of three flags; what is not stored is for training only."""
    flags = op.items("OA", [1])
    return bool(flags) and bool(flags[0])


def _attributes(op: Record) -> Iterator[tuple[str, Any]]:
    for attribute in op.records("A"):
        name = attribute.text("N")
        if name not in _IGNORED:
            yield name, _value(attribute.record("AT"))


def _value(given: Record) -> Any:
    kind = given.text("#").rpartition(".")[2]
    if kind in ("a_bool", "a_i32", "a_i64", "a_index", "a_str", "a_tensorname", "a_intarray"):
        return _checked(kind, given)
    match kind:
        case "a_f32" | "a_f64":
            return _FLOATS.get(given.text("VD", "")) if "VD" in given else given.number("D")
        case "a_array":
            return [_value(item) for item in given.records("D")]
        case "a_scalar":
            return _scalar(given)
        case "a_dtype":
            name = given.text("D")
            return None if _UNDEFINED.match(name) else dtype_of(name, given.where)
        case "NULL":
            return None
    raise EdgeKitError("E0205", f"attributes of the kind {kind[:40]} are not supported", given.where)


_PLAIN: Mapping[str, type] = {"a_bool": bool, "a_str": str, "a_tensorname": str}


def _checked(kind: str, given: Record) -> Any:
    if kind == "a_intarray":
        return given.integers("D")
    value = given.fields.get("D")
    return checked(value, _PLAIN.get(kind, int), given.where)


def _scalar(given: Record) -> Any:
    """A number behind its type; infinities are texts."""
    content = given.items("D")
    if len(content) != 2:
        raise EdgeKitError("E0401", f"{given.where} is not a number")
    value = content[1]
    if isinstance(value, str):
        return _FLOATS.get(value.upper())
    return value if isinstance(value, bool) else checked(value, float, given.where)

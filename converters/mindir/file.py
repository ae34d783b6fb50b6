"""What a MindIR file holds: values of attributes and constants, tensors, and what nodes say of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgekit.converters import files
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.inputs import Dims
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

# Element types of tensors, as mind_ir.proto numbers them.
_TENSORS = {
    1: DType.F32,
    2: DType.U8,
    3: DType.S8,
    4: DType.U16,
    5: DType.S16,
    6: DType.S32,
    7: DType.S64,
    9: DType.BOOL,
    10: DType.F16,
    11: DType.F64,
    12: DType.U32,
    16: DType.BF16,
    17: DType.F64,
}
# Element types as operators take them.
_TYPES = {
    30: DType.BOOL,
    32: DType.S8,
    33: DType.S16,
    34: DType.S32,
    35: DType.S64,
    37: DType.U8,
    38: DType.U16,
    39: DType.U32,
    42: DType.F16,
    43: DType.F32,
    44: DType.F64,
    45: DType.BF16,
}
_FLOAT, _STRING, _BOOL, _HALF, _DOUBLE, _TENSOR, _MANY = 1, 8, 9, 10, 11, 17, 19
_INTEGERS = (2, 3, 4, 5, 6, 7, 12, 13)
_SEQUENCES = (20, 21)
_MONADS = (23, 24)
_NONE = 25
_DEPTH = 32
_AGAIN = "export it again, uncompressed and not encrypted: mindspore.export(net, x, file_name='net')"


@dataclass(frozen=True)
class Monad:
    """What orders operators by their side effects, and is no value."""


MONAD = Monad()


@dataclass(frozen=True)
class Kind:
    """What a node says of a result that is a tensor; a size that is open is None."""

    dtype: DType
    dims: Dims


def dtype_of(code: int) -> DType:
    """An element type as an operand or attribute states it."""
    if code not in _TYPES:
        raise EdgeKitError("E0204", f"element type {code} is not supported")
    return _TYPES[code]


def value(attribute: Message, depth: int = 0) -> Any:
    """A number, a text, a tensor, nothing, or a tuple of such."""
    if depth > _DEPTH:
        raise EdgeKitError("E0402", "a constant is nested without end", attribute.where)
    kind = attribute.integer(16)
    if kind in (_FLOAT, _HALF):
        return attribute.number(2) if 2 in attribute else float(_only(attribute.numbers(8), attribute))
    if kind == _DOUBLE:
        return attribute.number(4) if 4 in attribute else float(_only(attribute.numbers(9, "<f8"), attribute))
    if kind in _INTEGERS or kind == _BOOL:
        number = attribute.integer(3) if 3 in attribute else int(_only(attribute.integers(10), attribute))
        return bool(number) if kind == _BOOL else number
    if kind == _STRING:
        return attribute.text(5) if 5 in attribute else str(_only(attribute.texts(11), attribute))
    if kind in (_TENSOR, _MANY):
        stored = [attribute.message(6)] if kind == _TENSOR else attribute.messages(12)
        return tensor(_only(stored, attribute), "a constant")
    if kind in _SEQUENCES:
        return tuple(value(item, depth + 1) for item in attribute.messages(17))
    if kind in _MONADS:
        return MONAD
    if kind == _NONE:
        return None
    raise EdgeKitError("E0205", f"values of kind {kind} are not supported", attribute.where)


def is_value(attribute: Message) -> bool:
    """Is it of a kind that `value` knows? Others describe types, or how to compute in parallel."""
    kind = attribute.integer(16)
    return kind in (_FLOAT, _HALF, _DOUBLE, _STRING, _BOOL, _NONE, *_INTEGERS, *_SEQUENCES)


def tensor(stored: Message, where: str) -> Array:
    """A tensor whose elements are in the file."""
    kind = kind_of(stored, where)
    if stored.message(12).text(1) or 12 in stored:
        hint = "models of more than a gigabyte are exported like that: too large for devices"
        raise EdgeKitError("E0205", "weights in a second file are not supported", where, hint)
    if stored.integer(16):
        raise EdgeKitError("E0205", "compressed weights are not supported", where, _AGAIN)
    shape = [-1 if n is None else n for n in kind.dims or ()]
    return files.array(stored.data(9), kind.dtype, shape, where, exact=True)


def kind_of(described: Message, where: str) -> Kind:
    code = described.integer(2)
    if code not in _TENSORS:
        raise EdgeKitError("E0204", f"element type {code} is not supported", where)
    return Kind(_TENSORS[code], tuple(None if n < 0 else n for n in described.integers(1)))


def stated(node: Message) -> Sequence[Kind | None]:
    """The types of a node's results; None where one is no tensor of a known kind."""
    for attribute in node.messages(5):
        if attribute.text(1) == "shape":
            many = attribute.integer(16) in _SEQUENCES
            return [_stated(item) for item in (attribute.messages(17) if many else [attribute])]
    return []


def _stated(attribute: Message) -> Kind | None:
    if attribute.integer(16) != _MANY:
        return None
    described = _only(attribute.messages(12), attribute)
    return kind_of(described, attribute.where) if described.integer(2) in _TENSORS else None


def _only(values: Any, attribute: Message) -> Any:
    if len(values) != 1:
        raise EdgeKitError("E0401", f"{len(values)} values where one should be", attribute.where)
    return values[0]

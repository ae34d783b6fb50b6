"""A program of Paddle, in whichever of its two forms: operators that name what they read and make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from edgekit.converters.inputs import Dims
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

# One value, several that go together, or none where an operand is optional.
Names: TypeAlias = str | Sequence[str] | None
# By the names that both forms use in attributes.
DTYPES: Mapping[str, DType] = {
    "bool": DType.BOOL,
    "int8": DType.S8,
    "uint8": DType.U8,
    "int16": DType.S16,
    "int32": DType.S32,
    "int64": DType.S64,
    "float16": DType.F16,
    "bfloat16": DType.BF16,
    "float32": DType.F32,
    "float64": DType.F64,
}


@dataclass(frozen=True)
class Declared:
    """What a file says of a value: its type, and its shape with None where a size is open."""

    dtype: DType
    dims: Dims


@dataclass(frozen=True)
class Operator:
    """One operator: programs of Paddle 3 have operands by position, older ones by name."""

    kind: str
    name: str
    operands: Sequence[Names]
    named: Mapping[str, Names]
    attributes: Mapping[str, Any]
    results: Sequence[Names]

    @property
    def made(self) -> list[str]:
        """All values that it makes."""
        return [name for result in self.results for name in flat(result)]


@dataclass(frozen=True)
class PaddleProgram:
    """Inputs, parameters and outputs are pairs of the name for people and the value."""

    inputs: Sequence[tuple[str, str]]
    parameters: Sequence[tuple[str, str]]
    outputs: Sequence[tuple[str, str]]
    operators: Sequence[Operator]
    declared: Mapping[str, Declared]
    producer: str


def flat(names: Names) -> Sequence[str]:
    return () if names is None else (names,) if isinstance(names, str) else names


def declared(dtype: DType, dims: Sequence[int]) -> Declared:
    """With sizes below 0 as open ones."""
    return Declared(dtype, tuple(None if n < 0 else n for n in dims))


def dtype_of(name: object, where: str) -> DType:
    if not isinstance(name, str) or name not in DTYPES:
        raise EdgeKitError("E0204", f"element type {str(name)[:40]} is not supported", where)
    return DTYPES[name]

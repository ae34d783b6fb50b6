"""What a handler of a StableHLO operator gets beside the operands: attributes in pretty or generic form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgekit.converters.stablehlo.mlir_literals import Spec
from edgekit.converters.stablehlo.mlir_text import MlirOperation
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType


@dataclass(frozen=True)
class StablehloNode:
    """One operator of the file."""

    operation: MlirOperation

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.operation.attributes

    @property
    def dtype(self) -> DType:
        """The element type of the result."""
        return self._result.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result, which has to be known."""
        return self._result.shape

    @property
    def _result(self) -> Spec:
        if not self.operation.types:
            raise EdgeKitError("E0401", f"{self.operation.kind} states no type")
        return self.operation.types[0]

    def within(self, key: str) -> StablehloNode:
        """The same with the attributes of a dictionary beside its own."""
        inner = self.attributes.get(key, {})
        if not isinstance(inner, dict):
            raise EdgeKitError("E0401", f"{self.operation.kind}: {key} should be a dictionary")
        return StablehloNode(replace(self.operation, attributes={**self.attributes, **inner}))

    def choice(self, key: str) -> str:
        """A word: the first one of the pretty form, or #stablehlo<key WORD>."""
        found = self.attributes.get(key, next(iter(self.operation.words), ""))
        return str(found.get(key, "")) if isinstance(found, dict) else str(found)

    def integer(self, *keys: str, default: int | None = None) -> int:
        """A number, under the first of these names that is there."""
        found = self._found(keys, default)
        if not isinstance(found, int) or isinstance(found, bool):
            raise EdgeKitError("E0401", f"{self.operation.kind}: {keys[0]} should be an integer")
        return found

    def number(self, key: str) -> float:
        found = self._found((key,), None)
        if not isinstance(found, int | float):
            raise EdgeKitError("E0401", f"{self.operation.kind}: {key} should be a number")
        return float(found)

    def ints(
        self, *keys: str, default: Sequence[int] | None = None, count: int | None = None
    ) -> tuple[int, ...]:
        """Integers, `count` of them, under the first of these names that is there."""
        found = self._found(keys, default)
        if isinstance(found, int) and not isinstance(found, bool):
            found = [found]
        flat = np.asarray(found).reshape(-1).tolist()
        if not all(type(item) in (int, bool) for item in flat) or count not in (None, len(flat)):
            raise EdgeKitError("E0401", f"{self.operation.kind}: {keys[0]} should be integers")
        return tuple(int(item) for item in flat)

    def pairs(self, *keys: str, count: int) -> list[tuple[int, int]]:
        """Two numbers for each dimension, 0 where nothing is said."""
        flat = self.ints(*keys, default=[0] * (2 * count), count=2 * count)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def array(self, key: str) -> Array:
        found = self._found((key,), None)
        if not isinstance(found, np.ndarray):
            raise EdgeKitError("E0401", f"{self.operation.kind}: {key} should be a constant")
        return found

    def _found(self, keys: Sequence[str], default: Any) -> Any:
        found = next((self.attributes[key] for key in keys if key in self.attributes), default)
        if found is None:
            raise EdgeKitError("E0401", f"{self.operation.kind} has no {keys[0]}")
        return found

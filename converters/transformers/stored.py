"""Tensors of files, and those that hold the matrices of all experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from edgekit.converters.transformers.mixtures import MAX_EXPERTS
from edgekit.core.ir import GroupwiseWeights
from edgekit.core.types import Array, DType


class Stored(Protocol):
    """A tensor of a file."""

    @property
    def dtype(self) -> DType: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def array(self) -> Array: ...

    def groups(self) -> GroupwiseWeights | None:
        """The integers that the numbers are made of, where the file has such."""
        ...


@dataclass(frozen=True)
class ExpertMatrix:
    """That of one expert, of a tensor [experts, outputs, inputs]."""

    stack: Stored
    number: int

    @property
    def dtype(self) -> DType:
        return self.stack.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stack.shape[1:]

    def array(self) -> Array:
        matrix: Array = self.stack.array()[self.number]
        return matrix

    def groups(self) -> GroupwiseWeights | None:
        rows = slice(self.number * self.shape[0], (self.number + 1) * self.shape[0])
        groups = self.stack.groups()
        return groups and replace(groups, integers=groups.integers[rows], scale=groups.scale[rows])


def each_expert(stored: Mapping[str, Stored], names: Mapping[str, str]) -> Iterator[tuple[str, Stored]]:
    """The tensors by name, each expert's matrix by its own: where the name of a part has {} for the number of
    an expert, a file may have one tensor by the name without it."""
    templates = {name.replace(".{}", ""): name for name in names.values() if "{}" in name}
    for name, one in stored.items():
        whole = name.removesuffix(".weight")
        found = next((part for part in templates if whole.endswith(f".{part}")), None)
        if found is None or len(one.shape) != 3 or one.shape[0] > MAX_EXPERTS:
            yield name, one
            continue
        for number in range(one.shape[0]):
            own = templates[found].format(number)
            yield f"{whole.removesuffix(found)}{own}.weight", ExpertMatrix(one, number)

"""Where Keras keeps the weights of a layer: in groups of its own, or, in older files, in one list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from typing import Protocol

from edgekit.converters.file_formats.hdf5 import Item
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder


class Weights(Protocol):
    """The weights of a layer and of what is in it."""

    def part(self, path: str, name: str = "") -> Weights:
        """Those of a layer within: by the place that Keras keeps it in, and how its older files call it."""
        ...

    def tensors(self) -> list[Tensor]:
        """The layer's own, in the order that it made them: those that are trained first."""
        ...


@dataclass(frozen=True)
class WeightGroups:
    """As .keras has them: a group for each layer, whose member `vars` holds arrays called 0, 1 and so on."""

    builder: Builder
    item: Item | None

    def part(self, path: str, name: str = "") -> WeightGroups:
        return replace(self, item=self.item.get(path) if self.item else None)

    def tensors(self) -> list[Tensor]:
        own = self.item.get("vars") if self.item else None
        if own is None:
            return []
        found = takewhile(lambda item: item is not None, (own.get(str(i)) for i in count()))
        return [Tensor(self.builder, self.builder.const(item.array(), hint="w")) for item in found if item]


@dataclass(frozen=True)
class ListedWeights:
    """As .h5 has them: all that a layer of the model and the layers in it have, by names with / between."""

    builder: Builder
    group: Item
    names: Sequence[str]

    def part(self, path: str, name: str = "") -> ListedWeights:
        return replace(self, names=[full for full in self.names if not name or _is_within(full, name)])

    def tensors(self) -> list[Tensor]:
        found = [(name, self.group.get(name)) for name in self.names]
        return [Tensor(self.builder, self.builder.const(item.array(), hint="w")) for _, item in found if item]


@dataclass(frozen=True)
class WeightsByLayer:
    """The weights of a model in .h5: a group for each of its layers, with an attribute that lists them."""

    builder: Builder
    model: Item

    def part(self, path: str, name: str = "") -> ListedWeights:
        group = self.model.get(name)
        return ListedWeights(self.builder, group or self.model, _listed(group) if group else [])

    def tensors(self) -> list[Tensor]:
        return []


def _listed(group: Item) -> list[str]:
    """Names of weights; long lists are cut into attributes with numbers."""
    whole = group.texts("weight_names")
    if whole is not None:
        return whole
    parts = takewhile(lambda part: part is not None, (group.texts(f"weight_names{i}") for i in count()))
    return [name for part in parts for name in part or []]


def _is_within(full: str, name: str) -> bool:
    """Does a weight lie within this name? One with _ at the end stands for all that begin so."""
    within = full.split("/")[:-1]
    return any(part == name or (name[-1] == "_" and part.startswith(name)) for part in within)

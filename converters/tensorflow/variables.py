"""Variables of a graph: what the checkpoint has for each, what a run assigns, and what the next one reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from edgekit.converters.naming import ModelState
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.checkpoint import Bundle
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Value, type_of


@dataclass(frozen=True)
class Variable:
    """A variable, by the name that its handles share."""

    key: str


@dataclass(frozen=True)
class Saved:
    """A variable in the checkpoint, which is read when something needs it."""

    bundle: Bundle
    name: str


class Variables:
    """The variables of a model as an import goes along; `changing` are those that it assigns."""

    def __init__(self, builder: Builder, changing: Collection[str] = ()) -> None:
        self.builder = builder
        self.changing = changing
        self.saved: dict[str, Saved] = {}
        self.contents: dict[str, Tensor] = {}
        self.written: dict[str, Tensor] = {}  # what this run has assigned
        self._states: dict[str, tuple[str, Value]] = {}  # the edge that is read, and what is there first

    def read(self, variable: Variable) -> Tensor:
        key = variable.key
        if key not in self.contents:
            if key not in self.saved:
                hint = "the folder variables belongs beside saved_model.pb, with all that is in it"
                message = f"variable {key[:80]} is read, but no checkpoint holds it"
                raise EdgeKitError("E0401", message, hint=hint)
            data = self.saved[key].bundle.load(self.saved[key].name)
            name = self.builder.const(data, hint=key)
            if key in self.changing:
                name = self.builder.input(key, type_of(data))
                self._states[key] = name, Value(type_of(data), data)
            self.contents[key] = Tensor(self.builder, name)
        return self.contents[key]

    def assign(self, variable: Variable, content: Tensor | Saved) -> None:
        if isinstance(content, Saved):
            self.saved[variable.key] = content
            return
        self.read(variable)
        self.contents[variable.key] = content
        self.written[variable.key] = content

    def memories(self) -> Iterator[ModelState]:
        """The states in the end."""
        for key, (name, initial) in self._states.items():
            content = self.contents[key]
            if content.type != initial.type:
                message = f"variable {key[:80]} is {initial.type}, {content.type} is assigned"
                raise EdgeKitError("E0401", message)
            yield ModelState(name, content, initial)

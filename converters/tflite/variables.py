"""TFLite's resource variables: what one run assigns, the next one reads."""

from __future__ import annotations

from collections.abc import Iterator

from edgekit.converters.naming import ModelState
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.file import Table
from edgekit.converters.tflite.layer import labelled
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, Type, Value

KINDS = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")


class Variables:
    """The variables of a model, by container and name, as an import goes along."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.starts: dict[str, Array] = {}  # what the initialization has assigned
        self.contents: dict[str, Tensor] = {}
        self._handles: dict[int, str] = {}  # by the tensors that hold them
        self._states: dict[str, tuple[str, Value]] = {}  # the edge that is read, and what is there first

    def declare(self, handle: int, options: Table) -> None:
        """VAR_HANDLE"""
        self._handles[handle] = f"{options.text(0)}/{options.text(1)}".removeprefix("/")

    def read(self, handle: int, type: Type) -> Tensor:
        """READ_VARIABLE: what this run has assigned, else what the run before has left."""
        key = self._key(handle)
        if key not in self.contents:
            start = self.starts.get(key)
            if start is None:
                raise EdgeKitError("E0401", f"variable {key} is read, but never initialized")
            if start.size != type.size or start.dtype != type.dtype.numpy:
                found = f"{start.dtype}{list(start.shape)}"
                raise EdgeKitError("E0401", f"variable {key} is {type}, but starts as {found}")
            name = self.builder.input(key or "variable", type)
            self._states[key] = name, Value(type, start.reshape(type.shape))
            self.contents[key] = Tensor(self.builder, name)
        found_type = self.contents[key].type
        if found_type.dtype is not type.dtype or found_type.size != type.size:
            raise EdgeKitError("E0401", f"variable {key} is {found_type}, it is read as {type}")
        return labelled(self.contents[key].reshape(*type.shape), type.quant)

    def assign(self, handle: int, content: Tensor) -> None:
        """ASSIGN_VARIABLE"""
        self.contents[self._key(handle)] = content

    def memories(self) -> Iterator[ModelState]:
        """The states in the end; those that are never assigned are constants."""
        for key, (name, initial) in self._states.items():
            content = self.contents[key]
            if content.name == name:
                self.builder.values[name] = initial
                continue
            type = initial.type
            if content.dtype is not type.dtype or content.type.size != type.size:
                raise EdgeKitError("E0401", f"variable {key} is {type}, {content.type} is assigned")
            yield ModelState(name, labelled(content.reshape(*type.shape), type.quant), initial)

    def _key(self, handle: int) -> str:
        if handle not in self._handles:
            raise EdgeKitError("E0401", f"tensor {handle} is no handle of a variable")
        return self._handles[handle]

"""MindSpore's .mindir -> Graph, by the handlers of ops: functions named as its primitives.

A primitive has operands, then settings, of which older programs state some as attributes: the names of
attributes are those of the parameters. What only orders side effects is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.converters import files
from edgekit.converters.blame import blame
from edgekit.converters.file_formats import protobuf
from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.frontend import Handler, call, check_supported, handlers, reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.mindir import FORMAT as FORMAT
from edgekit.converters.mindir import SUFFIXES as SUFFIXES
from edgekit.converters.mindir import ops
from edgekit.converters.mindir.file import MONAD, Kind, is_value, kind_of, stated, tensor, value
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, DType

_HEAD = re.compile(rb"\n.[\w.-]*\x12\tMindSpore", re.DOTALL)
_REFERENCE = "REF::"
_CONSTANT = "Constant"
# What is said of values, and of orders between them; none of it computes.
_PASSED_ON = {"Load", "Depend", "Identity", "StopGradient"}
_TUPLES = {"MakeTuple", "make_list", "MakeList"}
_PICKS = {"TupleGetItem", "tuple_getitem", "ListGetItem"}
_ORDERS = {"UpdateState", "Return", "return"}
_PLACES = {DType.S32, DType.S64}
_IN_PLACE = "Inplace"
_HINT = "docs/frontends.md says what is read; write the layer in other operators, or export to ONNX"
_NO_FUNCTIONS = (
    "branches and loops on data, and cells that are not inlined, are such: unroll them before export"
)


def sniff(path: Path, head: bytes) -> bool:
    """A message whose second field is the producer."""
    return _HEAD.match(head) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model; `shapes` binds sizes that the export left open."""
    with reading(model.name):
        raw = files.read(model)
        top = protobuf.message(raw, model.name)
        source = files.source(model, "mindir", raw, producer=f"MindSpore {top.text(5)}".strip())
        return MindirImporter(top, Bindings(shapes or {}, dims or {})).run(name or model.stem, source)


class MindirImporter:
    """One conversion: the graph so far, and what each name of the file stands for."""

    def __init__(self, top: Message, bindings: Bindings) -> None:
        self.graph = top.message(7)
        self.bindings = bindings
        self.primitives = {p.text(1): p for p in top.messages(12)}
        if 10 in top and not top.integer(10):
            raise EdgeKitError("E0205", "the weights are not little-endian", top.where)
        if top.messages(8):
            message = f"the model has {len(top.messages(8))} functions beside its graph"
            raise EdgeKitError("E0205", message, top.where, _NO_FUNCTIONS)
        self.builder = Builder(given=len(top.raw))
        self.scope: dict[str, Any] = {}
        self.names: dict[str, Tensor] = {}

    def run(self, name: str, source: Source) -> Graph:
        nodes = self.graph.messages(1)
        known = {
            **handlers(ops),
            **dict.fromkeys(_PASSED_ON | _TUPLES | _PICKS | _ORDERS | {_CONSTANT}),
        }
        check_supported([(self._kind(node), _name(node)) for node in nodes], known, _HINT)
        inputs = self._bind_inputs()
        for stored in self.graph.messages(3):
            key = stored.text(7)
            self.scope[key] = self._constant(tensor(stored, f"parameter {self._short(key)}"), key)
        last_use = {key: i for i, node in enumerate(nodes) if self._computes(node) for key in node.texts(1)}
        for i, node in enumerate(nodes):
            self.builder.origin = _name(node)
            with blame(f"node {_name(node)}"):
                self._import(node)
                if self._kind(node).startswith(_IN_PLACE) and last_use[node.texts(1)[0]] > i:
                    raise EdgeKitError("E0205", "what is changed in place is read once more", hint=_HINT)
        results = [x for given in self.graph.messages(6) for x in _flat(self._value(given.text(1)))]
        if not results or not all(isinstance(x, Tensor) for x in results):
            raise EdgeKitError("E0401", "the model has no output, or one that is no tensor")
        many = len(results) > 1
        outputs = [(f"output{i}" if many else "output", x) for i, x in enumerate(results)]
        return named_graph(self.builder, name, inputs, outputs, self.names, self.bindings.noted(source))

    def _bind_inputs(self) -> list[str]:
        found: list[str] = []
        for given in self.graph.messages(5):
            public = self._short(given.text(1))
            described = given.messages(2)
            if len(described) != 1 or not public or public in found:
                raise EdgeKitError("E0401", f"input {public} has no type, no name, or is there twice")
            kind = kind_of(described[0], f"input {public}")
            type = self.bindings.type(public, kind.dtype, kind.dims)
            self.scope[given.text(1)] = Tensor(self.builder, self.builder.input(public, type))
            found.append(public)
        self.bindings.check(found)
        return found

    def _import(self, node: Message) -> None:
        kind, names = self._kind(node), node.texts(2)
        if len(names) != 1:
            raise EdgeKitError("E0401", f"{kind} has {len(names)} results, it should be one")
        made = self._made(kind, node)
        made = _as_stated(kind, made, stated(node))
        self.scope[names[0]] = made
        if isinstance(made, Tensor) and made.data is None:
            self.names.setdefault(_name(node), made)

    def _computes(self, node: Message) -> bool:
        """Does a node do more than say in which order others run?"""
        return self._kind(node) not in _ORDERS | _TUPLES

    def _made(self, kind: str, node: Message) -> Any:
        if kind == _CONSTANT:
            return self._stored(node)
        operands = [self._value(name) for name in node.texts(1)]
        if kind in _ORDERS:
            return MONAD
        if kind in _PASSED_ON and operands:
            return operands[0]
        if kind in _TUPLES:
            return tuple(operands)
        if kind in _PICKS:
            return _picked(operands)
        handler = handlers(ops)[kind]
        given = [x for x in operands if x is not MONAD]
        made = call(handler, kind, _name(node), given, dict(self._attributes(node, handler, len(given))))
        return self._constant(made) if isinstance(made, np.ndarray) else made

    def _stored(self, node: Message) -> Any:
        """The value of a constant; tensors among them become edges."""
        values = [a for a in node.messages(5) if a.text(1) == "value"]
        if len(values) != 1:
            raise EdgeKitError("E0401", f"a constant has {len(values)} values", f"node {_name(node)}")
        return self._edges(value(values[0]))

    def _edges(self, given: Any) -> Any:
        if isinstance(given, tuple):
            return tuple(self._edges(item) for item in given)
        return self._constant(given) if isinstance(given, np.ndarray) else given

    def _attributes(self, node: Message, handler: Handler, count: int) -> Iterator[tuple[str, Any]]:
        """The attributes that a handler asks for and no operand gives: primitives carry many that only say
        how they were made."""
        primitive = self.primitives.get(node.text(4).removeprefix(_REFERENCE))
        sources = [*(primitive.messages(3) if primitive else []), *node.messages(5)]
        parameters = list(signature(handler).parameters.values())
        given = {p.name for p in parameters[:count] if p.kind is p.POSITIONAL_OR_KEYWORD}
        wanted = {p.name for p in parameters} - given
        for attribute in sources:
            if attribute.text(1) in wanted and is_value(attribute):
                yield attribute.text(1), value(attribute)

    def _kind(self, node: Message) -> str:
        """The name of a primitive; a node of newer files refers to where it is described."""
        kind = node.text(4)
        if not kind.startswith(_REFERENCE):
            return kind
        key = kind.removeprefix(_REFERENCE)
        if key not in self.primitives:
            raise EdgeKitError("E0401", f"primitive {key[:60]} is described nowhere", f"node {_name(node)}")
        return self.primitives[key].text(2)

    def _short(self, name: str) -> str:
        """A name without that of the graph."""
        return name.removeprefix(self.graph.text(2) + ":")

    def _value(self, name: str) -> Any:
        if name not in self.scope:
            raise EdgeKitError("E0401", f"{self._short(name)[:80]} is computed later or never")
        return self.scope[name]

    def _constant(self, data: Array, name: str = "c") -> Tensor:
        return Tensor(self.builder, self.builder.const(data, hint=self._short(name)))


def _name(node: Message) -> str:
    """What people call a node: the path of the cell that it belongs to."""
    return node.text(7) or node.text(3) or node.text(4)


def _picked(operands: Sequence[Any]) -> Any:
    many, index = (*operands, None, None)[:2]
    if not isinstance(many, tuple):
        if index == 0 and isinstance(many, Tensor):  # what only training reads is not made
            return many
        raise EdgeKitError("E0205", f"result {index} is not supported")
    if not isinstance(index, int) or not -len(many) <= index < len(many):
        raise EdgeKitError("E0205", f"result {index} of {len(many)} is not supported")
    return many[index]


def _flat(made: Any) -> list[Any]:
    return [x for item in made for x in _flat(item)] if isinstance(made, tuple | list) else [made]


def _as_stated(kind: str, made: Any, said: Sequence[Kind | None]) -> Any:
    """A result, compared with what the file says of it. Places have 64 bits in some versions."""
    results = _flat(made)
    for i, (result, type) in enumerate(zip(results, said, strict=False)):
        if isinstance(result, Tensor) and type is not None:
            results[i] = cast(result, type.dtype) if {result.dtype, type.dtype} == _PLACES else result
            _check(f"result {i} of {kind}", results[i], type)
    return tuple(results) if isinstance(made, tuple | list) else results[0]


def _check(what: str, tensor: Tensor, said: Kind) -> None:
    found, dims = tensor.type, tuple(said.dims or ())
    fits = len(dims) == found.rank and all(d in (None, n) for d, n in zip(dims, found.shape, strict=True))
    if not fits or found.dtype is not said.dtype:
        text = f"{said.dtype.value}[{','.join('?' if d is None else str(d) for d in dims)}]"
        raise EdgeKitError("E0401", f"{what} is {found}, the file says {text}")

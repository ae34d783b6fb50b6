"""ONNX -> Graph, by the handlers of ops: functions named as operators, whose keywords are attributes."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

from edgekit.converters.blame import blame
from edgekit.converters.frontend import functions, unbound
from edgekit.converters.inputs import Bindings, fixed_input
from edgekit.converters.named_outputs import StoredNode, proposal
from edgekit.converters.naming import named_graph
from edgekit.converters.onnx import FORMAT as FORMAT
from edgekit.converters.onnx import SUFFIXES as SUFFIXES
from edgekit.converters.onnx import check, counted_rows, file, ops, row_counts
from edgekit.converters.onnx.check import (
    FunctionKey,
    domain_of,
    function_key,
    label,
    operand_fault,
    opsets_of,
)
from edgekit.converters.onnx.functions import bound_nodes, has_schema_function, schema_function
from edgekit.converters.onnx.masked_assignment import chosen_by_masks
from edgekit.converters.onnx.nodes import end_at, graphs_in, names_read
from edgekit.converters.onnx.tensor_list import Edge
from edgekit.converters.onnx.text_labels import text_labels
from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.counted_sizes import SELECTS
from edgekit.converters.semantics.keras_paths import NamedOperator, layer_paths
from edgekit.converters.semantics.open_rows import settled
from edgekit.converters.tensor import Tensor
from edgekit.core import suggest
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array

Handler = Callable[..., Any]
# Keywords by which a handler asks for more than inputs and attributes.
_CONTEXT = ("opset", "outputs", "reference", "importer")
# Nodes that loops may unroll to: beyond, generated code is longer than anybody wants.
_MAX_UNROLLED = 20_000
# What is refused where a number is known at run time only.
_UNKNOWN = ("E0205", "E0301")
TAKES_CONSTANTS = True  # some operators need them while the file is read
KEEPS_LOOPS = True
TAKES_OUTPUTS = True


def sniff(path: Path, head: bytes) -> bool:
    """ONNX files have no signature, but start with a small version and go on with a field of ModelProto. A
    producer has a short name: what is long there belongs to another format, as SavedModel."""
    if len(head) <= 3 or head[0] != 8 or head[1] >= 64:
        return False
    return head[2] in b"\x1a\x22\x28\x32\x3a\x42" or (head[2] == 0x12 and head[3] < 128)


def convert(
    model: Path | ModelProto,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
    name: str = "",
    reference: bool = False,
    source: Source | None = None,
) -> Graph:
    """Convert a model, or messages that come from `source`. `shapes` binds dynamic inputs, `dims`
    dimensions by name, `constants` fixes inputs to values; a batch dimension that is not bound is 1. A model
    with other `outputs` loses the nodes that these do not need. Where
    ONNX Runtime and onnx's reference evaluator differ, models follow the runtime that exporters test with,
    unless `reference` asks for the other."""
    source = source or Source(format="onnx")
    # Hostile constants overflow and divide by zero while they fold; that is no news for a user.
    with blame(""), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, Path):
            path = model
            model, source = file.load(path)
            check.check(model)
            file.load_external(model, path.parent)
        else:
            check.check(model)
        if outputs:
            end_at(model.graph, outputs)
        name = name or file.model_name(model, source)

        def read(counts_rows: bool) -> Graph:
            bindings = Bindings(shapes or {}, dims or {}, max_iterations)
            importer = OnnxImporter(model, bindings, constants or {}, reference, counts_rows)
            try:
                return importer.run(name, source)
            except EdgeKitError as error:
                if counts_rows or error.code not in _UNKNOWN or importer.builder.kinds.isdisjoint(SELECTS):
                    raise
                refused = error
            with suppress(EdgeKitError):
                return read(counts_rows=True)
            raise refused

        return read(counts_rows=False)


@cache
def handlers() -> Mapping[tuple[str, str], Handler]:
    """(domain, operator) -> handler: every capitalised function of the modules of ops. A module states
    its domain as DOMAIN where it is not the default one."""
    found: dict[tuple[str, str], Handler] = {}
    for info in pkgutil.iter_modules(ops.__path__):
        module = importlib.import_module(f"{ops.__name__}.{info.name}")
        domain = getattr(module, "DOMAIN", "")
        for key, value in functions(module).items():
            if key[0].isupper():
                assert (domain, key) not in found, f"two handlers for {key}"
                found[domain, key] = value
    return found


@dataclass
class ImportedNodes:
    """Nodes that are being imported: those of a graph or of a function's body."""

    nodes: Sequence[NodeProto]
    scope: Mapping[str, Edge]
    outputs: Sequence[str]
    place: int = 0  # of the current node
    # Of the graphs that it holds, such as a loop's steps, as far as its handler keeps them.
    results: list[ref[Edge]] = field(default_factory=list)

    def needed(self) -> Iterator[str]:
        """The edges that this node or a later one reads."""
        names = {*self.outputs, *(name for node in self.nodes[self.place :] for name in names_read(node))}
        kept = (edge for one in self.results if (edge := one()) is not None)
        for edge in (*kept, *(self.scope[name] for name in names if name in self.scope)):
            yield from (x.name for x in ((edge,) if isinstance(edge, Tensor) else edge.items))


class OnnxImporter:
    """One conversion: the graph so far, and what each ONNX name stands for."""

    def __init__(
        self,
        model: ModelProto,
        bindings: Bindings,
        constants: Mapping[str, float | Array],
        reference: bool = False,
        counts_rows: bool = False,
    ) -> None:
        self.model = model
        self.counts_rows = counts_rows  # numbers of selected rows are computed, and sizes are not constants
        self.bindings = bindings
        self.constants = constants
        self.reference = reference
        self.builder = Builder()
        self.opsets = opsets_of(model)
        self.functions = {function_key(f): f for f in model.functions}
        self.inputs: list[str] = []  # of the graph, those that --const fixes left out
        self.scope: dict[str, Edge] = {}  # of the nodes that are being imported
        self.levels: list[ImportedNodes] = []  # those, and the ones around them
        self.nested = 0  # graphs of attributes that are being imported, one in the other
        self.unrolled = 0  # nodes of such graphs, once for each time that they were imported
        self.paths = _keras_paths(model)
        self.asked: list[tuple[str, str]] = []  # nodes in them that ask for a shape, and the edges of which

    def run(self, name: str, source: Source) -> Graph:
        graph = self.model.graph
        if next(self._unsupported(graph.node, self.opsets), None):
            raise_all(self._all_unsupported())
        scope: dict[str, Edge] = {}
        class_names, numbered = text_labels(graph)
        self.inputs = self._bind_inputs(graph, scope, numbered)
        outputs = [value.name for value in graph.output]
        self.import_nodes(chosen_by_masks(graph), scope, outputs)
        tensors = {name: x for name, x in scope.items() if isinstance(x, Tensor) and x.is_there}
        outputs = [(value.name, tensors[value.name]) for value in graph.output if value.name in tensors]
        if len(outputs) < len(graph.output):
            missing = next(value.name for value in graph.output if value.name not in tensors)
            kind = "is a sequence, which " if missing in scope else ""
            raise EdgeKitError("E0205", f"output {missing} {kind}is not supported", "graph outputs")
        if self.counts_rows:
            found = selected_rows.trace(self.builder)
        else:
            found = row_counts.checked(graph, tensors, self.builder, self.asked)
        outputs, counted = selected_rows.with_counts(self.builder, outputs, found)
        source = replace(self.bindings.noted(source), counted_rows=tuple(counted), class_names=class_names)
        return named_graph(self.builder, name, self.inputs, outputs, tensors, source)

    def _all_unsupported(self) -> list[EdgeKitError]:
        """What a user has to replace, also in the branches of If and the bodies of loops."""
        graph = self.model.graph
        found = list(self._unsupported(graph.node, self.opsets, is_deep=True))
        nodes = (StoredNode([*names_read(node)], node.output, self._is_known(node)) for node in graph.node)
        more = proposal(nodes, [value.name for value in graph.input])
        for error in found if more else ():
            error.hint = f"{error.hint}; {more}"
        return found

    def _is_known(self, node: NodeProto) -> bool:
        return next(self._unsupported([node], self.opsets, is_deep=True), None) is None

    def _unsupported(
        self,
        nodes: Sequence[NodeProto],
        opsets: Mapping[str, int],
        seen: set[FunctionKey] | None = None,
        origin: str = "",
        *,
        is_deep: bool = False,
    ) -> Iterator[EdgeKitError]:
        """An error for each node without a handler or a function body, also in functions. Nodes of the graphs
        in attributes only if `is_deep`: a branch that is never taken may have any."""
        seen = set() if seen is None else seen
        for i, node in enumerate(nodes):
            here = origin + label(node, i)
            key = function_key(node)
            for attribute in node.attribute if is_deep else ():
                for inner in graphs_in(attribute):
                    yield from self._unsupported(inner.node, opsets, seen, here + "/", is_deep=True)
            if key[:2] in handlers() or has_schema_function(node, opsets):
                continue
            if key in self.functions:
                body = self.functions[key]
                if key not in seen:
                    seen.add(key)
                    inside = {**opsets, **opsets_of(body)}
                    yield from self._unsupported(body.node, inside, seen, here + "/", is_deep=is_deep)
                continue
            yield _unsupported_op(node, f"node {here}")

    def _bind_inputs(
        self, graph: GraphProto, scope: dict[str, Edge], numbered: Mapping[str, Sequence[int]]
    ) -> list[str]:
        given = {t.name: file.tensor(t) for t in graph.initializer if t.name not in numbered}
        given |= {name: np.arange(math.prod(shape)).reshape(shape) for name, shape in numbered.items()}
        given |= {t.values.name: file.sparse(t) for t in graph.sparse_initializer}
        size = sum(data.nbytes for data in given.values())
        self.builder = Builder(given=size, nodes=len(graph.node))
        self.builder.needed = lambda: (name for level in self.levels for name in level.needed())
        for name, data in given.items():
            scope[name] = self.const(data, name)
        inputs = []
        for value in graph.input:
            if value.name in scope and value.name not in self.constants:
                continue  # an initializer is only a default value; it is fixed here
            if value.name in self.constants:
                fixed = self.constants[value.name]
                if not isinstance(fixed, np.ndarray):
                    fixed = fixed_input(value.name, fixed, file.input_type(value, self.bindings))
                scope[value.name] = self.const(fixed, value.name)
                continue
            type = file.input_type(value, self.bindings)
            scope[value.name] = Tensor(self.builder, self.builder.input(value.name, type))
            inputs.append(value.name)
        self.bindings.check(inputs)
        for name in self.constants:
            if name not in scope:
                hint = suggest.hint(name, inputs, "inputs")
                raise EdgeKitError(
                    "E0103", f"the model has no input named {name}, which --const names", hint=hint
                )
        return inputs

    def const(self, data: Array, hint: str) -> Tensor:
        return Tensor(self.builder, self.builder.const(data, hint=hint))

    def import_nodes(
        self, nodes: Iterable[NodeProto], scope: dict[str, Edge], outputs: Sequence[str], origin: str = ""
    ) -> None:
        """Convert nodes in order; `scope` maps ONNX names to edges and receives the results."""
        outer, self.scope = self.scope, scope
        self.levels.append(level := ImportedNodes([*nodes], scope, outputs))
        try:
            for i, node in enumerate(level.nodes):
                level.place = i
                level.results.clear()
                here = f"{origin}/{label(node, i)}" if origin else label(node, i)
                self.builder.origin = here if origin else self.paths.get(node.name) or here
                with blame(f"node {here}"):
                    self._count(bool(self.nested))
                    lost = [name for name in node.input if name and name not in scope]
                    if lost:  # onnx_check has seen who computes it
                        raise EdgeKitError("E0205", f"{node.op_type} reads the unsupported result {lost[0]}")
                    inputs = [scope[name] if name else None for name in node.input]
                    if origin and node.op_type in row_counts.ASKS and isinstance(inputs[0], Tensor):
                        self.asked.append((here, inputs[0].name))
                    results = self._results(node, inputs, here)
                    named = zip(node.output, results, strict=False)
                    scope.update((name, x) for name, x in named if name and x is not None)
        finally:
            self.levels.pop()
            self.scope = outer

    def subgraph(self, graph: GraphProto, inputs: Sequence[Edge], part: str = "") -> list[Any]:
        """Import a graph that an attribute of the current node holds: it sees the names around it."""
        scope = dict(self.scope)
        for tensor in graph.initializer:
            scope[tensor.name] = self.const(file.tensor(tensor), tensor.name)
        scope.update((value.name, x) for value, x in zip(graph.input, inputs, strict=True))
        origin = self.builder.origin
        self._count(1)
        self.nested += 1
        try:
            outputs = [value.name for value in graph.output]
            self.import_nodes(graph.node, scope, outputs, f"{origin}/{part}" if part else origin)
        finally:
            self.nested -= 1
            self.builder.origin = origin
        results = [scope[name] for name in outputs]
        self.levels[-1].results += map(ref, results)
        return results

    def _count(self, nodes: int) -> None:
        """Refuse loops that go on and on."""
        self.unrolled += nodes
        if self.unrolled > _MAX_UNROLLED:
            hint = "loops are unrolled: export the model for shorter sequences"
            raise EdgeKitError(
                "E0205", f"the loops of this model unroll to over {_MAX_UNROLLED} nodes", hint=hint
            )

    def _results(self, node: NodeProto, inputs: Sequence[Edge | None], origin: str) -> Sequence[Edge | None]:
        """What a node computes: by its handler, or by the body of the function that defines it."""
        version = self.opsets.get(domain_of(node.domain), 1)
        types = [x.type if isinstance(x, Tensor) else None for x in inputs]
        if fault := operand_fault(node, version, types):
            raise EdgeKitError("E0401", f"{node.op_type}: {fault}")
        key = function_key(node)
        if key[:2] in handlers():
            handler = handlers()[key[:2]]
            if self.counts_rows and not domain_of(node.domain):
                handler = functions(counted_rows).get(node.op_type, handler)
            return self._call(handler, node, inputs, version)
        body = self.functions.get(key) or schema_function(node, self.opsets, types)
        if body is None:
            raise_all(self._all_unsupported())
            raise _unsupported_op(node, f"node {origin}")  # of a function's body, as this call binds it
        return self._expand(body, node, inputs, origin)

    def _call(
        self, handler: Handler, node: NodeProto, inputs: Sequence[Edge | None], version: int
    ) -> Sequence[Edge | None]:
        """Run a handler: inputs by position, attributes and context by keyword."""
        signature = _signature(handler)
        keywords = {a.name: attribute_value(a) for a in node.attribute}
        accepted = {p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
        own = bool(domain_of(node.domain))  # other domains have attributes with these names
        for name in keywords:
            if name not in accepted or (name in _CONTEXT and not own):
                raise EdgeKitError("E0203", f"{node.op_type}: attribute {name} is not supported")
        outputs = len(node.output)
        context = {"opset": version, "outputs": outputs, "reference": self.reference, "importer": self}
        keywords = {name: context[name] for name in _CONTEXT if name in accepted} | keywords
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        if fault := unbound(handler, len(inputs), keywords):
            raise EdgeKitError("E0401", f"{node.op_type}: {fault}")
        results = handler(*inputs, **keywords)
        results = results if isinstance(results, tuple | list) else (results,)
        return [settled(x) if isinstance(x, Tensor) else x for x in results] if self.counts_rows else results

    def _expand(
        self, body: FunctionProto, node: NodeProto, inputs: Sequence[Edge | None], origin: str
    ) -> Sequence[Edge | None]:
        """Import the body of a function in place of a node that calls it."""
        outer = self.opsets
        self.opsets = outer | opsets_of(body)
        scope = {name: x for name, x in zip(body.input, inputs, strict=False) if x is not None}
        try:
            nodes = bound_nodes(body, node, set(body.input) - set(scope))
            self.import_nodes(nodes, scope, body.output, origin)
        finally:
            self.opsets = outer
        return [scope.get(name) for name in body.output]


def _keras_paths(model: ModelProto) -> dict[str, str]:
    """The layers of a model that was TensorFlow's, by the names of their nodes."""
    if model.producer_name != "tf2onnx":
        return {}
    nodes = model.graph.node
    found = layer_paths([NamedOperator(n.op_type, (n.name,), "".join(n.input[1:2])) for n in nodes])
    return {node.name: path for node, path in zip(nodes, found, strict=True)}


def _unsupported_op(node: NodeProto, where: str) -> EdgeKitError:
    domain = f" of domain {node.domain}" if domain_of(node.domain) else ""
    hint = "docs/ops.md lists what is supported; simplify or replace the layer before export"
    return EdgeKitError("E0201", f"unsupported op {node.op_type}{domain}", where, hint)


@cache
def _signature(handler: Handler) -> inspect.Signature:
    return inspect.signature(handler)


def attribute_value(attribute: AttributeProto) -> Any:
    """An attribute as plain Python: str, int, float, tuple, numpy array or GraphProto."""
    if attribute.type == AttributeProto.TENSOR:
        return file.tensor(attribute.t)
    if attribute.type == AttributeProto.SPARSE_TENSOR:
        return file.sparse(attribute.sparse_tensor)
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRINGS:
        return tuple(v.decode(errors="replace") for v in value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return tuple(value)
    return value

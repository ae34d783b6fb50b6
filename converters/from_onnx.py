"""ONNX -> Graph. The handlers are in onnx_ops: functions named as the operators, keywords are the attributes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, defs, numpy_helper

from edgekit.builder import Builder
from edgekit.converters import onnx_file, onnx_ops
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError, raise_all
from edgekit.ir import Array, Graph, Node, Source, Type, Value
from edgekit.ops.reshape import Reshape

Handler = Callable[..., Any]
# Keywords by which a handler asks for more than inputs and attributes.
_CONTEXT = ("opset", "outputs", "importer")
_NEWEST = defs.onnx_opset_version()
_OLDEST = 7


def convert(
    model: Path | ModelProto,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: Mapping[str, Array] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model. `shapes` binds dynamic dimensions, `constants` fixes inputs to values; a batch dimension
    that is not bound is 1."""
    source = Source(format="onnx")
    if isinstance(model, Path):
        model, source = onnx_file.load(model)
    return Importer(model, shapes or {}, constants or {}).run(
        name or onnx_file.model_name(model, source), source
    )


@cache
def handlers() -> Mapping[tuple[str, str], Handler]:
    """(domain, operator) -> handler: every capitalised function of the modules of onnx_ops. A module states its
    domain as DOMAIN where it is not the default one."""
    found: dict[tuple[str, str], Handler] = {}
    for info in pkgutil.iter_modules(onnx_ops.__path__):
        module = importlib.import_module(f"{onnx_ops.__name__}.{info.name}")
        domain = getattr(module, "DOMAIN", "")
        for key, value in vars(module).items():
            if inspect.isfunction(value) and key[0].isupper() and value.__module__ == module.__name__:
                assert (domain, key) not in found, f"two handlers for {key}"
                found[domain, key] = value
    return found


class Importer:
    """One conversion: the graph so far, and what each ONNX name stands for."""

    def __init__(
        self, model: ModelProto, shapes: Mapping[str, Sequence[int]], constants: Mapping[str, Array]
    ) -> None:
        self.model = model
        self.shapes = shapes
        self.constants = constants
        self.builder = Builder()
        self.opsets = {_domain(o.domain): o.version for o in model.opset_import}
        self.functions = {(_domain(f.domain), f.name): f for f in model.functions}

    def run(self, name: str, source: Source) -> Graph:
        graph = self.model.graph
        version = self.opsets.get("", 0)
        if (
            graph.node
            and not _OLDEST <= version <= _NEWEST
            and any(not _domain(n.domain) for n in graph.node)
        ):
            raise EdgeKitError(
                "E0202",
                f"opset {version} is not supported",
                hint=f"export with opset {_OLDEST} to {_NEWEST}"
                + ("; or update the onnx package" * (version > _NEWEST)),
            )
        raise_all(list(self._unsupported(graph.node)))
        scope: dict[str, Tensor] = {}
        inputs = self._bind_inputs(graph, scope)
        self.import_nodes(graph.node, scope)
        outputs = []
        for value in graph.output:
            if value.name not in scope:
                raise EdgeKitError("E0401", f"output {value.name} is never computed")
            outputs.append((value.name, scope[value.name]))
        return self._finish(name, inputs, outputs, scope, source)

    def _unsupported(self, nodes: Sequence[NodeProto], depth: int = 0) -> Iterator[EdgeKitError]:
        """An error for each node without a handler or a function body, all at once."""
        for i, node in enumerate(nodes):
            key = (_domain(node.domain), node.op_type)
            if key in handlers() or key in self.functions or _schema_function(node, self.opsets) is not None:
                continue
            where = f"node {node.name or f'#{i}'}"
            domain = f" of domain {node.domain}" if key[0] else ""
            yield EdgeKitError(
                "E0201",
                f"unsupported op {node.op_type}{domain}",
                where,
                "docs/ops.md lists what is supported; simplify or replace the layer before export",
            )

    def _bind_inputs(self, graph: GraphProto, scope: dict[str, Tensor]) -> list[str]:
        for tensor in graph.initializer:
            scope[tensor.name] = self.const(onnx_file.tensor(tensor), tensor.name)
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = self.const(onnx_file.sparse(sparse), sparse.values.name)
        inputs = []
        for value in graph.input:
            if value.name in scope and value.name not in self.constants:
                continue  # an initializer is only a default value; it is fixed here
            if value.name in self.constants:
                scope[value.name] = self.const(self.constants[value.name], value.name)
                continue
            type = onnx_file.input_type(value, self.shapes.get(value.name))
            scope[value.name] = Tensor(self.builder, self.builder.input(value.name, type))
            inputs.append(value.name)
        for name in self.shapes:
            if name not in inputs:
                raise EdgeKitError(
                    "E0103", f"--shape names {name}, which is no input", hint=f"inputs: {', '.join(inputs)}"
                )
        return inputs

    def const(self, data: Array, hint: str) -> Tensor:
        return Tensor(self.builder, self.builder.const(data, hint=hint))

    def import_nodes(self, nodes: Sequence[NodeProto], scope: dict[str, Tensor], origin: str = "") -> None:
        """Convert nodes in order; `scope` maps ONNX names to edges and receives the results."""
        for i, node in enumerate(nodes):
            here = node.name or (node.output[0] if node.output else f"{node.op_type}#{i}")
            self.builder.origin = f"{origin}/{here}" if origin else here
            self._import_node(node, scope)

    def _import_node(self, node: NodeProto, scope: dict[str, Tensor]) -> None:
        origin = self.builder.origin
        inputs: list[Tensor | None] = []
        for name in node.input:
            if name and name not in scope:
                raise EdgeKitError(
                    "E0401", f"{node.op_type} reads {name}, which nothing computes", f"node {origin}"
                )
            inputs.append(scope[name] if name else None)
        key = (_domain(node.domain), node.op_type)
        if key in handlers():
            results = self._call(handlers()[key], node, inputs)
        else:
            body = self.functions.get(key) or _schema_function(node, self.opsets, inputs)
            if body is None:
                raise EdgeKitError("E0201", f"unsupported op {node.op_type}", f"node {origin}")
            results = self._expand(body, node, inputs)
        for name, result in zip(node.output, results, strict=False):
            if name and result is not None:
                scope[name] = result

    def _call(
        self, handler: Handler, node: NodeProto, inputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor | None]:
        """Run a handler; whatever goes wrong in it is said of this node."""
        origin = self.builder.origin
        parameters = inspect.signature(handler).parameters
        keywords = {a.name: attribute_value(a) for a in node.attribute}
        accepted = {p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
        for name in keywords:
            if name not in accepted or name in _CONTEXT:
                raise EdgeKitError(
                    "E0203", f"{node.op_type}: attribute {name} is not supported", f"node {origin}"
                )
        context = {
            "opset": self.opsets.get(_domain(node.domain), 1),
            "outputs": len(node.output),
            "importer": self,
        }
        keywords |= {name: context[name] for name in _CONTEXT if name in accepted}
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        try:
            inspect.signature(handler).bind(*inputs, **keywords)
        except TypeError as error:
            raise EdgeKitError("E0401", f"{node.op_type}: {error}", f"node {origin}") from None
        try:
            results = handler(*inputs, **keywords)
        except EdgeKitError as error:
            error.where = error.where or f"node {origin}"
            raise
        except Exception as error:  # a handler meets what an exporter (or a fuzzer) made; never a traceback
            raise EdgeKitError(
                "E0403", f"{node.op_type}: {error}", f"node {origin}", "is the model well formed?"
            ) from error
        return results if isinstance(results, tuple | list) else (results,)

    def _expand(
        self, body: FunctionProto, node: NodeProto, inputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor | None]:
        """Import the body of a function in place of a node that calls it."""
        outer = self.opsets
        self.opsets = outer | {_domain(o.domain): o.version for o in body.opset_import}
        given = {a.name: a for a in body.attribute_proto} | {a.name: a for a in node.attribute}
        scope = {name: x for name, x in zip(body.input, inputs, strict=False) if x is not None}
        nodes = [_bind_attributes(n, given, set(body.input) - set(scope)) for n in body.node]
        try:
            self.import_nodes(nodes, scope, self.builder.origin)
        finally:
            self.opsets = outer
        return [scope.get(name) for name in body.output]

    def _finish(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[tuple[str, Tensor]],
        scope: Mapping[str, Tensor],
        source: Source,
    ) -> Graph:
        """Give edges their ONNX names back; an output which is an input, a constant or another output is copied."""
        rename: dict[str, str] = {}
        taken = set(inputs)
        for public, tensor in outputs:
            edge = tensor.name
            if edge in taken or edge in rename or tensor.data is not None and public != edge:
                edge = self.builder.fresh(public)
                self.builder.values[edge] = Value(tensor.type)
                self.builder.nodes.append(Node(Reshape(tensor.shape), (tensor.name,), (edge,), public))
            rename[edge] = public
        for onnx_name, tensor in scope.items():
            if tensor.name not in taken and tensor.name not in rename and onnx_name not in rename.values():
                rename[tensor.name] = onnx_name
        graph = self.builder.graph(name, inputs, [tensor for tensor in rename][: len(outputs)], source)
        return _renamed(graph, rename)


def _renamed(graph: Graph, rename: Mapping[str, str]) -> Graph:
    """The graph with other edge names; names in the way get out of it."""
    wanted = {old: new for old, new in rename.items() if old in graph.values}
    clash = (set(wanted.values()) & set(graph.values)) - set(wanted)
    final = dict(wanted)
    taken = set(graph.values) | set(wanted.values())
    for name in sorted(clash):
        i = 1
        while f"{name}_{i}" in taken:
            i += 1
        final[name] = f"{name}_{i}"
        taken.add(final[name])
    to = {name: final.get(name, name) for name in graph.values}
    return replace(
        graph,
        outputs=tuple(to[n] for n in graph.outputs),
        nodes=tuple(
            replace(n, inputs=tuple(to[i] for i in n.inputs), outputs=tuple(to[o] for o in n.outputs))
            for n in graph.nodes
        ),
        values={to[n]: v for n, v in graph.values.items()},
    )


def attribute_value(attribute: AttributeProto) -> Any:
    """An attribute as plain Python: str, int, float, tuple, numpy array or GraphProto."""
    if attribute.type == AttributeProto.TENSOR:
        return onnx_file.tensor(attribute.t)
    if attribute.type == AttributeProto.SPARSE_TENSOR:
        return onnx_file.sparse(attribute.sparse_tensor)
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRINGS:
        return tuple(v.decode(errors="replace") for v in value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return tuple(value)
    return value


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _schema_function(
    node: NodeProto, opsets: Mapping[str, int], inputs: Sequence[Tensor | None] | None = None
) -> FunctionProto | None:
    """The function body by which the ONNX specification defines an operator, where it has one. Some bodies depend
    on the input types: `inputs` gives them; without, any body is good enough (the question is then only if)."""
    domain = _domain(node.domain)
    try:
        schema = defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except defs.SchemaError:
        return None
    if schema.has_function:
        return schema.function_body  # type: ignore[no-any-return]
    if not schema.has_context_dependent_function:
        return None
    if inputs is None:
        return FunctionProto()
    types = [b"" if x is None else _type_proto(x.type).SerializeToString() for x in inputs]
    body = schema.get_context_dependent_function(node.SerializeToString(), types)
    return FunctionProto.FromString(body) if body else None


def _type_proto(type: Type) -> onnx.TypeProto:
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(type.dtype.numpy))
    return onnx.helper.make_tensor_type_proto(element, type.shape)


def _bind_attributes(node: NodeProto, given: Mapping[str, AttributeProto], absent: set[str]) -> NodeProto:
    """A node of a function body with the caller's attributes; references to attributes that the caller left out
    are dropped, and so are inputs it left out."""
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                bound.attribute.add().CopyFrom(given[attribute.ref_attr_name])
                bound.attribute[-1].name = attribute.name
        else:
            copy = bound.attribute.add()
            copy.CopyFrom(attribute)
            if copy.type == AttributeProto.GRAPH:
                inner = [_bind_attributes(n, given, absent) for n in copy.g.node]
                del copy.g.node[:]
                copy.g.node.extend(inner)
    bound.input[:] = ["" if name in absent else name for name in node.input]
    return bound

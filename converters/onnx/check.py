"""Refuses ONNX models that break the rules of the format, before anything is computed from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, defs

from edgekit.converters.onnx.nodes import graphs_in
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.types import DType, Type

OLDEST_OPSET = 7
NEWEST_OPSET = defs.onnx_opset_version()
_MAX_OPSET = 1 << 31  # what the onnx package can be asked for
# Functions may call functions: small files can describe endless graphs.
_MAX_NODES = 1 << 17
_MAX_DEPTH = 64
_MAX_ERRORS = 50

# The field of an attribute that holds its value, by the type that it states.
_FIELDS: dict[int, str] = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}
_SCALAR_FIELDS = {"f", "i", "s", "t", "g", "sparse_tensor", "tp"}

FunctionKey = tuple[str, str, str]  # domain, name, overload


def check(model: ModelProto) -> None:
    """Raise the faults of a model's structure, those of a kind at once."""
    raise_all(list(islice(_text_faults(model), _MAX_ERRORS)))
    opsets = opsets_of(model)
    bodies = [(opsets | opsets_of(f), f) for f in model.functions]
    raise_all([e for o, body in [(opsets, model.graph), *bodies] for e in _opset_faults(o, body)])
    raise_all(list(islice(_graph_faults(model.graph, frozenset(), opsets), _MAX_ERRORS)))
    for own, function in bodies:
        names = _unique(function.input, f"function {function.name} has two inputs called")
        raise_all(list(islice(_node_faults(function.node, names, frozenset(), own), _MAX_ERRORS)))
        for name in function.output:
            if name not in names:
                raise EdgeKitError("E0401", f"output {name} is never computed", f"function {function.name}")
    _expansion(model)


def domain_of(domain: str) -> str:
    """The name of an operator domain: the default one has two."""
    return "" if domain == "ai.onnx" else domain


def opsets_of(model: ModelProto | FunctionProto) -> dict[str, int]:
    """The version of each domain that a model or function imports."""
    return {domain_of(o.domain): o.version for o in model.opset_import}


def function_key(proto: FunctionProto | NodeProto) -> FunctionKey:
    """What a function is called by."""
    name = proto.name if isinstance(proto, FunctionProto) else proto.op_type
    return domain_of(proto.domain), name, proto.overload


def label(node: NodeProto, index: int) -> str:
    """The name by which a user finds a node; behind the path of its module, where PyTorch wrote that."""
    name = node.name or (node.output[0] if node.output and node.output[0] else f"{node.op_type}#{index}")
    path = _module_path(node)
    return f"{path}/{name}" if path else name


def _module_path(node: NodeProto) -> str:
    """The innermost module: the exporter of torch.export writes the list of their paths, and the operator."""
    scopes = next((p.value for p in node.metadata_props if p.key == "pkg.torch.onnx.name_scopes"), "")
    paths = re.findall(r"'([^']*)'", scopes)
    return paths[-2] if len(paths) > 1 else ""


def messages(message: Message) -> Iterator[Message]:
    """A message and all messages in it. The parser has bounded their depth."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in (value,) if isinstance(value, Message) else value:
                yield from messages(inner)


def _text_faults(model: ModelProto) -> Iterator[EdgeKitError]:
    """Strings that are no UTF-8: the parser hands them out as bytes."""
    for message in messages(model):
        for field, value in message.ListFields():
            if field.type == field.TYPE_STRING:
                for text in (value,) if isinstance(value, str | bytes) else value:
                    if isinstance(text, bytes):
                        yield EdgeKitError("E0401", f"a {field.name} is no text: bytes {text[:16].hex()}")


def _opset_faults(opsets: Mapping[str, int], body: GraphProto | FunctionProto) -> Iterator[EdgeKitError]:
    if wrong := [version for version in opsets.values() if not -_MAX_OPSET <= version < _MAX_OPSET]:
        yield EdgeKitError("E0401", f"opset {wrong[0]} makes no sense", f"graph {body.name}")
        return
    version = opsets.get("", 0)
    operators = [n.op_type for n in body.node if not domain_of(n.domain)]
    if OLDEST_OPSET <= version <= NEWEST_OPSET or all(_as_in_oldest(name, version) for name in operators):
        return
    newer = "; or update the onnx package" if version > NEWEST_OPSET else ""
    hint = f"export with opset {OLDEST_OPSET} to {NEWEST_OPSET}{newer}"
    yield EdgeKitError("E0202", f"opset {version} is not supported", f"graph {body.name}", hint)


def _as_in_oldest(name: str, version: int) -> bool:
    """Was an operator in an old version what it is in the oldest that is supported?"""
    try:
        versions = [defs.get_schema(name, v, "").since_version for v in (version, OLDEST_OPSET)]
    except defs.SchemaError:
        return False
    return version < OLDEST_OPSET and versions[0] == versions[1]


def _unique(names: Sequence[str], message: str) -> set[str]:
    """The names as a set, if there are no two of a kind."""
    if len(set(names)) < len(names):
        raise EdgeKitError("E0401", f"{message} {next(n for n in names if names.count(n) > 1)!r}")
    return set(names)


def _graph_faults(
    graph: GraphProto, outer: frozenset[str], opsets: Mapping[str, int]
) -> Iterator[EdgeKitError]:
    """Faults of a graph, which may read the names of the graphs around it."""
    given = _unique([i.name for i in graph.input], "two inputs are called")
    constants = [t.name for t in graph.initializer] + [s.values.name for s in graph.sparse_initializer]
    given |= _unique(constants, "two initializers are called")
    yield from _node_faults(graph.node, given, outer, opsets)
    _unique([o.name for o in graph.output], "two outputs are called")
    for output in graph.output:
        if output.name not in given and output.name not in outer:
            yield EdgeKitError("E0401", f"output {output.name} is never computed")


def _node_faults(
    nodes: Sequence[NodeProto], known: set[str], outer: frozenset[str], opsets: Mapping[str, int]
) -> Iterator[EdgeKitError]:
    """Faults of a list of nodes; `known` names what they may read and receives what they compute."""
    computed = {name for node in nodes for name in node.output}
    for i, node in enumerate(nodes):
        where = f"node {label(node, i)}"
        for name in dict.fromkeys(node.input):
            if name and name not in known and name not in outer:
                reason = (
                    "is computed later: nodes must be in order" if name in computed else "nothing computes"
                )
                yield EdgeKitError("E0401", f"{node.op_type} reads {name}, which {reason}", where)
        for text in (*_attribute_faults(node), *_signature_faults(node, opsets)):
            yield EdgeKitError("E0401", f"{node.op_type}: {text}", where)
        for attribute in node.attribute:
            for graph in graphs_in(attribute):
                yield from _graph_faults(graph, outer | known, opsets)
        for name in node.output:
            if name in known:
                yield EdgeKitError("E0401", f"{node.op_type} computes {name}, which is there already", where)
        known.update(name for name in node.output if name)


def _attribute_faults(node: NodeProto) -> Iterator[str]:
    """Attributes whose value is not what their type says."""
    seen: set[str] = set()
    for attribute in node.attribute:
        if attribute.name in seen:
            yield f"attribute {attribute.name} is there twice"
        seen.add(attribute.name)
        field = _FIELDS.get(attribute.type)
        if field is None:
            yield f"attribute {attribute.name} has no type"
            continue
        given = {d.name for d, _ in attribute.ListFields()} & set(_FIELDS.values())
        missing = field in _SCALAR_FIELDS and not given and not attribute.ref_attr_name
        if missing or given - {field}:
            holds = ", ".join(sorted(given)) or "nothing"
            yield f"attribute {attribute.name} is {_type_name(attribute)}, but holds {holds}"


def _type_name(attribute: AttributeProto) -> str:
    return str(AttributeProto.AttributeType.Name(attribute.type))


@dataclass(frozen=True)
class Parameter:
    """An input of an operator, as the specification has it."""

    name: str
    required: bool
    variadic: bool
    types: frozenset[str]
    symbol: str  # inputs with the same symbol have the same type


@dataclass(frozen=True)
class OpSignature:
    """What the specification says of the use of an operator."""

    inputs: tuple[Parameter, ...]
    most_inputs: int
    most_outputs: int
    attributes: Mapping[str, tuple[str, bool]]  # type, required


@cache
def signature(name: str, version: int, domain: str) -> OpSignature | None:
    """The signature of an operator; None where the specification does not know it."""
    try:
        schema: Any = defs.get_schema(name, version, domain)  # its type stubs lack most of it
    except defs.SchemaError:
        return None
    option = defs.OpSchema.FormalParameterOption
    inputs = []
    for p in schema.inputs:
        variadic = p.option == option.Variadic
        required = p.min_arity > 0 if variadic else p.option == option.Single
        symbol = p.type_str if p.is_homogeneous or not variadic else ""
        inputs.append(Parameter(p.name, required, variadic, frozenset(p.types), symbol))
    attributes = {a.name: (a.type.name, a.required) for a in schema.attributes.values()}
    return OpSignature(tuple(inputs), schema.max_input, schema.max_output, attributes)


def _signature_faults(node: NodeProto, opsets: Mapping[str, int]) -> Iterator[str]:
    """A node's counts and kinds of inputs, outputs and attributes, against the specification."""
    domain = domain_of(node.domain)
    known = signature(node.op_type, opsets.get(domain, 1), domain)
    if known is None:
        return
    given = list(node.input)
    while given and not given[-1]:
        given.pop()
    if len(given) > known.most_inputs:
        yield f"takes up to {known.most_inputs} inputs, got {len(given)}"
    if len(node.output) > known.most_outputs:
        yield f"has up to {known.most_outputs} outputs, not {len(node.output)}"
    for i, parameter in enumerate(known.inputs):
        if parameter.required and (i >= len(given) or not given[i]):
            yield f"needs its input {parameter.name}"
        elif parameter.variadic and not all(given[i:]):
            yield f"needs every input {parameter.name}"
    names = {a.name for a in node.attribute}
    for attribute in node.attribute:
        expected, _ = known.attributes.get(attribute.name, ("", False))
        if expected and attribute.type in _FIELDS and expected != _type_name(attribute):
            yield f"attribute {attribute.name} should be {expected}, is {_type_name(attribute)}"
    for name, (_, required) in known.attributes.items():
        if required and name not in names:
            yield f"needs its attribute {name}"


def operand_fault(node: NodeProto, version: int, types: Sequence[Type | None]) -> str:
    """Why an operator cannot have operands of these types, by the specification; "" where it can."""
    known = signature(node.op_type, version, domain_of(node.domain))
    if known is None or not known.inputs:
        return ""
    bound: dict[str, DType] = {}
    for i, operand in enumerate(types):
        parameter = known.inputs[min(i, len(known.inputs) - 1)]
        if operand is None:
            continue
        if type_name(operand.dtype) not in parameter.types:
            return f"input {parameter.name} cannot be {operand}"
        if bound.setdefault(parameter.symbol, operand.dtype) is not operand.dtype and parameter.symbol:
            return f"input {parameter.name} is {operand}, others are {bound[parameter.symbol].value}"
    return ""


@cache
def type_name(dtype: DType) -> str:
    """The name of a tensor type in the specification."""
    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype.numpy))
    return f"tensor({onnx.TensorProto.DataType.Name(code).lower()})"


def _expansion(model: ModelProto) -> None:
    """Refuse functions that call themselves, and those that expand to far more than the file says."""
    functions: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        if functions.setdefault(function_key(function), function) is not function:
            raise EdgeKitError("E0401", f"two functions are called {function.name}")
    sizes: dict[FunctionKey, tuple[int, int]] = {}  # nodes, and how deep calls are nested

    def measure(nodes: Sequence[NodeProto], depth: int) -> tuple[int, int]:
        total, height = 0, 0
        for node in nodes:
            key = function_key(node)
            if key in functions and key not in sizes:
                if depth >= _MAX_DEPTH:
                    raise EdgeKitError("E0402", f"calls of function {node.op_type} never end")
                sizes[key] = measure(functions[key].node, depth + 1)
            inside, below = sizes.get(key, (0, 0))
            for attribute in node.attribute:
                for graph in graphs_in(attribute):
                    more, deeper = measure(graph.node, depth)
                    inside, below = inside + more, max(below, deeper)
            total, height = total + 1 + inside, max(height, below + (key in functions))
        if total > _MAX_NODES or height > _MAX_DEPTH:
            raise EdgeKitError("E0402", f"the model's functions expand to {total} nodes, {height} calls deep")
        return total, height

    measure(model.graph.node, 0)

"""ONNX functions: operators that are defined by a graph of others, by the specification or by the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, defs

from edgekit.converters.onnx.check import domain_of
from edgekit.converters.onnx.nodes import graphs_in
from edgekit.core.types import Type


def has_schema_function(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    """Does the specification define this operator by others?"""
    schema = _schema(node.op_type, opsets.get(domain_of(node.domain), 1), domain_of(node.domain))
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def schema_function(
    node: NodeProto, opsets: Mapping[str, int], types: Sequence[Type | None]
) -> FunctionProto | None:
    """The function body by which the specification defines an operator on these types, where it has one."""
    schema = _schema(node.op_type, opsets.get(domain_of(node.domain), 1), domain_of(node.domain))
    if schema is None:
        return None
    if schema.has_function:
        body = FunctionProto()
        body.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        protos = [b"" if t is None else _type_proto(t).SerializeToString() for t in types]
        body = FunctionProto.FromString(
            schema.get_context_dependent_function(node.SerializeToString(), protos) or b""
        )
    else:
        return None
    body.attribute_proto.extend(a.default_value for a in schema.attributes.values() if a.default_value.name)
    return body if body.node else None


@cache
def _schema(name: str, version: int, domain: str) -> Any:  # the type stubs of OpSchema lack most of it
    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None


def _type_proto(type: Type) -> onnx.TypeProto:
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(type.dtype.numpy))
    return onnx.helper.make_tensor_type_proto(element, type.shape)


def bound_nodes(body: FunctionProto, node: NodeProto, absent: set[str]) -> Iterator[NodeProto]:
    """The nodes of a function for one call: with its attributes, without the inputs that it leaves out."""
    given = {a.name: a for a in body.attribute_proto} | {a.name: a for a in node.attribute}
    return (_bound(inner, given, absent) for inner in body.node)


def _bound(node: NodeProto, given: Mapping[str, AttributeProto], absent: set[str]) -> NodeProto:
    """A node of a function body with the caller's attributes; references to attributes that the caller left
    out are dropped, and so are inputs it left out."""
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                bound.attribute.add().CopyFrom(given[attribute.ref_attr_name])
                bound.attribute[-1].name = attribute.name
            continue
        copy = bound.attribute.add()
        copy.CopyFrom(attribute)
        for graph in graphs_in(copy):
            inner = [_bound(n, given, absent) for n in graph.node]
            del graph.node[:]
            graph.node.extend(inner)
    bound.input[:] = ["" if name in absent else name for name in node.input]
    return bound

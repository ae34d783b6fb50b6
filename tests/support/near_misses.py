"""Graphs that differ from a pattern in one thing: what a pass must not take for the pattern, or may take.

Whatever it does, the results must be the same. Others read an inner value, too, it comes from elsewhere or is
known; a constant is another number, or differs along a dimension; operands change places or become the same.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.passes import drop_dead
from edgekit.core.types import Array, Type, Value, type_of
from edgekit.core.wellformed import faults


def near_misses(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """What differs, and the graph."""
    for what, changed in _all(graph):
        if next(faults(changed), None) is None:
            yield what, drop_dead(changed)


def _all(graph: Graph) -> Iterator[tuple[str, Graph]]:
    for name in (name for node in graph.nodes for name in node.outputs if name not in graph.outputs):
        yield f"{name} is an output", replace(graph, outputs=(*graph.outputs, name))
        rest = tuple(node for node in graph.nodes if name not in node.outputs)
        yield f"{name} is an input", replace(graph, inputs=(*graph.inputs, name), nodes=rest)
    for i, node in enumerate(graph.nodes):
        for at, name in enumerate(node.inputs):
            for what, other in _others(graph, node, name):
                yield f"{name} {what}", _with_constant(graph, i, at, other)
        if len(set(node.inputs)) > 1:
            yield (
                f"{node.outputs[0]} turns operands",
                _with(graph, i, replace(node, inputs=node.inputs[::-1])),
            )
            same = (node.inputs[0],) * len(node.inputs)
            yield f"{node.outputs[0]} of one operand", _with(graph, i, replace(node, inputs=same))


def _with(graph: Graph, i: int, node: Node) -> Graph:
    return replace(graph, nodes=(*graph.nodes[:i], node, *graph.nodes[i + 1 :]))


def _with_constant(graph: Graph, i: int, at: int, data: Array) -> Graph:
    node = graph.nodes[i]
    name = f"{node.inputs[at]}'"
    values = {**graph.values, name: Value(type_of(data), data)}
    inputs = (*node.inputs[:at], name, *node.inputs[at + 1 :])
    return _with(replace(graph, values=values), i, replace(node, inputs=inputs))


def _others(graph: Graph, node: Node, name: str) -> list[tuple[str, Array]]:
    """What an operand may be instead: other constants, or any instead of what is computed."""
    data, type = graph.data(name), graph.type(name)
    if data is None:
        known = np.random.default_rng(0).standard_normal(type.shape)
        return [("is known", known.astype(type.dtype.numpy))] if type.dtype.is_float else []
    with np.errstate(over="ignore"):  # masks are large
        return [*_other_numbers(data), *_along_dimensions(data, graph.type(node.outputs[0]))]


def _other_numbers(data: Array) -> Iterator[tuple[str, Array]]:
    if data.dtype.kind == "f":
        yield "is more", np.asarray(data * data.dtype.type(1.25) + data.dtype.type(0.125))
        yield "is nothing", np.zeros_like(data)
        yield "is less than nothing", -data
        if data.size > 1:
            yield "is one number", np.full_like(data, data.reshape(-1)[0])
    elif data.dtype.kind == "i":
        yield "is one off", data + data.dtype.type(1)
        yield "is backwards", np.ascontiguousarray(data.reshape(-1)[::-1]).reshape(data.shape)


def _along_dimensions(data: Array, y: Type) -> Iterator[tuple[str, Array]]:
    """One number becomes several where the result has room for them."""
    for axis, n in enumerate(y.shape):
        if data.dtype.kind == "f" and data.size == 1 and n > 1:
            several = (data.reshape(-1) * np.linspace(0.5, 1.5, n)).astype(data.dtype)
            yield f"differs along {axis}", several.reshape(n, *(1,) * (y.rank - axis - 1))

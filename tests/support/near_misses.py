"""Graphs that differ from a pattern in one thing: what a pass must not take for the pattern, or may take.

Whatever it does, the results must be the same. Others read an inner value, too, or it comes from elsewhere; a
constant is another number, or differs along a dimension; operands change places, or become the same.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.passes import drop_dead
from edgekit.core.types import Array, Type, Value
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
            if (data := graph.data(name)) is not None:
                for what, other in _other_constants(data, graph.type(node.outputs[0])):
                    value = {f"{name}'": Value(Type(graph.type(name).dtype, other.shape), other)}
                    inputs = (*node.inputs[:at], f"{name}'", *node.inputs[at + 1 :])
                    with_it = replace(graph, values={**graph.values, **value})
                    yield f"{name} {what}", _with(with_it, i, replace(node, inputs=inputs))
        if len(set(node.inputs)) > 1:
            yield (
                f"{node.outputs[0]} turns operands",
                _with(graph, i, replace(node, inputs=node.inputs[::-1])),
            )
            same = (node.inputs[0],) * len(node.inputs)
            yield f"{node.outputs[0]} of one operand", _with(graph, i, replace(node, inputs=same))


def _with(graph: Graph, i: int, node: Node) -> Graph:
    return replace(graph, nodes=(*graph.nodes[:i], node, *graph.nodes[i + 1 :]))


def _other_constants(data: Array, y: Type) -> list[tuple[str, Array]]:
    with np.errstate(over="ignore"):  # masks are large
        return [*_other_numbers(data), *_along_dimensions(data, y)]


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

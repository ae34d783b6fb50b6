"""Loops: the calls of a body, between copies of what is carried from iteration to iteration.

What is carried has one place for the whole loop. Its first content is copied there, each iteration computes
the next one elsewhere and copies it at its end, when nothing reads the old one any more. See docs/adr/0060.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgekit.codegen.lowering.branches import Guard, Loop
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Step, View
from edgekit.core.ops._copy import copy
from edgekit.core.ops.while_loop import While
from edgekit.core.types import Value


def body_of(node: Node, op: While, graph: Graph) -> tuple[Graph, dict[str, Value]]:
    """The body as a graph, with the names of the graph around it where they mean the same; and the values
    that it adds to that."""
    own = node.outputs[0]
    names = {value.name: f"{own}/{value.name}" for value in op.values}
    names |= dict(zip(op.inputs, node.inputs, strict=True))
    names |= {name: f"{own}#{i}" for i, name in enumerate(op.inputs[: op.carried])}
    nodes, types = op.inlined(names)
    more = {name: Value(type) for name, type in types.items()}
    more |= {names[name]: Value(op.types[name]) for name in op.inputs[: op.carried]}
    staying = {name: graph.values[name] for name in node.inputs[op.carried :]}
    inputs = [names[name] for name in op.inputs if names[name] in more or graph.data(names[name]) is None]
    body = Graph(
        own,
        tuple(dict.fromkeys(inputs)),
        tuple(names[name] for name in op.outputs),
        tuple(nodes),
        {**staying, **more},
    )
    for i, result in enumerate(body.outputs):
        more[f"{own}#next{i}"] = Value(body.type(result))
    return body, more


def inlined(
    layer: LoweredLayer, op: While, body: Graph, layers: Sequence[LoweredLayer]
) -> list[LoweredLayer]:
    """The loop as layers, of which these are the body."""
    node = layer.node
    places = [Arg(name, Value(body.type(name))) for name in body.inputs[: op.carried]]
    loop = Loop(places[0].name, op.limit, node.outputs)
    path = (*layer.guards, loop)
    call = layer.steps[0]
    assert not isinstance(call, View)
    found = []
    for place, start in zip(places, call.args, strict=False):
        found.append(_layer(node, (start.name,), place, _copied(start, place), layer.guards))
    found += [replace(inner, guards=(*path, *inner.guards)) for inner in layers]
    viewed = {
        step.result.name: step.arg.name for inner in layers for step in inner.steps if isinstance(step, View)
    }
    last = []
    for i, (place, name) in enumerate(zip(places, body.outputs, strict=True)):
        following = Arg(name, body.values[name])
        root = name
        while root in viewed:
            root = viewed[root]
        if root != place.name and root in {other.name for other in places}:
            # What others carry may be overwritten before it is copied from there.
            aside = Arg(f"{node.outputs[0]}#next{i}", Value(place.type))
            found.append(_layer(node, (name,), aside, _copied(following, aside), path))
            following = aside
        result = Arg(node.outputs[i], Value(place.type))
        steps: list[Step] = [View(result, place)]
        if root != place.name:
            steps += _copied(following, result)
        last.append(_layer(node, (following.name, place.name), result, steps, path))
    return [*found, *last]


def _layer(
    node: Node, inputs: tuple[str, ...], result: Arg, steps: Sequence[Step], path: tuple[Guard | Loop, ...]
) -> LoweredLayer:
    return LoweredLayer(replace(node, inputs=inputs, outputs=(result.name,)), tuple(steps), path)


def _copied(source: Arg, target: Arg) -> list[Step]:
    return [*copy(source, target, (source.type.size,), (1,), (1,))]

"""Loops that stay: a body that is imported once, with what it carries, and a bound of its iterations.

The body is imported into the graph in the making, on inputs of its own, and taken out of it again. What it
reads beside them stays from iteration to iteration. See docs/adr/0060.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.counted_sizes import notes
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.logic import And, Or
from edgekit.core.ops.while_loop import BodyNode, BodyValue, While
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

MAX_UNROLLED = 256  # nodes, of one loop: longer ones stay
_MAX_COUNTED = 1 << 14  # iterations that are counted to find a bound
# Makes the next values of these.
Make = Callable[[Sequence[Tensor]], Sequence[Tensor]]


def while_loop(
    start: Sequence[Tensor],
    make: Make,
    *,
    unchanged: Collection[int] = (),
    private: Collection[int] = (),
    limit: int | None,
    most: int | None,
    inputs: Sequence[str] = (),
) -> list[Tensor]:
    """The values after the last iteration; the first, a bool, says whether there is another one. Those that
    are `unchanged` stay, and those that are `private` are not asked for in the end. Where the file says no
    `limit`, values that count tell it, and else the user says the `most`. `inputs` of the model decide the
    end."""
    builder = start[0].builder
    before = [
        x if i in unchanged else Tensor(builder, builder.input(f"carried_{i}", x.type))
        for i, x in enumerate(start)
    ]
    mark = len(builder.nodes)
    after = make(before)
    selected_rows.check_fixed(builder, after, "a loop carries")
    nodes = builder.nodes[mark:]
    del builder.nodes[mark:]
    for old, new in zip(start, after, strict=True):
        if new.type != old.type:
            raise EdgeKitError(
                "E0205",
                f"the loop carries {old.type} into its first iteration, and {new.type} into the next",
                f"node {builder.origin}",
                "shapes are fixed in generated code: let the loop write into a tensor of its final shape",
            )
    kept = _needed(before, after, nodes, {*range(len(start))} - {*unchanged} - {*private})
    ins, outs = [before[i].name for i in kept], [after[i].name for i in kept]
    body = _body(builder, nodes, ins, outs)
    if limit is None:
        limit = _counted(body, ins, outs, {before[i].name: start[i].data for i in kept})
    limit = most if limit is None else limit
    if limit is None:
        names = f"the input {', '.join(inputs)}" if inputs else "what it computes"
        raise EdgeKitError(
            "E0301" if inputs else "E0205",
            f"how often this loop runs depends on {names}",
            f"node {builder.origin}",
            "--max-iterations N says how often at most",
            tuple(inputs),
        )
    staying = _staying(builder, body, ins, outs)
    op = While(
        (*ins, *staying),
        tuple(outs),
        tuple(BodyNode(n.op, n.inputs, n.outputs, n.origin) for n in body.nodes),
        tuple(BodyValue(name, body.type(name)) for name in _names(body, ins, outs)),
        limit,
    )
    quants = [start[i].type.quant for i in kept]
    operands = (*(start[i].name for i in kept), *staying.values())
    made = builder.add(op, *operands, quant=quants if any(quants) else None)
    results = dict(zip(kept, made, strict=True))
    return [Tensor(builder, results[i]) if i in results else x for i, x in enumerate(start)]


def undone(builder: Builder, nodes: int, names: Collection[str]) -> None:
    """Take back what was added to a graph of so many nodes and these values. Constants may be shared."""
    del builder.nodes[nodes:]
    for made in set(builder.values) - set(names):
        if builder.data(made) is None:
            del builder.values[made]
            notes(builder).forget(made)


def _needed(
    before: Sequence[Tensor], after: Sequence[Tensor], nodes: Sequence[Node], asked: Collection[int]
) -> list[int]:
    """Which values are carried: those that are asked for, and what decides them."""
    producer = {name: node for node in nodes for name in node.outputs}
    place = {x.name: i for i, x in enumerate(before)}
    needed: set[int] = set()
    seen: set[str] = set()
    queue = [after[i].name for i in asked]
    needed.update(asked)
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in place and before[place[name]].name != after[place[name]].name:
            needed.add(place[name])
            queue.append(after[place[name]].name)
        if name in producer:
            queue.extend(producer[name].inputs)
    return sorted(needed)


def _body(builder: Builder, nodes: Sequence[Node], ins: Sequence[str], outs: Sequence[str]) -> Graph:
    """The nodes as a graph, simplified."""
    made = {name for node in nodes for name in node.outputs}
    read = dict.fromkeys(name for node in nodes for name in node.inputs if name not in made)
    read |= dict.fromkeys(name for name in outs if name not in made)
    given = [name for name in read if builder.data(name) is None and name not in ins]
    values = {name: builder.values[name] for name in (*ins, *read, *made)}
    results = dict.fromkeys(name for name in outs if name in made)
    graph = simplify(Graph("body", (*ins, *given), tuple(results), tuple(nodes), values))
    return Graph("body", graph.inputs, graph.outputs, graph.nodes, {**values, **graph.values})


def _names(body: Graph, ins: Sequence[str], outs: Sequence[str]) -> Iterable[str]:
    """All that the nodes of a body read and compute."""
    edges = (name for node in body.nodes for name in (*node.inputs, *node.outputs))
    return dict.fromkeys((*ins, *outs, *edges))


def _staying(builder: Builder, body: Graph, ins: Sequence[str], outs: Sequence[str]) -> dict[str, str]:
    """What a body reads from around it: where that is. Constants may be new."""
    made = {name for node in body.nodes for name in node.outputs}
    found: dict[str, str] = {}
    for name in _names(body, ins, outs):
        if name in made or name in ins:
            continue
        found[name] = name
        if (value := body.values[name]).data is not None and builder.values.get(name) is not value:
            found[name] = builder.fresh(name)
            builder.values[found[name]] = value
    return found


def _counted(
    body: Graph, ins: Sequence[str], outs: Sequence[str], start: Mapping[str, Array | None]
) -> int | None:
    """The most iterations that values allow which depend on no data, such as counters; None: there is no end
    of them, or a far one."""
    constants = dict(body.constants())
    known = {name: data for name, data in start.items() if data is not None}
    likely = {*constants, *known}
    nodes = []
    for node in body.nodes:
        sure = [name in likely for name in node.inputs]
        if any(sure) if isinstance(node.op, And | Or) else all(sure):
            likely.update(node.outputs)
            nodes.append(node)
    for step in range(_MAX_COUNTED):
        go_on = known.get(ins[0])
        if go_on is not None and not go_on.any():
            return step
        values = {**constants, **known}
        for node in nodes:
            values |= _computed(body, node, values)
        following = {name: values[after] for name, after in zip(ins, outs, strict=True) if after in values}
        if {n: x.tobytes() for n, x in following.items()} == {n: x.tobytes() for n, x in known.items()}:
            return None
        known = following
    return None


def _computed(body: Graph, node: Node, values: Mapping[str, Array]) -> Mapping[str, Array]:
    """The results, as far as the operands that are known say them."""
    args = [values.get(name) for name in node.inputs]
    sure = [x for x in args if x is not None]
    if len(sure) < len(args):
        if isinstance(node.op, And) and any(not x.any() for x in sure):
            return {node.outputs[0]: np.zeros(body.type(node.outputs[0]).shape, bool)}
        if isinstance(node.op, Or) and any(x.all() for x in sure):
            return {node.outputs[0]: np.ones(body.type(node.outputs[0]).shape, bool)}
        return {}
    ins, made = ([body.type(name) for name in names] for names in (node.inputs, node.outputs))
    is_quantized = any(t.quant is not None for t in (*ins, *made))
    with np.errstate(all="ignore"):
        results = node.op.integer(sure, ins, made) if is_quantized else node.op.eval(*sure)
    return dict(zip(node.outputs, results, strict=True))

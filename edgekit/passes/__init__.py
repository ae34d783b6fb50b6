"""Passes: Graph -> Graph, the same object when there is nothing to do. One file per pass; `simplify` runs all.

A rule rewrites one node: it looks at the graph, adds new nodes to the builder, and returns the names that
stand for the node's results (or None). What it replaces is left without users, and `drop_dead` sweeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from edgekit.builder import Builder
from edgekit.ir import Graph, Node, Value

Pass = Callable[[Graph], Graph]
Rule = Callable[[Graph, Node, Builder], Sequence[str] | None]

# Rules shrink or canonicalise, so a graph settles in a few sweeps; far more means two rules undo each other.
_MAX_SWEEPS = 100


def rewrite(graph: Graph, *rules: Rule) -> Graph:
    """Apply the rules to every node until none fires."""
    for _ in range(_MAX_SWEEPS):
        after = _sweep(graph, rules)
        if after is graph:
            return graph
        graph = drop_dead(after)
    raise AssertionError(f"rules {[r.__name__ for r in rules]} do not settle on {graph.name}")


def _sweep(graph: Graph, rules: Sequence[Rule]) -> Graph:
    """One pass over the nodes: rules see the graph as it was, and results keep their old names where they can."""
    builder = Builder(graph.values)
    stands_for: dict[str, str] = {}  # results that are another value now
    public: dict[str, str] = {}  # values that take over the name of a graph output
    computed = {name for node in graph.nodes for name in node.outputs}
    fired = False
    for node in graph.nodes:
        builder.origin = node.origin
        start = len(builder.nodes)
        results = next((r for rule in rules if (r := rule(graph, node, builder)) is not None), None)
        new = {name for added in builder.nodes[start:] for name in added.outputs}
        if results is not None:
            for old, result in zip(node.outputs, results, strict=True):
                target = _resolve(result, stands_for)
                if old in graph.outputs and target not in new:
                    if target not in computed or target in graph.outputs or target in public:
                        results = None  # an output must keep its name: this node stays as its copy
                        break
                    public[target] = old
        if results is None:
            del builder.nodes[start:]
            builder.nodes.append(node)
            continue
        fired = True
        # A result computed by the nodes just added takes the name it replaces, so that layer names survive.
        renames: dict[str, str] = {}
        for old, result in zip(node.outputs, results, strict=True):
            if result in new and result not in renames:
                renames[result] = old
                builder.values[old] = Value(builder.values[result].type)
            else:
                stands_for[old] = renames.get(result, result)
        builder.nodes[start:] = [_rename(n, renames) for n in builder.nodes[start:]]
    if not fired:
        return graph
    final = {old: _resolve(old, stands_for) for old in stands_for}
    final = {old: public.get(to, to) for old, to in final.items()} | public
    for target, old in public.items():
        builder.values[old] = builder.values[target]
    nodes = [_rename(replace(n, inputs=tuple(final.get(i, i) for i in n.inputs)), public) for n in builder.nodes]
    return replace(graph, nodes=_ordered(nodes), values=builder.values)


def _rename(node: Node, renames: dict[str, str]) -> Node:
    return replace(
        node,
        inputs=tuple(renames.get(name, name) for name in node.inputs),
        outputs=tuple(renames.get(name, name) for name in node.outputs),
    )


def _resolve(name: str, stands_for: dict[str, str]) -> str:
    while name in stands_for:
        name = stands_for[name]
    return name


def _ordered(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes in topological order, near their given order."""
    producer = {name: node for node in nodes for name in node.outputs}
    done: set[int] = set()
    result: list[Node] = []
    for root in nodes:
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            waiting = [p for name in node.inputs if (p := producer.get(name)) is not None and id(p) not in done]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                stack.pop()
                done.add(id(node))
                result.append(node)
    return tuple(result)


def drop_dead(graph: Graph) -> Graph:
    """Remove nodes and constants that no output depends on."""
    live = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(name in live for name in node.outputs):
            kept.append(node)
            live.update(node.inputs)
    used = live | set(graph.inputs) | {name for node in kept for name in node.outputs}
    if len(kept) == len(graph.nodes) and all(name in used for name in graph.values):
        return graph
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(graph, nodes=tuple(reversed(kept)), values=values)


def verify(graph: Graph) -> None:
    """Assert that a graph keeps the rules of the house; tests call it after every pass."""
    known = {name for name, _ in graph.constants()}
    for name in graph.inputs:
        assert name not in known, f"input {name} is a constant"
        known.add(name)
    for node in graph.nodes:
        for name in node.inputs:
            assert name in known, f"{node.op} reads {name} before it is computed"
        results = node.op.infer(*(graph.type(name) for name in node.inputs))
        assert len(results) == len(node.outputs), f"{node.op} has {len(results)} results, not {len(node.outputs)}"
        for name, result in zip(node.outputs, results, strict=True):
            assert name not in known, f"{name} is computed twice"
            assert graph.type(name) == result, f"{name} is {graph.type(name)}, {node.op} computes {result}"
            known.add(name)
    for name in graph.outputs:
        assert name in known, f"output {name} is never computed"

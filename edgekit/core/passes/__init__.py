"""Passes: Graph -> Graph, the same object when there is nothing to do; `simplify` runs them all.

A rule rewrites one node. It sees the graph as it stands: everything before the node is rewritten already,
everything behind it is not. It adds nodes with `edit.one` or `edit.add` and returns the names that stand for
the node's results, or None. What loses its last reader is removed at once, so that `used_once` always tells
the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.reshape import Reshape
from edgekit.core.wellformed import faults

Pass = Callable[[Graph], Graph]
Rule = Callable[["Edit", Node], Sequence[str] | None]

# Rules shrink or canonicalise, so a graph settles in a few sweeps; far more means two rules undo each other.
MAX_SWEEPS = 100


class Edit(Builder):
    """A graph in the middle of a sweep: `nodes` is what the rule at work adds, `done` what comes before."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.values)
        self.exits = frozenset(graph.exits)
        self.done: dict[str, Node] = {}  # by first result, in order
        self._producers: dict[str, Node] = {}
        self._reads = Counter(chain(graph.exits, *(node.inputs for node in graph.nodes)))
        self._stands_for: dict[str, str] = {}  # results that are another value now
        self._public: dict[str, str] = {}  # values that will take the name of an exit

    def producer(self, name: str) -> Node | None:
        """The node that computes `name`; None for entries and constants."""
        return self._producers.get(name)

    def used_once(self, name: str) -> bool:
        """Is `name` read once, by the node at hand, and not outside the graph?"""
        return self._reads[name] == 1 and name not in self.exits and name not in self._public

    def current(self, node: Node) -> Node:
        """The node with its operands as they are called now."""
        if self._stands_for.keys().isdisjoint(node.inputs):
            return node
        return replace(node, inputs=tuple(self._stands_for.get(name, name) for name in node.inputs))

    def is_dead(self, node: Node) -> bool:
        return not any(map(self._reads.get, node.outputs))

    def keep(self, node: Node) -> None:
        """Take a node over as it is; its reads are counted already."""
        self.done[node.outputs[0]] = node
        for name in node.outputs:
            self._producers[name] = node

    def forget(self, node: Node) -> None:
        """A node that is not needed any more gives up what it reads, and what was there for it alone goes."""
        forgotten = [node]
        while forgotten:
            for name in forgotten.pop().inputs:
                self._reads[name] -= 1
                producer = self._producers.get(name)
                if producer is not None and self.is_dead(producer) and self._take_out(producer):
                    forgotten.append(producer)

    def accept(self, node: Node, results: Sequence[str]) -> bool:
        """Let `results` stand for the results of `node`. A result that the rule computed takes the old name,
        so that the names of layers survive. False where nothing would change: the copy at an exit."""
        new = {name for added in self.nodes for name in added.outputs}
        renames: dict[str, str] = {}
        copies: list[Node] = []
        moved: dict[str, str] = {}
        for old, result in zip(node.outputs, results, strict=True):
            assert self.type(result).real == self.type(old).real, f"{old} would become {self.type(result)}"
            if result in new and result not in renames:
                renames[result] = old  # and the type of `old`, which says what quantized results stand for
                continue
            target = renames.get(result, result)
            if old not in self.exits:
                moved[old] = target
            elif target in self._producers and target not in self.exits and target not in self._public:
                moved[old] = target
                self._public[target] = old
            else:  # an entry, a constant or another exit: this exit is its copy
                copies.append(Node(Reshape(self.type(old).shape), (target,), (old,), node.origin))
        if copies == [node]:
            return False
        added = [_renamed(n, renames) for n in self.nodes] + copies
        for n in added:
            self._reads.update(n.inputs)
            self.keep(n)
        for old, target in moved.items():
            self._stands_for[old] = target
            self._reads[target] += self._reads.pop(old, 0)
        self.forget(node)
        for n in reversed(added):
            if self.is_dead(n) and self._take_out(n):
                self.forget(n)
        return True

    def graph_after(self, graph: Graph) -> Graph:
        """The graph with everything that was accepted."""
        for target, old in self._public.items():
            self.values[old] = self.values[target]
        nodes = tuple(_renamed(node, self._public) for node in self.done.values())
        return self.with_source_names(drop_dead(replace(graph, nodes=nodes, values=self.values)))

    def _take_out(self, node: Node) -> bool:
        """Remove a node; False if that was done before."""
        if self.done.pop(node.outputs[0], None) is None:
            return False
        for name in node.outputs:
            del self._producers[name]
        return True


def rewrite(graph: Graph, *rules: Rule) -> Graph:
    """Apply the rules to every node until none fires."""
    for _ in range(MAX_SWEEPS):
        after = sweep(graph, *rules)
        if after is graph:
            return graph
        graph = after
    raise AssertionError(f"rules {[r.__name__ for r in rules]} do not settle on {graph.name}")


def sweep(graph: Graph, *rules: Rule) -> Graph:
    """Visit every node once, in order, and apply the first rule that fires."""
    edit = Edit(graph)
    fired = False
    for old in graph.nodes:
        node = edit.current(old)
        if edit.is_dead(node):
            edit.forget(node)
            fired = True
        elif _fires(rules, edit, node):
            fired = True
        else:
            edit.keep(node)
    return edit.graph_after(graph) if fired else graph


def _fires(rules: Sequence[Rule], edit: Edit, node: Node) -> bool:
    """Does one of the rules rewrite this node?"""
    edit.origin = node.origin
    for rule in rules:
        edit.nodes.clear()
        results = rule(edit, node)
        if results is not None and edit.accept(node, results):
            return True
    return False


def _renamed(node: Node, names: dict[str, str]) -> Node:
    return replace(
        node,
        inputs=tuple(names.get(name, name) for name in node.inputs),
        outputs=tuple(names.get(name, name) for name in node.outputs),
    )


def settle(graph: Graph, *passes: Pass) -> Graph:
    """Run passes one after the other until none of them finds anything to do."""
    idle = 0  # passes since the last that found something
    for run in islice(cycle(passes), MAX_SWEEPS * len(passes)):
        before, graph = graph, run(graph)
        idle = idle + 1 if graph is before else 0
        if idle == len(passes):
            return graph
    raise AssertionError(f"passes {[p.__name__ for p in passes]} do not settle on {graph.name}")


def drop_dead(graph: Graph) -> Graph:
    """Remove nodes and constants that no exit depends on."""
    live = set(graph.exits)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(name in live for name in node.outputs):
            kept.append(node)
            live.update(node.inputs)
    used = live | set(graph.entries) | {name for node in kept for name in node.outputs}
    if len(kept) == len(graph.nodes) and all(name in used for name in graph.values):
        return graph
    values = {name: value for name, value in graph.values.items() if name in used}
    return replace(graph, nodes=tuple(reversed(kept)), values=values)


def verify(graph: Graph) -> None:
    """Assert that a graph keeps the rules of the house; tests call it after every pass."""
    for fault in faults(graph):
        raise AssertionError(fault)

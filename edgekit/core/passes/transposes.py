"""Transposes removed: they are put off until an operator needs them, and most never are.

The graph is walked once. A transpose computes nothing: its result is the same memory in another `Layout`.
An operator that can work on such memory does (`Op.in_layout`), and its result has a layout in turn. Where an
operator cannot, or at an output of the graph, the value is put in order, once for all who want it. What comes
out is taken only if it moves less than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.layouts import Layout, Shape, Want, common_split, folded, permutation, plain
from edgekit.core.ops import OpInLayout
from edgekit.core.ops._layout import stored
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose, moves_nothing
from edgekit.core.passes import drop_dead

# How many transposes are tried at their old place, where putting them off did not remove all.
_MAX_TRIALS = 24


def transposes(graph: Graph) -> Graph:
    """The pass."""
    while (after := _fewer(graph)) is not graph:
        graph = after
    return graph


def _fewer(graph: Graph) -> Graph:
    """The best of some walks, if it is better than the graph as it is."""
    moving = [node.outputs[0] for node in graph.nodes if moves(graph, node)]
    if not moving:
        return graph
    walk = _TransposePropagation(graph, frozenset())
    best = min((graph, walk.run()), key=cost)
    # Some may cost more elsewhere than where they were: those are tried at their old place.
    dear = [name for name in moving if walk.spent[name] > graph.type(name).bytes]
    pinned: frozenset[str] = frozenset()
    for name in dear[:_MAX_TRIALS]:
        after = _TransposePropagation(graph, pinned | {name}).run()
        if cost(after) < cost(best):
            best, pinned = after, pinned | {name}
    return best


def cost(graph: Graph) -> tuple[int, int, int]:
    """What transposes cost, to be compared: bytes moved, transposes, and how much of the graph comes after
    them (the later the better: layers before them stay together)."""
    height: dict[str, int] = {}
    total = 0
    moving = [node for node in graph.nodes if moves(graph, node)]
    names = {node.outputs[0] for node in moving}
    for node in reversed(graph.nodes):
        after = max((height.get(name, 0) for name in node.outputs), default=0)
        if node.outputs[0] in names:
            total += after
        after += not isinstance(node.op, Transpose | Reshape)
        for name in node.inputs:
            height[name] = max(height.get(name, 0), after)
    return sum(graph.type(name).bytes for name in names), len(names), total


def moves(graph: Graph, node: Node) -> bool:
    """Is the node a transpose that costs something?"""
    op, shape = node.op, graph.type(node.inputs[0]).shape
    return isinstance(op, Transpose) and not moves_nothing(shape, op.perm)


@dataclass(frozen=True)
class _Form:
    """Where a value is found: in the tensor `name`, in a layout."""

    name: str
    layout: Layout
    put_off: frozenset[str] = frozenset()  # the transposes that made this layout


@dataclass
class _TransposePropagation:
    """One walk over a graph; results of the transposes `pinned` are put in order at once."""

    graph: Graph
    pinned: frozenset[str]
    builder: Builder = field(init=False)
    forms: dict[str, _Form] = field(default_factory=dict)
    # What was transposed already, by name and `_Hop.move`.
    transposed: dict[tuple[str, tuple[Shape, Shape]], str] = field(default_factory=dict)
    # Bytes moved in the end because a transpose was put off.
    spent: Counter[str] = field(default_factory=Counter)

    def run(self) -> Graph:
        """The graph with its transposes put off."""
        graph = self.graph
        size = sum(data.nbytes for _, data in graph.constants())
        self.builder = Builder(given=size, nodes=len(graph.nodes))
        outside = frozenset((*graph.entries, *graph.exits))
        for name, value in graph.values.items():
            if name in outside or value.data is not None:
                self.builder.values[name] = value  # these names are taken
                self.forms[name] = _Form(name, plain(value.type.shape))
        for node in graph.nodes:
            self.builder.origin = node.origin
            for name, form in zip(node.outputs, self.visit(node), strict=True):
                self.forms[name] = self.in_order(form) if name in self.pinned else form
        return self.finished()

    def visit(self, node: Node) -> list[_Form]:
        """Add what computes a node; where its results are."""
        forms = [self.forms[name] for name in node.inputs]
        layouts = [form.layout for form in forms]
        match node.op:
            case Transpose(perm):
                put_off = forms[0].put_off | {node.outputs[0]}
                return [_Form(forms[0].name, layouts[0].transposed(perm), put_off)]
            case Reshape(shape):
                layout = layouts[0].reshaped(shape)
                form = forms[0] if layout else self.in_order(forms[0])
                return [_Form(form.name, layout or plain(shape), form.put_off)]
        ways = [
            way for at, x in enumerate(layouts) if not x.is_plain and (way := node.op.in_layout(at, layouts))
        ]
        results = (plain(self.graph.type(name).shape) for name in node.outputs)
        ways.append(stored(node.op, (plain(x.value_shape) for x in layouts), results))
        best = min(ways, key=lambda way: self.price(forms, way))
        operands = [self.arranged(form, want) for form, want in zip(forms, best.ins, strict=True)]
        quant = self.graph.type(node.outputs[0]).quant
        names = self.builder.add(best.op, *operands, names=node.outputs, quant=quant)
        put_off = frozenset[str]().union(*(form.put_off for form in forms))
        return [
            _Form(name, layout, frozenset() if layout.is_plain else put_off)
            for name, layout in zip(names, best.outs, strict=True)
        ]

    def price(self, forms: Sequence[_Form], way: OpInLayout) -> int:
        """Elements to move before an operator has what it wants."""
        total = 0
        for form, want in dict.fromkeys(zip(forms, way.ins, strict=True)):
            if self.builder.data(form.name) is None:
                hops = _hops(form.layout, want.layout)
                known = len(hops) == 1 and (form.name, hops[0].move) in self.transposed
                total += 0 if known else self.builder.type(form.name).size * len(hops)
        return total

    def arranged(self, form: _Form, want: Want) -> str:
        """The tensor that holds a value as an operator wants it."""
        name = form.name
        for hop in _hops(form.layout, want.layout):
            key = (name, hop.move)
            if key not in self.transposed:
                self.transposed[key] = self.builder.one(Transpose(hop.perm), self.reshaped(name, hop.shape))
                self.spent.update(dict.fromkeys(form.put_off, self.builder.type(name).bytes))
            name = self.transposed[key]
        return self.reshaped(name, want.shape)

    def reshaped(self, name: str, shape: Shape) -> str:
        return name if self.builder.type(name).shape == shape else self.builder.one(Reshape(shape), name)

    def in_order(self, form: _Form) -> _Form:
        """The value as it is."""
        layout = plain(form.layout.value_shape)
        return _Form(self.arranged(form, Want(layout, layout.shape)), layout)

    def finished(self) -> Graph:
        """The graph, with exits that are in order and have their names."""
        names: dict[str, str] = {}
        for public in self.graph.exits:
            if public in self.graph.entries or self.graph.data(public) is not None:
                continue
            name = self.in_order(self.forms[public]).name
            if name in names or not any(name in node.outputs for node in self.builder.nodes):
                self.builder.nodes.append(Node(Reshape(self.graph.type(public).shape), (name,), (public,)))
            else:
                names[name] = public
        nodes = tuple(
            replace(
                node,
                inputs=tuple(names.get(name, name) for name in node.inputs),
                outputs=tuple(names.get(name, name) for name in node.outputs),
            )
            for node in self.builder.nodes
        )
        graph = drop_dead(replace(self.graph, nodes=nodes, values=self.builder.values))
        return self.builder.with_source_names(graph)


@dataclass(frozen=True)
class _Hop:
    """A transpose of a tensor seen as one of `shape`; `move` is the same for all that move alike."""

    shape: Shape
    perm: tuple[int, ...]
    move: tuple[Shape, tuple[int, ...]]


@lru_cache(maxsize=10_000)  # walks ask the same again and again
def _hops(have: Layout, want: Layout) -> tuple[_Hop, ...]:
    """The transposes, mostly none or one, that bring a value into another layout."""
    if have == want or 0 in have.shape:
        return ()
    split = common_split(have, want)
    if split is None:  # by way of the value in order, which splits as everybody needs it
        middle = plain(have.value_shape)
        return _hops(have, middle) + _hops(middle, want)
    shape, perm = split[0].shape, permutation(*split)
    move = folded(shape, perm)
    if not move[1]:
        return ()
    # Of the dimensions that people know where those do, else of those that move.
    sizes = [[[x.shape[d] for d in group] for group in x.dims] for x in (have, want)]
    whole = (have.shape, permutation(have, want)) if sizes[0] == sizes[1] else move
    return (_Hop(*whole, move),)

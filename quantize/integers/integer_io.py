"""Integers at the doors of an int8 graph: what only converts to or from floats there goes away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes import drop_dead
from edgekit.core.types import DType, Quant, Type, Value
from edgekit.quantize.integers.int8_functions import with_integer_ends

Io = Literal["float", "int8", "uint8"]
KINDS: tuple[Io, ...] = ("float", "int8", "uint8")
# Bytes that come in as they are, such as pixels: what int8 stands for, so that not even a multiplication is
# needed.
BYTES: Mapping[DType, Quant] = {DType.U8: Quant((1.0,), (-128,)), DType.S8: Quant((1.0,), (0,))}


def raw_bytes(graph: Graph) -> dict[str, Quant]:
    """The floats that inputs of one byte become, with the scale that makes them bytes again."""
    return {
        node.outputs[0]: BYTES[graph.type(node.inputs[0]).dtype]
        for node in graph.nodes
        if isinstance(node.op, Cast)
        and node.op.to is DType.F32
        and node.inputs[0] in graph.inputs
        and graph.type(node.inputs[0]).dtype in BYTES
    }


def bring_integers_out(graph: Graph, io: Io) -> Graph:
    """The int8 graph with inputs and outputs as `io` says; "float" leaves them, apart from bytes, which are
    not converted to floats and back any more. What no integer layer reads or computes stays as it is."""
    doors = _PortReplacement(graph if io == "float" else with_integer_ends(graph), io)
    for name in graph.inputs:
        doors.input(name)
    for name in graph.outputs if io != "float" else ():
        doors.output(name)
    return doors.graph()


class _PortReplacement:
    """A graph whose inputs and outputs are being replaced."""

    def __init__(self, graph: Graph, io: Io) -> None:
        self.before = graph
        self.io = io
        self.values = dict(graph.values)
        self.first: list[Node] = []  # new nodes in front of all others
        self.last: list[Node] = []  # and behind them
        self.gone: set[str] = set()  # results of nodes that are not needed any more
        self.names: dict[str, str] = {}  # of values that are called otherwise now

    def input(self, name: str) -> None:
        """Let an input be what the first `Quantize` makes of it."""
        graph = self.before
        source, own = name, graph.type(name)
        casts = [node for node in graph.users(name) if isinstance(node.op, Cast)]
        if own.dtype in BYTES and own.quant is None and len(casts) == len(graph.users(name)) == 1:
            source = casts[0].outputs[0]
        elif self.io == "float" or own.dtype is not DType.F32:
            return
        node = next((node for node in graph.users(source) if isinstance(node.op, Quantize)), None)
        if node is None or any(n in graph.exits for n in (name, source, node.outputs[0])):
            return
        made = node.outputs[0]
        type = graph.type(made)
        if source != name and type.quant != BYTES[own.dtype]:
            return
        if source != name and self.io == "float":
            wanted = own.dtype
        else:
            wanted = DType.U8 if self.io == "uint8" and type.dtype is DType.S8 else type.dtype
        self.gone.update((made, source) if source != name else (made,))
        others = [user for user in graph.users(source) if user is not node]
        if wanted is type.dtype:
            self.values[name] = Value(type)
            self.names[made] = name
        else:
            self.values[name] = Value(_flipped(type))
            self.first.append(Node(FlipSign(), (name,), (made,), node.origin))
        if others:
            real = self._fresh(f"{name}_float", graph.type(source))
            self.first.append(Node(Dequantize(), (self.names.get(made, made),), (real,), node.origin))
            self.names[source] = real

    def output(self, name: str) -> None:
        """Let an output be what was converted to floats."""
        graph = self.before
        node = graph.producer(name)
        if node is None or not isinstance(node.op, Dequantize) or graph.users(name):
            return
        (made,) = node.inputs
        type = graph.type(made)
        if made in (*graph.inputs, *graph.exits) or graph.producer(made) is None or made in self.gone:
            return
        if made in self.names:  # another output already
            return
        self.gone.add(name)
        if self.io == "uint8" and type.dtype is DType.S8:
            self.values[name] = Value(_flipped(type))
            self.last.append(Node(FlipSign(), (made,), (name,), node.origin))
        else:
            self.values[name] = Value(type)
            self.names[made] = name

    def graph(self) -> Graph:
        graph = self.before
        if not self.gone:
            return graph
        kept = [node for node in graph.nodes if node.outputs[0] not in self.gone]
        nodes = [*self.first, *(_renamed(node, self.names) for node in kept), *self.last]
        return drop_dead(replace(graph, nodes=tuple(nodes), values=self.values))

    def _fresh(self, hint: str, type: Type) -> str:
        name, number = hint, 0
        while name in self.values:
            number += 1
            name = f"{hint}_{number}"
        self.values[name] = Value(type)
        return name


def _flipped(type: Type) -> Type:
    """uint8 for int8, of the same numbers."""
    quant = type.quant
    assert quant is not None
    zeros = tuple(zero + 128 for zero in quant.zero)
    return replace(type, dtype=DType.U8, quant=replace(quant, zero=zeros))


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    def new(old: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    return replace(node, inputs=new(node.inputs), outputs=new(node.outputs))

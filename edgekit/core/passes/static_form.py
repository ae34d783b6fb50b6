"""Dynamic quantization taken out, for static quantization: the float network that was quantized.

Bytes that a run would make become the reals that they stand for, with a scale of 1 around 0; what is computed
with them as integers is computed as reals. Weights keep the values of their integers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Mul, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_quantize import DynamicQuantize, DynamicQuantizeDense, DynamicQuantizeLstm
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.recurrent import Lstm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import DType


def static_form(graph: Graph) -> Graph:
    """The graph without dynamic quantization; the same object where there is none."""
    dynamic = (DynamicQuantize, DynamicQuantizeLstm)
    if graph.states or not any(isinstance(node.op, dynamic) for node in graph.nodes):
        return graph
    return simplify(_Reals(graph).run())


class _Reals:
    """Builds the graph anew, on reals."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = Builder(nodes=len(graph.nodes))
        self.names: dict[str, str] = {}
        self.reals: set[str] = set()  # integers that are reals now
        self.sums: set[str] = set()  # whole numbers that were made of these

    def run(self) -> Graph:
        graph = self.graph
        inputs = [self.builder.input(name, graph.type(name)) for name in graph.inputs]
        self.names.update(zip(graph.inputs, inputs, strict=True))
        for node in graph.nodes:
            self.builder.origin = node.origin
            self.node(node)
        outputs = [self.name(name) for name in graph.outputs]
        return self.builder.graph(graph.name, inputs, outputs, graph.source)

    def node(self, node: Node) -> None:
        first = node.inputs[0] if node.inputs else ""
        if isinstance(node.op, DynamicQuantize):
            y, scale, zero = node.outputs
            one, none = (self.builder.const(np.float32(value)) for value in (1, 0))
            self.names.update({y: self.name(first), scale: one, zero: none})
            self.reals.update((y, zero))
        elif isinstance(node.op, DynamicQuantizeLstm):
            self.lstm(node, node.op)
        elif isinstance(node.op, DynamicQuantizeDense):
            self.dense(node)
        elif isinstance(node.op, Cast | FlipSign) and (first in self.reals or first in self.sums):
            (y,) = node.outputs
            self.names[y] = self.name(first)
            (self.sums if self.graph.type(y).dtype.is_float else self.reals).add(y)
        else:
            self.apply(node)

    def apply(self, node: Node) -> None:
        met = self.reals.intersection(node.inputs)
        operands = [self.real(name) if met else self.name(name) for name in node.inputs]
        quants = [self.graph.type(name).quant for name in node.outputs]
        made = self.builder.add(node.op, *operands, names=node.outputs, quant=quants)
        self.names.update(zip(node.outputs, made, strict=True))
        if met:
            self.reals.update(node.outputs)
        adds = isinstance(node.op, Linear | Sub | Mul | Reduce) or node.op.is_data_movement
        if adds and self.sums.intersection(node.inputs):
            self.sums.update(node.outputs)

    def dense(self, node: Node) -> None:
        """What has a scale of 1 are sums."""
        x, x_scale, x_zero, w, scale, b = node.inputs
        weights, scales = self.graph.data(w), self.graph.data(scale)
        assert weights is not None, "the weights of a layer are constant"
        assert scales is not None, "and so are their scales"
        real = weights.astype(np.float32) * scales[:, None]
        given = self.name(x) if x in self.reals else self.decoded(x, x_scale, x_zero)
        y = self.builder.one(Dense(), given, self.builder.const(real, hint=w), self.name(b))
        self.names[node.outputs[0]] = y
        if (scales == 1).all() and self.graph.data(x_scale) is not None:
            self.sums.update(node.outputs)

    def decoded(self, x: str, scale: str, zero: str) -> str:
        """The reals that bytes stand for which no run makes, such as those of a table."""
        codes, middle = (self.builder.one(Cast(DType.F32), self.name(name)) for name in (x, zero))
        return self.builder.one(Mul(), self.builder.one(Sub(), codes, middle), self.name(scale))

    def lstm(self, node: Node, op: DynamicQuantizeLstm) -> None:
        x, *weights, h, c = node.inputs
        r, scale, zero = (self.graph.data(name) for name in weights)
        assert r is not None, "the weights of a state are constant"
        assert scale is not None, "and so are their scales"
        assert zero is not None, "and their zero points"
        real = ((r.astype(np.float32) - zero[:, None]) * scale[:, None]).astype(np.float32)
        operands = (self.name(x), self.builder.const(real, hint=weights[0]), self.name(h), self.name(c))
        made: Sequence[str] = self.builder.add(Lstm(op.reverse), *operands, names=node.outputs)
        self.names.update(zip(node.outputs, made, strict=True))

    def name(self, name: str) -> str:
        """The value as it was."""
        if name not in self.names:
            value = self.graph.values[name]
            assert value.data is not None, name
            self.names[name] = self.builder.fresh(name)
            self.builder.values[self.names[name]] = value
        return self.names[name]

    def real(self, name: str) -> str:
        """The value as a real; constants that are met as integers become reals."""
        data = self.graph.data(name)
        if data is None or name in self.names or DType.of(data.dtype).is_float:
            return self.name(name)
        return self.builder.const(data.astype(np.float32), hint=name)

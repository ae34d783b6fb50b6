"""Float graph -> int8 graph: scales from calibration, weights per channel, biases corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgekit.builder import Builder
from edgekit.ir import Array, DType, Graph, Node, Quant, Type, Value
from edgekit.ops import Op
from edgekit.ops._linear import Linear
from edgekit.ops._map import Map
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.quantize import Dequantize, Quantize
from edgekit.ops.softmax import Softmax
from edgekit.quantize.observe import RANGES, Range, Statistics

# The smallest scale of a channel, as a share of the largest: multipliers keep 16 bits or more.
_MIN_SHARE = 2.0**-15
SOFTMAX = Quant((1 / 256,), (-128,))


@dataclass(frozen=True)
class Options:
    """How to quantize. `float_io`: the model's inputs and outputs stay float32."""

    calibrate: str = "minmax"
    float_io: bool = True
    correct_bias: bool = True


def activation_quant(low: float, high: float) -> Quant:
    """Asymmetric int8 of a range; 0 is exact."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / 255)) or 1.0
    return Quant((scale,), (int(np.clip(np.rint(-128 - low / scale), -128, 127)),))


def weight_quant(weights: Array) -> tuple[Array, Quant]:
    """Symmetric int8 for each output (first axis)."""
    largest = np.abs(weights.reshape(weights.shape[0], -1)).max(axis=1).astype(np.float64)
    scale = largest / 127
    scale = np.maximum(scale, scale.max(initial=0.0) * _MIN_SHARE)
    scale = np.where(scale > 0, scale, 1.0).astype(np.float32)
    shape = (-1, *[1] * (weights.ndim - 1))
    integers = np.rint(weights / scale.reshape(shape)).clip(-127, 127).astype(np.int8)
    return integers, Quant(tuple(float(s) for s in scale), (0,) * len(scale), 0)


def runs_in_int8(graph: Graph, node: Node) -> bool:
    """Is there an integer form of this node?"""
    names = (node.inputs[0], *node.outputs)
    floats = all(graph.type(name).dtype is DType.F32 for name in names)
    return floats and len(node.outputs) == 1 and node.op.has_integers([graph.values[n] for n in node.inputs])


def keeps_scale(op: Op) -> bool:
    """Has the result the scale of the operands?"""
    return op.moves or (isinstance(op, Pool2d) and op.kind == "max")


def tied(graph: Graph) -> dict[str, str]:
    """Each name's representative among those that must share a scale, because what computes one of another
    only moves elements."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.get(name, name) != name:
            name = parent[name]
        return name

    for node in graph.nodes:
        if keeps_scale(node.op) and runs_in_int8(graph, node):
            for name in (*node.inputs, *node.outputs):
                if graph.data(name) is None:
                    parent[root(name)] = root(node.outputs[0])
    return {name: root(name) for name in graph.values}


def choose_scales(graph: Graph, statistics: Mapping[str, Statistics], options: Options) -> dict[str, Quant]:
    """The scale of each tensor that was seen; those that are tied share the range of all."""
    pick = RANGES[options.calibrate]
    ranges: dict[str, Range] = {}
    group = tied(graph)
    for name, seen in statistics.items():
        low, high = pick(seen)
        before = ranges.get(group[name], (0.0, 0.0))
        ranges[group[name]] = (min(low, before[0]), max(high, before[1]))
    quants = {name: activation_quant(*ranges[group[name]]) for name in statistics}
    for node in graph.nodes:
        if isinstance(node.op, Softmax):
            quants |= {name: SOFTMAX for name in group if group[name] == group[node.outputs[0]]}
    return quants


def quantize(graph: Graph, statistics: Mapping[str, Statistics], options: Options | None = None) -> Graph:
    """The int8 graph. Nodes without an integer form stay float, between conversions."""
    options = options or Options()
    return _Rewriter(graph, statistics, options).run()


class _Rewriter:
    """Builds the int8 graph node by node; each value exists as float, as integers, or as both."""

    def __init__(self, graph: Graph, statistics: Mapping[str, Statistics], options: Options) -> None:
        self.graph = graph
        self.statistics = statistics
        self.options = options
        self.quants = choose_scales(graph, statistics, options)
        self.builder = Builder()
        self.floats: dict[str, str] = {}
        self.integers: dict[str, str] = {}

    def run(self) -> Graph:
        graph = self.graph
        inputs = []
        for name in graph.inputs:
            type = graph.type(name)
            whole = self.options.float_io or name not in self.quants
            made = self.builder.input(
                name, type if whole else replace(type, dtype=DType.S8, quant=self.quants[name])
            )
            (self.floats if whole else self.integers)[name] = made
            inputs.append(made)
        for node in graph.nodes:
            self.builder.origin = node.origin
            if runs_in_int8(graph, node) and all(n in self.quants for n in (node.inputs[0], *node.outputs)):
                self._integer(node)
            else:
                made_all = self.builder.add(
                    node.op, *(self._float(n) for n in node.inputs), names=node.outputs
                )
                self.floats |= dict(zip(node.outputs, made_all, strict=True))
        outputs = [
            self._float(n) if self.options.float_io else self.integers.get(n) or self._float(n)
            for n in graph.outputs
        ]
        return self.builder.graph(graph.name, inputs, outputs, graph.source)

    def _float(self, name: str) -> str:
        if name not in self.floats:
            data = self.graph.data(name)
            if data is not None:
                self.floats[name] = self.builder.const(data, hint=name)
            else:
                hint = name if name in self.graph.outputs else f"{name}_float"
                (self.floats[name],) = self.builder.add(Dequantize(), self.integers[name], names=(hint,))
        return self.floats[name]

    def _int(self, name: str) -> str:
        """The value as int8; constants are quantized by their own range."""
        if name not in self.integers:
            data = self.graph.data(name)
            if data is not None:
                quant = activation_quant(float(data.min()), float(data.max()))
                integers = np.rint(data / np.float32(quant.scale[0])) + quant.zero[0]
                self.integers[name] = self._constant(name, integers.clip(-128, 127).astype(np.int8), quant)
            else:
                made = self.builder.add(
                    Quantize(), self.floats[name], names=(f"{name}_int8",), quant=self.quants[name]
                )
                (self.integers[name],) = made
        return self.integers[name]

    def _constant(self, hint: str, data: Array, quant: Quant | None) -> str:
        name = self.builder.fresh(hint)
        data.flags.writeable = False
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def _integer(self, node: Node) -> None:
        (out,) = node.outputs
        quant = self.quants[out]
        hint = f"{out}_int8" if out in self.graph.outputs and self.options.float_io else out
        if isinstance(node.op, Linear):
            operands = self._contraction(node)
        elif isinstance(node.op, Map) and node.op.tabled:
            operands = [self._int(node.inputs[0]), *(self._float(name) for name in node.inputs[1:])]
        else:
            operands = [self._int(name) for name in node.inputs]
        (self.integers[out],) = self.builder.add(node.op, *operands, names=(hint,), quant=quant)

    def _contraction(self, node: Node) -> list[str]:
        """x, weights and bias of a layer. What rounding the weights adds to the mean of each output is taken
        off the bias, since the means of the inputs are known."""
        x, w, b = node.inputs
        weights, bias = self.graph.data(w), self.graph.data(b)
        assert weights is not None, w
        assert bias is not None, b
        integers, quant_w = weight_quant(weights)
        scale_x = np.float64(np.float32(self.quants[x].scale[0]))
        scale_w = np.asarray(quant_w.scale, np.float32).astype(np.float64)
        bias = bias.astype(np.float64)
        if self.options.correct_bias:
            shape = (-1, *[1] * (weights.ndim - 1))
            error = integers * scale_w.reshape(shape) - weights
            bias = bias - _mean_response(node, error, self.statistics[x].means)
        limit = 2**31 - 1 - 128 * np.abs(integers.astype(np.int64)).reshape(len(bias), -1).sum(axis=1)
        wide = np.rint(bias / (scale_x * scale_w)).clip(-limit, limit).astype(np.int32)
        return [self._int(x), self._constant(w, integers, quant_w), self._constant(b, wide, None)]


def _mean_response(node: Node, weights: Array, means: Array) -> Array:
    """The mean of each output of a layer with these weights, from the means of its input channels."""
    if isinstance(node.op, Dense):
        return np.matmul(weights, means)  # type: ignore[no-any-return]  # array times array
    assert isinstance(node.op, Conv2d)
    outputs, _, _, depth = weights.shape
    groups = node.op.groups
    group = np.arange(outputs) // (outputs // groups)
    channels = group[:, None] * depth + np.arange(depth)
    return (weights.sum(axis=(1, 2)) * means[channels]).sum(axis=1)  # type: ignore[no-any-return]  # array

"""Float graph -> int8 graph, once the scales are known; biases make up for what rounding weights adds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgekit import fixed
from edgekit.builder import Builder
from edgekit.ir import Array, DType, Graph, Node, Quant, Type, Value
from edgekit.ops._linear import Linear
from edgekit.ops.arithmetic import Add, Mul, Sub
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.ops.matmul import MatMul
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.ops.reduce import Reduce
from edgekit.quantize.scales import activation_quant, quantized_operands, reads_numbers, runs_in_int8
from edgekit.quantize.weights import weight_quant

_MOST_CANCELLED = 2.0**13  # an operand's scale over that of a sum: shifts end there
_MOST_FACTOR = 2.0**20  # of products
_MOST_BIAS = 2.0**30  # in units of its layer, which must leave room for sums
Weights = dict[str, tuple[Array, Quant]]  # integers and scales, by the name of the float weights


@dataclass(frozen=True)
class Quantized:
    """The int8 graph, and what its values are called there that the float graph has, by their names in it."""

    graph: Graph
    names: Mapping[str, str]


def quantize(
    graph: Graph,
    quants: Mapping[str, Quant],
    means: Mapping[str, Array],
    *,
    weights: Weights | None = None,
) -> Quantized:
    """The int8 graph. Nodes without an integer form, or with operands without a scale, stay float, between
    conversions; inputs and outputs stay what they are. `means` of the channels of each tensor correct biases.
    `weights` keeps quantized weights for the next call."""
    return _Rewriter(graph, quants, means, {} if weights is None else weights).run()


def is_quantized(graph: Graph, node: Node, quants: Mapping[str, Quant]) -> bool:
    """Will this node run in int8?"""
    needed = (*quantized_operands(graph, node), *node.outputs)
    if not all(name in quants for name in needed) or not runs_in_int8(graph, node):
        return False
    return _factor(graph, node, quants) < (
        _MOST_CANCELLED if isinstance(node.op, Add | Sub) else _MOST_FACTOR
    )


def _factor(graph: Graph, node: Node, quants: Mapping[str, Quant]) -> float:
    """What integers are multiplied with on the way to the result. It is large where results are next to
    nothing beside what they come from, because all cancels or is cut off."""
    if isinstance(node.op, LayerNorm | RmsNorm):
        return _norm_factor(graph, node.op, node, quants)
    scales = []
    for name in node.inputs[:2]:
        data = graph.data(name)
        if data is None:
            scales.append(quants[name].scale[0])
        elif isinstance(node.op, Linear):
            scales.append(float(np.abs(data).max()) / 127)
        elif data.dtype.kind == "f":
            scales.append(_range_quant(data).scale[0])
    match node.op:
        case Linear() | Mul() | MatMul():
            product = math.prod(scales)
        case Add() | Sub() | Pool2d() | Reduce():
            product = max(scales)
        case _:
            return 0.0
    return product / quants[node.outputs[0]].scale[0]


def _norm_factor(graph: Graph, op: LayerNorm | RmsNorm, node: Node, quants: Mapping[str, Quant]) -> float:
    """The largest factor of normalized rows; infinite where epsilon is all that counts in them."""
    x, scale = graph.type(node.inputs[0]), graph.data(node.inputs[1])
    assert scale is not None, node.inputs[1]
    s = quants[node.inputs[0]].scale[0]
    if x.shape[-1] * op.epsilon / s**2 > fixed.MOST_EPSILON / 2:
        return math.inf
    return float(np.abs(scale).max()) / quants[node.outputs[0]].scale[0]


def _range_quant(data: Array) -> Quant:
    return activation_quant(float(data.min()), float(data.max()))


class _Rewriter:
    """Builds the int8 graph node by node; each value exists as it was, as int8, or as both."""

    def __init__(
        self,
        graph: Graph,
        quants: Mapping[str, Quant],
        means: Mapping[str, Array],
        weights: Weights,
    ) -> None:
        self.graph = graph
        self.quants = quants
        self.means = means
        self.weights = weights
        self.builder = Builder()
        self.plain: dict[str, str] = {}
        self.integers: dict[str, str] = {}

    def run(self) -> Quantized:
        graph = self.graph
        inputs = []
        for name in graph.inputs:
            self.plain[name] = self.builder.input(name, graph.type(name))
            inputs.append(self.plain[name])
        for node in graph.nodes:
            self.builder.origin = node.origin
            if is_quantized(graph, node, self.quants):
                self._integer(node)
            else:
                operands = [self._plain(name) for name in node.inputs]
                made_all = self.builder.add(node.op, *operands, names=node.outputs)
                self.plain |= dict(zip(node.outputs, made_all, strict=True))
        outputs = [self._plain(name) for name in graph.outputs]
        made_graph = self.builder.graph(graph.name, inputs, outputs, graph.source)
        names = {
            name: made for name, made in (self.plain | self.integers).items() if made in made_graph.values
        }
        return Quantized(made_graph, names)

    def _plain(self, name: str) -> str:
        """The value as it was."""
        if name not in self.plain:
            data = self.graph.data(name)
            if data is not None:
                self.plain[name] = self.builder.const(data, hint=name)
            else:
                hint = name if name in self.graph.outputs else f"{name}_float"
                (self.plain[name],) = self.builder.add(Dequantize(), self.integers[name], names=(hint,))
        return self.plain[name]

    def _int(self, name: str) -> str:
        """The value as int8; constants are quantized by their own range."""
        if name not in self.integers:
            data = self.graph.data(name)
            if data is not None:
                self.integers[name] = self._fixed(name, _range_quant(data))
            else:
                made = self.builder.add(
                    Quantize(), self.plain[name], names=(f"{name}_int8",), quant=self.quants[name]
                )
                (self.integers[name],) = made
        return self.integers[name]

    def _fixed(self, name: str, quant: Quant) -> str:
        """A constant as int8 of this scale."""
        data = self.graph.data(name)
        assert data is not None, name
        integers = np.rint(data / np.float32(quant.scale[0])) + quant.zero[0]
        return self._constant(name, np.asarray(integers.clip(-128, 127), np.int8), quant)

    def _constant(self, hint: str, data: Array, quant: Quant | None) -> str:
        name = self.builder.fresh(hint)
        data.flags.writeable = False
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def _integer(self, node: Node) -> None:
        (out,) = node.outputs
        quant = self.quants[out]
        hint = f"{out}_int8" if out in self.graph.outputs else out
        if isinstance(node.op, Linear):
            operands = self._contraction(node)
        elif reads_numbers(node.op):
            operands = [self._int(node.inputs[0]), *(self._plain(name) for name in node.inputs[1:])]
        elif node.op.moves:
            operands = [self._moved(name, quant) for name in node.inputs]
        else:
            operands = [self._int(name) for name in node.inputs]
        (self.integers[out],) = self.builder.add(node.op, *operands, names=(hint,), quant=quant)

    def _moved(self, name: str, quant: Quant) -> str:
        """An operand of what moves elements: constants take the scale of the result, indices stay."""
        if not self.graph.type(name).dtype.is_float:
            return self._plain(name)
        if self.graph.data(name) is not None:
            return self._fixed(name, quant)
        made = self._int(name)
        if self.builder.type(made).quant == quant:
            return made
        return self.builder.add(Requantize(), made, names=(f"{name}_rescaled",), quant=quant)[0]

    def _contraction(self, node: Node) -> list[str]:
        """x, weights and bias of a layer. What rounding the weights adds to the mean of each output is taken
        off the bias, since the means of the inputs are known."""
        x, w, b = node.inputs
        weights, bias = self.graph.data(w), self.graph.data(b)
        assert weights is not None, w
        assert bias is not None, b
        if w not in self.weights:
            self.weights[w] = weight_quant(weights)
        integers, quant = self.weights[w]
        least = np.abs(bias).astype(np.float64) / (self.quants[x].scale[0] * _MOST_BIAS)
        if (least > quant.scale).any():  # the bias outweighs all else, and must fit into 32 bits
            integers, quant = weight_quant(weights, least)
        scale = np.asarray(quant.scale, np.float32).astype(np.float64)
        error = integers * scale.reshape(-1, *[1] * (weights.ndim - 1)) - weights
        corrected = bias.astype(np.float64) - _mean_response(node, error, self.means[x])
        wide = integer_bias(corrected, self.quants[x], quant, integers)
        return [self._int(x), self._constant(w, integers, quant), self._constant(b, wide, None)]


def integer_bias(bias: Array, x: Quant, w: Quant, weights: Array) -> Array:
    """A bias in units of s_x s_w, kept within what 32 bits hold beside the largest sums."""
    scale = np.float64(np.float32(x.scale[0])) * np.asarray(w.scale, np.float32).astype(np.float64)
    limit = 2**31 - 1 - 256 * np.abs(weights.astype(np.int64)).reshape(len(bias), -1).sum(axis=1)
    wide: Array = np.rint(bias / scale).clip(-limit, limit)
    return wide.astype(np.int32)


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

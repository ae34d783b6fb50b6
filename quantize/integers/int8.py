"""Float graph -> graph of integers, once scales and formats are known; biases make up for rounded weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgekit.core import fixed
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._gates import state_quant
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes.algebra import clips_nothing
from edgekit.core.passes.int16_outputs import with_fraction
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.core.passes.match import with_fields
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.quantize.calibration.scales import (
    quantized_operands,
    reads_numbers,
    runs_in_int8,
    tied,
)
from edgekit.quantize.integers.recurrent import cells, gate_weights, is_within, reach, states
from edgekit.quantize.mixed_precision.formats import NAMES, Formats, as_narrow, takes_wide, wide_quant
from edgekit.quantize.rounding.integer_weights import IntegerWeights, least_scale

_MAX_CANCELLED = 2.0**13  # an operand's scale over that of a sum: shifts end there
_MAX_FACTOR = 2.0**20  # of products
Weights = dict[tuple[str, int], IntegerWeights]  # by the name of float weights, and bits


@dataclass(frozen=True)
class Quantized:
    """The graph of integers, and what its values are called there that the float graph has, by their names in
    it; and the format that each of its layers computes in, by the name of its result."""

    graph: Graph
    names: Mapping[str, str]
    formats: Mapping[str, str]


def quantize(
    graph: Graph,
    quants: Mapping[str, Quant],
    means: Mapping[str, Array],
    *,
    weights: Weights,
    formats: Formats | None = None,
) -> Quantized:
    """The graph of integers. Nodes without an integer form, or with operands without a scale, stay float,
    between conversions; inputs and outputs stay what they are. `means` of the channels of each tensor correct
    biases. `weights` keeps quantized weights for the next call."""
    return _Rewriter(graph, quants, means, weights, formats or Formats()).run()


def is_quantized(
    graph: Graph, node: Node, quants: Mapping[str, Quant], formats: Formats | None = None
) -> bool:
    """Will this node run in integers?"""
    formats = formats or Formats()
    if all(graph.data(name) is not None for name in node.inputs):
        return False  # the copy of a constant that is an output
    is_wide = formats.stored(node.outputs[0]) is DType.S16
    if node.outputs[0] in formats.real or (is_wide and not takes_wide(node)):
        return False
    needed = (*quantized_operands(graph, node), *node.outputs)
    if not all(name in quants for name in needed) or not runs_in_int8(graph, node):
        return False
    return _factor(graph, node, quants) < (_MAX_CANCELLED if isinstance(node.op, Add | Sub) else _MAX_FACTOR)


def _factor(graph: Graph, node: Node, quants: Mapping[str, Quant]) -> float:
    """What integers are multiplied with on the way to the result. It is large where results are next to
    nothing beside what they come from, because all cancels or is cut off."""
    if keeps_scale(node.op):
        return 0.0
    if isinstance(node.op, LayerNorm | RmsNorm):
        return _norm_factor(graph, node.op, node, quants)
    scales = []
    for name in node.inputs[:2]:
        data = graph.data(name)
        if data is None:
            scales.append(quants[name].scale[0])
        elif isinstance(node.op, Linear):
            scales.append(max(map(abs, graph.values[name].span)) / 127)
        elif data.dtype.kind == "f":
            scales.append(fixed.activation_quant(*graph.values[name].span).scale[0])
    match node.op:
        case Recurrent():
            return 0.0 if is_within(graph, node, quants) else math.inf
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
    if x.shape[-1] * op.epsilon / s**2 > fixed.MAX_EPSILON / 2:
        return math.inf
    return float(np.abs(scale).max()) / quants[node.outputs[0]].scale[0]


class _Rewriter:
    """Builds the new graph node by node; each value exists as it was, as integers, or as both."""

    def __init__(
        self,
        graph: Graph,
        quants: Mapping[str, Quant],
        means: Mapping[str, Array],
        weights: Weights,
        formats: Formats,
    ) -> None:
        self.graph = graph
        self.quants = quants
        self.means = means
        self.weights = weights
        self.formats = formats
        self.builder = Builder(nodes=len(graph.nodes))
        self.plain: dict[str, str] = {}
        self.integers: dict[tuple[str, DType], str] = {}
        self.runs_in: dict[str, str] = {}
        self.cells = cells(graph, tied(graph))

    def run(self) -> Quantized:
        graph = self.graph
        inputs = []
        for name in graph.inputs:
            self.plain[name] = self.builder.input(name, graph.type(name))
            inputs.append(self.plain[name])
        for node in graph.nodes:
            self.builder.origin = node.origin
            if is_quantized(graph, node, self.quants, self.formats):
                self._integer(node)
            else:
                self._real(node)
        outputs = [self._plain(name) for name in graph.outputs]
        made_graph = self.builder.graph(graph.name, inputs, outputs, graph.source)
        integers = {
            name: made for (name, dtype), made in self.integers.items() if dtype is self.formats.stored(name)
        }
        names = {name: made for name, made in (self.plain | integers).items() if made in made_graph.values}
        return Quantized(made_graph, names, self.runs_in)

    def _real(self, node: Node) -> None:
        """A layer that stays float, maybe with weights of 16 bits."""
        operands = [self._plain(name) for name in node.inputs]
        dtype = self.formats.weights.get(node.outputs[0])
        weights = self.graph.data(node.inputs[1]) if len(node.inputs) > 1 else None
        if dtype is not None and dtype.is_float and weights is not None:
            operands[1] = self._constant(node.inputs[1], as_narrow(weights, dtype), None)
        else:
            dtype = self.graph.type(node.outputs[0]).dtype
        made = self.builder.add(node.op, *operands, names=node.outputs)
        self.plain |= dict(zip(node.outputs, made, strict=True))
        self.runs_in[node.outputs[0]] = NAMES.get(dtype, dtype.value)

    def _plain(self, name: str) -> str:
        """The value as it was."""
        if name not in self.plain:
            data = self.graph.data(name)
            if data is not None:
                self.plain[name] = self.builder.const(data, hint=name)
            else:
                hint = name if name in self.graph.outputs else f"{name}_float"
                (self.plain[name],) = self.builder.add(Dequantize(), self._int(name), names=(hint,))
        return self.plain[name]

    def _int(self, name: str, dtype: DType | None = None) -> str:
        """The value as integers, those that it is stored in if nothing else is said; constants are quantized
        by their own range."""
        dtype = dtype or self.formats.stored(name)
        if (name, dtype) not in self.integers:
            stored = (self.formats.stored(name), DType.S8, DType.S16)
            other = next((self.integers[name, d] for d in stored if (name, d) in self.integers), None)
            hint, quant = f"{name}_{NAMES[dtype]}", self._quant(name, dtype)
            if self.graph.data(name) is not None:
                made = self._fixed(name, quant, dtype)
            elif other is not None:
                (made,) = self.builder.add(Requantize(dtype), other, names=(hint,), quant=quant)
            else:
                (made,) = self.builder.add(Quantize(dtype), self.plain[name], names=(hint,), quant=quant)
            self.integers[name, dtype] = made
        return self.integers[name, dtype]

    def _quant(self, name: str, dtype: DType) -> Quant:
        data = self.graph.data(name)
        narrow = self.quants[name] if data is None else fixed.activation_quant(*self.graph.values[name].span)
        if dtype is not DType.S16:
            return narrow
        if name in self.formats.fractional:
            return with_fraction(narrow)
        return state_quant(reach(narrow)) if name in self.cells else wide_quant(narrow)

    def _fixed(self, name: str, quant: Quant, dtype: DType = DType.S8) -> str:
        """A constant as integers of this scale."""
        data = self.graph.data(name)
        assert data is not None, name
        integers = np.rint(data / np.float32(quant.scale[0])) + quant.zero[0]
        held = np.asarray(integers.clip(*fixed.int_range(dtype)), dtype.numpy)
        return self._constant(name, held, quant)

    def _constant(self, hint: str, data: Array, quant: Quant | None) -> str:
        name = self.builder.fresh(hint)
        data.flags.writeable = False
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def _integer(self, node: Node) -> None:
        if isinstance(node.op, Recurrent):
            self._recurrent(node)
            return
        (out,) = node.outputs
        dtype = self.formats.stored(out)
        quant = self._quant(out, dtype)
        if self._clips_nothing(node, Type(dtype, (), quant)):
            self.integers[out, dtype] = self._moved(node.inputs[0], quant, dtype)
            self.runs_in[out] = NAMES[dtype]
            return
        hint = f"{out}_{NAMES[dtype]}" if out in self.graph.outputs else out
        op = node.op
        if isinstance(op, Linear):
            operands = self._contraction(node)
            if self.builder.type(operands[0]).dtype is not dtype:
                op = with_fields(op, dtype=dtype)
        elif reads_numbers(node.op):
            operands = [self._int(node.inputs[0], DType.S8), *(self._plain(name) for name in node.inputs[1:])]
        elif keeps_scale(node.op):
            operands = [self._moved(name, quant, dtype) for name in node.inputs]
        else:
            operands = [self._int(name, dtype) for name in node.inputs]
        (self.integers[out, dtype],) = self.builder.add(op, *operands, names=(hint,), quant=quant)
        self.runs_in[out] = NAMES[DType.S8 if out in self.formats.fractional else dtype]
        if isinstance(op, Linear) and self._weight_bits(node) == 4:
            self.runs_in[out] += ", int4 weights"

    def _clips_nothing(self, node: Node, result: Type) -> bool:
        """Do the integers of a result end where a clip ends?"""
        limits = [self.graph.values[name] for name in node.inputs[1:]]
        return isinstance(node.op, Clip) and clips_nothing(result, limits)

    def _recurrent(self, node: Node) -> None:
        """Sums of gates have 16 bits, and so have states that add up. A bias of gates stays real."""
        narrow = self._quant(node.outputs[0], DType.S8)
        integers, quant = gate_weights(self.graph, node, narrow)
        operands = [self._int(node.inputs[0], DType.S16), self._constant(node.inputs[1], integers, quant)]
        dtypes, quants = [DType.S8], [narrow]
        for dtype, (start, end, *_) in states(node):
            dtypes.append(dtype)
            quants.append(narrow if dtype is DType.S8 else self._quant(end, dtype))
            operands.append(self._moved(start, quants[-1], dtype))
        operands += [self._plain(name) for name in node.inputs[len(operands) :]]
        ends = self.graph.outputs  # which keep their names, and are float32
        results = list(zip(node.outputs, dtypes, strict=True))
        hints = [f"{name}_{NAMES[dtype]}" if name in ends else name for name, dtype in results]
        made = self.builder.add(node.op, *operands, names=hints, quant=quants)
        self.integers |= dict(zip(results, made, strict=True))
        self.runs_in[node.outputs[0]] = NAMES[DType.S8]

    def _weight_bits(self, node: Node) -> int:
        return 4 if self.formats.weights.get(node.outputs[0]) is DType.S4 else 8

    def _moved(self, name: str, quant: Quant, dtype: DType) -> str:
        """An operand of what moves elements: constants take the scale of the result, indices stay."""
        if not self.graph.type(name).dtype.is_float:
            return self._plain(name)
        if self.graph.data(name) is not None:
            return self._fixed(name, quant, dtype)
        made = self._int(name, dtype)
        if self.builder.type(made).quant == quant:
            return made
        return self.builder.add(Requantize(dtype), made, names=(f"{name}_rescaled",), quant=quant)[0]

    def _contraction(self, node: Node) -> list[str]:
        """x, weights and bias of a layer. What rounding the weights adds to the mean of each output is taken
        off the bias, since the means of the inputs are known."""
        x, w, b = node.inputs
        weights, bias = self.graph.data(w), self.graph.data(b)
        assert weights is not None, w
        assert bias is not None, b
        bits = self._weight_bits(node)
        if (w, bits) not in self.weights:
            self.weights[w, bits] = IntegerWeights.of(weights, bits=bits)
        made = self.weights[w, bits]
        image = self._int(x) if takes_wide(node) else self._int(x, DType.S8)
        from_type = self.builder.type(image)
        assert from_type.quant is not None
        least = least_scale(bias, from_type)
        if (least > made.quant.scale).any():  # the bias outweighs all else, and must fit into 32 bits
            made = IntegerWeights.of(weights, least, bits=bits)
        corrected = bias.astype(np.float64) - made.response(
            x, partial(_mean_response, node, means=self.means[x])
        )
        wide = integer_bias(corrected, from_type, made)
        return [image, self._constant(w, made.integers, made.quant), self._constant(b, wide, None)]


def integer_bias(bias: Array, x: Type, weights: IntegerWeights) -> Array:
    """A bias in units of s_x s_w, kept within what 32 bits hold beside the largest sums. Those of int16 may
    have 64."""
    assert x.quant is not None
    w_scale = np.asarray(weights.quant.scale, np.float32).astype(np.float64)
    scale = np.float64(np.float32(x.quant.scale[0])) * w_scale
    sums = weights.magnitudes << x.dtype.bits
    limit = np.maximum(2**31 - 1 - sums, 2**30 if x.dtype is DType.S16 else 0)
    wide: Array = np.rint(bias / scale).clip(-limit, limit)
    return wide.astype(np.int32)


def _mean_response(node: Node, weights: Array, means: Array) -> Array:
    """The mean of each output of a layer with these weights, from the means of its input channels."""
    if isinstance(node.op, Dense):
        return np.matmul(weights, means)  # type: ignore[no-any-return]  # array times array
    assert isinstance(node.op, Conv2d | ConvTranspose2d)
    # A result of a transposed convolution adds up one of so many taps.
    shares = 1 if isinstance(node.op, Conv2d) else math.prod(node.op.strides)
    outputs, _, _, depth = weights.shape
    groups = node.op.groups
    group = np.arange(outputs) // (outputs // groups)
    channels = group[:, None] * depth + np.arange(depth)
    return (weights.sum(axis=(1, 2)) * means[channels]).sum(axis=1) / shares  # type: ignore[no-any-return]  # array

"""Quantization-aware training: the forward value of each layer is what the device computes, to the bit.

A model becomes the graph that EdgeKit quantizes; its weights and the ranges of its tensors are parameters.
Each step quantizes the graph with what they are now and lets the simulator compute the batch; torch computes
the same layers on the same numbers, for the sake of gradients alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from edgekit import simulate
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, DType, Graph, Node, Quant, Value
from edgekit.ops._linear import Linear
from edgekit.quantize.formats import Formats
from edgekit.quantize.int8 import Quantized, Weights, quantize
from edgekit.quantize.io import Io, bring_integers_out
from edgekit.quantize.observe import Observer, least_error
from edgekit.quantize.prepare import prepare
from edgekit.quantize.scales import given, scales, tied
from edgekit.quantize.weights import LIMITS, finished_scale, weight_quant
from edgekit.torch.batches import batched
from edgekit.torch.export import convert
from edgekit.torch.fake import Exact, FakeQuant
from edgekit.torch.twins import twin

Tensor = torch.Tensor
_FORMATS = {
    "int8": DType.S8,
    "int4": DType.S4,
    "bf16": DType.BF16,
    "f16": DType.F16,
    "float32": DType.F32,
}


def prepare_qat(
    model: nn.Module | Graph,
    example_inputs: Sequence[Tensor] = (),
    calibration: Iterable[Any] = (),
    *,
    target: str = "int8",
) -> Qat:
    """A module to train in the place of `model`, with inputs and outputs of the same shapes. `example_inputs`
    are a batch of one; `calibration` gives samples, such batches or tuples of them, from which ranges start.
    `target`: int8; int4, where layers have weights of 4 bits; bf16 or f16 weights, without ranges; float32,
    where nothing is quantized, to train what was pruned. Batch normalization is folded into the layers before
    it, with the statistics that it has."""
    if target not in _FORMATS:
        raise EdgeKitError("E0103", f"no such format: {target}", hint=f"one of {', '.join(_FORMATS)}")
    graph = model if isinstance(model, Graph) else convert(model, example_inputs)
    return Qat(prepare(graph), _samples(graph, calibration), target)


class Qat(nn.Module):
    """A graph whose weights and ranges learn."""

    def __init__(self, graph: Graph, samples: Sequence[Mapping[str, Array]], target: str) -> None:
        super().__init__()
        self.graph = graph
        self.dtype = _FORMATS[target]
        layers = [node for node in graph.nodes if _has_weights(graph, node)]
        names = dict.fromkeys(name for node in layers for name in node.inputs[1:3])
        self._numbers = {name: i for i, name in enumerate(names)}
        self.weights = nn.ParameterList(
            nn.Parameter(torch.tensor(np.asarray(graph.data(name), np.float32))) for name in names
        )
        self._layers = {node.outputs[0]: node.inputs[1] for node in layers}
        self._ranges: dict[str, int] = {}
        self.lows, self.highs = nn.ParameterList(), nn.ParameterList()
        self._clips: dict[str, int] = {}
        self.clips = nn.ParameterList()  # the largest weights of each output that are not cut off
        if self.dtype.is_integer:
            self._start_ranges(samples)
            self._start_clips()

    def forward(self, *inputs: Tensor) -> Any:
        """What the device computes of a batch; one tensor where the graph has one output."""
        if len(inputs) != len(self.graph.inputs):
            expected = ", ".join(self.graph.inputs)
            raise EdgeKitError("E0101", f"{len(inputs)} inputs are given, the model takes {expected}")
        with torch.no_grad():
            graph = self._with_parameters(batched(self.graph, len(inputs[0])))
            made = self._quantized(graph)
            exact: Mapping[str, Array] = {}
            if self.dtype is not DType.F32:
                arrays = (x.detach().numpy() for x in inputs)
                exact = simulate.run_all(made.graph, dict(zip(made.graph.inputs, arrays, strict=True)))
        values: dict[str, Tensor] = {}
        for name, x in zip(graph.inputs, inputs, strict=True):
            values[name] = self._faked(name, x, made, exact)
        for node in graph.nodes:
            args = [
                values[name] if name in values else self._constant(graph, name, node, made)
                for name in node.inputs
            ]
            if len(node.outputs) != 1:
                raise EdgeKitError("E0205", f"{type(node.op).__name__} cannot be trained", node.origin)
            (out,) = node.outputs
            values[out] = self._faked(out, twin(node.op, *args), made, exact)
        results = tuple(values[name] for name in graph.outputs)
        return results[0] if len(results) == 1 else results

    def convert(self, *, io: Io = "float") -> Graph:
        """The graph as it is trained by now: of integers, or with 16-bit weights. The simulator, C and this
        module give the same numbers."""
        with torch.no_grad():
            return bring_integers_out(self._quantized(self._with_parameters(self.graph)).graph, io)

    def float_graph(self) -> Graph:
        """The graph with the weights that were learned, not quantized."""
        return self._with_parameters(self.graph)

    def _faked(self, name: str, y: Tensor, made: Quantized, exact: Mapping[str, Array]) -> Tensor:
        """A computed value: as the device has it, with the gradients of y."""
        held = made.names.get(name, "")
        if held not in exact or not y.is_floating_point():
            return y
        quant = made.graph.type(held).quant
        if quant is None:
            return _apply(Exact, y, torch.from_numpy(np.array(exact[held], np.float32)))
        difference = (exact[held].astype(np.int32) - quant.zero[0]).astype(np.float32)
        real = torch.from_numpy(np.asarray(np.float32(quant.scale[0]) * difference))
        i = self._ranges.get(name)
        if i is None:  # its scale is given
            return _apply(Exact, y, real)
        return _apply(FakeQuant, y, real, self.lows[i], self.highs[i])

    def _constant(self, graph: Graph, name: str, node: Node, made: Quantized) -> Tensor:
        """A constant operand: weights as the device has them, with gradients."""
        i = self._numbers.get(name)
        if i is None:
            return torch.from_numpy(np.array(graph.data(name)))
        parameter: Tensor = self.weights[i]
        if node.inputs.index(name) != 1:
            return parameter
        if name not in self._clips:
            if self.dtype in (DType.BF16, DType.F16):
                narrow = torch.bfloat16 if self.dtype is DType.BF16 else torch.float16
                return _apply(Exact, parameter, parameter.detach().to(narrow).float())
            return parameter
        integers, quant = self._integers(name)
        scale = np.asarray(quant.scale, np.float32).reshape(-1, *[1] * (integers.ndim - 1))
        real = torch.from_numpy(integers.astype(np.float32) * scale)
        clip = self.clips[self._clips[name]].reshape(-1, *[1] * (integers.ndim - 1))
        return _apply(FakeQuant, parameter, real, -clip, clip)

    def _with_parameters(self, graph: Graph) -> Graph:
        """The graph with the weights and biases of now."""
        values = dict(graph.values)
        for name, i in self._numbers.items():
            data = self.weights[i].detach().numpy().copy()
            data.flags.writeable = False
            values[name] = Value(values[name].type, data)
        return replace(graph, values=values)

    def _quantized(self, graph: Graph) -> Quantized:
        quants: Mapping[str, Quant] = {}
        weights: Weights = {}
        is_plain = self.dtype in (DType.S8, DType.F32)
        formats = Formats(weights={} if is_plain else dict.fromkeys(self._layers, self.dtype))
        if self.dtype.is_integer:
            limits = [[float(p.detach()) for p in side] for side in (self.lows, self.highs)]
            ranges = {name: (limits[0][i], limits[1][i]) for name, i in self._ranges.items()}
            quants = scales(graph, ranges | dict.fromkeys(given(graph), (0.0, 0.0)))
            weights = {(name, self.dtype.bits): self._integers(name) for name in self._clips}
        # Biases learn: nothing is to be corrected.
        means = {
            node.inputs[0]: np.zeros(graph.type(node.inputs[0]).shape[-1])
            for node in graph.nodes
            if isinstance(node.op, Linear)
        }
        return quantize(graph, quants, means, weights=weights, formats=formats)

    def _integers(self, name: str) -> tuple[Array, Quant]:
        """Weights as integers, with a scale for each output."""
        w = self.weights[self._numbers[name]].detach().numpy().astype(np.float64)
        limit = LIMITS[self.dtype]
        clip = self.clips[self._clips[name]].detach().numpy().astype(np.float64)
        scale = finished_scale(np.maximum(clip, 0.0) / limit)
        integers = np.rint(w / scale.reshape(-1, *[1] * (w.ndim - 1))).clip(-limit, limit)
        held = integers.astype(self.dtype.numpy)
        held.flags.writeable = False
        return held, Quant(tuple(float(s) for s in scale), (0,) * len(scale), 0)

    def _start_ranges(self, samples: Sequence[Mapping[str, Array]]) -> None:
        """One range for all tensors that must share it."""
        if not samples:
            hint = "calibration=[x1, x2, ...]: a few dozen typical inputs"
            raise EdgeKitError("E0110", "ranges start from samples, and there are none", hint=hint)
        observer = Observer(self.graph)
        for sample in samples:
            observer.add(sample)
        settled, group = given(self.graph), tied(self.graph)
        joined: dict[str, tuple[float, float]] = {}
        for name, seen in observer.statistics.items():
            low, high = least_error(seen)
            before = joined.get(group[name], (0.0, 0.0))
            joined[group[name]] = (min(low, before[0]), max(high, before[1]))
        numbers: dict[str, int] = {}
        for name in observer.statistics:
            if name in settled:
                continue
            root = group[name]
            if root not in numbers:
                numbers[root] = len(self.lows)
                for side, limit in zip((self.lows, self.highs), joined[root], strict=True):
                    side.append(nn.Parameter(torch.tensor(limit, dtype=torch.float32)))
            self._ranges[name] = numbers[root]

    def _start_clips(self) -> None:
        for name in dict.fromkeys(self._layers.values()):
            data = self.graph.data(name)
            assert data is not None
            _, quant = weight_quant(data, bits=self.dtype.bits)
            self._clips[name] = len(self.clips)
            reach = np.asarray(quant.scale, np.float32) * LIMITS[self.dtype]
            self.clips.append(nn.Parameter(torch.from_numpy(reach)))


def _apply(function: Callable[..., Any], *args: Tensor) -> Tensor:
    result: Tensor = function.apply(*args)  # type: ignore[attr-defined]  # of torch.autograd.Function
    return result


def _has_weights(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, Linear) and all(graph.data(name) is not None for name in node.inputs[1:])


def _samples(graph: Graph, calibration: Iterable[Any]) -> list[dict[str, Array]]:
    found = []
    for sample in calibration:
        arrays = [np.asarray(x) for x in (sample if isinstance(sample, tuple | list) else (sample,))]
        found.append(dict(zip(graph.inputs, arrays, strict=True)))
    return found

"""Quantization-aware training: the forward value of each layer is what the device computes, to the bit.

A model becomes the graph that EdgeKit quantizes; its weights and the ranges of its tensors are parameters.
Each step quantizes the graph with what they are now and lets the simulator compute the batch; torch computes
the same layers on the same numbers, for the sake of gradients alone. As long as batch normalization goes by
the statistics of each batch, which no device has, torch computes the values, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import torch
from torch import nn

from edgekit.core import fixed, number_formats, simulate, suggest
from edgekit.core.arguments import array, checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.batches import batched, sample_axes
from edgekit.core.types import Array, DType, Quant, Value
from edgekit.quantize.calibration.observe import Observer, least_error
from edgekit.quantize.calibration.scales import given, scales, tied
from edgekit.quantize.integers.int8 import Quantized, Weights, quantize
from edgekit.quantize.integers.integer_io import Io, bring_integers_out
from edgekit.quantize.mixed_precision.formats import Formats, wide_anyway
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.rounding.integer_weights import IntegerWeights
from edgekit.samples.batches import arrays_of
from edgekit.torch.batch_norm import Norm, taking_statistics
from edgekit.torch.batches import results_at_once
from edgekit.torch.devices import device_of, tensor, training_device
from edgekit.torch.fake_quantize import apply_exact, apply_fake_quant
from edgekit.torch.layers import Learning, TrainedLayer, learned, trained_layers, with_own_biases
from edgekit.torch.torch_ops import not_trainable, results_of
from edgekit.torch.trace import Traced, traced

Tensor = torch.Tensor
_FORMATS = {
    "int8": DType.S8,
    "int4": DType.S4,
    "bf16": DType.BF16,
    "f16": DType.F16,
    "float32": DType.F32,
}

_REMEMBERED = 16  # batches of which statistics are taken anew


@checked
def prepare_qat(
    model: nn.Module | Graph,
    example_inputs: Sequence[Tensor] | Tensor = (),
    calibration: Iterable[Any] = (),
    *,
    target: str = "int8",
) -> Qat:
    """A module to train in the place of `model`, with inputs and outputs of the same shapes. `example_inputs`
    are a batch; `calibration` gives samples, such batches or tuples of them, from which ranges start.
    `target`: int8; int4, where layers have weights of 4 bits; bf16 or f16 weights, without ranges; float32,
    where nothing is quantized, to train what was pruned. The result is where `model` is, or if that is the
    CPU, on a GPU if torch has one; it takes inputs from any device, and gives outputs there.

    Batch normalization behind a layer of a module goes on: in training mode by the statistics of each batch,
    until `freeze_batch_norms`, in evaluation mode by the running ones. Any other is folded with the
    statistics that it has."""
    target = number_formats.among(target, _FORMATS)
    if target not in _FORMATS:
        raise EdgeKitError("E0103", f"unknown format {target}", hint=suggest.hint(target, _FORMATS))
    if isinstance(model, Graph):
        return Qat(prepare(model), arrays_of(model, calibration), target).to(training_device(None))
    found = traced(model, example_inputs, prepare)
    return Qat(found.graph, arrays_of(found.graph, calibration), target, found).to(training_device(model))


class Qat(nn.Module):
    """A graph whose weights and ranges learn."""

    def __init__(
        self,
        graph: Graph,
        samples: Sequence[Mapping[str, Array]],
        target: str,
        origin: Traced | None = None,
    ) -> None:
        super().__init__()
        self.graph = graph = with_own_biases(graph)
        _check_trainable(graph if origin is None else origin.real())
        self._axes = sample_axes(graph)
        self.dtype = _FORMATS[target]
        self._is_frozen = False
        self._seen: deque[tuple[Tensor, ...]] = deque(maxlen=_REMEMBERED)
        self._has_moved = False  # since statistics were taken anew
        learning = trained_layers(graph, self.dtype, origin)
        self.layers = nn.ModuleList(learning.values())
        self._layers = {names: i for i, names in enumerate(learning)}
        self._ranges: dict[str, int] = {}
        self.lows, self.highs = nn.ParameterList(), nn.ParameterList()
        if self.dtype.is_integer:
            self._start_ranges(samples)

    def freeze_batch_norms(self) -> None:
        """From here on training goes by the running statistics, which stay as they are: each value is what
        the device computes. For the last part of training."""
        self._settle()
        self._seen.clear()
        self._is_frozen = True

    def train(self, mode: bool = True) -> Self:
        """As any module; evaluation is by statistics of the weights of now."""
        if not mode:
            self._settle()
        return super().train(mode)

    def _settle(self) -> None:
        """Take statistics of the last batches anew. Running ones are of weights that were: a step changes
        few integers, but these by much, and 4 bits leave no room between."""
        if not self._has_moved:
            return
        with torch.no_grad(), taking_statistics(self._norms):
            for inputs in self._seen:
                self._computed(inputs, is_live=True)
        self._has_moved = False

    def forward(self, *inputs: Tensor) -> Any:
        """What the device computes of a batch; one tensor where the graph has one output."""
        if len(inputs) != len(self.graph.inputs):
            expected = ", ".join(self.graph.inputs)
            raise EdgeKitError("E0101", f"{len(inputs)} inputs are given, the model takes {expected}")
        for name, x in zip(self.graph.inputs, inputs, strict=True):
            self._check_input(name, x)
        is_live = self.training and not self._is_frozen and bool(self._norms)
        if is_live and self.dtype.is_integer:
            self._seen.append(tuple(x.detach().clone() for x in inputs))
            self._has_moved = True
        results = self._computed(inputs, is_live)
        return results[0] if len(results) == 1 else results

    def _check_input(self, name: str, x: object) -> None:
        """Of any number of samples."""
        wanted, axis = self.graph.type(name), self._axes[name]
        if not isinstance(x, Tensor):
            raise EdgeKitError("E0102", f"input {name} is a {type(x).__name__}", hint="it takes a tensor")
        sizes = [n if i == axis else m for i, (n, m) in enumerate(zip(x.shape, wanted.shape, strict=False))]
        if (
            x.ndim != wanted.rank
            or list(x.shape) != sizes
            or x.is_complex()
            or x.is_floating_point() != wanted.dtype.is_float
        ):
            message = f"input {name} is {list(x.shape)} of {x.dtype}, one sample is {wanted}"
            raise EdgeKitError("E0102", message, hint=f"samples are stacked in dimension {axis}")

    def _computed(self, inputs: Sequence[Tensor], is_live: bool) -> tuple[Tensor, ...]:
        """By the statistics of these inputs, if it is live."""
        device, outside = device_of(self), inputs[0].device
        placed = zip(self.graph.inputs, (x.to(device) for x in inputs), strict=True)
        inputs = [_in_front(x, self._axes[name]) for name, x in placed]
        with torch.no_grad():
            graph = self._with_parameters(batched(self.graph, len(inputs[0]), in_front=True))
            made = self._quantized(graph)
            exact: Mapping[str, Array] | None = None
            if self.dtype is not DType.F32 and not is_live:
                arrays = map(array, inputs)
                exact = simulate.run_all(made.graph, dict(zip(made.graph.inputs, arrays, strict=True)))
        values: dict[str, Tensor] = {}
        for name, x in zip(graph.inputs, inputs, strict=True):
            values[name] = self._faked(name, x, made, exact)
        for node in graph.nodes:
            args = [
                values[name] if name in values else torch.from_numpy(np.array(graph.data(name))).to(device)
                for name in node.inputs
            ]
            layer = self._layer(node)
            results = results_of(node.op, *args) if layer is None else layer(node.op, args, is_live)
            for out, y in zip(node.outputs, results, strict=True):
                values[out] = self._faked(out, y, made, exact)
        return tuple(_back(values[name], self._axes[name]).to(outside) for name in graph.outputs)

    @checked
    def convert(self, *, io: Io = "float") -> Graph:
        """The graph as it is trained by now: of integers, or with 16-bit weights. The simulator, C and this
        module in evaluation mode give the same numbers."""
        self._settle()
        with torch.no_grad():
            return bring_integers_out(self._quantized(self._with_parameters(self.graph)).graph, io)

    def float_graph(self) -> Graph:
        """The graph with the weights that were learned, not quantized."""
        self._settle()
        with torch.no_grad():
            return self._with_parameters(self.graph)

    def _layer(self, node: Node) -> Learning | None:
        i = self._layers.get(learned(node))
        return None if i is None else cast(Learning, self.layers[i])

    @property
    def _norms(self) -> list[Norm]:
        return [layer.norm for layer in cast(Iterable[Learning], self.layers) if layer.norm is not None]

    def _faked(self, name: str, y: Tensor, made: Quantized, exact: Mapping[str, Array] | None) -> Tensor:
        """A computed value: as the device has it, with the gradients of y; rounded, where nothing is known of
        the device."""
        held = made.names.get(name, "")
        if held not in made.graph.values or self.dtype is DType.F32 or not y.is_floating_point():
            return y
        kind = made.graph.type(held)
        if kind.quant is None:
            return y if exact is None else apply_exact(y, tensor(exact[held].astype(np.float32), y))
        if exact is None:
            scale, zero = kind.quant.scale[0], kind.quant.zero[0]
            lo, hi = fixed.int_range(kind.dtype)
            real = ((y.detach() / scale).round() + zero).clamp(lo, hi).sub(zero) * scale
        else:
            difference = (exact[held].astype(np.int32) - kind.quant.zero[0]).astype(np.float32)
            real = tensor(np.float32(kind.quant.scale[0]) * difference, y)
        i = self._ranges.get(name)
        if i is None:  # its scale is given
            return apply_exact(y, real)
        return apply_fake_quant(y, real, self.lows[i], self.highs[i])

    def _with_parameters(self, graph: Graph) -> Graph:
        """The graph with the weights and biases of now."""
        values = dict(graph.values)
        for node in graph.nodes:
            if (layer := self._layer(node)) is None:
                continue
            for constant, learning in zip(learned(node), layer.constants(), strict=True):
                data = array(learning).copy()
                data.flags.writeable = False
                values[constant] = Value(values[constant].type, data)
        return replace(graph, values=values)

    def _quantized(self, graph: Graph) -> Quantized:
        quants: Mapping[str, Quant] = {}
        weights: Weights = {}
        is_plain = self.dtype in (DType.S8, DType.F32)
        linear = [
            (node, layer) for node in graph.nodes if isinstance(layer := self._layer(node), TrainedLayer)
        ]
        narrow = {} if is_plain else {node.outputs[0]: self.dtype for node, _ in linear}
        if self.dtype.is_integer:
            limits = [[float(p.detach()) for p in side] for side in (self.lows, self.highs)]
            ranges = {name: (limits[0][i], limits[1][i]) for name, i in self._ranges.items()}
            ranges |= self._moved_ranges(graph, ranges)
            quants = scales(graph, ranges | dict.fromkeys(given(graph), (0.0, 0.0)))
            for node, layer in linear:
                real = graph.data(node.inputs[1])
                assert real is not None
                weights[node.inputs[1], self.dtype.bits] = IntegerWeights(real, *layer.integers())
        # Biases learn: nothing is to be corrected.
        means = {
            node.inputs[0]: np.zeros(graph.type(node.inputs[0]).shape[-1])
            for node in graph.nodes
            if isinstance(node.op, Linear)
        }
        formats = Formats(wide_anyway(graph), weights=narrow)
        return quantize(graph, quants, means, weights=weights, formats=formats)

    def _moved_ranges(
        self, graph: Graph, ranges: Mapping[str, tuple[float, float]]
    ) -> dict[str, tuple[float, float]]:
        """The ranges of what only a graph of many samples has: tensors in another shape or order."""
        found = dict(ranges)
        moves = [node for node in graph.nodes if node.op.is_data_movement]
        ways = [(node.inputs[0], node.outputs[0]) for node in moves]
        for known, name in (*ways, *((out, of) for of, out in reversed(ways))):
            if known in found and name not in self.graph.values:
                found.setdefault(name, found[known])
        return found

    def _start_ranges(self, samples: Sequence[Mapping[str, Array]]) -> None:
        """One range for all tensors that must share it."""
        if not samples:
            hint = "calibration=[x1, x2, ...]: a few dozen typical inputs"
            raise EdgeKitError("E0110", "there are no samples to initialize the ranges with", hint=hint)
        observer = Observer(self.float_graph())
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


def _in_front(x: Tensor, axis: int) -> Tensor:
    """A batch as the graph takes it: see `together`."""
    return x.movedim(axis, 0).unsqueeze(axis + 1) if axis else x


def _back(y: Tensor, axis: int) -> Tensor:
    return y.squeeze(axis + 1).movedim(0, axis) if axis else y


def _check_trainable(graph: Graph) -> None:
    """Refuse operators of several results, but recurrent layers, and models whose samples depend on each
    other."""
    for node in graph.nodes:
        if len(node.outputs) != 1 and not isinstance(node.op, Recurrent):
            raise not_trainable(type(node.op).__name__, node.origin)
    samples = [simulate.random_inputs(graph, seed) for seed in range(2)]
    with np.errstate(all="ignore"):
        axes = sample_axes(graph)
        found = results_at_once(graph, samples)
        alone = [simulate.run(graph, sample) for sample in samples]
    for name in graph.outputs:
        right = np.concatenate([outputs[name] for outputs in alone], axes[name])
        if not np.allclose(found[name], right, rtol=1e-3, atol=1e-4, equal_nan=True):
            hint = "training needs a model that computes each sample independently of the others"
            raise EdgeKitError("E0205", f"{name} of one sample depends on other samples", hint=hint)

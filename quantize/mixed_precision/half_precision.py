"""16-bit floats: weights alone, at half the flash, or every tensor, at half the memory; sums stay float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.grid_sample import GridSample
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.mixed_precision.formats import NAMES
from edgekit.quantize.mixed_precision.kv_cache import with_int8_caches
from edgekit.quantize.outcome import Quantization, judged
from edgekit.quantize.settings import Settings

FORMATS = {"bf16": DType.BF16, "f16": DType.F16}
_AS_GOOD_AS_INFINITE = 1e30
_MAX_OF_A_MASK = {DType.F16: 2.0**15, DType.BF16: 2.0**126}


def quantize(
    graph: Graph, samples: Iterable[Sample], settings: Settings, progress: Progress = lambda step: None
) -> tuple[Graph, Quantization]:
    """The graph with 16-bit floats, and the report. Samples are for measuring only."""
    progress("rounding")
    made = narrow(graph, FORMATS[settings.dtype], everything=settings.activations == settings.dtype)
    if settings.has_int8_caches:
        made = with_int8_caches(made)
    return made.graph, judged(graph, made, samples, settings, progress)


def narrow(graph: Graph, dtype: DType, *, everything: bool = False) -> Quantized:
    """The graph with 16-bit weights of layers and rows of tables; with `everything`, what layers compute is
    stored so as well. Inputs and outputs stay what they are."""
    return (_Storage if everything else _Weights)(graph, dtype).run()


def _mask(data: Array, dtype: DType) -> Array:
    """Numbers such as the -3.4e38 of an attention mask stand for infinity, and must not become it: a row of
    them is a row of NaN behind a softmax. They end where twice as much is still finite."""
    most = np.float32(_MAX_OF_A_MASK[dtype])
    with np.errstate(invalid="ignore"):
        is_far = np.isfinite(data) & (np.abs(data) >= _AS_GOOD_AS_INFINITE)
    return np.where(is_far, np.sign(data) * most, data).astype(np.float32)


def _overflows(data: Array, dtype: DType) -> bool:
    """Would finite numbers become infinite?"""
    with np.errstate(over="ignore"):
        return bool((np.isinf(data.astype(dtype.numpy)) & np.isfinite(data)).any())


class _Weights:
    """Builds the graph anew, with narrow weights."""

    def __init__(self, graph: Graph, dtype: DType) -> None:
        self.graph = graph
        self.dtype = dtype
        self.builder = Builder(nodes=len(graph.nodes))
        self.names: dict[str, str] = {}
        self.formats: dict[str, str] = {}
        self.narrowed: dict[str, str] = {}  # a table may be the weights of a layer, too
        self.layers = {node.outputs[0] for node in graph.nodes if self._has_weights(node)}

    def run(self) -> Quantized:
        graph = self.graph
        entries = [self.builder.input(name, graph.type(name)) for name in graph.entries]
        self.names |= dict(zip(graph.entries, entries, strict=True))
        for node in graph.nodes:
            self.builder.origin = node.origin
            self.node(node)
        outputs = [self.wide(name) for name in graph.outputs]
        states = [replace(s, input=self.names[s.input], output=self.wide(s.output)) for s in graph.states]
        inputs = entries[: len(graph.inputs)]
        made = self.builder.graph(graph.name, inputs, outputs, graph.source, states)
        made = replace(made, tokenizer=graph.tokenizer)
        return Quantized(made, {n: m for n, m in self.names.items() if m in made.values}, self.formats)

    def node(self, node: Node) -> None:
        at = 1 if node.outputs[0] in self.layers else 0 if self._looks_up(node) else -1  # weights, or a table
        operands = [
            self.constant(name, self.dtype) if i == at else self.wide(name)
            for i, name in enumerate(node.inputs)
        ]
        own = self.graph.type(node.outputs[0]).dtype
        runs_in = self.dtype if at >= 0 else own
        self.formats[node.outputs[0]] = NAMES.get(runs_in, runs_in.value)
        if at == 0:
            row = self.builder.one(node.op, *operands)
            self.names[node.outputs[0]] = self.builder.one(Cast(own), row, name=node.outputs[0])
            return
        made = self.builder.add(node.op, *operands, names=node.outputs)
        self.names |= dict(zip(node.outputs, made, strict=True))

    def _has_weights(self, node: Node) -> bool:
        return isinstance(node.op, Linear) and self.graph.data(node.inputs[1]) is not None

    def _looks_up(self, node: Node) -> bool:
        table = self.graph.data(node.inputs[0]) if node.inputs else None
        return isinstance(node.op, Gather) and table is not None and table.dtype == np.float32

    def wide(self, name: str) -> str:
        """The value as the float graph has it."""
        if name not in self.names:
            data = self.graph.data(name)
            assert data is not None, name
            self.names[name] = self.builder.const(data, hint=name)
        return self.names[name]

    def constant(self, name: str, dtype: DType) -> str:
        """A constant in 16 bits, each once."""
        if name not in self.narrowed:
            self.narrowed[name] = self._rounded(name, dtype)
        return self.narrowed[name]

    def _rounded(self, name: str, dtype: DType) -> str:
        data = self.graph.data(name)
        assert data is not None, name
        if dtype is DType.F16 and _overflows(data, dtype):
            raise EdgeKitError(
                "E0212",
                f"{name} has values beyond 65504, the largest of f16",
                hint="bf16 has the range of f32",
            )
        return self.builder.const(data.astype(dtype.numpy), hint=name)


class _Storage(_Weights):
    """Builds the graph anew, with every tensor in 16 bits that its operator can compute from those."""

    def __init__(self, graph: Graph, dtype: DType) -> None:
        super().__init__(graph, dtype)
        self.halves: dict[str, str] = {}
        self.weights = {node.inputs[1] for node in graph.nodes if self._has_weights(node)}
        self.ends = {name for state in graph.states for name in (state.input, state.output)}

    def node(self, node: Node) -> None:
        if self.ends.intersection((*node.inputs, *node.outputs)):  # a state would be rounded as a whole
            super().node(node)
            return
        operands = self._operands(node)
        try:
            results = node.op.infer(*(self.builder.type(name) for name in operands))
        except TypeError:
            super().node(node)
            return
        ends = self.graph.outputs  # which keep their names, and are float32
        hints = [f"{name}_{NAMES[self.dtype]}" if name in ends else name for name in node.outputs]
        made = self.builder.add(node.op, *operands, names=hints)
        for name, own, result in zip(node.outputs, made, results, strict=True):
            kept = self.halves if result.dtype is self.dtype else self.names
            kept[name] = own
        self.formats[node.outputs[0]] = NAMES.get(results[0].dtype, results[0].dtype.value)

    def run(self) -> Quantized:
        made = super().run()
        here = made.graph.values
        return Quantized(
            made.graph, {**made.names, **{n: m for n, m in self.halves.items() if m in here}}, self.formats
        )

    def _operands(self, node: Node) -> Sequence[str]:
        """The operands in 16 bits; but the bias of a layer, which sums begin with, and the positions at which
        images are sampled stay float32."""
        has_bias = isinstance(node.op, Linear) and self.graph.data(node.inputs[2]) is not None
        stays = 2 if has_bias else 1 if isinstance(node.op, GridSample) else -1
        return [self.wide(name) if i == stays else self._half(name) for i, name in enumerate(node.inputs)]

    def _half(self, name: str) -> str:
        """The value in 16 bits; but a constant beyond their range stays float32, and so does what is computed
        with it. Weights are not spared: 16 bits are asked for them."""
        data = self.graph.data(name)
        if self.graph.type(name).dtype is not DType.F32:
            return self.wide(name)
        if data is not None and name not in self.weights and name not in self.halves:
            data = _mask(data, self.dtype)
            if _overflows(data, self.dtype):
                return self.wide(name)
            self.halves[name] = self.builder.const(data.astype(self.dtype.numpy), hint=name)
        if name not in self.halves:
            if self.graph.data(name) is not None:
                self.halves[name] = self.constant(name, self.dtype)
            else:
                hint = f"{name}_{NAMES[self.dtype]}"
                self.halves[name] = self.builder.one(Cast(self.dtype), self.wide(name), name=hint)
        return self.halves[name]

    def wide(self, name: str) -> str:
        if name not in self.names and name in self.halves and self.graph.data(name) is None:
            hint = name if name in self.graph.outputs else f"{name}_float"
            self.names[name] = self.builder.one(Cast(DType.F32), self.halves[name], name=hint)
        return super().wide(name)

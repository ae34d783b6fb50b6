"""Weight-only quantization in groups of int8 or int4, and dynamic quantization of activations beside it.

Dynamic activations are int8 by rows (per token), with scales that each run chooses; else they are float32.
Layers and tables of language models lose little that way: what they compute has outliers, their weights have
not. A scale is the one that fits its group best, by squared error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from edgekit.core.builder import MIN_NARROW, Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, GroupwiseWeights, Node
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise, real_weights
from edgekit.core.passes import drop_dead
from edgekit.core.passes.groupwise_weights import digest, is_lookup, stored_groups
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType, Value
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.measure import Measure
from edgekit.quantize.mixed_precision.formats import NAMES
from edgekit.quantize.mixed_precision.kv_cache import with_int8_caches
from edgekit.quantize.mixed_precision.weight_search import WeightSearch
from edgekit.quantize.outcome import MixedPrecision, Quantization, judged, judged_samples
from edgekit.quantize.settings import Settings

_TRIED = np.linspace(0.7, 1.1, 17)  # times the scale that just holds the largest weight
_WEIGHTS_AT = {DenseGroupwise: 1, DynamicDense: 2, GatherGroupwise: 0}  # which operand they are
_BLIND = "without --data, nothing shows which layers are too noisy in int4 and need int8"
_PIECE = 1 << 20  # weights that are tried at once


def quantize(
    graph: Graph, samples: Iterable[Sample], settings: Settings, progress: Progress = lambda step: None
) -> tuple[Graph, Quantization]:
    """The graph with integer weights, and the report. Samples are for measuring, and show which matrices are
    too noisy in int4."""
    dtype = DType.S4 if settings.weights == "int4" else DType.S8
    weights = MatrixRounding(graph, dtype, settings.weights_in_group)

    def in_integers(wide: Set[str]) -> Quantized:
        made = weights.made(wide)
        if settings.activations == "dynamic":
            made = replace(made, graph=dynamic_rows(made.graph))
        return with_int8_caches(made) if settings.has_int8_caches else made

    progress("rounding")
    plain = made = in_integers(frozenset())
    if (wanted := settings.wanted_of_weights) is None:
        return made.graph, judged(graph, made, samples, settings, progress)
    if not (given := judged_samples(graph, samples)):
        report = judged(graph, made, samples, settings, progress)
        return made.graph, replace(report, warnings=(*report.warnings, _BLIND))
    measure = Measure(graph, given)
    outputs = measure.of_outputs(SearchBudget.of(graph, len(given), settings.passes))
    before = outputs.trial(plain)
    search = WeightSearch(outputs, weights.narrow, in_integers, progress)
    if wide := search.run(before, wanted, with_doubt=settings.gate.is_open):
        made = in_integers(wide)
    report = judged(graph, made, samples, settings, progress, measure)
    if wide:
        report = replace(report, mixed=_mixed(graph, plain, made, wide, outputs.worst(before)[0]))
    return made.graph, report


def _mixed(graph: Graph, plain: Quantized, made: Quantized, wide: Set[str], before: float) -> MixedPrecision:
    """What int8 for some matrices costs."""
    layers = {name: format for name, format in made.formats.items() if format != plain.formats[name]}
    work = {n.outputs[0]: n.op.macs(*(graph.type(name) for name in n.inputs)) for n in graph.nodes}
    share = sum(work[name] for name in layers) / max(sum(work.values()), 1)
    more = sum(graph.type(name).size - -(-graph.type(name).size // 2) for name in wide)
    return MixedPrecision(before, layers, more, {"int8": share}, alone="int4")


@dataclass(frozen=True)
class MatrixRounding:
    """Matrices of dense layers and tables as integers, `dtype` where errors are not those of every token."""

    graph: Graph
    dtype: DType
    group: int

    def made(self, wide: Set[str] = frozenset()) -> Quantized:
        """The graph with integers of `dtype`, but for some matrices of int8."""
        graph = self.graph
        if not self._matrices:
            kinds = ", ".join(sorted({type(node.op).__name__ for node in graph.nodes}))
            hint = "without --activations float32, more operators have integers"
            raise EdgeKitError(
                "E0211", f"{graph.name} has no dense layers and no tables ({kinds})", hint=hint
            )
        wide = wide | self._ends
        notes = {
            digest(data): self._integers(name, DType.S8 if name in wide else self.dtype)
            for name, data in self._matrices.items()
        }
        made = drop_dead(stored_groups(replace(graph, groupwise=notes)))
        names = {name: name for name in graph.values if name in made.values}
        formats = {}
        for node in graph.nodes:
            stored = _stored(made, node)
            formats[node.outputs[0]] = NAMES.get(stored, stored.value)
        return Quantized(made, names, formats)

    @property
    def narrow(self) -> Mapping[str, Array]:
        """What `dtype` keeps of the matrices that may have it."""
        names = self._matrices.keys() - self._ends
        found = {name: self._integers(name, self.dtype) for name in self._matrices if name in names}
        return {
            name: real_weights(made.group, made.integers, made.scale).astype(np.float32)
            for name, made in found.items()
        }

    def _integers(self, name: str, dtype: DType) -> GroupwiseWeights:
        if (name, dtype) not in self._known:
            self._known[name, dtype] = rounded(self._matrices[name], dtype, self.group)
        return self._known[name, dtype]

    @cached_property
    def _known(self) -> dict[tuple[str, DType], GroupwiseWeights]:
        return {}

    @cached_property
    def _matrices(self) -> dict[str, Array]:
        return {name: data for node in self.graph.nodes for name, data in _matrix(self.graph, node)}

    @cached_property
    def _ends(self) -> set[str]:
        return _ends(self.graph)


def dynamic_rows(graph: Graph) -> Graph:
    """The graph with inputs of layers as int8, row by row; layers of one input share its integers."""
    values = dict(graph.values)
    rows: dict[str, tuple[str, ...]] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node.op, DenseGroupwise) and graph.type(node.inputs[0]).dtype is DType.F32:
            x, w, scale, b, *zero = node.inputs
            if not zero:
                if x not in rows:
                    fresh = Builder(values).fresh
                    rows[x] = (fresh(f"{x}_rows"), fresh(f"{x}_scale"))
                    values |= zip(rows[x], map(Value, QuantizeRows().infer(graph.type(x))), strict=True)
                    nodes.append(Node(QuantizeRows(), (x,), rows[x], node.origin))
                op = DynamicDense(node.op.group, node.op.lo, node.op.hi)
                node = replace(node, op=op, inputs=(*rows[x], w, scale, b))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), values=values)


def _ends(graph: Graph) -> set[str]:
    """Tables, and the weights of layers that give outputs: errors there are errors of every token, and are
    not averaged out. They keep 8 bits."""
    tables = {node.inputs[0] for node in graph.nodes if isinstance(node.op, Gather)}
    last = {
        node.inputs[1]
        for node in graph.nodes
        if isinstance(node.op, Dense) and node.outputs[0] in graph.outputs
    }
    return tables | last


def _matrix(graph: Graph, node: Node) -> Iterator[tuple[str, Array]]:
    """The weights or the table that become integers, if there are any."""
    name = node.inputs[1] if isinstance(node.op, Dense) else node.inputs[0] if is_lookup(graph, node) else ""
    data = graph.data(name) if name else None
    if data is None or data.dtype != np.float32 or data.ndim != 2 or data.size < MIN_NARROW:
        return
    if np.isfinite(data).all():
        yield name, data


def _stored(made: Graph, node: Node) -> DType:
    """The format of the weights that a layer has now, or of what it computes."""
    own = made.producer(node.outputs[0])
    at = None if own is None else _WEIGHTS_AT.get(type(own.op))
    return made.type(node.outputs[0] if own is None or at is None else own.inputs[at]).dtype


def rounded(data: Array, dtype: DType, group: int) -> GroupwiseWeights:
    """The integers of a matrix around 0, and their scales."""
    rows, columns = data.shape
    group = min(group, columns)
    groups = -(-columns // group)
    padded = np.zeros((rows, groups * group), np.float32)
    padded[:, :columns] = data
    parts = padded.reshape(rows * groups, group)
    # Where rows are one group, scales are few, and kernels convert none of them.
    scales_in = _scales_in(parts, dtype) if groups > 1 else np.dtype(np.float32)
    step = max(1, _PIECE // group)
    pieces = [_best(parts[i : i + step], dtype, scales_in) for i in range(0, len(parts), step)]
    integers = np.concatenate([q for q, _ in pieces]).reshape(rows, groups * group)[:, :columns]
    scales = np.concatenate([s for _, s in pieces]).reshape(rows, groups).astype(scales_in)
    return GroupwiseWeights(np.ascontiguousarray(integers).astype(dtype.numpy), scales, None, group)


def _scales_in(parts: Array, dtype: DType) -> np.dtype[Any]:
    """float16, if no scale is so small that it would have fewer digits there, or too large."""
    largest = np.abs(parts).max(axis=1)
    scales = largest[largest > 0] / (1 << (dtype.bits - 1))
    half = np.finfo(np.float16)
    fits = not scales.size or (scales.min() * _TRIED[0] >= half.tiny and scales.max() * 2 <= half.max)
    return np.dtype(np.float16 if fits else np.float32)


def _best(parts: Array, dtype: DType, scales_in: np.dtype[Any]) -> tuple[Array, Array]:
    """Integers and scales of groups. Of four bits, the largest weight is the lowest integer, -8, which has no
    counterpart: the scale has the sign that makes it so. -128 would bring little, and kernels take less time
    without it."""
    lowest, highest = (-8, 7) if dtype is DType.S4 else (-127, 127)
    largest = parts[np.arange(len(parts)), np.abs(parts).argmax(axis=1)]
    integers, scales = np.zeros_like(parts), np.zeros(len(parts), np.float32)
    errors = np.full(len(parts), np.inf)
    for share in (*_TRIED, lowest / (lowest + 1)):  # the last one as if there were no lowest integer
        tried = (largest * np.float32(share / lowest)).astype(scales_in).astype(np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.clip(np.nan_to_num(np.rint(parts / tried[:, None])), lowest, highest)
        off = np.square(q * tried[:, None] - parts).sum(axis=1)
        better = off < errors
        integers[better], scales[better], errors[better] = q[better], tried[better], off[better]
    return integers, scales

"""How far two graphs are apart on the same inputs: layer by layer, by itself and with all before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from edgekit.comparison.graph_mapping import Counterpart, Matching, Steps, real
from edgekit.comparison.histogram import Counter, Histogram
from edgekit.comparison.noise import Distance, Noise, Spread, shares
from edgekit.core import fixed, simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.operator_names import operator_name
from edgekit.core.ops._linear import Linear
from edgekit.core.progress import Progress
from edgekit.core.types import Array, DType, Type

Order = Literal["culprit", "graph"]
ORDERS: tuple[Order, ...] = ("culprit", "graph")
INPUT = "input"  # the operator of what is no result
_WORTH_A_WARNING = 0.01  # of the values of a layer are outside of its range, and cause so much of the noise
_MAX_NAMED = 3  # layers in one warning
Sample = Mapping[str, Array]


@dataclass(frozen=True)
class LayerDifference(Distance):
    """One layer that both graphs have. The distance is the accumulated one: between what both compute, the
    errors of all layers before included."""

    place: int  # in the order of a
    origin: str
    op: str  # in a
    format: str  # in b
    weight_format: str  # in b; empty where there are no weights
    is_float: bool  # in b
    scale: float | None
    zero: int | None
    alone_db: float  # the layer of b on what a computes before it
    noise_share: float | None  # of all noise at the outputs, what this layer causes; None where not measured
    clipped: float | None  # the share of values of a outside of the range; None where there is no such range
    range: tuple[float, float] | None  # that the format of b covers
    macs: int
    weight_bytes: int
    histogram: Histogram | None  # of what a computes


@dataclass(frozen=True)
class Difference:
    """All that could be compared."""

    a: str
    b: str
    samples: int
    order: Order
    layers: tuple[LayerDifference, ...]
    outputs: tuple[Distance, ...]
    unmatched: int  # results of a that b has no counterpart of
    weight_bytes: tuple[int, int]  # of a and of b

    @property
    def exact(self) -> bool:
        return all(d.exact for d in self.outputs)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*float_warnings(self.layers), *range_warnings(self.layers))


def diff(
    a: Graph,
    b: Graph,
    samples: Sequence[Sample],
    *,
    order: Order = "culprit",
    progress: Progress = lambda step: None,
) -> Difference:
    """Run both graphs in the simulator and compare what their values stand for, so that a quantized graph can
    be held against its original. Inputs, outputs and states that are named differently in b are matched by
    position. Where there are states, the samples are the steps of one stream.

    Each error is charged to one layer. "Accumulated" is the distance between what both graphs compute.
    "Alone" takes the exact values of a as operands, in the formats in which b holds them, and computes the
    layer from those as a does and as b does: the difference is what the weights, the arithmetic and the range
    of the result cost. What the formats of the operands cost is charged to the layers that they come from.

    The culprit is not simply the layer with the least SQNR: noise may be averaged out later, or be small
    beside what it is added to. So the noise of each layer alone is added to the exact values of a, and
    followed to the outputs. Layers are sorted by their share of all the noise that arrives there (behind a
    softmax it would hardly show, so it is taken in front), and by their own SQNR where nothing arrives. What
    cancels, as corrected biases take back what layers before them cost, counts in full on both sides."""
    if order not in ORDERS:
        raise EdgeKitError("E0103", f"unknown order {order}", hint=" or ".join(ORDERS))
    matching = Matching.of(a, b)
    meters = [_LayerErrorMeter(matching, c) for c in matching.values.values() if _is_shown(a, c)]
    outputs = {mine: Noise() for mine in matching.outputs}
    spread = Spread(a, [meter.counterpart.name for meter in meters])
    followed = spread.affordable(len(samples))
    for graph in (a, b):
        simulate.check_work(graph)
    first, second = simulate.Session(a), simulate.Session(b)
    for i, sample in enumerate(samples):
        progress(f"comparing, sample {i + 1} of {len(samples)}")
        left, right = first.run_all(sample), second.run_all(matching.given(sample))
        for mine, other in matching.outputs.items():
            found = real(right[other], b.type(other))
            outputs[mine].add(real(left[mine], a.type(mine)), found)
        for meter in meters:
            error = meter.add(left, right)
            if i < followed and error is not None:
                meter.arrived += spread.noise(left, meter.counterpart.name, error)
    parts = shares([meter.arrived for meter in meters]) if followed else [None] * len(meters)
    layers = [meter.layer(i, share) for i, (meter, share) in enumerate(zip(meters, parts, strict=True))]
    if order == "culprit":
        layers.sort(key=lambda layer: (-(layer.noise_share or 0.0), layer.alone_db, layer.place))
    computed = {name for node in a.nodes for name in node.outputs}
    return Difference(
        a=a.name,
        b=b.name,
        samples=len(samples),
        order=order,
        layers=tuple(layers),
        outputs=tuple(
            outputs[mine].distance(mine, other, a.type(mine)) for mine, other in matching.outputs.items()
        ),
        unmatched=len(computed - set(matching.values)),
        weight_bytes=(_constant_bytes(a), _constant_bytes(b)),
    )


def shown_name(layer: LayerDifference) -> str:
    """The path of the source's layer, as all tables have it; the name of what has none, such as inputs."""
    return layer.origin or layer.name


def other_weights(layer: LayerDifference) -> str:
    """The format of the weights in words, where it is not that of the result."""
    is_usual = layer.weight_format in ("", layer.format)
    return "" if is_usual else f"{layer.weight_format} weights"


def float_warnings(layers: Sequence[LayerDifference]) -> list[str]:
    """Layers that stay float in a graph that is quantized otherwise."""
    results = [layer for layer in layers if layer.op != INPUT]
    floats = [layer for layer in results if layer.is_float and layer.type.dtype.is_float]
    if not floats or not any(layer.scale is not None for layer in results):
        return []
    kinds = ", ".join(sorted({layer.op for layer in floats}))
    return [f"{len(floats)} of {len(results)} layers stay in floats: {kinds}"]


def range_warnings(layers: Sequence[LayerDifference]) -> list[str]:
    """Layers whose values leave the range of their format, where that matters: what a ReLU cuts off anyway is
    no loss."""
    outside = [
        layer
        for layer in layers
        if (layer.clipped or 0.0) > _WORTH_A_WARNING
        and (layer.noise_share is None or layer.noise_share > _WORTH_A_WARNING)
    ]
    outside.sort(key=lambda layer: -(layer.clipped or 0.0))
    named = [f"{shown_name(layer)} ({layer.clipped:.1%})" for layer in outside[:_MAX_NAMED]]
    if len(outside) > _MAX_NAMED:
        named.append(f"{len(outside) - _MAX_NAMED} more")
    return [f"values outside of the range are clipped: {', '.join(named)}"] if outside else []


def _is_shown(a: Graph, counterpart: Counterpart) -> bool:
    """Results are; inputs only where b rounds them."""
    return a.producer(counterpart.name) is not None or not counterpart.is_exact


def _constant_bytes(graph: Graph) -> int:
    return sum(data.nbytes for _, data in graph.constants())


class _LayerErrorMeter:
    """Measures one layer, sample by sample."""

    def __init__(self, matching: Matching, counterpart: Counterpart) -> None:
        self.matching = matching
        self.counterpart = counterpart
        self.mine, self.theirs = matching.steps(counterpart)
        self.accumulated, self.alone = Noise(), Noise()
        self.counter = Counter()
        self.range = _range(counterpart.held)
        self.outside = self.seen = 0
        self.arrived = 0.0  # noise of this layer at the outputs, in shares of the signal

    @property
    def is_input(self) -> bool:
        return not self.mine.nodes

    def add(self, left: Mapping[str, Array], right: Mapping[str, Array]) -> Array | None:
        """Take a sample; the answer is the error of this layer alone, None where there is none."""
        c = self.counterpart
        exact = real(left[c.name], c.type)
        self.accumulated.add(exact, c.from_b(right[c.other]))
        self._see(c.scaled(left[c.name]))
        held = {o.other: o.to_b(left[o.name]) for o in (*self.mine.operands, *self.theirs.operands)}
        if self.is_input:
            truth, found = exact, c.to_b(left[c.name])
        else:
            truth, found = self._truth(left, held, exact), _result(self.matching.b, self.theirs, held)
        error = self.alone.add(truth, c.from_b(found), exact)
        return error if error.any() else None

    def _truth(self, left: Mapping[str, Array], held: Mapping[str, Array], exact: Array) -> Array:
        """What a computes from operands as b holds them."""
        if all(o.is_exact for o in self.mine.operands):
            return exact
        operands = {o.name: o.to_a(held[o.other]) for o in self.mine.operands}
        return real(_result(self.matching.a, self.mine, operands), self.counterpart.type)

    def _see(self, values: Array) -> None:
        self.counter.add(values)
        if self.range:
            low, high = self.range
            assert self.counterpart.held.quant is not None
            step = self.counterpart.held.quant.scale[0]  # within one, rounding does the same
            self.outside += int(((values < low - step) | (values > high + step)).sum())
            self.seen += values.size

    def layer(self, place: int, share: float | None) -> LayerDifference:
        c, a, b = self.counterpart, self.matching.a, self.matching.b
        node, quant = a.producer(c.name), c.held.quant
        constants = {name for step in self.theirs.nodes for name in step.inputs if b.data(name) is not None}
        types = {name: b.type(name) for name in constants}
        return LayerDifference(
            **vars(self.accumulated.distance(c.name, c.other, c.type)),
            place=place,
            origin=node.origin if node else "",
            op=operator_name(a, node) if node else INPUT,
            format=_format(c.held.dtype),
            weight_format=_weight_format(b, self.theirs),
            is_float=c.held.dtype.is_float,
            scale=quant.scale[0] if quant else None,
            zero=quant.zero[0] if quant else None,
            alone_db=self.alone.sqnr_db,
            noise_share=share,
            clipped=self.outside / max(self.seen, 1) if self.range else None,
            range=self.range,
            macs=sum(step.op.macs(*(b.type(name) for name in step.inputs)) for step in self.theirs.nodes),
            weight_bytes=sum(t.bytes for t in types.values()),
            histogram=self.counter.histogram(),
        )


def _format(dtype: DType) -> str:
    """The name of a number format."""
    kinds = {"s": "int", "u": "uint", "f": "float"}
    name = dtype.value
    return kinds[name[0]] + name[1:] if name[0] in kinds and name[1:].isdigit() else name


def _weight_format(graph: Graph, steps: Steps) -> str:
    """That of the weights of a convolution or dense layer."""
    weights = [node.inputs[1] for node in steps.nodes if isinstance(node.op, Linear)]
    return _format(graph.type(weights[-1]).dtype) if weights else ""


def _range(type: Type) -> tuple[float, float] | None:
    """The numbers that a quantized tensor can hold."""
    if type.quant is None or type.quant.axis is not None:
        return None
    low, high = ((end - type.quant.zero[0]) * type.quant.scale[0] for end in fixed.int_range(type.dtype))
    return low, high


def _result(graph: Graph, steps: Steps, operands: Mapping[str, Array]) -> Array:
    """What the steps make of these operands."""
    values = dict(operands)
    for node in steps.nodes:
        for name in node.inputs:
            data = graph.data(name)
            if data is not None:
                values[name] = data
        values |= simulate.compute(graph, node, values)
    return values[steps.result]

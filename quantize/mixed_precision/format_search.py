"""Mixed precision: the cheapest formats of the layers with which a quantized model passes its gate.

All layers start in int8, many of them with int4 weights where those are wanted. The layer whose next better
format gains most for what it costs gets that format, until the gate is passed; then every layer that does not
need its better format goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgekit.core.format_costs import FormatCosts
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.progress import Progress
from edgekit.core.types import DType, Quant
from edgekit.quantize.calibration.calibrated_tensors import CalibratedTensors
from edgekit.quantize.calibration.scales import given, runs_in_int8, tied
from edgekit.quantize.calibration.search_budget import FORMATS_WORK
from edgekit.quantize.gate import Judge, Verdict
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.float_islands import FloatIslands
from edgekit.quantize.mixed_precision.formats import Formats, takes_wide
from edgekit.quantize.mixed_precision.noise_sources import readers

INT8, INT16, BF16, F32 = LADDER = ("int8", "int16", "bf16", "f32")
INT4 = "int4"  # weights beside int8, where a model is to have them: the lowest step
_STEPS = (INT4, *LADDER)
_TIME = {INT4: "s8_s4", INT8: "s8", INT16: "s16", BF16: "f32_bf16", F32: "f32"}  # as costs know them
_BYTES = {INT4: 0.5, INT8: 1.0, INT16: 1.0, BF16: 2.0, F32: 4.0}  # of a weight, beside int8
_LEAST_COST = 1e-6  # of a change: floats may take less than int8
Levels = Mapping[str, str]  # the format of each layer that is not int8, by its result


@dataclass(frozen=True)
class Mixed:
    """The formats that were found, and what they lead to."""

    levels: Levels
    trial: Trial
    verdict: Verdict
    sensitivity: Mapping[str, float]  # dB that the outputs gain when this layer alone is computed in floats


@dataclass(frozen=True)
class Change:
    """A better format for a layer."""

    name: str
    level: str


@dataclass(frozen=True)
class Candidate:
    """A layer in a better format."""

    name: str
    level: str
    gain: float  # dB
    cost: float
    age: int  # of the state that the gain was measured in

    @property
    def score(self) -> float:
        return self.gain / self.cost


@dataclass
class FormatSearch:
    """What the search knows. `finish` gives the trial with which the quality of formats is judged."""

    tensors: CalibratedTensors
    methods: Mapping[str, str]
    measure: Measure
    judge: Judge
    finish: Callable[[Formats], Trial]
    allowed: Sequence[str]
    costs: FormatCosts
    islands: FloatIslands
    progress: Progress

    def __post_init__(self) -> None:
        self.graph: Graph = self.tensors.graph
        layers = {n.outputs[0]: n for n in self.graph.nodes if runs_in_int8(self.graph, n)}
        self.layers = {name: node for name, node in layers.items() if name not in self.tensors.concats.real}
        self.given = frozenset(given(self.graph))
        self.group = tied(self.graph, self.tensors.concats.mixed_range)
        self.members: dict[str, list[str]] = {}
        for name in self.tensors.means:
            self.members.setdefault(self.group[name], []).append(name)
        self.narrow = {group: self._narrow(names) for group, names in self.members.items()}
        self.macs = max(sum(self._macs(n) for n in self.graph.nodes), 1)
        self.time = max(sum(self._time(n, INT8) for n in self.graph.nodes), 1.0)
        self.weights = max(sum(self._weights(n) for n in self.graph.nodes), 1)
        self._formats: dict[frozenset[tuple[str, str]], Formats] = {}
        self._costs: dict[Change, float] = {}

    def run(self) -> Mixed:
        """The cheapest formats that pass, or the best where none do."""
        levels: Levels = {}
        trial = self.finish(Formats())
        verdict = self.judge(trial)
        if verdict.passed:
            return Mixed(levels, trial, verdict, {})
        plain = self.trial(levels)
        sensitivity = self.sensitivity(plain)
        best = (trial, verdict, levels)
        age = 0
        queue = [c for name in self.layers if (c := self._next(name, levels, plain, age)) is not None]
        while queue:
            queue.sort(key=lambda c: (-c.score, -sensitivity.get(c.name, 0.0)))
            top = queue.pop(0)
            if top.age < age:  # measured before the last change
                found = self._next(top.name, levels, plain, age)
                queue += [found] if found is not None else []
                continue
            levels = {**levels, **self.around(Change(top.name, top.level))}
            age += 1
            plain = self.trial(levels, plain)
            trial = self.finish(self.formats(levels))
            verdict = self.judge(trial)
            self.progress(f"{len(levels)} layers in better formats, {verdict.sqnr_db:.1f} dB")
            if verdict.passed:
                return self._frugal(Mixed(levels, trial, verdict, sensitivity))
            if _is_better(verdict, best[1]):
                best = (trial, verdict, levels)
            if following := self._next(top.name, levels, plain, age):
                queue.append(following)
        trial, verdict, levels = best
        return Mixed(levels, trial, verdict, sensitivity)

    def trial(self, levels: Levels, before: Trial | None = None) -> Trial:
        return self.measure.trial(self.quantized(levels), before)

    def quantized(self, levels: Levels) -> Quantized:
        return self.tensors.quantized(self.methods, self.formats(levels))

    def quants(self) -> dict[str, Quant]:
        """The scales of all tensors in int8."""
        return self.tensors.quants(self.methods)

    def has_weights(self, name: str) -> bool:
        """Does this layer have weights, which int16 and bf16 are for?"""
        return _has_weights(self.graph, self.layers[name])

    def moves(self, node: Node) -> bool:
        """Does a node take the scale of what it moves?"""
        return all(
            self.group[name] == self.group[node.outputs[0]]
            for name in node.inputs
            if name in self.tensors.means
        )

    def formats(self, levels: Levels) -> Formats:
        """The formats of tensors and layers: those on both sides of a better layer have 16 bits, too, and
        what is cheap between layers of floats computes in floats."""
        key = frozenset(levels.items())
        if key not in self._formats:
            self.measure.budget.pay(FORMATS_WORK * len(self.layers))
            self._formats[key] = self._formats_of(levels)
        return self._formats[key]

    def _formats_of(self, levels: Levels) -> Formats:
        real = frozenset(name for name, level in levels.items() if level in (BF16, F32))
        wide: set[str] = set()
        for name in (name for name, level in levels.items() if level != INT8):
            for neighbour in (*self.layers[name].inputs, name):
                group = self.group[neighbour]
                narrow = self.narrow.get(group)
                if INT16 in self.allowed and narrow is not None and narrow <= real:
                    wide.update(self.members[group])
        weights = {name: DType.BF16 for name, level in levels.items() if level == BF16}
        weights |= {name: DType.S8 for name, level in levels.items() if level in (INT8, INT16)}
        if real:
            real |= self.islands.among(real | self.tensors.concats.real) - self.tensors.concats.real
        return Formats(frozenset(wide), real, weights)

    def with_islands(self, found: Mixed) -> Mixed:
        """The same, where cheap layers between layers of floats count among those in better formats."""
        islands = self.formats(found.levels).real - found.levels.keys()
        return (
            replace(found, levels={**found.levels, **dict.fromkeys(sorted(islands), F32)})
            if islands
            else found
        )

    def _narrow(self, members: Sequence[str]) -> frozenset[str] | None:
        """The layers that give no int16, so that their tensors have 16 bits only if they are floats; None
        where the tensors cannot have 16 bits at all, or layers around are slower with them than in floats."""
        if any(name in self.given or not self.graph.type(name).dtype.is_float for name in members):
            return None
        made = {name: node for name in members if (node := self.graph.producer(name)) and name in self.layers}
        users = [node for name in members for node in self.graph.users(name)]
        slow = [self._is_slow(node, "s8-s16") for node in made.values()]
        slow += [self._is_slow(node, "s16-s8") for node in users if node.outputs[0] in self.layers]
        if any(slow):
            return None
        return frozenset(name for name, node in made.items() if not takes_wide(node))

    def _is_slow(self, node: Node, format: str) -> bool:
        """Does a layer with weights take longer in a format than in floats, as where int16 is portable C?"""
        return takes_wide(node) and self.costs.node(self.graph, node, format) > self._time(node, F32)

    def sensitivity(self, plain: Trial, *, weighted: bool = False) -> dict[str, float]:
        """What the outputs gain when a layer alone is computed in floats: of all, or those with weights."""
        found = {}
        base = self._quality(plain)
        layers = [n for n, node in self.layers.items() if not weighted or _has_weights(self.graph, node)]
        for number, name in enumerate(layers, 1):
            self.progress(f"sensitivity, layer {number} of {len(layers)}")
            found[name] = self._quality(self.trial(self.around(Change(name, F32)), plain)) - base
        return found

    def _next(self, name: str, levels: Levels, plain: Trial, age: int) -> Candidate | None:
        """The next better format of a layer, measured in this state."""
        change = self.next_change(name, levels)
        if change is None:
            return None
        trial = self.trial({**levels, **self.around(change)}, plain)
        gain = self._quality(trial) - self._quality(plain)
        cost = sum(self.extra_cost(Change(*pair), levels) for pair in self.around(change).items())
        return Candidate(name, change.level, gain, max(cost, _LEAST_COST), age)

    def next_change(self, name: str, levels: Levels) -> Change | None:
        """The next better format of a layer, if there is one."""
        own = self._own(name, levels)
        higher = [level for level in _STEPS[_STEPS.index(own) + 1 :] if level in self.allowed]
        if not _has_weights(self.graph, self.layers[name]):
            higher = [level for level in higher if level == F32]
        elif higher[:1] == [INT16] and self.formats({**levels, name: INT16}) == self.formats(levels):
            higher = higher[1:]  # neither what it reads nor its result can be wider
        costs = {level: self.cost(Change(name, level)) for level in higher}
        # A format that costs more than a better one has no place here.
        higher = [x for i, x in enumerate(higher) if all(costs[x] < costs[y] for y in higher[i + 1 :])]
        return Change(name, higher[0]) if higher else None

    def _own(self, name: str, levels: Levels) -> str:
        return levels.get(name, INT4 if name in self.tensors.given.weights else INT8)

    def around(self, change: Change) -> Levels:
        """The formats that a change takes. Between integers of 8 bits floats gain next to nothing: where the
        result of a layer cannot have 16, what reads it is computed in floats, too."""
        result = self.group.get(change.name, "")
        is_wide = INT16 in self.allowed and self.narrow.get(result) is not None
        if is_wide or change.level not in (BF16, F32):
            return {change.name: change.level}
        names = (node.outputs[0] for node in readers(self.graph, change.name))
        return {
            **dict.fromkeys((name for name in names if name in self.layers), F32),
            change.name: change.level,
        }

    def cost(self, change: Change) -> float:
        """Of a layer in a format."""
        if change not in self._costs:
            self._costs[change] = self._cost(self.layers[change.name], change.level)
        return self._costs[change]

    def extra_cost(self, change: Change, levels: Levels) -> float:
        """Of a change, beside the format that the layer has."""
        return self.cost(change) - self.cost(Change(change.name, self._own(change.name, levels)))

    def _quality(self, trial: Trial) -> float:
        """What better formats are to raise: with a gate the worst output, which it judges."""
        gated = self.judge.gate.min_sqnr is not None
        return self.measure.worst(trial)[0] if gated else self.measure.quality(trial)

    def _cost(self, node: Node, level: str) -> float:
        """Time and flash of a layer as shares of the whole model's in int8. Its neighbours are in integers:
        to floats and back there are conversions."""
        time = self._time(node, level) + (self._conversions(node) if level in (BF16, F32) else 0)
        return time / self.time + _BYTES[level] * self._weights(node) / self.weights

    def _time(self, node: Node, level: str) -> float:
        return self.costs.node(self.graph, node, _TIME[level])

    def _conversions(self, node: Node) -> float:
        """What it takes to make floats of the operands of a layer, and integers of its results."""
        sizes = (self.graph.type(name).size for name in node.inputs if self.graph.data(name) is None)
        _, to_float = self.costs.row(["Dequantize"], "s8-f32")
        _, to_integer = self.costs.row(["Quantize"], "f32-s8")
        return to_float * sum(sizes) + to_integer * sum(self.graph.type(y).size for y in node.outputs)

    def macs_of(self, name: str) -> int:
        """The multiplications of a layer."""
        return self._macs(self.layers[name]) if name in self.layers else 0

    def extra_bytes(self, name: str, level: str) -> int:
        """What the weights of a layer take in this format, more than in int8."""
        return int((_BYTES[level] - 1) * self._weights(self.layers[name]))

    def _macs(self, node: Node) -> int:
        return node.op.macs(*(self.graph.type(name) for name in node.inputs))

    def _weights(self, node: Node) -> int:
        return self.graph.type(node.inputs[1]).size if _has_weights(self.graph, node) else 0

    def _frugal(self, found: Mixed) -> Mixed:
        """Without the better formats that are not needed, the dearest first."""
        dear = sorted(found.levels, key=lambda n: -self._cost(self.layers[n], found.levels[n]))
        for name in dear:
            fewer = {n: level for n, level in found.levels.items() if n != name}
            trial = self.finish(self.formats(fewer))
            verdict = self.judge(trial)
            if verdict.passed:
                found = replace(found, levels=fewer, trial=trial, verdict=verdict)
        return found


def _is_better(a: Verdict, b: Verdict) -> bool:
    return (a.accuracy or 0.0, a.sqnr_db) > (b.accuracy or 0.0, b.sqnr_db)


def _has_weights(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, Linear) and graph.data(node.inputs[1]) is not None

"""Automatic mixed precision: better formats where int8 alone is too noisy, the cheapest first.

The noise of each tensor and of each layer's weights is measured alone. Those that cause most for what it
costs to avoid them get better formats together, until what is left of their sum is small enough; trials of
the whole graph then decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

from edgekit.core.ir import Node
from edgekit.core.progress import Progress
from edgekit.quantize.measure import Measure, Trial
from edgekit.quantize.mixed_precision.format_search import F32, INT16, Change, FormatSearch, Levels, Mixed
from edgekit.quantize.mixed_precision.formats import Formats, takes_wide
from edgekit.quantize.mixed_precision.noise_sources import AloneNoise, NoiseSource, readers

_MARGIN_DB = 0.5  # of trials on few samples above what is wanted
_LEAST_GAIN_DB = 0.5  # that a round must bring
_ROUNDS = 6


@dataclass
class NoiseSearch:
    """`search` knows the formats of layers; trials run on `few` samples, whose budget ends the search."""

    search: FormatSearch
    few: Measure
    wanted: float  # dB, at the worst output
    progress: Progress
    limit: float = inf  # of what better formats may cost, as a share of the time and of the flash in int8
    noise: Mapping[NoiseSource, float] = field(default_factory=dict)

    def run(self, plain: Mixed) -> Mixed:
        """The formats with which all outputs have what is wanted, or those that come nearest; `plain` itself,
        the model in int8, where nothing helps."""
        if not self.few.samples or plain.verdict.sqnr_db >= self.wanted:
            return plain
        alone = AloneNoise(self.few, self.search.quants(), self.progress)
        self.noise = alone.of(self._sources(), 10 ** (-self.wanted / 10))
        goal = self.wanted + _MARGIN_DB
        best, levels = plain, plain.levels
        for _ in range(_ROUNDS):
            before = levels
            levels = self._needed(goal, self._towards(goal, levels))
            if levels == before:
                break
            trial = self.search.finish(self.search.formats(levels))
            found = replace(best, levels=levels, trial=trial, verdict=self.search.judge(trial))
            if found.verdict.sqnr_db > best.verdict.sqnr_db:
                best = found
            if best.verdict.sqnr_db >= self.wanted or not self.few.budget.left:
                break
            # Few samples were kinder than all.
            goal += max(self.wanted - found.verdict.sqnr_db, _LEAST_GAIN_DB)
        return best if best.verdict.sqnr_db >= plain.verdict.sqnr_db + _LEAST_GAIN_DB else plain

    def _towards(self, goal: float, levels: Levels) -> Levels:
        """Better formats, until trials reach the goal or no source is left. What the noise of sources says is
        tried once in any case."""
        trial = self._trial(levels)
        aim = goal
        for number in range(_ROUNDS):
            reached = self._worst(trial)
            if reached >= goal or (number and not self.few.budget.left):
                break
            better = self._predicted(10 ** (-aim / 10), levels)
            if better == levels:
                break
            levels, trial = better, self._trial(better, trial)
            self.progress(f"{len(levels)} layers in better formats, {self._worst(trial):.1f} dB")
            aim += max(goal - self._worst(trial), _LEAST_GAIN_DB)
        return levels

    def _predicted(self, noise: float, levels: Levels) -> Levels:
        """Better formats, until no more noise than that should be left."""
        tried: set[NoiseSource] = set()
        while True:
            dirty = self._dirty(levels)
            if sum(self.noise[source] for source in dirty) <= noise:
                break
            changes = {s: found for s in dirty if s not in tried and (found := self._changes(s, levels))}
            left = self.limit - self._extra(levels, {})
            changes = {s: found for s, found in changes.items() if self._extra(found, levels) <= left}
            if not changes:
                break
            worst = max(changes, key=lambda s: (self.noise[s] / self._extra(changes[s], levels), s))
            tried.add(worst)
            levels = {**levels, **changes[worst]}
        return levels

    def _sources(self) -> list[NoiseSource]:
        """All that is in int8, in order; what only moves a tensor adds nothing to it."""
        search, found = self.search, []
        fractional = search.tensors.fractional
        for name in search.graph.inputs:
            found += [NoiseSource(name)] * (name in search.tensors.means)
        for name, node in search.layers.items():
            found += [NoiseSource(name, is_weights=True)] * search.has_weights(name)
            if not search.moves(node):
                found += [
                    NoiseSource(y) for y in node.outputs if y in search.tensors.means and y not in fractional
                ]
        return found

    def _dirty(self, levels: Levels) -> list[NoiseSource]:
        """The sources that are in int8 with these formats."""
        formats = self.search.formats(levels)
        return [source for source in self.noise if self._is_dirty(source, formats)]

    def _is_dirty(self, source: NoiseSource, formats: Formats) -> bool:
        if source.is_weights:
            return source.name not in formats.real
        users = [node for node in readers(self.search.graph, source.name) if self._in_integers(node, formats)]
        if source.name in formats.wide:
            return not all(takes_wide(node) for node in users)
        producer = self.search.graph.producer(source.name)
        return bool(users) or (producer is not None and self._in_integers(producer, formats))

    def _in_integers(self, node: Node, formats: Formats) -> bool:
        return node.outputs[0] in self.search.layers and node.outputs[0] not in formats.real

    def _changes(self, source: NoiseSource, levels: Levels) -> Levels:
        """What avoids a source: int16 where the layers around take it, or floats, whichever costs less;
        nothing where neither is allowed."""
        graph, layers, allowed = self.search.graph, self.search.layers, self.search.allowed
        if source.is_weights:
            return {source.name: F32} if F32 in allowed else {}
        producer = graph.producer(source.name)
        around = [*([producer] if producer else []), *readers(graph, source.name)]
        names = {node.outputs[0]: node for node in around if node.outputs[0] in layers}
        wide = {
            name: levels.get(name, INT16) if self.search.has_weights(name) else F32
            for name, node in names.items()
            if not takes_wide(node) or self.search.has_weights(name)
        }
        found: list[Levels] = [dict.fromkeys(names, F32)] if F32 in allowed else []
        if INT16 in allowed and (F32 in allowed or F32 not in wide.values()):
            formats = self.search.formats({**levels, **wide})
            if not self._is_dirty(source, formats):
                found.insert(0, wide)
        return min(found, key=lambda changes: self._extra(changes, levels), default={})

    def _extra(self, changes: Levels, levels: Levels) -> float:
        costs = (self.search.extra_cost(Change(*pair), levels) for pair in changes.items())
        return max(sum(costs), 1e-6)

    def _needed(self, goal: float, levels: Levels) -> Levels:
        """Without the formats that the goal does not need, the dearest first."""
        trial = self._trial(levels)
        if self._worst(trial) < goal:
            return levels
        for change in sorted((Change(*pair) for pair in levels.items()), key=lambda c: -self.search.cost(c)):
            if not self.few.budget.left:
                break
            fewer = {name: level for name, level in levels.items() if name != change.name}
            found = self._trial(fewer, trial)
            if self._worst(found) >= goal:
                levels, trial = fewer, found
        return levels

    def _trial(self, levels: Levels, before: Trial | None = None) -> Trial:
        return self.few.trial(self.search.quantized(levels), before)

    def _worst(self, trial: Trial) -> float:
        return self.few.worst(trial)[0]

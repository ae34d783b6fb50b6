"""The self-test of a library: inputs that C and Python make alike, outputs to expect, and tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.codegen.lowering.branches import Branches, Path, branches
from edgekit.codegen.printing.literal import restored
from edgekit.codegen.verification.output_coverage import MORE_SEEDS, finite_share, work
from edgekit.codegen.verification.rounding_error import RoundingError, has_floats
from edgekit.core import limits, simulate
from edgekit.core.input_ranges import CHOICES, InputRange, input_ranges
from edgekit.core.ir import Graph
from edgekit.core.types import Array, DType, Type

STEPS = 4  # of a stream, where there are states
_BLOCK = 1 << 18  # inputs that are made at once
BYTES = 256  # floats are multiples of a 256th of their range, exact in every format
MASK_SHIFT = 30  # the bits of a number above say whether a mask is 0, one time in four
STRIDE = 65537  # between the numbers that the inputs of two runs are made of
_FEW_VALUES, _FEW_RUNS, MOST_RUNS = 32, 4, 8
_TINY = 4  # values, of which as many noisy runs as usual tell too little
_CANDIDATES = 2 * CHOICES
_RUN_WORK = 1 << 31  # steps of a loop whose end data decide: it runs several times, a step of 1 to 3 ns
_SEARCH_WORK = 2e7  # operations that the search for inputs may take
_RESCUE_WORK = 3e9  # where outputs are not finite
_HELD_BYTES = 1 << 28  # of outputs of the runs that were tried
_MEASURED_WORK = 1e7  # operations of all runs, above which rounding is measured only if need be
_FLOOR = 2e-6  # of the largest value: other compilers, other math libraries


@dataclass(frozen=True)
class RandomInputs:
    """The inputs of one run: which ranges they are drawn from where the graph says nothing, and from which
    numbers."""

    choice: int
    number: int


@dataclass(frozen=True)
class SelfTest:
    """What a self-test gives a library, run by run, and what it expects."""

    graph: Graph
    draws: tuple[RandomInputs, ...]
    expected: tuple[Mapping[str, Array], ...]
    limits: tuple[Mapping[str, float], ...] = ()  # of each run, that rounding was measured to explain
    entries: tuple[SelfTest, ...] = ()  # of the library beside this one

    @property
    def samples(self) -> list[dict[str, Array]]:
        return [inputs(self.graph, draw) for draw in self.draws]

    def limit(self, name: str, run: int) -> float:
        """How far an output may be off."""
        dtype, expected = self.graph.type(name).dtype, self.expected[run][name]
        if not dtype.is_float or not self.limits:
            return tolerance(dtype, expected)
        return max(self.limits[run][name], _FLOOR * _largest(expected))


def prepare(graph: Graph, entries: Sequence[Graph] = ()) -> SelfTest:
    """A self-test whose inputs are plausible, and that sees as many layers as possible: its runs take inputs
    from different ranges, in which other units of a layer are at work and outputs saturate less. `entries`
    of the same library get one each."""
    simulate.check_work(graph)
    total = sum(graph.type(name).size for name in graph.outputs)
    runs = STEPS if graph.states else MOST_RUNS if total <= _FEW_VALUES else _FEW_RUNS
    with limits.shorter_runs(_RUN_WORK):
        found = _stream(graph, runs) if graph.states else _runs(graph, runs)
    small = len(found.draws) * work(graph) <= _MEASURED_WORK
    found = measured(found) if small else found
    return replace(found, entries=tuple(map(prepare, entries))) if entries else found


def _runs(graph: Graph, runs: int) -> SelfTest:
    """The best of some runs, such that each side of every branch is taken, if any run does."""
    found = branches(graph)
    tried: list[_Tried] = []
    spent, held = 0.0, 0
    for number in range(_CANDIDATES + MORE_SEEDS):
        taken = frozenset[Path]().union(*(one.taken for one in tried))
        if number >= _CANDIDATES and taken == found.paths:
            break
        draw = RandomInputs(number % CHOICES, number)
        values = simulate.run_all(graph, inputs(graph, draw))
        outputs = {name: values[name] for name in graph.outputs}
        rated = finite_share([outputs]), _liveness(graph, [values], found)
        tried.append(_Tried(rated, draw, outputs, found.taken(values)))
        spent += work(graph)
        held += sum(output.nbytes for output in outputs.values())
        most = _SEARCH_WORK if max(one.score for one in tried)[0] == 1 else _RESCUE_WORK
        if spent > most or held > _HELD_BYTES:
            break
    best = max(one.score for one in tried)[0]
    left = sorted((one for one in tried if one.score[0] == best), key=lambda one: one.score, reverse=True)
    kept: list[_Tried] = []
    taken = frozenset()
    while left and len(kept) < runs:
        kept.append(max(left, key=lambda one: len(one.taken - taken)))
        left.remove(kept[-1])
        taken |= kept[-1].taken
    kept.sort(key=lambda one: one.draw.number)
    return SelfTest(graph, tuple(one.draw for one in kept), tuple(one.outputs for one in kept))


@dataclass(frozen=True, eq=False)
class _Tried:
    """A run that a self-test may consist of."""

    score: tuple[float, float]
    draw: RandomInputs
    outputs: Mapping[str, Array]
    taken: frozenset[Path]  # sides of branches


def _stream(graph: Graph, steps: int) -> SelfTest:
    """The best of some streams of steps."""
    found = branches(graph)
    best: tuple[tuple[float, float, float], SelfTest] | None = None
    spent = 0.0
    for choice in range(CHOICES):
        draws = tuple(RandomInputs(choice, step) for step in range(steps))
        session = simulate.Session(graph)
        values = [session.run_all(inputs(graph, draw)) for draw in draws]
        expected = tuple({name: step[name] for name in graph.outputs} for step in values)
        taken = frozenset[Path]().union(*(found.taken(step) for step in values))
        untaken = len(found.paths - taken)
        score = finite_share(expected), -untaken, _liveness(graph, values, found)
        if best is None or score > best[0]:
            best = score, SelfTest(graph, draws, expected)
        spent += steps * work(graph)
        if best[0] == (1.0, 0, 1.0) or spent > (_SEARCH_WORK if best[0][0] == 1 else _RESCUE_WORK):
            break
    assert best is not None
    return best[1]


def measured(test: SelfTest) -> SelfTest:
    """The test with tolerances that follow the conditioning of the network."""
    if not has_floats(test.graph):
        return test
    errors = RoundingError(test.graph, test.samples)
    limits = tuple(
        {name: _explained(errors, run, name) for name in test.graph.outputs} for run in range(len(test.draws))
    )
    return replace(test, limits=limits)


def _explained(errors: RoundingError, run: int, name: str) -> float:
    """How far rounding may lead an output. Two noisy runs may by chance show little of it where there
    are few values; a self-test asks only once, so more of them speak."""
    is_tiny = errors.graph.type(name).size <= _TINY
    return _largest(errors.explain(run, name, thorough=is_tiny).limit)


def _liveness(graph: Graph, runs: Sequence[Mapping[str, Array]], found: Branches) -> float:
    """The share of layers whose results vary, without NaN: of the others no change would be seen."""
    names = [node.outputs[0] for node in graph.nodes if graph.type(node.outputs[0]).size > 1]
    alive = [any(found.runs(name, run) and _varies(run[name]) for run in runs) for name in names]
    return sum(alive) / len(alive) if alive else 1.0


def _varies(values: Array) -> bool:
    with np.errstate(invalid="ignore"):  # both ends are NaN if one value is
        return float(values.min()) < float(values.max())


def inputs(graph: Graph, draw: RandomInputs) -> dict[str, Array]:
    """The same numbers as the generated C has, within the ranges that are plausible."""
    result = {}
    for k, (name, span) in enumerate(input_ranges(graph, draw.choice).items()):
        type = graph.type(name)
        first = (k + draw.number * STRIDE) & 0xFFFFFFFF
        values = np.empty(type.size, type.dtype.numpy)
        for start in range(0, type.size, _BLOCK):
            places = np.arange(start, min(start + _BLOCK, type.size), dtype=np.uint32)
            h = (places + np.uint32(first)) * np.uint32(2654435761)
            h = (h ^ (h >> np.uint32(15))) * np.uint32(2246822519)
            values[start : start + _BLOCK] = _drawn(h, places, span, type)
        result[name] = values.reshape(type.shape)
    return result


def _drawn(numbers: Array, places: Array, span: InputRange, type: Type) -> Array:
    """Numbers of 32 bits as values of this type, at these places in it, in this range."""
    dtype = type.dtype
    if span.is_mask:
        first = places % row(type) == 0
        return np.asarray(first | (numbers >> MASK_SHIFT != 0)).astype(dtype.numpy)
    if dtype.is_float and dtype.bytes == 1:
        return restored((numbers >> 24 & 63).astype(np.uint8), dtype)  # moderate numbers
    if dtype.is_float:
        step = (span.high - span.low) / BYTES
        values: Array = (span.low + np.arange(BYTES) * step).astype(np.float32).astype(dtype.numpy)
        return values.take((numbers >> 24).astype(np.intp))
    return (int(span.low) + (numbers >> 8).astype(np.int64) % count(span)).astype(dtype.numpy)


def row(type: Type) -> int:
    """The elements of a row."""
    return max(type.shape[-1] if type.rank else 1, 1)


def count(span: InputRange) -> int:
    """Of the integers that are drawn; 24 bits of a number are used."""
    return min(int(span.high) - int(span.low) + 1, 1 << 24)


def tolerance(dtype: DType, expected: Array) -> float:
    """What C may differ from numpy by where rounding was not measured: nothing for integers."""
    if not dtype.is_float:
        return 0.0
    return {8: 1e-9, 4: 1e-4, 2: 2e-2}.get(dtype.bytes, 1e-1) * max(_largest(expected), 1e-3)


def _largest(values: Array) -> float:
    """The absolute value that is the largest of the finite ones."""
    return magnitude(values if np.isfinite(values).all() else values[np.isfinite(values)])


def magnitude(values: Array) -> float:
    """The largest absolute value; NaN if one is."""
    with np.errstate(invalid="ignore"):
        return max(abs(float(values.min())), abs(float(values.max()))) if values.size else 0.0

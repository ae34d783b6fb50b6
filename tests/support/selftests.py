"""Does a self-test see what is wrong? Decided in Python, as its C does, since both compute the same."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from edgekit.codegen.verification.selftest import SelfTest, tolerance
from edgekit.codegen.verification.selftest_source import Summary
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.gather import Gather
from edgekit.core.types import Array, Value

_JUDGING = 10  # inputs that say whether a change shows


@dataclass(frozen=True)
class Mutant:
    """A graph with other constants of one layer."""

    graph: Graph
    layer: str
    whole: bool  # all weights are replaced, or just one


def fails(test: SelfTest, graph: Graph) -> bool:
    """Does the self-test fail with a library of this graph?"""
    session = simulate.Session(graph)
    for run, (sample, expected) in enumerate(zip(test.samples, test.expected, strict=True)):
        if not graph.states:
            session.reset()
        outputs = session.run(sample)
        for name, right in expected.items():
            summary = Summary.of(test, name)
            found, wanted = (summary.values(x).astype(np.float64) for x in (outputs[name], right))
            near = np.abs(found - wanted) <= test.limit(name, run) * summary.terms
            if (~(near | (found == wanted) | np.isnan(wanted))).any():
                return True
    return False


def mutants(graph: Graph, seed: int) -> Iterator[Mutant]:
    """Of each layer with weights: all of them in another order, and single ones, moved to the other end of
    their range."""
    rng = np.random.default_rng(seed)
    for node in graph.nodes:
        place = 0 if isinstance(node.op, Gather) else 1
        name = node.inputs[min(place, len(node.inputs) - 1)]
        data = graph.data(name)
        computes = node.op.macs(*(graph.type(x) for x in node.inputs)) or isinstance(node.op, Gather)
        if data is None or not computes or data.size < 2 or np.ptp(data.astype(np.float64)) == 0:
            continue
        yield Mutant(_with(graph, name, rng.permutation(data.reshape(-1))), name, True)
        for place in (int(np.abs(data.astype(np.float64)).argmax()), int(rng.integers(data.size))):
            flat = data.reshape(-1).copy()
            ends = sorted((flat.min(), flat.max()), key=lambda end: abs(float(end) - float(flat[place])))
            flat[place] = ends[-1]
            yield Mutant(_with(graph, name, flat), name, False)


def _with(graph: Graph, name: str, flat: Array) -> Graph:
    type = graph.type(name)
    return replace(graph, values={**graph.values, name: Value(type, flat.reshape(type.shape))})


def shows(graph: Graph, mutant: Graph) -> bool:
    """Does a change show in the outputs for nearly all inputs? That of a unit that is not at work, or that is
    lost when results are rounded to integers, shows for few or none."""
    seen = 0
    for seed in range(100, 100 + _JUDGING):
        sample = simulate.random_inputs(graph, seed)
        right, found = simulate.run(graph, sample), simulate.run(mutant, sample)
        off = {name: np.abs(found[name].astype(np.float64) - right[name]) for name in right}
        seen += any((off[name] > 8 * tolerance(graph.type(name).dtype, right[name])).any() for name in off)
    return seen >= 0.9 * _JUDGING

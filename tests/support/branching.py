"""Random graphs with branches: nested, with shared conditions, whose values are read outside or kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from support.stateful import Remembering, random_step

from edgekit.converters.semantics.while_loop import while_loop
from edgekit.converters.tensor import Tensor
from edgekit.core.ir import Graph
from edgekit.core.ops.logic import Less, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

SIZE = 4  # elements of each value


class Branching(Remembering):
    """A graph in the making, of vectors of whole numbers, in which branches choose."""

    def __init__(self, seed: int, loops: float = 0.0) -> None:
        super().__init__(DType.S32, seed)
        self.conditions: list[str] = []
        self.loops = loops  # how often

    def pick(self, known: list[str]) -> str:
        """Mostly something new."""
        back = min(int(self.rng.geometric(0.3)), len(known))
        return known[-back]

    def condition(self, known: list[str]) -> str:
        """A bool that is computed, or one that was before."""
        if self.conditions and self.rng.random() < 0.3:
            return self.conditions[int(self.rng.integers(len(self.conditions)))]
        first = self(Slice((0,), (1,), (1,)), self.pick(known))
        self.conditions.append(self(Reshape(()), self(Less(), first, self.random(1))))
        return self.conditions[-1]

    def block(self, known: list[str], depth: int = 0) -> list[str]:
        """The known values with what is made of them; some of that by branches."""
        found = list(known)
        for _ in range(int(self.rng.integers(1, 5))):
            if depth < 2 and self.rng.random() < self.loops:
                found += self.loop(found, depth)
            elif depth < 3 and self.rng.random() < 0.5:
                found += self.choices(found, depth)
            else:
                found.append(random_step(self, partial(self.pick, found), SIZE))
        return found

    def choices(self, known: list[str], depth: int) -> list[str]:
        """One or two results of a branch. Now and then a value within it is read outside, too."""
        condition = self.condition(known)
        sides = [self.block(known, depth + 1) for _ in range(2)]
        results = []
        for _ in range(int(self.rng.integers(1, 3))):
            yes, no = (self.pick(side) for side in sides)
            if yes != no:
                results.append(self(Where(), condition, yes, no))
        leaked = [self.pick(sides[0])] if self.rng.random() < 0.15 else []
        return [*leaked, *results]

    def loop(self, known: list[str], depth: int) -> list[str]:
        """The results of a loop that may read what is around it, and may exchange what it carries."""
        outer = [*self.conditions]
        start = [self.condition(known), *(self.pick(known) for _ in range(int(self.rng.integers(1, 4))))]

        def make(values: Sequence[Tensor]) -> list[Tensor]:
            carried = [x.name for x in values[1:]]
            found = self.block([*known, *carried], depth + 1)
            after = [self.pick(carried if self.rng.random() < 0.3 else found) for _ in carried]
            return [Tensor(self, name) for name in (self.condition(found), *after)]

        limit = int(self.rng.integers(0, 5))
        results = while_loop([Tensor(self, name) for name in start], make, limit=limit, most=None)
        self.conditions = outer  # those of the body are nowhere else
        return [x.name for x in results[1:]]


def random_branches(seed: int, loops: float = 0.0) -> Graph:
    """A graph with branches, and states in every other one."""
    net = Branching(seed, loops)
    known = [net.x(SIZE), net.x(SIZE, name="z")]
    states = [net.state(f"s{i}", net.random(SIZE)) for i in range(seed % 2 * int(net.rng.integers(1, 3)))]
    known = net.block([*known, *states])
    exits: list[str] = []
    for name in (known[-1], *(net.pick(known) for _ in (*states, ""))):
        taken = name in exits or net.data(name) is not None
        exits.append(net(Reshape((SIZE,)), name) if taken else name)
    following = dict(zip(states, exits[2:], strict=True))
    return net.remembering(exits[:2], following, f"branches{seed}")


def samples(graph: Graph, count: int, seed: int = 0) -> list[dict[str, np.ndarray]]:
    """Whole numbers around the constants of conditions."""
    rng = np.random.default_rng(seed)
    return [
        {name: rng.integers(-12, 13, SIZE).astype(np.int32) for name in graph.inputs} for _ in range(count)
    ]

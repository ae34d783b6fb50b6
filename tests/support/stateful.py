"""Graphs with states: small ones by hand, and random ones that read and write states in every way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from support.nets import Net

from edgekit.core.ir import Graph, State
from edgekit.core.ops.arithmetic import Add, Max, Neg, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Type, Value


class Remembering(Net):
    """A graph in the making that has states."""

    def __init__(self, dtype: DType = DType.S32, seed: int = 0) -> None:
        super().__init__(dtype, seed)
        self.starts: dict[str, Array] = {}

    def state(self, name: str, start: Array) -> str:
        """What a run reads of a state."""
        type = Type(DType.of(start.dtype), start.shape)
        self.starts[self.input(name, type)] = start
        return name

    def remembering(self, outputs: Sequence[str], following: Mapping[str, str], name: str = "net") -> Graph:
        """The graph, verified; `following` says what each state is next."""
        states = [State(read, following[read], self._start(read)) for read in self.starts]
        graph = self.graph(name, self.inputs, outputs, states=states)
        verify(graph)
        return graph

    def _start(self, read: str) -> Value:
        return Value(self.type(read), self.starts[read])


def accumulator(dtype: DType = DType.F32) -> Graph:
    """s = s + x, y = -s"""
    net = Remembering(dtype)
    x, s = net.x(3), net.state("s", np.arange(3).astype(dtype.numpy))
    total = net(Add(), s, x, name="total")
    return net.remembering([net(Neg(), total, name="y")], {s: total}, "accumulator")


def samples(graph: Graph, count: int, seed: int = 0) -> list[dict[str, Array]]:
    """Small whole numbers."""
    rng = np.random.default_rng(seed)
    types = {name: graph.type(name) for name in graph.inputs}
    return [
        {name: rng.integers(-99, 100, t.shape).astype(t.dtype.numpy) for name, t in types.items()}
        for _ in range(count)
    ]


def random_step(net: Net, pick: Callable[[], str], n: int = 4) -> str:
    """An addition or a movement of vectors that are picked."""
    match int(net.rng.integers(7)):
        case 0:
            return net(Neg(), pick())
        case 1 | 2:
            return net((Add(), Sub(), Max())[int(net.rng.integers(3))], pick(), pick())
        case 3:  # the oldest goes, the newest comes
            return net(
                Concat(0), net(Slice((1,), (1,), (n - 1,)), pick()), net(Slice((0,), (1,), (1,)), pick())
            )
        case 4:
            return net(Concat(0), *(net(Slice((i,), (1,), (n // 2,)), pick()) for i in (0, n // 2)))
        case 5:
            square = net(Transpose((1, 0)), net(Reshape((2, n // 2)), pick()))
            return net(Reshape((n,)), square)
    return net(Add(), pick(), net.random(n))


def random_graph(seed: int) -> Graph:
    """Additions and movements of vectors; states are next what was computed, what was read, or a constant."""
    net = Remembering(DType.S32, seed)
    rng, n = net.rng, 4
    known = [net.x(n), net.x(n, name="z")]
    states = [net.state(f"s{i}", net.random(n)) for i in range(int(rng.integers(1, 5)))]
    known += states

    def pick() -> str:
        return known[int(rng.integers(len(known)))]

    for _ in range(int(rng.integers(2, 12))):
        known.append(random_step(net, pick))
    exits: list[str] = []

    def exit(name: str) -> str:
        """Each exit has a name of its own."""
        taken = name in exits or net.data(name) is not None
        exits.append(net(Reshape((n,)), name) if taken else name)
        return exits[-1]

    outputs = [exit(known[-1]), exit(pick())]
    following = {}
    for s in states:
        constant = rng.random() < 0.1
        following[s] = exit(net.const(net.random(n)) if constant else pick())
    if net.data(following[states[0]]) is not None:  # nothing computes it
        following[states[0]] = exit(states[0])
    return net.remembering(outputs, following, f"random{seed}")

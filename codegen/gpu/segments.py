"""CPU segments: which nodes the CPU computes between GPU segments, by an estimate of what copies cost.

A node without a kernel is on the CPU. So are nodes with one, where their work is less than what it takes to
bring tensors to the device and back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from edgekit.codegen.gpu.device import Pair, pair
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call

FOR_PROCESSORS = "a target for processors, such as -t host, or wasm32-simd for pages"
CPU = "cpu"  # in the place of a kernel's name: the call of a CPU segment

_MAX_PASSES = 4  # of the search for nodes that had better be on the CPU, too


@dataclass(frozen=True)
class Placement:
    """Where the nodes of a graph run. `order` has those on the GPU by their index, and each CPU segment as a
    tuple of indices, behind what it reads."""

    order: tuple[int | tuple[int, ...], ...]
    microseconds: float  # of a run, about
    cpu_microseconds: float  # of a run without a GPU
    kept: frozenset[str] = (
        frozenset()
    )  # states that stay on the CPU: one segment alone reads and changes them

    @property
    def pays(self) -> bool:
        return self.microseconds < self.cpu_microseconds


def place(graph: Graph, layers: Sequence[LoweredLayer], lacking: Collection[int]) -> Placement:
    """Where layers run best, of which those with these indices have no kernel on GPUs."""
    network = _Network(graph, layers, pair())
    on_cpu = frozenset(lacking)
    best = network.cost(on_cpu)
    for _ in range(_MAX_PASSES):
        before = best
        for candidate in network.candidates(on_cpu):
            if (cost := network.cost(on_cpu | candidate)) < best:
                on_cpu, best = on_cpu | candidate, cost
        if best == before:
            break
    kept = network.kept(on_cpu, network.levels(on_cpu))
    return Placement(network.order(on_cpu), best, network.cost(frozenset(range(len(layers)))), kept)


@dataclass(frozen=True, eq=False)
class _Network:
    """What placement asks of a graph."""

    graph: Graph
    layers: Sequence[LoweredLayer]
    pair: Pair

    @cached_property
    def made_by(self) -> Mapping[str, int]:
        return {name: i for i, layer in enumerate(self.layers) for name in layer.node.outputs}

    @cached_property
    def sources(self) -> Sequence[Sequence[int]]:
        """Of each node, those whose results it reads."""
        return [
            [self.made_by[name] for name in dict.fromkeys(layer.node.inputs) if name in self.made_by]
            for layer in self.layers
        ]

    @cached_property
    def readers(self) -> Mapping[str, Sequence[int]]:
        """Of each tensor that is not constant."""
        found: dict[str, list[int]] = {name: [] for name in self.graph.entries}
        for i, layer in enumerate(self.layers):
            for name in dict.fromkeys(layer.node.inputs):
                if self.graph.data(name) is None:
                    found.setdefault(name, []).append(i)
            for name in layer.node.outputs:
                found.setdefault(name, [])
        return found

    @cached_property
    def following(self) -> Mapping[str, str]:
        """By the next contents of states, these."""
        return {state.output: state.input for state in self.graph.states}

    @cached_property
    def work(self) -> Sequence[tuple[float, float]]:
        """Of each node, microseconds on the CPU and on the GPU."""
        return [self._work(layer) for layer in self.layers]

    def _work(self, layer: LoweredLayer) -> tuple[float, float]:
        calls = [step for step in layer.steps if isinstance(step, Call)]
        touched = sum(arg.type.bytes for call in calls for arg in call.args)
        macs = sum(call.macs for call in calls)
        pair = self.pair
        cpu = macs / pair.cpu_macs + touched / pair.cpu_bytes
        return cpu, macs / pair.gpu_macs + touched / pair.gpu_bytes + pair.launch * len(calls)

    def levels(self, on_cpu: Collection[int]) -> list[int]:
        """Of each node, how often a run changes between GPU and CPU before it: odd ones are on the CPU, and
        those of one level are a segment."""
        found: list[int] = []
        for i, sources in enumerate(self.sources):
            mine = i in on_cpu
            found.append(max([int(mine), *(found[s] + ((s in on_cpu) != mine) for s in sources)]))
        return found

    def cost(self, on_cpu: Collection[int]) -> float:
        """Microseconds of a run."""
        total = sum(times[i not in on_cpu] for i, times in enumerate(self.work))
        if len(on_cpu) == len(self.layers):
            return total
        levels = self.levels(on_cpu)
        segments = {levels[i] for i in on_cpu}
        kept = self.kept(on_cpu, levels)
        copied = sum(
            self._copies(name, on_cpu, levels, kept) * self.graph.type(name).bytes for name in self.readers
        )
        return total + self.pair.round_trip * (1 + len(segments)) + copied / self.pair.copied_bytes

    def kept(self, on_cpu: Collection[int], levels: Sequence[int]) -> frozenset[str]:
        """States that one segment alone reads and changes."""
        found = set()
        for state in self.graph.states:
            maker = self.made_by.get(state.output, -1)
            if maker in on_cpu and all(levels[i] == levels[maker] for i in self.readers[state.input]):
                found.add(state.input)
        return frozenset(found)

    def _copies(
        self, name: str, on_cpu: Collection[int], levels: Sequence[int], kept: Collection[str]
    ) -> int:
        """How often a tensor goes from the CPU to the device, or back."""
        readers, maker = self.readers[name], self.made_by.get(name)
        if name in self.graph.inputs or maker in on_cpu:
            is_sent = self.following.get(name, "") not in ("", *kept)
            return any(i not in on_cpu for i in readers) or is_sent
        if name in kept:
            return 0
        return len({levels[i] for i in readers if i in on_cpu}) + (name in self.graph.outputs)

    def candidates(self, on_cpu: frozenset[int]) -> Iterator[frozenset[int]]:
        """Nodes that might be on the CPU together: those between two of its segments, those of a level, and
        neighbours of what is there."""
        levels = self.levels(on_cpu)
        yield self._behind(on_cpu) & self._before(on_cpu) - on_cpu
        for level in range(0, max(levels) + 1, 2):
            yield frozenset(i for i, found in enumerate(levels) if found == level)
        for i in sorted(on_cpu):
            yield from (frozenset((s,)) for s in self.sources[i] if s not in on_cpu)
            for name in self.layers[i].node.outputs:
                yield from (frozenset((r,)) for r in self.readers[name] if r not in on_cpu)

    def _behind(self, nodes: Collection[int]) -> frozenset[int]:
        """What depends on these nodes."""
        found = set(nodes)
        for i, sources in enumerate(self.sources):
            if not found.isdisjoint(sources):
                found.add(i)
        return frozenset(found)

    def _before(self, nodes: Collection[int]) -> frozenset[int]:
        """What these nodes depend on."""
        found = set(nodes)
        for i in reversed(range(len(self.layers))):
            if i in found:
                found.update(self.sources[i])
        return frozenset(found)

    def order(self, on_cpu: Collection[int]) -> tuple[int | tuple[int, ...], ...]:
        levels = self.levels(on_cpu)
        found: list[int | tuple[int, ...]] = []
        for level in range(max(levels) + 1):
            inside = tuple(i for i, own in enumerate(levels) if own == level)
            found += [inside] * bool(inside) if level % 2 else inside
        return tuple(found)


def costly(placement: Placement) -> EdgeKitError:
    """Why a network is refused whose segments do not pay."""
    with_copies, without = placement.microseconds, placement.cpu_microseconds
    return EdgeKitError(
        "E0203",
        f"the CPU computes all of it faster than some beside a GPU: about {without:,.0f} µs a run, against "
        f"{with_copies:,.0f} with copies",
        hint=FOR_PROCESSORS,
    )


def with_segments(
    graph: Graph, layers: Sequence[LoweredLayer], placement: Placement, kept: Collection[str] = ()
) -> tuple[tuple[LoweredLayer, ...], list[Graph]]:
    """The layers with one in the place of each CPU segment, and the segments as graphs. States that are
    `kept` on the CPU are those of their segments."""
    found: list[LoweredLayer] = []
    parts: list[Graph] = []
    for each in placement.order:
        if isinstance(each, int):
            found.append(layers[each])
            continue
        name = f"{graph.name}_cpu{len(parts) + 1}"
        part = _segment_graph(graph, [layers[i].node for i in each], name, kept)
        found.append(_segment_layer(part, len(parts)))
        parts.append(part)
    return tuple(found), parts


def _segment_graph(graph: Graph, nodes: Sequence[Node], name: str, kept: Collection[str]) -> Graph:
    """The nodes of a segment as a graph: what it reads and what others read of it are its inputs and
    outputs. Of states that are kept on the CPU, it has its own."""
    made = {name for node in nodes for name in node.outputs}
    read = dict.fromkeys(name for node in nodes for name in node.inputs)
    states = tuple(s for s in graph.states if s.input in kept and s.output in made)
    own = {s.input for s in states}
    inputs = tuple(name for name in read if name not in made and name not in own and graph.data(name) is None)
    elsewhere = {*graph.outputs, *(s.output for s in graph.states if s not in states)}
    ids = {id(node) for node in nodes}
    outputs = tuple(
        name
        for node in nodes
        for name in node.outputs
        if name in elsewhere or any(id(user) not in ids for user in graph.users(name))
    )
    outputs = outputs or tuple(s.output for s in states[:1])  # a call has a result
    values = {name: graph.values[name] for name in (*read, *made, *own)}
    return Graph(name, inputs, outputs, tuple(nodes), values, graph.source, states)


def _segment_layer(segment: Graph, number: int) -> LoweredLayer:
    """A layer that stands for all of a segment: one call, of what it reads and writes."""
    first = segment.nodes[0]
    names = (*segment.inputs, *segment.outputs)
    call = Call(
        kernel=CPU,
        types={},
        args=tuple(Arg(name, segment.values[name]) for name in names),
        params={"segment": number},
        results=len(segment.outputs),
    )
    return LoweredLayer(Node(first.op, segment.inputs, segment.outputs, first.origin), (call,))

"""Where each tensor lives: views and joins share memory, results take over what dies, the rest is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from edgekit.codegen.arena import Buffer, Plan, plan
from edgekit.codegen.lower import Layer, operands
from edgekit.ir import Graph, Node, Value
from edgekit.ops import Arg, Call, Join, View
from edgekit.ops._copy import copy

Kind = Literal["input", "output", "constant", "arena"]


@dataclass(frozen=True)
class Place:
    """An address: so many bytes behind the start of an input, output, constant or the arena."""

    kind: Kind
    name: str  # of the input, output or constant; of the buffer in the arena
    offset: int


@dataclass(frozen=True)
class Scheduled:
    """A call at its place in the program."""

    call: Call
    node: Node
    scratch: str = ""  # name of its working memory


@dataclass(frozen=True)
class Memory:
    """The calls in order, where joins that cost anything are copies by now, and where operands are."""

    calls: tuple[Scheduled, ...]
    places: Mapping[str, Place]
    arena: Plan


class _Sharing:
    """Which tensors are part of which: union-find with byte offsets."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.parent: dict[str, tuple[str, int]] = {}
        self.size: dict[str, int] = {}
        self.kind: dict[str, Kind] = dict.fromkeys(graph.inputs, "input")
        self.kind |= {name: "constant" for name, _ in graph.constants()}  # lowering may add more
        self.output_of: dict[str, str] = {}  # root -> the graph output whose memory it is

    def root(self, name: str) -> tuple[str, int]:
        offset = 0
        while name in self.parent:
            name, more = self.parent[name]
            offset += more
        return name, offset

    def is_free(self, root: str) -> bool:
        """May this root still be placed anywhere?"""
        return root not in self.kind and root not in self.output_of


def assign(graph: Graph, layers: Sequence[Layer], align: int) -> Memory:
    """Decide the memory of every tensor."""
    sharing = _Sharing(graph)
    for layer in layers:
        for step in layer.steps:
            for arg in (*operands(step)[0], *operands(step)[1]):
                sharing.size[arg.name] = arg.type.bytes
                if arg.value.data is not None:
                    sharing.kind[arg.name] = "constant"
            if isinstance(step, View):
                sharing.parent[step.result.name] = (step.arg.name, step.offset)
    copies = _claim_outputs(graph, sharing)
    calls: list[Scheduled] = []
    for layer in layers:
        for step in layer.steps:
            if isinstance(step, Call):
                scratch = f"{step.args[-1].name}#scratch" if step.scratch else ""
                calls.append(Scheduled(step, layer.node, scratch))
            elif isinstance(step, Join):
                calls += [Scheduled(call, layer.node) for call in _join(step, sharing)]
    calls += copies
    _take_over(calls, sharing)
    return _place(graph, calls, sharing, align)


def _claim_outputs(graph: Graph, sharing: _Sharing) -> list[Scheduled]:
    """Compute each graph output in the caller's memory; copy at the end what is somebody else's."""
    copies: list[Scheduled] = []
    for name in graph.outputs:
        root, offset = sharing.root(name)
        type = graph.type(name)
        if sharing.is_free(root) and offset == 0 and sharing.size.get(root) == type.bytes:
            sharing.output_of[root] = name
            continue
        target = Arg(f"{name}#out", Value(type))
        sharing.output_of[target.name] = name
        sharing.size[target.name] = type.bytes
        producer = graph.producer(name)
        origin = producer if producer is not None else graph.nodes[-1] if graph.nodes else None
        flat = copy(Arg(name, graph.values[name]), target, (type.size,), (1,), (1,))
        copies += [Scheduled(replace(call, inplace=()), origin) for call in flat]  # type: ignore[arg-type]  # nodes exist
    return copies


def _join(join: Join, sharing: _Sharing) -> list[Call]:
    """Let the parts be computed where the whole is; copy those that live elsewhere for other reasons."""
    copies: list[Call] = []
    whole, base = sharing.root(join.result.name)
    offset = 0
    for part in join.args:
        root, inner = sharing.root(part.name)
        if sharing.is_free(root) and root != whole and inner == 0 and sharing.size[root] == part.type.bytes:
            sharing.parent[root] = (whole, base + offset)
        else:
            start = offset // part.type.dtype.bytes
            copies += copy(part, join.result, (part.type.size,), (1,), (1,), y_start=start)
        offset += part.type.bytes
    return copies


def _take_over(calls: Sequence[Scheduled], sharing: _Sharing) -> None:
    """Let results take over the memory of operands that die in the same call."""
    _, last = _lifetimes(calls, sharing)
    writes = [name for s in calls for name in {sharing.root(r.name)[0] for r in operands(s.call)[1]}]
    for step, scheduled in enumerate(calls):
        call = scheduled.call
        reads, (result, *_) = operands(call)
        own, at = sharing.root(result.name)
        # What several calls write, or is part of a whole, must not destroy what they still read.
        if at or not sharing.is_free(own) or writes.count(own) != 1 or own != result.name:
            continue
        for i in call.inplace:
            root, offset = sharing.root(call.args[i].name)
            dies = sharing.is_free(root) and last[root] == step
            alone = all(sharing.root(r.name)[0] != root for k, r in enumerate(reads) if k not in call.inplace)
            same = all(
                sharing.root(call.args[k].name) == (root, offset)
                for k in call.inplace
                if sharing.root(call.args[k].name)[0] == root
            )
            if dies and alone and same and root != own and sharing.size[own] <= call.args[i].type.bytes:
                sharing.parent[own] = (root, offset)
                last[root] = max(last[root], last[own])
                break


def _lifetimes(calls: Sequence[Scheduled], sharing: _Sharing) -> tuple[dict[str, int], dict[str, int]]:
    """First and last call that touches each root."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for step, scheduled in enumerate(calls):
        for arg in scheduled.call.args:
            root, _ = sharing.root(arg.name)
            first.setdefault(root, step)
            last[root] = step
        if scheduled.scratch:
            first[scheduled.scratch] = last[scheduled.scratch] = step
    return first, last


def _place(graph: Graph, calls: Sequence[Scheduled], sharing: _Sharing, align: int) -> Memory:
    first, last = _lifetimes(calls, sharing)
    for s in calls:
        if s.scratch:
            sharing.size[s.scratch] = s.call.scratch
    buffers = [
        Buffer(root, max(sharing.size[root], 1), first[root], last[root], align)
        for root in first
        if sharing.is_free(root)
    ]
    arena = plan(buffers)
    places: dict[str, Place] = {}
    names = {arg.name for s in calls for arg in s.call.args} | {s.scratch for s in calls if s.scratch}
    for name in sorted(names):
        root, offset = sharing.root(name)
        if root in sharing.output_of:
            places[name] = Place("output", sharing.output_of[root], offset)
        elif root in sharing.kind:
            places[name] = Place(sharing.kind[root], root, offset)
        else:
            places[name] = Place("arena", root, arena.offsets[root] + offset)
    return Memory(tuple(calls), places, arena)

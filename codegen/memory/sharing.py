"""Which tensors are part of which: views of others, parts of what is joined, and what the caller owns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgekit.codegen.lowering.branches import Guard, Loop
from edgekit.codegen.lowering.row_loops import LoopedLayer
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Join, Step, View

Kind = Literal["input", "output", "state", "constant", "arena"]
# Whose the memory of inputs and outputs is: the caller's, or part of the arena. With "rows" the arena has the
# outputs, and of the input as many rows as layers still read.
Ports = Literal["caller", "arena", "rows"]


def on_whole_tensors(ports: Ports) -> Ports:
    """The same, for plans without loops over rows."""
    return "arena" if ports == "rows" else ports


@dataclass(frozen=True)
class LoweredLayer:
    """The calls of one node of the graph. They run where all guards hold, and again in loops; the outermost
    comes first."""

    node: Node
    steps: tuple[Step, ...]
    guards: tuple[Guard | Loop, ...] = ()
    asked: Call | None = None  # what its only call was before a kernel was selected
    rows: LoopedLayer | None = None  # where it is computed block by block, in a loop with other layers


def operands(step: Step) -> tuple[tuple[Arg, ...], tuple[Arg, ...]]:
    """What a step reads, and what it writes."""
    if isinstance(step, View):
        return (step.arg,), (step.result,)
    if isinstance(step, Join):
        return step.args, (step.result,)
    return step.args[: -step.results], step.args[-step.results :]


class Sharing:
    """Union-find with byte offsets: the root of a tensor is the one whose memory it lies in."""

    def __init__(self, graph: Graph, layers: Sequence[LoweredLayer], ports: Ports = "caller") -> None:
        self.graph = graph
        self.ports = ports
        self.parent: dict[str, tuple[str, int]] = {}
        self.size: dict[str, int] = {}
        self.kind: dict[str, Kind] = dict.fromkeys(graph.inputs if ports == "caller" else (), "input")
        self.kind |= {state.input: "state" for state in graph.states}
        self.kind |= {name: "constant" for name, _ in graph.constants()}  # lowering may add more
        self.output_of: dict[str, str] = {}  # root -> the graph output whose memory it is
        self.copy_of: dict[str, str] = {}  # graph output -> what it is copied to, in the arena
        for name in (*graph.inputs, *graph.outputs):
            self.size[name] = graph.type(name).bytes
        self.guards: dict[str, frozenset[Guard | Loop]] = {}
        steps = [(step, frozenset(layer.guards)) for layer in layers for step in layer.steps]
        for step, guards in steps:
            for arg in operands(step)[1]:
                self.guards[arg.name] = guards & self.guards.get(arg.name, guards)
            for arg in (*operands(step)[0], *operands(step)[1]):
                self.size[arg.name] = arg.type.bytes
                if arg.value.data is not None:
                    self.kind[arg.name] = "constant"
            if isinstance(step, View):
                self.parent[step.result.name] = (step.arg.name, step.offset)
        if ports == "caller":
            self._claim_outputs()
        members: dict[str, list[str]] = {}  # the tensors in the memory of each root
        for name in self.guards:
            members.setdefault(self.root(name)[0], []).append(name)
        for step, guards in steps:
            if isinstance(step, Join):
                self._join(step, guards, members)

    def root(self, name: str) -> tuple[str, int]:
        path: list[tuple[str, int]] = []
        offset = 0
        while name in self.parent:
            path.append((name, offset))
            name, more = self.parent[name]
            offset += more
        for below, before in path[:-1]:  # the next search goes there at once
            self.parent[below] = (name, offset - before)
        return name, offset

    def is_free(self, root: str) -> bool:
        """May this root still be placed anywhere?"""
        return root not in self.kind and root not in self.output_of

    @property
    def held(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tensors in the arena that hold something when a run begins, and when it ends."""
        if self.ports == "caller":
            return (), ()
        return self.graph.inputs, tuple(map(self.holder, self.graph.outputs))

    def lasting(self) -> set[str]:
        """The roots of these."""
        begin, end = self.held
        return {root for root, _ in map(self.root, (*begin, *end)) if self.is_free(root)}

    def holder(self, output: str) -> str:
        """The tensor that a graph output is read from: itself, or a copy."""
        return self.copy_of.get(output, output)

    def is_output(self, name: str) -> bool:
        """Is this graph output computed in the caller's memory? If not, it is copied there at the end."""
        return self.output_of.get(self.root(name)[0]) == name

    def _claim_outputs(self) -> None:
        for name in self.graph.outputs:
            root, offset = self.root(name)
            if self.is_free(root) and offset == 0 and self.size.get(root) == self.graph.type(name).bytes:
                self.output_of[root] = name

    def _join(self, join: Join, guards: frozenset[Guard | Loop], members: dict[str, list[str]]) -> None:
        """Let the parts be computed where the whole is, but those that live elsewhere for other reasons. The
        other side of a branch may write there, too: parts of a guarded whole must be guarded like it."""
        whole, offset = self.root(join.result.name)
        for part in join.args:
            root, inner = self.root(part.name)
            alone = self.is_free(root) and root != whole and inner == 0
            inside = members.get(root, [])
            guarded = not guards or all(
                guards <= self.guards.get(name, frozenset()) for name in (root, *inside)
            )
            if alone and guarded and self.size[root] == part.type.bytes:
                self.parent[root] = (whole, offset)
                members.setdefault(whole, []).extend(inside)
            offset += part.type.bytes

    def could_take_over(self, call: Call, state: str = "") -> list[int]:
        """Indices of args whose memory the first result may take over when they die in this call; that of a
        state may be among them."""
        reads, (result, *_) = operands(call)
        own, _ = self.root(result.name)
        # What is part of a whole must not destroy what others read of it.
        if own != result.name or not self.is_free(own):
            return []
        found = []
        for i in call.inplace:
            root, offset = self.root(call.args[i].name)
            alone = all(self.root(r.name)[0] != root for k, r in enumerate(reads) if k not in call.inplace)
            same = all(
                self.root(call.args[k].name) == (root, offset)
                for k in call.inplace
                if self.root(call.args[k].name)[0] == root
            )
            fits = self.size[own] <= call.args[i].type.bytes
            if (self.is_free(root) or root == state) and alone and same and root != own and fits:
                found.append(i)
        return found

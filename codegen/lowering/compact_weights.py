"""Weights that take less flash and more time, where the target's flash or the user asks for that.

Some kernels read weights in a form that takes more room: int8 in 16 bits, points of Winograd's algorithm. The
flash of a target bounds that, and a multiple of what weights take at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from edgekit.codegen.kernels.pack import pack
from edgekit.codegen.kernels.sources import instantiate, variant_of
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.target import Target

# Without a limit from target or user: on microcontrollers so many times the weights, and no byte that serves
# fewer multiplications, which save about one instruction; elsewhere so many times, or so many bytes, whatever
# is more.
_ON_MICROCONTROLLERS, _LEAST_USE = 1.25, 16
_GROWTH = 2.0
_UNBOUNDED = 1 << 20


@dataclass(frozen=True)
class _Choice:
    """A layer that could have smaller weights: the first of its results, bytes that it saves, and what that
    costs, in multiplications that take longer."""

    result: str
    bytes: int
    macs: int

    @property
    def use(self) -> float:
        """Of a byte, in multiplications."""
        return self.macs / self.bytes


def fit(
    graph: Graph,
    target: Target,
    ports: Ports = "caller",
    *,
    optimize: Literal["size", "speed"] = "speed",
    others: int = 0,
    before: Program | None = None,
    by_pointer: bool = False,
) -> Program:
    """The program for a target: with the fastest kernels as long as its flash has room for their weights
    and `others` bytes of code and parameters, and as long as weights take no more than the target's multiple
    of what they take at least; with small weights if it is optimized for size. In between, those layers
    become small that lose the least time for each byte. `before` is what fitted with less beside it.
    Constants are linked, or given to each run `by_pointer`."""
    if optimize == "size":
        every = frozenset(choice.result for choice in _choices(graph, target))
        return (
            before
            if before and before.compact == every
            else compile_graph(graph, target, ports, every, by_pointer=by_pointer)
        )
    program = (
        before
        if before and not before.compact
        else compile_graph(graph, target, ports, by_pointer=by_pointer)
    )
    need = program.weight_bytes + others - target.memory.get("flash", 1 << 62)
    is_frugal = bool(target.board) and not target.weight_growth
    growth, least_use = (_ON_MICROCONTROLLERS, _LEAST_USE) if is_frugal else (target.weight_growth, 0)
    is_bounded = growth or ("flash" not in target.memory and program.weight_bytes > _UNBOUNDED)
    if need <= 0 and not is_bounded:
        return program
    choices = list(_choices(graph, target))
    if is_bounded:
        need = max(need, program.weight_bytes - _bound(program, choices, growth))
    chosen: list[_Choice] = []
    for choice in sorted(choices, key=lambda choice: choice.use):
        if need > 0 or choice.use < least_use:
            chosen.append(choice)
            need -= choice.bytes
    for choice in reversed(chosen):  # the last ones may have made room for earlier ones
        if need + choice.bytes <= 0 and choice.use >= least_use:
            chosen.remove(choice)
            need += choice.bytes
    compact = frozenset(choice.result for choice in chosen)
    if before and before.compact == compact:
        return before
    return compile_graph(graph, target, ports, compact, by_pointer=by_pointer) if compact else program


def _bound(program: Program, choices: Iterable[_Choice], growth: float) -> int:
    """The bytes that weights may take."""
    least = program.weight_bytes - sum(choice.bytes for choice in choices)
    return int(growth * least) if growth else max(int(_GROWTH * least), _UNBOUNDED)


def _choices(graph: Graph, target: Target) -> Iterator[_Choice]:
    for layer in lower(graph, target):
        for call in layer.steps:
            if not isinstance(call, Call):
                continue
            compact = replace(call, facts={**call.facts, "compact": 1}, file="")
            if variant_of(compact, target) is variant_of(call, target):
                continue
            saved = _constant_bytes(call, target) - _constant_bytes(compact, target)
            if saved > 0:
                yield _Choice(layer.node.outputs[0], saved, call.macs)


def _constant_bytes(call: Call, target: Target) -> int:
    """Of the operands, in the layout of their kernel."""
    kernel = instantiate(call, target)
    total = 0
    for arg, pointer in zip(call.args, kernel.pointers, strict=False):  # behind them, there is working memory
        if (data := arg.value.data) is not None and (tag := kernel.pack.get(pointer.name)):
            total += pack(tag, data, call.groups).nbytes
    return total

"""When each byte of the arena is in use: from the order of the calls to the buffers that are to be placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

from edgekit.codegen.lowering.branches import Guard, Loop
from edgekit.codegen.lowering.row_loops import LoopedLayer, RowLoop
from edgekit.codegen.memory.arena import ArenaBuffer, InplaceShift
from edgekit.codegen.memory.sharing import Sharing, operands
from edgekit.core.ir import Node
from edgekit.core.ops import Call


@dataclass(frozen=True)
class Scheduled:
    """A call at its place in the program."""

    call: Call
    node: Node
    scratch: str = ""  # name of its working memory
    guards: tuple[Guard | Loop, ...] = ()  # branches and loops that it is within, the outermost first
    rows: LoopedLayer | None = None  # where it computes block by block of rows, in a loop with others

    @property
    def whole(self) -> Call:
        """The call on whole tensors, also where it computes block by block."""
        return self.rows.whole if self.rows else self.call


def lifetimes(calls: Sequence[Scheduled], sharing: Sharing) -> tuple[dict[str, int], dict[str, int]]:
    """First and last call that touches each root; -1 and one past the last are the caller's turns."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for name, (start, end) in touched(calls, sharing).items():
        root, _ = sharing.root(name)
        first[root] = min(start, first.get(root, start))
        last[root] = max(end, last.get(root, end))
    return first, last


def touched(calls: Sequence[Scheduled], sharing: Sharing) -> dict[str, tuple[int, int]]:
    """The same of each tensor, in the order in which they come into being."""
    found: dict[str, tuple[int, int]] = {}

    def touch(name: str, step: int) -> None:
        found[name] = (found.get(name, (step,))[0], step)

    begin, end = sharing.held
    for name in begin:
        touch(name, -1)
    for step, scheduled in enumerate(calls):
        for guard in scheduled.guards:
            touch(guard.condition, step)
        for arg in scheduled.call.args:
            touch(arg.name, step)
        if scheduled.scratch:
            touch(scheduled.scratch, step)
    for name in end:
        touch(name, len(calls))
    for loop in dict.fromkeys(g for s in calls for g in s.guards if isinstance(g, Loop)):
        inside = [step for step, scheduled in enumerate(calls) if loop in scheduled.guards]
        _live_through(_outer(calls, inside, sharing), inside, found)
    for rows, inside in row_loops(calls).items():
        used = {arg.name for i in inside for arg in calls[i].call.args}
        _live_through(used - rows.transient, inside, found)
    return found


def _live_through(names: Iterable[str], inside: Sequence[int], found: dict[str, tuple[int, int]]) -> None:
    """These are there from iteration to iteration of a loop of these calls."""
    for name in names:
        start, end = found[name]
        found[name] = min(start, inside[0]), max(end, inside[-1])


def row_loops(calls: Sequence[Scheduled]) -> dict[RowLoop, list[int]]:
    """The loops over rows, with the calls inside."""
    found: dict[RowLoop, list[int]] = {}
    for step, scheduled in enumerate(calls):
        if scheduled.rows:
            found.setdefault(scheduled.rows.loop, []).append(step)
    return found


def _outer(calls: Sequence[Scheduled], inside: Sequence[int], sharing: Sharing) -> set[str]:
    """What a loop of these calls uses that is there from iteration to iteration."""

    def roots(steps: Iterable[int]) -> set[str]:
        return {sharing.root(result.name)[0] for i in steps for result in operands(calls[i].call)[1]}

    own = roots(inside) - roots(set(range(len(calls))).difference(inside)) - sharing.kind.keys()
    own -= {sharing.root(name)[0] for name in sharing.graph.entries}
    used = {arg.name for i in inside for arg in calls[i].call.args}
    used |= {guard.condition for i in inside for guard in calls[i].guards}
    return {name for name in used if sharing.root(name)[0] not in own}


@dataclass(frozen=True)
class _Part:
    """A range of bytes of a root, and the first and last call at which it is in use."""

    start: int
    end: int
    first: int
    last: int


def buffers_of(calls: Sequence[Scheduled], sharing: Sharing, align: int) -> list[ArenaBuffer]:
    """What is to be placed. A byte is in use from the first to the last touch of the tensors that it is part
    of, and so are those before it."""
    tensors: dict[str, list[_Part]] = {}
    rings = _newest_rows(calls)
    for name, (first, last) in touched(calls, sharing).items():
        root, offset = sharing.root(name)
        if not sharing.is_free(root):
            continue
        whole = _Part(offset, offset + sharing.size[name], first, last)
        if name in rings:
            kept, start, end = rings[name]
            tensors.setdefault(root, []).append(replace(whole, end=offset + kept))
            whole = replace(whole, first=start, last=end)
        tensors.setdefault(root, []).append(whole)
    return [_buffer(root, parts, align) for root, parts in tensors.items()]


def _newest_rows(calls: Sequence[Scheduled]) -> dict[str, tuple[int, int, int]]:
    """Of rings whose rows move as soon as all have read them: how many bytes stay, and the first and last
    call at which there are more."""
    found: dict[str, tuple[int, int, int]] = {}
    for loop, inside in row_loops(calls).items():
        step = dict(zip(loop.results, inside, strict=True))
        for move in loop.moves:
            # Rows of an input arrive between iterations.
            found[move.ring] = move.kept, step.get(move.ring, inside[0]), step[move.reader]
    return found


def _buffer(name: str, tensors: Sequence[_Part], align: int) -> ArenaBuffer:
    first, last = min(part.first for part in tensors), max(part.last for part in tensors)
    parts = list(_pieces(tensors))
    steps = sorted({first, *(part.first for part in parts), *(part.last + 1 for part in parts)} - {last + 1})
    used = _used(parts, steps)
    changes = [i for i, size in enumerate(used) if size != (used[i - 1] if i else max(used))]
    return ArenaBuffer(
        name, max(used), first + 1, last + 1, align, tuple((steps[i] + 1, used[i]) for i in changes)
    )


def _pieces(tensors: Sequence[_Part]) -> Iterator[_Part]:
    """Ranges of bytes that are parts of the same tensors, and when any of these is in use."""
    order = sorted(range(len(tensors)), key=lambda i: tensors[i].start)
    firsts: list[tuple[int, int]] = []  # of the tensors that the range is part of, and where they end
    lasts: list[tuple[int, int]] = []
    coming = 0
    for start, end in pairwise(sorted({bound for part in tensors for bound in (part.start, part.end)})):
        while coming < len(order) and tensors[order[coming]].start <= start:
            part = tensors[order[coming]]
            heappush(firsts, (part.first, part.end))
            heappush(lasts, (-part.last, part.end))
            coming += 1
        for heap in (firsts, lasts):
            while heap and heap[0][1] <= start:
                heappop(heap)
        if firsts:
            yield _Part(start, end, firsts[0][0], -lasts[0][0])


def _used(parts: Sequence[_Part], steps: Sequence[int]) -> list[int]:
    """The end of what is in use at each step; 1 where nothing is."""
    order = sorted(parts, key=lambda part: part.first)
    live: list[tuple[int, int]] = []  # ends, the last one first, and last steps
    coming = 0
    used = []
    for step in steps:
        while coming < len(order) and order[coming].first <= step:
            heappush(live, (-order[coming].end, order[coming].last))
            coming += 1
        while live and live[0][1] < step:
            heappop(live)
        used.append(-live[0][0] if live else 1)
    return used


def shifts_of(calls: Sequence[Scheduled], sharing: Sharing) -> list[InplaceShift]:
    """Which results may lie over inputs that die in the same call: its kernel says how far."""
    first, last = lifetimes(calls, sharing)
    rings = _newest_rows(calls)
    found = []
    for step, scheduled in enumerate(calls):
        call = scheduled.call
        if call.overlap is None:
            continue
        reads = [sharing.root(arg.name) for arg in operands(call)[0]]
        (source, start), (own, at) = reads[0], sharing.root(call.args[-1].name)
        dies = sharing.is_free(source) and last[source] == step and first[source] < step
        is_block = call.args[-1].name in rings  # of a ring, whose other rows are there before
        made = sharing.is_free(own) and (first[own] == step or is_block)
        if dies and made and [root for root, _ in reads].count(source) == 1:
            found.append(InplaceShift(own, source, max(0, call.overlap + at - start), is_loop=is_block))
    for loop, inside in row_loops(calls).items():
        start, end = inside[0], inside[-1]
        for result, name, distance in loop.overlaps:
            (own, at), (source, before) = sharing.root(result), sharing.root(name)
            made = sharing.is_free(own) and first[own] == start < last[own]
            dies = sharing.is_free(source) and last[source] == end and first[source] < start
            if made and dies and own != source:
                found.append(InplaceShift(own, source, max(0, distance + at - before), is_loop=True))
    return found

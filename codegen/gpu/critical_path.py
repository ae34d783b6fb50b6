"""How many loads wait for one another in a kernel: the chain of its longest item, read off its statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import Assign, Define, Expr, GpuKernel, GpuLoop, Statement, Store, When

_MEMORY = ("load", "half", "half4")
_SHARED = ("element", "uniform")
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "/": lambda a, b: int(a / b) if b else 0,  # towards zero
    "%": lambda a, b: a - b * int(a / b) if b else 0,
    "<<": int.__lshift__,
    ">>": int.__rshift__,
    "&": int.__and__,
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class Chain:
    """What an item does one after the other."""

    loads: int = 0  # of buffers
    shared: int = 0  # of memory of the work-group, where no load of a buffer is beside them to wait for

    def __add__(self, other: Chain) -> Chain:
        return Chain(self.loads + other.loads, self.shared + other.shared)

    def times(self, n: int) -> Chain:
        return Chain(n * self.loads, n * self.shared)


def critical_path(kernel: GpuKernel, values: Mapping[str, float]) -> Chain:
    """Of the longest item of a kernel with these constants. Where a condition decides, the longer way; a loop
    whose length only a run knows counts once."""
    known: dict[str, int | None] = dict.fromkeys(("item", "within", "group_number"), 0)
    known |= {name: int(value) for name, value in values.items() if value == value and abs(value) < 2**53}
    return _block(kernel.body, known)


def _block(body: Sequence[Statement], known: dict[str, int | None]) -> Chain:
    here = [pair for s in body for e in _expressions(s) for pair in _memory(e)]
    loads = len({text for op, text in here if op in _MEMORY})  # equal ones are loaded once
    total = Chain(loads, 0 if loads else len({text for op, text in here if op in _SHARED}))
    for s in body:
        match s:
            case Define():
                known[s.name] = None if s.changes else _integer(s.value, known)
            case GpuLoop():
                start, stop = _integer(s.start, known), _integer(s.stop, known)
                known[s.name] = start
                inside = _block(s.body, known)
                count = 1 if start is None or stop is None else max(0, -(-(stop - start) // s.step))
                total += inside.times(count)
            case When():
                total += max(
                    (_block(part, known) for part in (s.body, s.otherwise)), key=lambda c: (c.loads, c.shared)
                )
    return total


def _expressions(s: Statement) -> Sequence[Expr]:
    match s:
        case Define() | Assign():
            return (s.value,)
        case Store():
            return (s.index, s.value)
        case GpuLoop():
            return (s.start, s.stop)
        case When():
            return (s.condition,)
    return ()


def _memory(e: Expr) -> Iterator[tuple[str, str]]:
    """The operations of an expression that read memory, and what tells equal ones."""
    if e.op in (*_MEMORY, *_SHARED):
        yield e.op, _text(e)
    for arg in e.args if e.op not in ("half", "half4") else e.args[-1:]:
        yield from _memory(arg)


def _text(e: Expr) -> str:
    return f"{e.op} {e.text}({', '.join(map(_text, e.args))})"


def _integer(e: Expr, known: Mapping[str, int | None]) -> int | None:
    """The value of an integer, where it is known."""
    match e.op:
        case "literal":
            return int(e.text) if e.kind.scalar in ("i32", "u32") else None
        case "name":
            return known.get(e.text)
        case "convert" | "bits":
            return _integer(e.args[0], known)
    args = [_integer(arg, known) for arg in e.args]
    if e.op == "min":  # at most what is known of it
        return min((a for a in args if a is not None), default=None)
    if e.op not in _ARITHMETIC or len(args) != 2 or args[0] is None or args[1] is None:
        return None
    return _ARITHMETIC[e.op](args[0], args[1])

"""Writes kernels statement by statement: loops and conditions are with-blocks of Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from edgekit.codegen.gpu.ast import (
    I32,
    Assign,
    Barrier,
    Define,
    Expr,
    GpuBuffer,
    GpuKernel,
    GpuLoop,
    Kind,
    Shared,
    Statement,
    Store,
    When,
    number,
)

GROUP = 64  # items of a work-group, where a kernel does not say otherwise
# Words that some language keeps for itself, of those that one might think of.
RESERVED = frozenset(
    (
        *("active", "filter", "final", "from", "get", "global", "half", "image", "input", "kernel", "local"),
        *("match", "mod", "new", "of", "output", "pass", "patch", "precise", "ref", "sample", "self", "set"),
        *("shared", "signed", "sizeof", "step", "target", "this", "union", "unsigned", "using", "vector"),
    )
)


class KernelBuilder:
    """A kernel that is being written."""

    def __init__(self, name: str, group: int = GROUP, is_exact: bool = False) -> None:
        self.name = name
        self.group = group
        self.is_exact = is_exact
        self._buffers: list[GpuBuffer] = []
        self._constants: dict[str, Expr] = {}
        self._shared: list[Shared] = []
        self._blocks: list[list[Statement]] = [[]]
        self._taken: dict[str, int] = {}

    def done(self) -> GpuKernel:
        (body,) = self._blocks
        constants = tuple(self._constants.values())
        shared = tuple(self._shared)
        return GpuKernel(
            self.name, tuple(self._buffers), constants, shared, self.group, tuple(body), self.is_exact
        )

    def buffer(self, name: str, kind: Kind, *, writes: bool = False) -> GpuBuffer:
        self._buffers.append(GpuBuffer(name, kind, writes))
        return self._buffers[-1]

    def constant(self, name: str, kind: Kind = I32) -> Expr:
        """A number that each use of the kernel brings."""
        assert name in self._constants or name not in self._taken, f"{name} is a variable already"
        return self._constants.setdefault(name, Expr(kind, "name", text=name))

    def constants(self, words: str) -> tuple[Expr, ...]:
        """Several integers."""
        return tuple(map(self.constant, words.split()))

    def shared(self, name: str, kind: Kind, size: int) -> Shared:
        self._shared.append(Shared(name, kind, size))
        return self._shared[-1]

    @property
    def item(self) -> Expr:
        """The number of this item among all."""
        return Expr(I32, "name", text="item")

    @property
    def within(self) -> Expr:
        """The number of this item within its work-group."""
        return Expr(I32, "name", text="within")

    @property
    def group_number(self) -> Expr:
        return Expr(I32, "name", text="group_number")

    def let(self, name: str, value: Expr) -> Expr:
        """A name for a value."""
        return self._define(name, value, changes=False)

    def var(self, name: str, value: Expr) -> Expr:
        """A variable that may be set anew."""
        return self._define(name, value, changes=True)

    def set(self, variable: Expr, value: Expr) -> None:
        assert variable.op == "name", "only variables are set"
        assert variable.kind == value.kind, f"{variable.text} takes {variable.kind}, not {value.kind}"
        self._blocks[-1].append(Assign(variable.text, value))

    def store(self, to: GpuBuffer | Shared, index: Expr | int, value: Expr) -> None:
        assert to.kind == value.kind, f"{to.name} takes {to.kind}, not {value.kind}"
        at = index if isinstance(index, Expr) else number(index, I32)
        self._blocks[-1].append(Store(to, at, value))

    def uniform(self, name: str, memory: Shared, index: Expr | int = 0) -> Expr:
        """What is in memory of the work-group, behind a barrier, the same for all items, as languages know:
        loops that end there may have barriers."""
        self.barrier()
        at = index if isinstance(index, Expr) else number(index, I32)
        return self.let(name, Expr(memory.kind, "uniform", (at,), memory.name))

    def barrier(self) -> None:
        self._blocks[-1].append(Barrier())

    @contextmanager
    def loop(self, name: str, start: Expr | int, stop: Expr | int, step: int = 1) -> Iterator[Expr]:
        """Count from `start` to before `stop`."""
        counter = self._fresh(name)
        self._blocks.append([])
        yield Expr(I32, "name", text=counter)
        body = tuple(self._blocks.pop())
        first, last = (x if isinstance(x, Expr) else number(x, I32) for x in (start, stop))
        self._blocks[-1].append(GpuLoop(counter, first, last, step, body))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        self._blocks.append([])
        yield
        body = tuple(self._blocks.pop())
        self._blocks[-1].append(When(condition, body))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """What is done where the condition just before does not hold."""
        before = self._blocks[-1].pop()
        assert isinstance(before, When), "belongs behind a condition"
        assert not before.otherwise, "there is one already"
        self._blocks.append([])
        yield
        body = tuple(self._blocks.pop())
        self._blocks[-1].append(When(before.condition, before.body, body))

    def _define(self, name: str, value: Expr, *, changes: bool) -> Expr:
        fresh = self._fresh(name)
        self._blocks[-1].append(Define(fresh, value, changes))
        return Expr(value.kind, "name", text=fresh)

    def _fresh(self, name: str) -> str:
        assert name not in RESERVED, f"{name} means something in one of the languages"
        given = {*self._constants, *(b.name for b in self._buffers), *(s.name for s in self._shared)}
        count = self._taken.get(name, 1 if name in given else 0)
        self._taken[name] = count + 1
        return f"{name}{count}" if count else name

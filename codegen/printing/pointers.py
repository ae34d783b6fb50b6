"""Named pointers of the run function: one for each tensor in the arena, and the table of the arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from edgekit.codegen.kernels.sources import Pointer
from edgekit.codegen.memory.planner import Place
from edgekit.codegen.printing.names import identifier, readable
from edgekit.core.escape import Code
from edgekit.core.types import Type

Steps = tuple[int, int]


@dataclass(frozen=True)
class Named:
    """A pointer that the run function declares: where a tensor or working memory lies."""

    c: str
    ctype: str
    const: bool
    base: str  # arena, or the parameter that it points into
    offset: int  # bytes behind it

    @property
    def declaration(self) -> Code:
        target = f"{'const ' * self.const}{self.ctype}"
        macro = "EK_VIEW" if self.const else "EK_AT"
        return Code(f"{target} *const {self.c} = {macro}({self.ctype}, {self.base}, {self.offset});")


@dataclass(frozen=True)
class ArenaRow:
    """A line of the table: what lies in the arena, and from which to which step of a run."""

    offset: int
    bytes: int
    steps: Steps  # 0: since before the first layer; one more than there are: until after the last
    c: str  # the pointer
    type: Type | None  # of a tensor; working memory has none
    scratch_of: str = ""  # the layer


@dataclass
class Pointers:
    """The pointers of a run function in the making. What is written has the name of its tensor, and who reads
    it later finds it by that name, also through a view."""

    taken: set[str]
    live: Mapping[str, Steps]  # of each tensor, as the plan has it
    found: dict[tuple[str, str], Named] = field(default_factory=dict)
    rows: dict[str, ArenaRow] = field(default_factory=dict)
    _writers: dict[int, tuple[str, int]] = field(default_factory=dict)  # by offset: tensor, bytes

    def writes(self, name: str, place: Place, size: int) -> None:
        """A layer writes this tensor: from here on it is what lies at its place."""
        if place.kind == "arena":
            self._writers[place.offset] = name, size

    def tensor(self, name: str, type: Type, pointer: Pointer, place: Place, base: str) -> Named:
        """The pointer to a tensor, in the type that a kernel wants."""
        if place.kind == "arena":
            writer, size = self._writers.get(place.offset, (name, 0))
            if size == type.bytes:
                name = self._viewed(name, writer)
        const = pointer.const and place.kind == "input"
        named = self._named(name, pointer.ctype, base, place.offset, const)
        if place.kind == "arena" and name not in self.rows:
            self.rows[name] = ArenaRow(place.offset, type.bytes, self._steps(name), named.c, type)
        return named

    def constant(self, name: str, pointer: Pointer, offset: int) -> Named:
        """The pointer to a constant, or into one, where runs are given all of them."""
        return self._named(f"weights {offset}", pointer.ctype, "weights", offset, True, readable(name))

    def scratch(self, name: str, layer: str, size: int, pointer: Pointer, place: Place) -> Named:
        """The pointer to working memory of a layer; those at one place share it."""
        named = self._named(f"scratch {place.offset}", pointer.ctype, "arena", place.offset, False, "scratch")
        self.rows[name] = ArenaRow(place.offset, size, self._steps(name), named.c, None, layer)
        return named

    def table(self) -> tuple[ArenaRow, ...]:
        """By address, then by time."""
        return tuple(sorted(self.rows.values(), key=lambda row: (row.offset, row.steps, row.c)))

    def _viewed(self, name: str, writer: str) -> str:
        """A view has the name of what it is a view of, which is live for as long as the view is."""
        if name != writer and writer in self.rows:
            (first, last), (_, end) = self.rows[writer].steps, self._steps(name)
            row = self.rows[writer]
            self.rows[writer] = ArenaRow(row.offset, row.bytes, (first, max(last, end)), row.c, row.type)
        return writer

    def _steps(self, name: str) -> Steps:
        first, last = self.live[name]
        return first + 1, last + 1

    def _named(self, name: str, ctype: str, base: str, offset: int, const: bool, word: str = "") -> Named:
        if (name, ctype) not in self.found:
            c = identifier(word or readable(name), self.taken, "t")
            self.found[name, ctype] = Named(c, ctype, const, base, offset)
        return self.found[name, ctype]


def arena_lines(rows: Iterable[ArenaRow], layers: int) -> Iterator[str]:
    """The table as text, without its title."""
    rows = tuple(rows)
    if rows:
        yield "  offset    bytes   from step      to   tensor"
    for row in rows:
        first, last = row.steps
        start = "before" if first == 0 else str(first)
        end = "after" if last > layers else str(last)
        words = f"{row.c}  {row.type}" if row.type else f"(scratch of {row.scratch_of})"
        yield f"{row.offset:>8,} {row.bytes:>8,} {start:>11} {end:>7}   {words}"[:105]

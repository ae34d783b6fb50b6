"""Loops over rows: what memory planning and printing know of layers that run block by block of rows."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.codegen.lowering.row_schedule import Blocks
from edgekit.core.ops import Call


@dataclass(frozen=True)
class RingMove:
    """Rows of a ring that move to its start when the last layer of an iteration has read them. Until its next
    block, the memory after them is free."""

    ring: str
    reader: str  # the result of that layer
    kept: int  # bytes
    dropped: int
    blocks: Blocks
    count: int  # blocks after which they move


@dataclass(frozen=True)
class RowSource:
    """An input that arrives row by row, and its ring, which ends with the newest block of rows."""

    name: str
    blocks: Blocks
    row: int  # bytes
    kept: int  # bytes of the ring in front of the newest block

    @property
    def ring(self) -> int:
        """Bytes of all of it."""
        return self.kept + self.blocks.rows * self.row


@dataclass(frozen=True)
class RowLoop:
    """Layers whose blocks of rows are computed in one loop: row_schedule.py."""

    results: tuple[str, ...]  # of its layers, in order
    iterations: int
    # Results that are read in the iteration in which they are computed, and in no other.
    transient: frozenset[str]
    # Which results may grow over which inputs, starting so many bytes before them at least.
    overlaps: tuple[tuple[str, str, int], ...] = ()
    source: RowSource | None = None  # where it stands still until rows of an input arrive
    moves: tuple[RingMove, ...] = ()  # of rings that do not move before a block


@dataclass(frozen=True)
class RowWindow:
    """How the rows of a result read those of the first operand."""

    stride: int
    rows: int
    pad: int
    height: int  # of the operand


@dataclass(frozen=True)
class RowOperand:
    """Where a block of rows is in an operand."""

    row: int  # elements of a row
    # Elements before the first row of the block, border included, in a ring; None: the tensor is whole.
    ring: int | None = None
    is_window: bool = False  # are the rows those that windows read?


@dataclass(frozen=True)
class LoopedLayer:
    """One layer of such a loop: its blocks of rows, and where they lie."""

    loop: RowLoop
    whole: Call
    block: Call  # of most blocks, with operands of as many rows
    blocks: Blocks
    moves: int  # blocks for which the ring moves on: those behind the last row included
    kept: int  # bytes of the ring that move to its start before a block
    dropped: int  # ... from so far
    size: tuple[str, int | None, int]  # the parameter that counts rows, where in an array, how many for a row
    operands: tuple[RowOperand | None, ...]  # None: the same for each block
    window: RowWindow | None
    calls: tuple[tuple[Call, int], ...]  # different blocks, each before a kernel is selected, with its number
    carried: tuple[tuple[int, int], ...] = ()  # operands in whose place later blocks read a result

    @property
    def text(self) -> tuple[object, ...]:
        """What the function of a layer depends on whose blocks differ."""
        operands = [each and (each.row, each.ring is None, each.is_window) for each in self.operands]
        return (self.blocks.layer.height, self.blocks.rows, self.size, tuple(operands), self.window)

    @property
    def is_even(self) -> bool:
        """Have all blocks as many rows, and read as many?"""
        window, height = self.window, self.blocks.layer.height
        inside = window is None or (
            window.pad == 0 and (height - 1) * window.stride + window.rows <= window.height
        )
        return inside and self.blocks.start == 0 and height % self.blocks.rows == 0

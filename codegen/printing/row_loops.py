"""C of layers that are computed by blocks of rows: their loop, when each is due, and where its blocks lie."""

from __future__ import annotations

from collections.abc import Iterator

from edgekit.codegen.kernels.sources import Pointer
from edgekit.codegen.lowering.row_loops import LoopedLayer, RingMove, RowLoop, RowOperand, RowSource
from edgekit.codegen.lowering.row_schedule import Blocks
from edgekit.core.escape import Code
from edgekit.core.types import DType

# What the run function declares for such loops.
ITERATION, ROW = "iteration", "row"
# ... and for an input that arrives row by row.
_ARRIVING, _DUE = ARRIVAL_WORDS = "arriving", "due"


def opening(loop: RowLoop) -> Code:
    begin, end = (f"{_DUE}.begin", f"{_DUE}.end") if loop.source else (0, loop.iterations)
    return Code(f"for (int32_t {ITERATION} = {begin}; {ITERATION} < {end}; {ITERATION}++) {{")


def arrival(loop: RowLoop, source: RowSource, x: str, ring: str, so_far: str) -> Iterator[Code]:
    """A row of an input comes into its ring, in front of the loop."""
    blocks = source.blocks
    numbers = (blocks.layer.height, blocks.rows, blocks.start, blocks.every, loop.iterations)
    fields = ", ".join(map(str, (*numbers, source.row, source.kept)))
    yield Code(f"/* A row of {x} arrives: with it, so many iterations can be computed. */")
    yield Code(f"static const struct ek_row_input {_ARRIVING} = {{{fields}}};")
    yield Code(f"const struct ek_iterations {_DUE} = ek_row_arrives({x}, {ring}, {so_far}, &{_ARRIVING});")


def moving(loop: RowLoop, source: RowSource, ring: str) -> Iterator[Code]:
    """At the end of an iteration, room for the next block of rows."""
    if source.kept and all(move.ring != source.name for move in loop.moves):
        every = source.blocks.every
        move = _keep(ring, source.kept, source.blocks.rows * source.row)
        yield Code(move if every == 1 else f"if (({ITERATION} + 1) % {every} == 0) {move}")


def moves(rows: LoopedLayer) -> Iterator[RingMove]:
    """Of the rings that a layer is the last to read."""
    return (move for move in rows.loop.moves if move.reader == rows.blocks.layer.result)


def moved(loop: RowLoop, move: RingMove, ring: str) -> Iterator[Code]:
    """After the last layer that reads a ring, room for its next block."""
    conditions = _due(move.blocks, move.count, loop)
    if conditions:
        yield Code(f"if ({conditions})")
    yield Code(f"{'    ' * bool(conditions)}{_keep(ring, move.kept, move.dropped)}")


def waiting(so_far: str) -> Iterator[Code]:
    """Behind the loop, where rows are missing."""
    yield Code(f"if (*{so_far} != 0)")
    yield Code("    return 0; /* the next row is wanted */")


def about(loop: RowLoop, number: int) -> Code:
    """What the loop is, in front of it; `number` is that of its first layer."""
    last = number + len(loop.results) - 1
    if last == number:
        return Code(f"/* Layer {number} runs by blocks of rows: each as soon as its input rows are there. */")
    words = "run by blocks of rows: each computes a block as soon as its input rows are there"
    return Code(f"/* Layers {number} to {last} {words}. */")


def due(rows: LoopedLayer) -> Code:
    """The condition on which a layer has a block to compute, or rows of its ring to move; empty: always."""
    return _due(rows.blocks, rows.moves, rows.loop)


def _due(blocks: Blocks, count: int, loop: RowLoop) -> Code:
    """The condition on which an iteration has one of so many blocks."""
    first, every = blocks.first, blocks.every
    last = first + (count - 1) * every
    found = [f"{ITERATION} >= {first}"] * (first > 0)
    found += [f"{ITERATION} <= {last}"] * (last + every < loop.iterations)
    found += [f"{_since(first)} % {every} == 0"] * (every > 1)
    return Code(" && ".join(found))


def row(rows: LoopedLayer) -> Code:
    """The first row of the block of an iteration; less than 0 where the first block is shorter."""
    blocks = rows.blocks
    if blocks.every == 1:
        return Code(f"{_times(ITERATION, blocks.rows)}{_plus(blocks.start - blocks.first * blocks.rows)}")
    return Code(f"{_times(f'{_since(blocks.first)} / {blocks.every}', blocks.rows)}{_plus(blocks.start)}")


def keeping(rows: LoopedLayer, ring: str) -> Code:
    """Moves what is read again to the start of the ring; empty where nothing is."""
    return Code(_keep(ring, rows.kept, rows.dropped) if rows.kept else "")


def is_short(rows: LoopedLayer) -> bool:
    """Does the ring move on behind the last row?"""
    return rows.moves > rows.blocks.count


def address(base: str, operand: RowOperand | None, rows: LoopedLayer, dtype: DType, pointer: Pointer) -> str:
    """Of an operand of a block, in the run function. Where blocks differ, their function adds the rest."""
    if operand is None:
        return base
    if operand.ring is not None:
        at = elements(operand.ring, dtype, pointer)
        return f"{base} + {at}" if at else base
    if not rows.is_even:
        return base
    stride = rows.window.stride if operand.is_window and rows.window else 1
    return f"{base} + {ROW} * {elements(operand.row * stride, dtype, pointer)}"


def carried(start: str, result: str) -> str:
    """Where a block finds what the blocks before it computed."""
    return f"{ROW} > 0 ? {result} : {start}"


def offset(operand: RowOperand | None, rows: LoopedLayer, dtype: DType, pointer: Pointer) -> str:
    """What the function of a layer whose blocks differ adds to an operand; empty: nothing."""
    if operand is None:
        return ""
    first = "block.top" if operand.is_window else "block.first"
    if operand.ring is not None:
        start, pad = ROW, 0
        if operand.is_window and rows.window:
            start += f" * {rows.window.stride}" * (rows.window.stride > 1)
            pad = rows.window.pad
        first = f"({first} - {start}{_plus(pad)})"
    return f" + {first} * {elements(operand.row, dtype, pointer)}"


def window(rows: LoopedLayer) -> Code:
    """How windows slide, as the function of a layer says it."""
    w = rows.window
    return Code(f"{w.stride}, {w.rows}, {w.pad}, {w.height}" if w else f"1, 1, 0, {rows.blocks.layer.height}")


def block(rows: LoopedLayer) -> Code:
    """The rows of a block, inside of such a function."""
    return Code(f"ek_block({ROW}, {rows.blocks.rows}, {rows.blocks.layer.height}, window)")


def fields(rows: LoopedLayer) -> dict[str, Code]:
    """The parameters that differ from block to block, or have an element that does, with its value."""
    name, _, unit = rows.size
    found = {name: Code(f"block.count{f' * {unit}' * (unit > 1)}")}
    if rows.window:
        found |= {"in_h": Code("block.read"), "pad_top": Code("block.pad")}
    return found


def elements(count: int, dtype: DType, pointer: Pointer) -> int:
    """Elements of a tensor in those that a pointer counts."""
    return count * dtype.bytes // pointer.element_bytes


def _keep(ring: str, kept: int, dropped: int) -> str:
    return f"ek_keep_rows({ring}, {kept}, {dropped});"


def _since(first: int) -> str:
    """Iterations since this one."""
    return f"({ITERATION} - {first})" if first else ITERATION


def _times(text: str, number: int) -> str:
    return f"{text} * {number}" if number > 1 else text


def _plus(number: int) -> str:
    return f" {'-' if number < 0 else '+'} {abs(number)}" if number else ""

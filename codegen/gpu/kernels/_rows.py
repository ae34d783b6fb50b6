"""Rows that a work-group computes together: statistics first, then every element."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from edgekit.codegen.gpu.ast import F32, Expr, GpuBuffer, Kind, Shared, function, number
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import per_item, store_word
from edgekit.core.types import DType

_LANES = 16  # of sums of floats
MAX_ROWS = 4  # rows of bytes that end at a whole word together


def block(n: int, dtype: DType) -> int:
    """How many rows of n elements make whole words."""
    return per_item(dtype) // gcd(n, per_item(dtype))


def combined(k: KernelBuilder, memory: Shared, own: Expr, join: Callable[[Expr, Expr], Expr]) -> Expr:
    """What all items of the work-group have, joined: the same for each of them."""
    k.store(memory, k.within, own)
    k.barrier()
    total = k.var("all", memory[0])
    with k.loop("other", 1, GROUP) as other:
        k.set(total, join(total, memory[other]))
    k.barrier()
    return total


def over(
    k: KernelBuilder, n: Expr, first: Expr, kind: Kind, start: float, step: Callable[[Expr, Expr], Expr]
) -> Expr:
    """What this item makes of its part of a row: step(what it has, the element's index)."""
    own = k.var("own", number(start, kind))
    with k.loop("i", k.within, n, GROUP) as i:
        k.set(own, step(own, k.let("index", first + i)))
    return own


def in_lanes(
    k: KernelBuilder, memory: Shared, n: Expr, first: Expr, step: Callable[[Expr, Expr], Expr]
) -> Expr:
    """A sum in the order of portable C: sixteen lanes, each of every sixteenth element, and their sum."""
    own = k.var("own", number(0, F32))
    with k.when(k.within < _LANES), k.loop("i", k.within, n, _LANES) as i:
        k.set(own, step(own, k.let("index", first + i)))
    k.store(memory, k.within, own)
    k.barrier()
    total = k.var("all", memory[0])
    with k.loop("other", 1, _LANES) as other:
        k.set(total, total + memory[other])
    k.barrier()
    return total


def row(k: KernelBuilder, j: Expr | int) -> Expr:
    """The number of row j of the block; of the last block, the last row again where there is none."""
    rows, per = k.constants("rows block")
    return k.let("row", function("min", k.group_number * per + j, rows - 1))


def store(k: KernelBuilder, y: GpuBuffer, dtype: DType, result: Callable[[Expr, Expr], Expr]) -> None:
    """y = result(row of the block, element) for the block of this work-group."""
    rows, n, per = k.constants("rows n block")
    width = per_item(dtype)
    total = rows * n
    words = k.let("words", per * n // width)

    def element(i: Expr) -> Expr:
        return result(k.let("of_row", i // n - k.group_number * per), i)

    with k.loop("w", k.within, words, GROUP) as w:
        word = k.let("place", k.group_number * words + w)
        with k.when(word * width < total):
            store_word(k, y, dtype, word, total, element)


def values(rows: int, n: int, dtype: DType) -> tuple[dict[str, float], int]:
    """Constants, and work-groups."""
    per = block(n, dtype)
    return {"rows": rows, "n": n, "block": per}, -(-rows // per)

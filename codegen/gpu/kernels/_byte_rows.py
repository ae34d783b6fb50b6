"""Sums of products of rows of int8 and integer weights, which are exact, as the nearest floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuBuffer, dot4, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.kernels._integer_weights import Groups, bytes_of
from edgekit.core.types import DType

ROWS = 4  # that an item has together: they share the words of weights
OUTPUTS, PARTS = 16, 8  # of a work-group with one row: outputs, and items that share the words of one
_EXACT = 1 << 24  # integers below it are floats


@dataclass(frozen=True)
class ByteProducts:
    """What the text of sums depends on."""

    dtype: DType  # of weights
    are_whole: bool  # words of x and of weights are full, and begin at the same inputs
    is_exact: bool  # each sum of a group is a float

    @staticmethod
    def of(groups: Groups, factor: int) -> ByteProducts:
        """Of rows whose factors have this magnitude at most."""
        most = groups.group * factor << (groups.dtype.bits - 1)
        return ByteProducts(groups.dtype, groups.are_whole and groups.inputs % 4 == 0, most <= _EXACT)

    @property
    def label(self) -> str:
        return "_any" * (not self.are_whole) + "_long" * (not self.is_exact)

    @property
    def per(self) -> int:
        """Weights of a word."""
        return 32 // self.dtype.bits


@dataclass(frozen=True)
class ByteRows:
    """Rows and weights of a kernel, whose constants are those of `values`."""

    k: KernelBuilder
    products: ByteProducts
    x: GpuBuffer
    w: GpuBuffer

    def of_group(self, g: Expr, o: Expr, starts: Sequence[Expr]) -> list[Expr]:
        """The sums of a group of weights of an output, for rows that start there."""
        k, per = self.k, self.products.per
        outputs, words, of_group = k.constants("outputs words of_group")
        sums = [k.var("sum", number(0, I32)) for _ in starts]
        begin = k.let("begin", g * of_group)
        first = k.let("first_input", begin * per if self.products.are_whole else g * k.constant("group"))
        with k.loop("c", begin, function("min", begin + of_group, words)) as c:
            self._add(self.w[c * outputs + o], first + (c - begin) * per, starts, sums)
        return [self._unscaled(total) for total in sums]

    def of_work_group(self, o: Expr, lane: Expr, part: Expr) -> Expr:
        """The sum of all weights of an output, by all items that share it; part 0 has it."""
        k = self.k
        outputs, words = k.constants("outputs words")
        held = k.shared("sums", I32, OUTPUTS * PARTS)
        own = k.var("own", number(0, I32))
        with k.loop("c", part, words, PARTS) as c:
            self._add(self.w[c * outputs + o], c * self.products.per, [number(0, I32)], [own])
        k.store(held, k.within, own)
        k.barrier()
        with k.when(part.eq(0)), k.loop("i", 1, PARTS) as i:
            k.set(own, own + held[i * OUTPUTS + lane])
        return self._unscaled(own)

    def as_float(self, total: Expr) -> Expr:
        """The nearest one."""
        return total.to(F32) if self.products.is_exact else _floats.nearest(self.k.let("whole", total))

    def rounded(self, product: Expr) -> Expr:
        """Before something is added."""
        return _floats.rounded(product, self.w[self.k.constant("nothing")])

    def word(self, name: str, at: Expr) -> Expr:
        """Of those that stand behind the weights: element `at` of what starts at a constant."""
        return self.w[self.k.constant(name) + at]

    def _add(self, word: Expr, i: Expr, starts: Sequence[Expr], sums: Sequence[Expr]) -> None:
        """The products of a word of weights, the first of which is for input i."""
        k = self.k
        weights = [k.let("weights", w) for w in bytes_of(k.let("word", word), self.products.dtype.bits)]
        for start, total in zip(starts, sums, strict=True):
            at = k.let("at", start + i)
            for j, four in enumerate(weights):
                k.set(total, dot4(self._inputs(at + 4 * j), four, total))

    def _inputs(self, at: Expr) -> Expr:
        """Four bytes of x. Those behind the end of a group meet weights that are 0."""
        k = self.k
        if self.products.are_whole:
            return self.x[at >> 2]
        last = k.constant("last")
        low, high = (k.let("word", self.x[function("min", (at >> 2) + i, last)]) for i in range(2))
        by = k.let("by", ((at & 3) << 3).to(U32))
        return select(by.eq(0), low, (low >> by) | (high << ((32 - by) & 31)))

    def _unscaled(self, total: Expr) -> Expr:
        """Weights of 4 bits were multiplied as 16 times as much."""
        return total if self.products.dtype is DType.S8 else total >> 4


def values(groups: Groups, rows: int) -> dict[str, float]:
    """Constants of the kernel."""
    found: dict[str, float] = {"words": groups.all_words, "of_group": groups.words, "group": groups.group}
    return found | {"last": -(-rows * groups.inputs // 4) - 1}


def place(k: KernelBuilder) -> tuple[Expr, Expr, Expr]:
    """In a work-group with one row: which of its outputs this item has, which part of that, and the output
    itself, which may be behind the last one."""
    lane, part = k.let("lane", k.within % OUTPUTS), k.let("part", k.within // OUTPUTS)
    return lane, part, k.let("o", k.group_number * OUTPUTS + lane)

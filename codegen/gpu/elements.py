"""Tensors in buffers of words, element by element: bytes lie four in a word, and floats of 16 bits two.

Whole words are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import (
    F32,
    F32X4,
    I32,
    U32,
    Expr,
    GpuBuffer,
    Kind,
    four_halves,
    function,
    half,
    halves,
    number,
    select,
    vector,
)
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import UnsupportedError
from edgekit.core.types import DType

_BYTES = (DType.S8, DType.U8, DType.BOOL)
_HALVES = (DType.F16, DType.BF16)
_WORDS = {DType.F32: F32, DType.S32: I32, DType.U32: U32}


def is_bytes(dtype: DType) -> bool:
    return dtype in _BYTES


def is_half(dtype: DType) -> bool:
    """Is it a float of 16 bits?"""
    return dtype in _HALVES


def stored(dtype: DType) -> Kind:
    """What a buffer of such elements is made of."""
    if is_bytes(dtype) or is_half(dtype):
        return U32
    if dtype not in _WORDS:
        raise UnsupportedError(f"elements of {dtype.value}")
    return _WORDS[dtype]


def per_item(dtype: DType) -> int:
    """How many elements one item computes, so that it stores a whole word."""
    return 4 if is_bytes(dtype) else 2 if is_half(dtype) else 1


@dataclass(frozen=True)
class Elements:
    """A tensor to read: bytes come as integers of 32 bits, and floats as floats of 32 bits."""

    buffer: GpuBuffer
    dtype: DType

    def __getitem__(self, i: Expr) -> Expr:
        if is_half(self.dtype):
            return _wide(self.buffer, self.dtype, i)
        if not is_bytes(self.dtype):
            return self.buffer[i]
        word = self.buffer[i >> 2]
        return signed_byte(word, i & 3) if self.dtype is DType.S8 else byte(word, i & 3)


def elements(k: KernelBuilder, name: str, dtype: DType) -> Elements:
    """A new buffer of the kernel."""
    return Elements(k.buffer(name, stored(dtype)), dtype)


@dataclass(frozen=True)
class Indices:
    """A tensor of indices to read: those of 64 bits, two words each, are cut off at the ends of 32."""

    buffer: GpuBuffer
    dtype: DType

    def __getitem__(self, i: Expr) -> Expr:
        if self.dtype is DType.S32:
            return self.buffer[i]
        low, high = self.buffer[i * 2], self.buffer[i * 2 + 1]
        end = (high >> 31) ^ 0x7FFFFFFF
        return select(high.eq(low >> 31), low, end)


def indices(k: KernelBuilder, name: str, dtype: DType) -> Indices:
    """A new buffer of the kernel."""
    if dtype not in (DType.S32, DType.S64):
        raise UnsupportedError(f"indices of {dtype.value}")
    return Indices(k.buffer(name, I32), dtype)


def store_index(k: KernelBuilder, y: GpuBuffer, i: Expr, value: Expr) -> None:
    """y[i] = value, an index of 64 bits in two words."""
    k.store(y, i * 2, value.bits(U32))
    k.store(y, i * 2 + 1, (value >> 31).bits(U32))


@dataclass(frozen=True)
class Fours:
    """A tensor of floats to read or write, four at a time."""

    k: KernelBuilder
    buffer: GpuBuffer
    dtype: DType

    def __getitem__(self, i: Expr) -> Expr:
        if self.dtype is DType.F32:
            return self.buffer[i]
        if self.dtype is DType.F16:
            return four_halves(self.buffer, i)
        words = [self.k.let("word", self.buffer[i * 2 + j]) for j in range(2)]
        return vector(*(bits.bits(F32) for word in words for bits in (word << 16, word & 0xFFFF0000)))

    def wide(self, i: Expr) -> Expr:
        """Four floats of 32 bits among narrower ones: sixteen bytes are counted."""
        if self.dtype is DType.F32:
            return self.buffer[i]
        return vector(*(self.buffer[i * 4 + j].bits(F32) for j in range(4)))

    def store(self, i: Expr, y: Expr) -> None:
        k = self.k
        if self.dtype is DType.F32:
            k.store(self.buffer, i, y)
            return
        four = k.let("four", y)
        for j in range(2):
            k.store(self.buffer, i * 2 + j, _pair(k, self.dtype, four.lane(2 * j), four.lane(2 * j + 1)))


def fours(k: KernelBuilder, name: str, dtype: DType, *, writes: bool = False) -> Fours:
    """A new buffer of the kernel."""
    return Fours(k, k.buffer(name, F32X4 if dtype is DType.F32 else U32, writes=writes), dtype)


def store_some(k: KernelBuilder, y: GpuBuffer, dtype: DType, first: Expr, left: Expr, four: Expr) -> None:
    """Four elements from `first` on, where a word begins; or only `left` of them, if these are fewer."""
    four = k.let("four", four)
    per = per_item(dtype)
    for i in range(0, 4, per):
        with k.when(left > i):
            value = four.lane(i) if per == 1 else _pair(k, dtype, four.lane(i), four.lane(i + 1))
            k.store(y, first + i if per == 1 else (first + i) >> 1, value)


def _wide(buffer: GpuBuffer, dtype: DType, i: Expr) -> Expr:
    """Float i of 16 bits, two of which are in a word."""
    if dtype is DType.F16:
        return half(buffer, i)
    return ((buffer[i >> 1] >> ((i & 1) << 4)) << 16).bits(F32)


def _pair(k: KernelBuilder, dtype: DType, first: Expr, second: Expr | None = None) -> Expr:
    """The word of two floats, rounded to 16 bits."""
    if dtype is DType.F16:
        return halves(first, second or number(0, F32))
    low = _brain_bits(k, first)
    return low if second is None else low | (_brain_bits(k, second) << 16)


def _brain_bits(k: KernelBuilder, x: Expr) -> Expr:
    """bfloat16 is the upper half of a float, rounded to the nearest, to an even one between two."""
    bits = k.let("bits", x.bits(U32))
    is_number = (bits & 0x7FFFFFFF) <= 0x7F800000
    return select(is_number, bits + ((bits >> 16) & 1) + 0x7FFF, bits | 0x400000) >> 16


def byte(word: Expr, i: Expr | int) -> Expr:
    """One of four bytes, 0 to 255."""
    by = i * 8 if isinstance(i, int) else i << 3
    return ((word >> by) & 255).to(I32)


def signed_byte(word: Expr, i: Expr | int) -> Expr:
    """One of four bytes, -128 to 127."""
    by = 24 - 8 * i if isinstance(i, int) else 24 - (i << 3)
    return (word << by).bits(I32) >> 24


def packed(y: Expr) -> Expr:
    """Four integers as the bytes of a word."""
    lanes = [(y.lane(i) & 255).to(U32) << (8 * i) for i in range(4)]
    return lanes[0] | lanes[1] | (lanes[2] | lanes[3])


def word_of(k: KernelBuilder, dtype: DType, kind: Kind, values: Sequence[Expr]) -> Expr:
    """The word of as many elements as one has."""
    if is_half(dtype):
        return _pair(k, dtype, *(value.to(F32) for value in values))
    return packed(vector(*(value.to(I32) for value in values))) if is_bytes(dtype) else values[0].to(kind)


def for_each(k: KernelBuilder, y: GpuBuffer, dtype: DType, n: Expr, result: Callable[[Expr], Expr]) -> None:
    """y[i] = result(i) for all i < n; each item computes one word."""
    with k.when(k.item * per_item(dtype) < n):
        store_word(k, y, dtype, k.item, n, result)


def store_word(
    k: KernelBuilder, y: GpuBuffer, dtype: DType, word: Expr, n: Expr, result: Callable[[Expr], Expr]
) -> None:
    """One word of y; what is behind its end is written, too, and is never read."""
    per = per_item(dtype)
    if per == 1:
        k.store(y, word, result(word).to(y.kind))
        return
    total = k.var("word", number(0, U32))
    with k.loop("lane", 0, per) as lane:
        i = k.let("i", function("min", word * per + lane, n - 1))
        if is_half(dtype):
            k.set(total, total | (_pair(k, dtype, result(i).to(F32)) << (lane << 4)))
        else:
            k.set(total, total | ((result(i).to(I32) & 255).to(U32) << (lane << 3)))
    k.store(y, word, total)

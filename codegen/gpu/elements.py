"""Tensors in buffers of words, element by element: bytes lie four in a word, and whole words are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import F32, I32, U32, Buffer, Expr, Kind, function, number
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.use import UnsupportedError
from edgekit.ir import DType

_BYTES = (DType.S8, DType.U8, DType.BOOL)
_WORDS = {DType.F32: F32, DType.S32: I32, DType.U32: U32}


def is_bytes(dtype: DType) -> bool:
    return dtype in _BYTES


def stored(dtype: DType) -> Kind:
    """What a buffer of such elements is made of."""
    if is_bytes(dtype):
        return U32
    if dtype not in _WORDS:
        raise UnsupportedError(f"elements of {dtype.value}")
    return _WORDS[dtype]


def per_item(dtype: DType) -> int:
    """How many elements one item computes, so that it stores a whole word."""
    return 4 if is_bytes(dtype) else 1


@dataclass(frozen=True)
class Elements:
    """A tensor to read: bytes come as integers of 32 bits."""

    buffer: Buffer
    dtype: DType

    def __getitem__(self, i: Expr) -> Expr:
        if not is_bytes(self.dtype):
            return self.buffer[i]
        word = self.buffer[i >> 2]
        return signed_byte(word, i & 3) if self.dtype is DType.S8 else byte(word, i & 3)


def elements(k: Builder, name: str, dtype: DType) -> Elements:
    """A new buffer of the kernel."""
    return Elements(k.buffer(name, stored(dtype)), dtype)


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


def for_each(k: Builder, y: Buffer, dtype: DType, n: Expr, result: Callable[[Expr], Expr]) -> None:
    """y[i] = result(i) for all i < n; each item computes one word."""
    with k.when(k.item * per_item(dtype) < n):
        store_word(k, y, dtype, k.item, n, result)


def store_word(
    k: Builder, y: Buffer, dtype: DType, word: Expr, n: Expr, result: Callable[[Expr], Expr]
) -> None:
    """One word of y; what is behind its end is written, too, and is nobody's."""
    if not is_bytes(dtype):
        k.store(y, word, result(word).to(y.kind))
        return
    total = k.var("word", number(0, U32))
    with k.loop("lane", 0, 4) as lane:
        i = k.let("i", function("min", word * 4 + lane, n - 1))
        value = result(i).to(I32)
        k.set(total, total | ((value & 255).to(U32) << (lane << 3)))
    k.store(y, word, total)

"""Integer weights in words, with a scale for each group of them.

Layers and tables read the same words, so that a tied table is there once. A word has four weights of 8
bits, or eight of 4: byte i of it has weight i in its lower half and weight i + 4 in its upper one, so that
four products of bytes take one instruction. Each group begins with a new word; what is behind its end is 0.
Words of neighbouring outputs lie side by side, as neighbouring items read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgekit.codegen.gpu.ast import F32, I32, Expr
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import ConstantBuffer, integer
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType


@dataclass(frozen=True)
class Groups:
    """How the weights of an output are divided: into groups of so many, the last of which may be shorter."""

    inputs: int
    group: int
    dtype: DType

    @staticmethod
    def of(call: Call, inputs: int) -> Groups:
        return Groups(inputs, max(1, min(integer(call, "group"), inputs)), call.types["W"])

    @property
    def per(self) -> int:
        """Weights of a word."""
        return 32 // self.dtype.bits

    @property
    def count(self) -> int:
        return -(-self.inputs // self.group)

    @property
    def are_whole(self) -> bool:
        """Is every word full?"""
        return self.inputs % self.per == self.group % self.per == 0

    @property
    def words(self) -> int:
        """Of a whole group."""
        return -(-self.group // self.per)

    @property
    def all_words(self) -> int:
        last = self.inputs - (self.count - 1) * self.group
        return (self.count - 1) * self.words + -(-last // self.per)


def data_of(
    groups: Groups, w: Array, scale: Array, bias: Array | None = None, zero: Array | None = None
) -> tuple[bytes, dict[str, float]]:
    """Words, scales, biases and zero points, and constants of the kernel: where each of them starts. A word
    that is 0 is at the end."""
    data, starts = ConstantBuffer(), dict[str, float]()
    data.add(_words(groups, w))
    vectors = {"scale": scale.T, "bias": np.zeros(len(w)) if bias is None else bias}
    for name, array in (vectors | ({} if zero is None else {"zero": zero.T})).items():
        starts[name] = data.add(array.astype(np.float32)) // 4
    starts["nothing"] = data.add(np.zeros(1, np.uint32)) // 4
    return data.bytes, starts


def _words(groups: Groups, w: Array) -> Array:
    """[words, outputs]"""
    bits, per, outputs = groups.dtype.bits, groups.per, len(w)
    padded = np.zeros((outputs, groups.count, groups.words * per), np.uint32)
    flat = np.zeros((outputs, groups.count * groups.group), np.uint32)
    flat[:, : groups.inputs] = w.astype(np.uint32) & np.uint32((1 << bits) - 1)
    padded[:, :, : groups.group] = flat.reshape(outputs, groups.count, groups.group)
    parts = padded.reshape(outputs, -1, per)[:, : groups.all_words]
    words = np.zeros(parts.shape[:2], np.uint32)
    for j in range(per):
        words |= parts[:, :, j] << np.uint32(_place(bits, j))
    return np.ascontiguousarray(words.T)


def _place(bits: int, j: int) -> int:
    """The lowest bit of weight j in a word."""
    return 8 * (j % 4) + 4 * (j // 4)


def weights_of(k: KernelBuilder, word: Expr, bits: int) -> Iterator[Expr]:
    """The weights of a word as floats."""
    for j in range(32 // bits):
        yield k.let("weight", ((word << (32 - bits - _place(bits, j))).bits(I32) >> (32 - bits)).to(F32))


def bytes_of(word: Expr, bits: int) -> tuple[Expr, ...]:
    """Words of four signed bytes that are the weights, or 16 times weights of 4 bits."""
    return (word,) if bits == 8 else ((word << 4) & 0xF0F0F0F0, word & 0xF0F0F0F0)

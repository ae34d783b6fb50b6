"""Tables of embeddings that are fully connected layers, too, as language models tie them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.groupwise import DenseGroupwise, GatherGroupwise
from edgekit.core.types import Array, DType, Type

WORDS = (64, 35, 5)  # whole blocks of every kernel, blocks and a rest, less than a block
WIDTH = 12


@dataclass
class Tables:
    """Each is looked up and multiplied by; lookups and products are results in turns."""

    builder: Builder = field(default_factory=Builder)
    numbers: np.random.Generator = field(default_factory=lambda: np.random.default_rng(21))
    inputs: dict[str, Array] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def input(self, data: Array) -> str:
        name = self.builder.input(f"x{len(self.inputs)}", Type(DType.of(data.dtype), data.shape))
        self.inputs[name] = data
        return name

    def x(self, width: int = WIDTH) -> str:
        return self.input(self.numbers.normal(size=(2, width)).astype(np.float32))

    def index(self, words: int, *shape: int) -> str:
        """The first and the last rows, some counted from the back, and outside of the table."""
        known = [0, words - 1, words // 2, -1, -words, words + 3, -words - 3]
        return self.input(self.numbers.choice(known, shape).astype(np.int32))

    def bias(self, words: int) -> str:
        return self.builder.const(self.numbers.normal(size=words).astype(np.float32))

    def plain(self, words: int, tokens: int, dtype: DType = DType.F32) -> None:
        table = self.builder.const(self.numbers.normal(size=(words, WIDTH)).astype(dtype.numpy))
        self.outputs += self.builder.add(Gather(0), table, self.index(words, tokens, 1))
        self.outputs += self.builder.add(Dense(), self.x(), table, self.bias(words))

    def groupwise(self, words: int, zeros: bool, dtype: DType = DType.S8) -> None:
        half, shape = 1 << (dtype.bits - 1), (words, 3)  # groups of five, and one of two
        w, *zero = (
            self.builder.const(self.numbers.integers(-half, half, sizes).astype(dtype.numpy))
            for sizes in [(words, WIDTH)] + [shape] * zeros
        )
        scale = self.builder.const(self.numbers.uniform(0.01, 0.02, shape).astype(np.float16))
        self.outputs += self.builder.add(GatherGroupwise(5), w, self.index(words, 3), scale, *zero)
        self.outputs += self.builder.add(DenseGroupwise(5), self.x(), w, scale, self.bias(words), *zero)

    def dynamic(self, words: int, width: int) -> None:
        """Beside activations in int8, which kernels may take with pairs of weights, or with fours."""
        w = self.builder.const(self.numbers.integers(-127, 128, (words, width)).astype(np.int8))
        scale = self.builder.const(self.numbers.uniform(0.01, 0.02, (words, 1)).astype(np.float32))
        self.outputs += self.builder.add(GatherGroupwise(width), w, self.index(words, 3), scale)
        rows = self.builder.add(QuantizeRows(), self.x(width))
        self.outputs += self.builder.add(DynamicDense(width), *rows, w, scale, self.bias(words))

    def graph(self) -> Graph:
        return self.builder.graph("tables", list(self.inputs), self.outputs)


def tables() -> Tables:
    """Of floats and integers, with one token and several, in blocks of any kind."""
    made = Tables()
    for words, tokens in product(WORDS, (1, 3)):
        made.plain(words, tokens)
    for words, zeros in product(WORDS, (False, True)):
        made.groupwise(words, zeros)
    for words, width in product(WORDS, (WIDTH, 16)):
        made.dynamic(words, width)
    return made

"""Quantized operators in the making: tensors of any numbers and scales, chosen by a seed or by hypothesis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import cycle, islice
from math import prod
from random import Random
from typing import Any, Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st
from support.kernel_records import expecting

from edgekit.core import fixed, simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.types import Array, DType, Quant, Type, Value

T = TypeVar("T")
# Most channels are few; kernels advance by blocks of 16, and primes fit nothing.
WIDTHS = (1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 13, 15, 16, 17, 31, 33)


class Choices(Protocol):
    """Where choices come from: a generator of random numbers, or hypothesis, which shrinks what fails."""

    def integer(self, low: int, high: int) -> int:
        """Both ends included."""

    def real(self, low: float, high: float) -> float: ...

    def pick(self, options: Sequence[T]) -> T: ...

    def generator(self) -> np.random.Generator:
        """For the many numbers of tensors."""


class Seeded:
    """Everything from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.numbers = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def real(self, low: float, high: float) -> float:
        return self.random.uniform(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def generator(self) -> np.random.Generator:
        return self.numbers


@dataclass(frozen=True)
class RandomRun:
    """As hypothesis draws."""

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def real(self, low: float, high: float) -> float:
        return float(self.draw(st.floats(low, high)))

    def pick(self, options: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(options))
        return chosen

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.integer(0, 9))


@dataclass
class Bench:
    """A graph in the making, in which every case is a node with inputs of its own."""

    choices: Choices
    builder: Builder = field(default_factory=Builder)
    inputs: dict[str, Array] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    rounding: str = "E"

    def case(self, family: "Family") -> None:
        self.rounding = self.pick(("E", "E", "tfl", "tflm"))
        count = len(self.outputs)
        family(self)
        assert len(self.outputs) == count + 1

    def graph(self) -> Graph:
        return self.builder.graph("integers", list(self.inputs), self.outputs)

    # Choices

    def size(self, most: int = 6) -> int:
        return self.choices.integer(1, most)

    def width(self) -> int:
        return self.choices.pick(WIDTHS)

    def pick(self, options: Sequence[T]) -> T:
        return self.choices.pick(options)

    def is_rare(self, odds: int = 4) -> bool:
        """Once in so many cases."""
        return self.choices.integer(1, odds) == odds

    def scale(self, low: float, high: float) -> float:
        """A power of two as often as not: there, sums lie exactly between two integers of the result."""
        exponent = self.choices.real(low, high)
        return float(np.float32(2.0 ** (exponent if self.choices.integer(0, 1) else round(exponent))))

    def quant(self, low: float = -6, high: float = 2, dtype: DType = DType.S8) -> Quant:
        """Zero points at the ends as often as between; int16 has none."""
        least, most = fixed.int_range(dtype)
        zero = self.pick((least, most, 0, self.choices.integer(least, most))) if dtype.bits == 8 else 0
        down = 8 if dtype.bits == 16 else 0
        return Quant((self.scale(low - down, high - down),), (zero,), None, self.rounding)

    def limits(self) -> tuple[float, float]:
        return self.pick(((-np.inf, np.inf), (0.0, np.inf), (0.0, 6.0), (-1.0, 1.0), (-0.5, 0.25)))

    # Tensors

    def integers(self, shape: Sequence[int], dtype: DType, low: int | None = None) -> Array:
        """Anything between the ends, or the ends alone in one of several orders."""
        least, high = fixed.int_range(dtype)
        least = least if low is None else low
        style = self.pick(("any", "any", "any", "any", "ends", "least", "most", "turns"))
        if style == "any":
            data = self.choices.generator().integers(least, high + 1, shape)
        elif style == "ends":
            data = self.choices.generator().choice(np.array([least, high]), tuple(shape))
        elif style == "turns":
            data = np.array(list(islice(cycle((least, high)), prod(shape)))).reshape(shape)
        else:
            data = np.full(shape, least if style == "least" else high)
        return data.astype(dtype.numpy)

    def input(self, *shape: int, dtype: DType = DType.S8, quant: Quant | None = None) -> str:
        name = f"x{len(self.inputs)}"
        self.builder.input(name, Type(dtype, shape, quant or self.quant(dtype=dtype)))
        self.inputs[name] = self.integers(shape, dtype)
        return name

    def constant(self, data: Array, quant: Quant | None = None) -> str:
        """Of its own: equal constants would share a name."""
        name = self.builder.fresh("c")
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def weights(self, dtype: DType, *shape: int) -> tuple[str, str]:
        """Weights, mostly with a scale for each output, and biases of every magnitude."""
        count, least = shape[0], -fixed.int_range(dtype)[1]
        if self.is_rare():
            quant = Quant((self.scale(-12, -2),), (0,), None, self.rounding)
        else:
            exponents = self.choices.generator().uniform(-9, -3, count)
            scales = np.exp2(exponents).astype(np.float32).tolist()
            quant = Quant(tuple(scales), (0,) * count, 0, self.rounding)
        most = 2 ** self.choices.integer(0, 30 if self.is_rare() else 16)
        bias = self.choices.generator().integers(-most, most + 1, count).astype(np.int32)
        return self.constant(self.integers(shape, dtype, least), quant), self.constant(bias)

    def formats(self) -> tuple[DType, DType, DType]:
        """Of operand, weights and result: more than int8 only by EdgeKit's own rule."""
        if self.rounding != "E" or not self.is_rare(3):
            return DType.S8, DType.S8, DType.S8
        return (
            self.pick((DType.S8, DType.S16)),
            self.pick((DType.S8, DType.S4)),
            self.pick((DType.S8, DType.S16)),
        )

    def result(self, op: Op, *operands: str, quant: Quant | None = None) -> None:
        self.outputs += self.builder.add(op, *operands, names=(f"y{len(self.outputs)}",), quant=quant)


Family = Callable[[Bench], None]
Tensors = Mapping[str, Array]


@expecting
@cache
def drawn(families: tuple[Family, ...], seed: int) -> tuple[Graph, Tensors, Tensors]:
    """Layers, inputs, and what is simulated: the same for several targets, so that proofs are kept."""
    bench = Bench(Seeded(seed))
    for family in families:
        family(bench)
    graph = bench.graph()
    return graph, bench.inputs, simulate.run(graph, bench.inputs)

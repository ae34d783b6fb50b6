"""A graph of random layers in the making: tensors, weights and sizes as networks have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, State
from edgekit.core.ops import Op
from edgekit.core.types import Array, DType, Quant, Type, Value

MAX_PRODUCTS = 400_000  # of a layer: more only take longer to count
_MAX_CELLS = 6_000
T = TypeVar("T")
Quants = tuple[Quant | None, Quant | None]


@dataclass
class Layers:
    """A graph in the making, in which every layer has inputs of its own. `kinds` are the formats of inputs,
    weights and results; `rounding` is that of integers."""

    seed: int
    kinds: tuple[DType, DType, DType]
    rounding: str = "E"
    builder: Builder = field(default_factory=Builder)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    weights_are: str = ""  # integers: the `least` ones, too, or all `light`, or `alike` in their scale

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    @property
    def is_integer(self) -> bool:
        return self.kinds[0].is_integer

    def graph(self) -> Graph:
        return self.builder.graph("layers", self.inputs, self.outputs, states=self.states)

    # Numbers

    def count(self, low: int, high: int) -> int:
        """Small ones are as likely as large ones."""
        return round(float(np.exp(self.rng.uniform(np.log(low), np.log(high)))))

    def channels(self, high: int = 128) -> int:
        """As networks have them, more often than not."""
        n, multiple = self.count(3, high), self.pick(1, 1, 4, 4, 16)
        return min(-(-n // multiple) * multiple, high)

    def pick(self, *options: T) -> T:
        return options[self.rng.integers(len(options))]

    # Tensors

    def quant(self, dtype: DType, scale: float = 0.05) -> Quant | None:
        if not dtype.is_integer:
            return None
        zero = int(self.rng.integers(-128, 128)) if dtype is DType.S8 else 0
        return Quant((scale if dtype is DType.S8 else scale / 256,), (zero,), None, self.rounding)

    def x(self, *shape: int, scale: float = 0.05) -> str:
        return self.input(Type(self.kinds[0], shape, self.quant(self.kinds[0], scale)))

    def input(self, kind: Type) -> str:
        self.inputs.append(self.builder.input(f"x{len(self.inputs)}", kind))
        return self.inputs[-1]

    def constant(self, data: Array, quant: Quant | None = None) -> str:
        name = self.builder.fresh("w")
        data.flags.writeable = False
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def weights(self, outputs: int, *shape: int) -> tuple[str, str]:
        """Weights and bias of a layer whose results have the size of its inputs."""
        kind = self.kinds[1]
        if not self.is_integer and not kind.is_integer:
            w = self.rng.standard_normal((outputs, *shape)).astype(kind.numpy)
            return self.constant(w), self.constant(np.zeros(outputs, np.float32))
        most = 7 if kind is DType.S4 else 127
        w = self.rng.integers(-most, most + 1, (outputs, *shape)).astype(kind.numpy)
        sizes = self.rng.uniform(0.1, 1) * self.rng.uniform(0.5, 1, outputs) / most / w[0].size ** 0.5
        match self.weights_are:
            case "least":
                w.flat[0] = -most - 1
            case "light":
                w //= 2
            case "alike":
                w, sizes = w // 2, np.full_like(sizes, sizes[0])
        scales = tuple(float(np.float32(s)) for s in sizes)
        bias = self.rng.integers(-999, 999, outputs).astype(np.int32 if self.is_integer else np.float32)
        return self.constant(w, Quant(scales, (0,) * outputs, 0, self.rounding)), self.constant(bias)

    def pruned_weights(self, outputs: int, *shape: int) -> tuple[str, str]:
        """Of integers, with blocks of zeros of 16 outputs and 4 inputs, few or almost all."""
        w, bias = self.weights(outputs, *shape)
        value = self.builder.values[w]
        assert value.data is not None
        data, share = value.data.copy(), self.rng.uniform(0.3, 0.95)
        for o in range(0, outputs, 16):
            for i in range(0, shape[-1], 4):
                data[o : o + 16, ..., i : i + 4] *= self.rng.random() > share
        return self.constant(data, value.type.quant), bias

    def add(self, op: Op, *names: str, quant: Quant | None = None) -> str:
        y = self.builder.add(op, *names, quant=quant or self.quant(self.kinds[2]))[0]
        self.outputs.append(y)
        return y

    @property
    def dtype(self) -> DType | None:
        return self.kinds[2] if self.is_integer else None

    def image(self, channels: int, work: float, least: int = 1) -> tuple[int, int]:
        """Height and width, such that so much work for each pixel is not too much."""
        most = min(MAX_PRODUCTS / max(work, 1), _MAX_CELLS / channels)
        side = int(np.clip(most**0.5, least, 32))
        return int(self.rng.integers(least, side + 1)), int(self.rng.integers(least, side + 1))

"""Random quantized networks of one layer behind the other, whose results lie over their inputs."""

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Quant, Type, Value


class Chain:
    """Quantized layers, one behind the other."""

    def __init__(self, seed: int, shape: tuple[int, ...], rounding: str = "tfl") -> None:
        self.rounding = rounding
        self.random = np.random.default_rng(seed)
        self.builder = Builder()
        self.last = self.builder.input("x", Type(DType.S8, shape, self.quant()))

    def quant(self) -> Quant:
        """All of one scale: pooling by TFLite's rule does not change it."""
        return Quant((0.05,), (3,), rounding=self.rounding)

    def add(self, op: Op, *operands: str, quant: Quant | None = None) -> None:
        (self.last,) = self.builder.add(op, self.last, *operands, quant=quant or self.quant())

    def layer(self, op: Conv2d | Dense, *shape: int) -> None:
        outputs = shape[0]
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = tuple(float(np.float32(s)) for s in self.random.uniform(0.002, 0.01, outputs))
        w = self.constant(weights, Quant(scales, (0,) * outputs, 0, self.rounding))
        self.add(op, w, self.constant(self.random.integers(-999, 999, outputs).astype(np.int32)))

    def constant(self, data: np.ndarray, quant: Quant | None = None) -> str:
        name = self.builder.fresh("w")
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def image(self) -> tuple[int, ...]:
        return self.builder.type(self.last).shape

    def pick(self, *numbers: int) -> int:
        return int(self.random.choice(numbers))

    def window(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int], tuple[int, int]]:
        """A kernel, strides, pads and dilations that leave something of the image."""
        while True:
            kernel = (self.pick(1, 2, 3, 4), self.pick(1, 2, 3))
            strides = (self.pick(1, 1, 2, 3), self.pick(1, 1, 2))
            dilations = (self.pick(1, 1, 2), self.pick(1, 1, 3))
            spans = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
            pads = tuple(self.pick(*range(span + 1)) for span in (*spans, *spans))
            sizes = [n + pads[i] + pads[i + 2] - spans[i] for i, n in enumerate(self.image()[1:3])]
            if min(sizes) > 0:
                return kernel, strides, (pads[0], pads[1], pads[2], pads[3]), dilations

    def convolution(self) -> None:
        kernel, strides, pads, dilations = self.window()
        depth = self.image()[3]
        groups = self.pick(*(g for g in (1, 1, 2, 3, depth) if depth % g == 0))
        outputs = groups * self.pick(1, 2, 3, 9, 16, 17, 40) if groups < depth else depth * self.pick(1, 1, 2)
        self.layer(Conv2d(strides, pads, dilations, groups), outputs, *kernel, depth // groups)

    def pooling(self) -> None:
        _, height, width, _ = self.image()
        size = (min(self.pick(1, 2, 3), height), min(self.pick(1, 2), width))
        pads = (self.pick(0, size[0] - 1), 0, 0, self.pick(0, size[1] - 1))
        self.add(Pool2d("mean", size, (self.pick(1, 2), self.pick(1, 2)), pads))

    def done(self, name: str) -> Graph:
        return self.builder.graph(name, ["x"], [self.last])


def random_chain(seed: int) -> Graph:
    random = np.random.default_rng(seed)
    chain = Chain(seed, (int(random.integers(1, 3)), *(int(n) for n in random.integers(3, 14, 2)), 4))
    chain.layer(Conv2d(), 24, 1, 1, 4)
    for _ in range(4):
        chain.pooling() if random.integers(5) == 0 else chain.convolution()
    rows, depth = int(np.prod(chain.image()[:3])), chain.image()[3]
    chain.add(Reshape((rows, depth)))
    for outputs in random.choice([1, 7, 16, 33, 70], 3):
        chain.layer(Dense(), int(outputs), chain.image()[1])
    return chain.done(f"chain{seed}")

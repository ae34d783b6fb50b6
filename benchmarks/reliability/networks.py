"""Networks of every kind that have no part in the calibration of estimates, for several scripts.

Those of MLPerf Tiny lie beside the checkout, the examples in it; all others are made here, with the layers of
the architectures that they are named after and random weights of a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from edgekit import api
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, State
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Gelu, HardSwish, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType, Type, Value

_ROOT = Path(__file__).parents[2]
_SHARED = _ROOT.parent / "shared" / "models" / "mlperf_tiny"
_EXAMPLES = {"digits": "x", "keywords": "x", "anomaly": "x"}
_FILES = {
    "image classification": "pretrainedResnet_quant",
    "keyword spotting": "kws_ref_model",
    "visual wake words": "vww_96_int8",
    "anomaly detection": "ad01_int8",
    "image classification f32": "pretrainedResnet",
    "keyword spotting f32": "kws_ref_model_float32",
    "visual wake words f32": "vww_96_float",
    "anomaly detection f32": "ad01_fp32",
}


@dataclass(frozen=True)
class Network:
    """A network, which is made when it is asked for."""

    name: str
    graph: Callable[[], Graph]


class Layers:
    """A float network in the making: each method adds a layer and returns the name of its result."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = Builder()
        self.inputs: list[str] = []
        self.states: list[tuple[str, str, Array]] = []

    def shape(self, x: str) -> tuple[int, ...]:
        return self.builder.type(x).shape

    def input(self, *shape: int) -> str:
        self.inputs.append(self.builder.input(f"x{len(self.inputs)}", Type(DType.F32, shape)))
        return self.inputs[-1]

    def add(self, op: Op, *operands: str | Array) -> str:
        """The first result of an operator; arrays are constants."""
        names = (x if isinstance(x, str) else self.builder.const(x.astype(np.float32)) for x in operands)
        return self.builder.add(op, *names)[0]

    def weights(self, *shape: int) -> tuple[Array, Array]:
        """Of a layer that keeps the size of its inputs, and a bias."""
        spread = (2 / np.prod(shape[1:])) ** 0.5
        return self.rng.standard_normal(shape) * spread, self.rng.standard_normal(shape[0]) * 0.1

    def conv(
        self,
        x: str,
        outputs: int,
        k: int | tuple[int, int] = 3,
        stride: int | tuple[int, int] = 1,
        groups: int = 1,
        dilation: int = 1,
        is_padded: bool = True,
        hi: float = np.inf,
        lo: float = 0.0,
    ) -> str:
        """With a ReLU, unless `lo` says otherwise. A result has the size of its image, or a share of it."""
        (k_h, k_w), (down, across) = ((n, n) if isinstance(n, int) else n for n in (k, stride))
        pads = (0, 0, 0, 0)
        if is_padded:
            high, wide = (k_h - 1) * dilation, (k_w - 1) * dilation
            pads = (high // 2, wide // 2, high - high // 2, wide - wide // 2)
        op = Conv2d((down, across), pads, (dilation, dilation), groups, lo=lo, hi=hi)
        return self.add(op, x, *self.weights(outputs, k_h, k_w, self.shape(x)[3] // groups))

    def depthwise(self, x: str, k: int | tuple[int, int] = 3, **options: object) -> str:
        channels = self.shape(x)[3]
        return self.conv(x, channels, k, groups=channels, **options)  # type: ignore[arg-type]  # those of conv

    def dense(self, x: str, outputs: int, lo: float = -np.inf) -> str:
        return self.add(Dense(lo=lo), x, *self.weights(outputs, self.shape(x)[-1]))

    def norm(self, x: str) -> str:
        n = self.shape(x)[-1]
        return self.add(LayerNorm(1e-5), x, self.rng.uniform(0.5, 1.5, n), self.rng.standard_normal(n) * 0.1)

    def pool(self, x: str, k: int = 2, kind: str = "max") -> str:
        return self.add(Pool2d(kind, (k, k), (k, k)), x)

    def mean(self, x: str, keepdims: bool = False) -> str:
        return self.add(Reduce("mean", (1, 2), keepdims=keepdims), x)

    def flat(self, x: str, *shape: int) -> str:
        return self.add(Reshape(shape or (1, int(np.prod(self.shape(x))))), x)

    def slice(self, x: str, axis: int, start: int, size: int) -> str:
        shape = self.shape(x)
        starts = tuple(start if i == axis else 0 for i in range(len(shape)))
        sizes = tuple(size if i == axis else n for i, n in enumerate(shape))
        return self.add(Slice(starts, (1,) * len(shape), sizes), x)

    def recurrent(self, x: str, size: int, op: Op) -> str:
        """Over the rows of x [T, 1, n]."""
        gates = {Lstm: 4, Gru: 3, Rnn: 1}[type(op)]  # one of these
        sums = self.dense(x, gates * size)
        r = self.rng.standard_normal((gates * size, size)) * size**-0.5
        zeros = [np.zeros((1, size))] * (2 if isinstance(op, Lstm) else 1)
        bias = [self.rng.standard_normal(size) * 0.1] if isinstance(op, Gru) else []
        return self.add(op, sums, r, *zeros, *bias)

    def attention(self, x: str, heads: int) -> str:
        """Of the rows of x [T, n] on one another."""
        steps, n = self.shape(x)

        def parted() -> str:
            split = self.flat(self.dense(x, n), steps, heads, n // heads)
            return self.add(Transpose((1, 0, 2)), split)

        q, k, v = parted(), parted(), parted()
        scores = self.add(Mul(), self.add(MatMul(perm_b=(0, 2, 1)), q, k), np.array((n // heads) ** -0.5))
        y = self.add(MatMul(), self.add(Softmax(), scores), v)
        return self.dense(self.flat(self.add(Transpose((1, 0, 2)), y), steps, n), n)

    def ring(self, x: str, length: int) -> str:
        """The last rows of x [1, T, 1, n], those of the runs before included."""
        _, steps, _, n = self.shape(x)
        before = self.builder.input(f"ring{len(self.states)}", Type(DType.F32, (1, length, 1, n)))
        whole = self.add(Concat(1), before, x)
        after = self.slice(whole, 1, steps, length)
        self.states.append((before, after, np.zeros((1, length, 1, n), np.float32)))
        return whole

    def graph(self, *outputs: str) -> Graph:
        states = [
            State(read, written, Value(self.builder.type(read), start))
            for read, written, start in self.states
        ]
        return self.builder.graph("net", self.inputs, outputs, states=states)


def mobilenet(n: Layers) -> Graph:
    """Inverted residuals, as in MobileNetV2."""
    x = n.conv(n.input(1, 32, 32, 3), 8, stride=2, hi=6.0)
    for outputs, stride in ((8, 1), (12, 2), (12, 1), (20, 2)):
        wide = n.conv(x, 4 * n.shape(x)[3], 1, hi=6.0)
        y = n.conv(n.depthwise(wide, stride=stride, hi=6.0), outputs, 1, lo=-np.inf)
        x = n.add(Add(), x, y) if n.shape(x) == n.shape(y) else y
    return n.graph(n.dense(n.mean(n.conv(x, 48, 1)), 10))


def squeezed(n: Layers) -> Graph:
    """HardSwish, and channels weighed by the whole image, as in MobileNetV3."""
    x = n.add(HardSwish(), n.conv(n.input(1, 24, 24, 3), 12, stride=2, lo=-np.inf))
    for k in (3, 5):
        y = n.add(HardSwish(), n.conv(x, 36, 1, lo=-np.inf))
        y = n.add(HardSwish(), n.depthwise(y, k, lo=-np.inf))
        weights = n.add(Sigmoid(), n.conv(n.conv(n.mean(y, keepdims=True), 9, 1), 36, 1, lo=-np.inf))
        x = n.add(Add(), x, n.conv(n.add(Mul(), y, weights), 12, 1, lo=-np.inf))
    return n.graph(n.add(Softmax(), n.dense(n.mean(x), 7)))


def resnet(n: Layers) -> Graph:
    x = n.conv(n.input(1, 24, 20, 3), 12)
    for outputs, stride in ((12, 1), (20, 2), (28, 2)):
        y = n.conv(n.conv(x, outputs, stride=stride), outputs, lo=-np.inf)
        short = x if n.shape(x) == n.shape(y) else n.conv(x, outputs, 1, stride, lo=-np.inf)
        x = n.add(Clip(), n.add(Add(), y, short), np.array(0.0), np.array(np.inf))
    return n.graph(n.dense(n.mean(x), 10))


def inception(n: Layers) -> Graph:
    """Branches side by side."""
    x = n.pool(n.conv(n.input(1, 24, 24, 1), 10, 5))
    for outputs in (5, 9):
        branches = [n.conv(x, outputs, 1), n.conv(n.conv(x, 6, 1), outputs, 3)]
        branches.append(n.conv(n.conv(x, outputs, (1, 5)), outputs, (5, 1)))
        x = n.pool(n.add(Concat(3), *branches))
    return n.graph(n.dense(n.flat(x), 6))


def unet(n: Layers) -> Graph:
    """Down and up again, by transposed convolutions, beside what was before."""
    top = n.conv(n.input(1, 16, 24, 2), 8)
    low = n.conv(n.pool(top), 14)
    deep = n.conv(n.pool(low), 22)
    for beside in (low, top):
        _, height, width, channels = n.shape(beside)
        up = n.add(
            ConvTranspose2d((height, width), (2, 2)), deep, *n.weights(channels, 2, 2, n.shape(deep)[3])
        )
        deep = n.conv(n.add(Concat(3), up, beside), channels)
    return n.graph(n.conv(deep, 3, 1, lo=-np.inf))


def temporal(n: Layers) -> Graph:
    """Dilated filters over time with residuals, as in a TCN."""
    x = n.conv(n.input(1, 64, 1, 6), 18, (3, 1), is_padded=False)
    for dilation in (1, 2, 4):
        rows = n.shape(x)[1]
        op = Conv2d((1, 1), (dilation, 0, dilation, 0), (dilation, 1), lo=0.0)
        y = n.add(op, x, *n.weights(18, 3, 1, 18))
        assert n.shape(y)[1] == rows
        x = n.add(Add(), x, n.conv(y, 18, 1))
    return n.graph(n.dense(n.mean(x), 5))


def wake_word(n: Layers, is_streaming: bool = False) -> Graph:
    """Filters of several lengths over time, channels in parts: as keyword spotters that stream have them."""
    x = n.input(1, 3 if is_streaming else 40, 1, 40)
    x = n.conv(n.ring(x, 4) if is_streaming else x, 32, (5, 1), is_padded=False, stride=(3, 1))
    for lengths in ((5,), (7, 11), (9, 15), (23,)):
        x = n.ring(x, max(lengths) - 1) if is_streaming else x
        steps = n.shape(x)[1] - max(lengths) + 1 if is_streaming else n.shape(x)[1]
        size, parts = n.shape(x)[3] // len(lengths), []
        for i, length in enumerate(lengths):
            part = n.slice(x, 3, i * size, size) if len(lengths) > 1 else x
            if is_streaming:
                part = n.slice(part, 1, n.shape(x)[1] - steps - length + 1, steps + length - 1)
            parts.append(n.depthwise(part, (length, 1), is_padded=not is_streaming, lo=-np.inf))
        x = n.conv(n.add(Concat(3), *parts) if len(parts) > 1 else parts[0], 48, 1)
    return n.graph(n.add(Sigmoid(), n.dense(n.flat(x), 1)))


def voice(n: Layers) -> Graph:
    """Convolutions over a spectrum, and a cell of an LSTM: as detectors of voices have them."""
    x = n.conv(n.input(1, 8, 1, 65), 48, (3, 1))
    x = n.conv(n.conv(x, 32, (3, 1), (2, 1)), 32, (3, 1), (2, 1))
    x = n.conv(x, 48, (3, 1))
    x = n.recurrent(n.flat(x, n.shape(x)[1], 1, 48), 48, Lstm())
    return n.graph(n.add(Sigmoid(), n.mean(n.conv(n.flat(x, 1, n.shape(x)[0], 1, 48), 1, 1, lo=-np.inf))))


def recurrent(n: Layers, op: Op, size: int = 24) -> Graph:
    x = n.recurrent(n.input(12, 1, 10), size, op)
    last = n.flat(n.slice(x, 0, 11, 1), 1, size)
    return n.graph(n.dense(n.dense(last, 16, lo=0.0), 4))


def stacked(n: Layers) -> Graph:
    """Two layers over time behind convolutions."""
    x = n.conv(n.input(1, 20, 12, 1), 10, 3, 2)
    steps, rest = n.shape(x)[1], n.shape(x)[2] * n.shape(x)[3]
    x = n.recurrent(n.flat(x, steps, 1, rest), 20, Gru())
    x = n.recurrent(x, 14, Lstm(reverse=True))
    return n.graph(n.dense(n.flat(n.slice(x, 0, 0, 1), 1, 14), 3))


def transformer(n: Layers) -> Graph:
    """Two encoder layers over patches."""
    x = n.conv(n.input(1, 16, 16, 2), 24, 4, 4, is_padded=False, lo=-np.inf)
    x = n.flat(x, 16, 24)
    for _ in range(2):
        x = n.add(Add(), x, n.attention(n.norm(x), 3))
        x = n.add(Add(), x, n.dense(n.add(Gelu(), n.dense(n.norm(x), 72)), 24))
    return n.graph(n.dense(n.norm(n.flat(n.slice(x, 0, 0, 1), 1, 24)), 5))


def convnext(n: Layers) -> Graph:
    """Wide depthwise filters, norms over channels."""
    x = n.norm(n.conv(n.input(1, 24, 24, 3), 14, 4, 4, is_padded=False, lo=-np.inf))
    for _ in range(2):
        y = n.conv(n.norm(n.depthwise(x, 7, lo=-np.inf)), 42, 1, lo=-np.inf)
        x = n.add(Add(), x, n.conv(n.add(Gelu(), y), 14, 1, lo=-np.inf))
    return n.graph(n.dense(n.mean(x), 4))


def autoencoder(n: Layers) -> Graph:
    x = n.input(1, 96)
    for size in (40, 12, 4, 12, 40):
        x = n.dense(x, size, lo=0.0)
    return n.graph(n.dense(x, 96))


def mixer(n: Layers) -> Graph:
    """Dense layers along rows and columns in turn."""
    x = n.flat(n.conv(n.input(1, 20, 20, 1), 20, 5, 5, is_padded=False, lo=-np.inf), 16, 20)
    for _ in range(2):
        turned = n.add(Transpose((1, 0)), n.norm(x))
        y = n.dense(n.add(Gelu(), n.dense(turned, 24)), 16)
        x = n.add(Add(), x, n.add(Transpose((1, 0)), y))
        x = n.add(Add(), x, n.dense(n.add(Gelu(), n.dense(n.norm(x), 40)), 20))
    return n.graph(n.dense(n.flat(x), 3))


def chain(n: Layers) -> Graph:
    """Layers drawn at random, each on what is before it."""
    rng = n.rng
    height, width = (int(s) for s in rng.integers(10, 25, 2))
    x = n.input(1, height, width, int(rng.choice([1, 2, 3, 4])))
    for _ in range(int(rng.integers(4, 9))):
        _, height, width, channels = n.shape(x)
        outputs, lo = int(rng.integers(3, 40)), float(rng.choice([0.0, -np.inf]))
        fits = min(height, width) >= 4
        match int(rng.integers(9)):
            case 0 | 1:
                x = n.conv(
                    x, outputs, int(rng.choice([2, 3, 5])), int(rng.choice([1, 2])) if fits else 1, lo=lo
                )
            case 2 | 3:
                x = n.conv(x, outputs, 1, lo=lo)
            case 4 if channels > 1:
                x = n.depthwise(x, int(rng.choice([3, 5])), lo=lo)
            case 5 if fits:
                x = n.pool(x, 2, str(rng.choice(["max", "mean"])))
            case 6:
                x = n.add((Tanh(), Sigmoid(), HardSwish())[int(rng.integers(3))], x)
            case 7:
                x = n.add(Add(), x, n.conv(x, channels, 3, lo=lo))
            case _ if channels % 2 == 0:
                x = n.conv(x, 2 * outputs, 3, groups=2, lo=lo)
            case _:
                x = n.conv(x, outputs, (1, 3), lo=lo)
    return n.graph(n.dense(n.mean(x) if rng.random() < 0.5 else n.flat(x), int(rng.integers(2, 12))))


def quantized(graph: Callable[[], Graph], **options: Any) -> Graph:
    """With ranges of random inputs: what a run takes does not depend on what weights are good for."""
    made, _ = api.quantize_model(graph(), "random", calibrate="minmax", **options)
    return made


def made(layers: Callable[[Layers], Graph], format: str, seed: int = 0) -> Graph:
    """A network in a format, "f32" among them."""
    if format == "f32":
        return _made(layers, seed)
    return quantized(partial(_made, layers, seed), **FORMATS[format])


def _of_example(name: str) -> Graph:
    return api.convert(_ROOT / "examples" / name / f"{name}.onnx")


def _of_file(path: str) -> Graph:
    return api.convert(_SHARED / f"{path}.tflite")


_INT8 = {"io": "int8"}
_INT16 = {"activations": "int16"}
_INT4 = {"weights": "int4"}
_BF16 = {"dtype": "bf16"}
FORMATS = {"int8": _INT8, "int16": _INT16, "int4": _INT4, "bf16": _BF16}
_ARCHITECTURES: dict[str, tuple[Callable[[Layers], Graph], Sequence[dict[str, str] | None]]] = {
    # Formats that each is measured in; None is float32.
    "mobilenet": (mobilenet, (_INT8, None)),
    "squeezed": (squeezed, (_INT8, _INT16)),
    "resnet": (resnet, (_INT8, _INT16, _BF16)),
    "inception": (inception, (_INT8, None)),
    "unet": (unet, (_INT8, _INT16)),
    "temporal": (temporal, (_INT8, None)),
    "wake word": (wake_word, (_INT8,)),
    "wake word, streaming": (partial(wake_word, is_streaming=True), (None,)),
    "voice": (voice, (None, _INT8)),
    "lstm": (partial(recurrent, op=Lstm()), (_INT8, None)),
    "gru": (partial(recurrent, op=Gru()), (_INT8, None)),
    "rnn": (partial(recurrent, op=Rnn(), size=17), (_INT8, None)),
    "stacked": (stacked, (_INT8,)),
    "transformer": (transformer, (_INT8, _INT16, None)),
    "convnext": (convnext, (_INT8, None)),
    "autoencoder": (autoencoder, (_INT8, _INT4, _BF16)),
    "mixer": (mixer, (_INT8, _INT16)),
}
_CHAINS: Sequence[dict[str, str] | None] = (_INT8, _INT16, None, _INT8, _INT4, _INT8, _INT16, None)


def networks() -> Iterator[Network]:
    """All of them; files that are not beside this checkout are left out."""
    for name in _EXAMPLES:
        graph = partial(_of_example, name)
        for format in (_INT8, _INT16, None):
            yield _network(name, graph, format)
    for name, path in _FILES.items():
        if (_SHARED / f"{path}.tflite").is_file():
            yield Network(name, partial(_of_file, path))
    for seed, (name, (make, formats)) in enumerate(_ARCHITECTURES.items()):
        for format in formats:
            yield _network(name, partial(_made, make, seed), format)
    for seed, format in enumerate(_CHAINS):
        yield _network(f"random {seed}", partial(_made, chain, 1000 + seed), format)


def _made(make: Callable[[Layers], Graph], seed: int) -> Graph:
    return make(Layers(seed))


def _network(name: str, graph: Callable[[], Graph], format: dict[str, str] | None) -> Network:
    if format is None:
        return Network(f"{name} f32", graph)
    kind = format.get("activations") or format.get("weights") or format.get("dtype") or "int8"
    return Network(f"{name} {kind}", partial(quantized, graph, **format))

"""A small transformer as sentence encoders are exported: ids, a mask of tokens, and the mean of those."""

import numpy as np
from support.nets import Net

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Gelu
from edgekit.core.ops.arithmetic import Add, Div, Mul, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type

WORDS, LENGTH, WIDTH, HEADS = 61, 6, 16, 2


class _Encoder(Net):
    def integers(self, name: str) -> str:
        self.inputs.append(Builder.input(self, name, Type(DType.S64, (1, LENGTH))))
        return self.inputs[-1]

    def dense(self, x: str, outputs: int) -> str:
        inputs = self.type(x).shape[-1]
        weights = self.random(outputs, inputs) / np.float32(np.sqrt(inputs))
        return self(Dense(), x, weights, self.random(outputs) * np.float32(0.1))

    def norm(self, x: str) -> str:
        scale = 1 + np.float32(0.1) * self.random(WIDTH)
        return self(LayerNorm(1e-5), x, scale, self.random(WIDTH) * np.float32(0.1))

    def rows(self, ids: str, count: int) -> str:
        place = self.one(Reshape((LENGTH, 1)), ids)
        found = self.one(Gather(0), self.const(self.random(count, WIDTH), hint="table"), place)
        return self.one(Reshape((1, LENGTH, WIDTH)), found)


def encoder() -> Graph:
    """One layer. Masked tokens get -FLT_MAX before the softmax, so that a mask of other numbers makes NaN."""
    net = _Encoder(seed=4)
    ids, mask, kinds = (net.integers(name) for name in ("ids", "mask", "kinds"))
    x = net.norm(net(Add(), net.rows(ids, WORDS), net.rows(kinds, 2)))
    real = net.one(Cast(DType.F32), mask)
    left_out = net(Mul(), net(Sub(), 1.0, real), np.float32(np.finfo(np.float32).min))
    heads = (1, LENGTH, HEADS, WIDTH // HEADS)
    q, k, v = (net(Transpose((0, 2, 1, 3)), net(Reshape(heads), net.dense(x, WIDTH))) for _ in range(3))
    scores = net(Add(), net(MatMul((), (0, 1, 3, 2)), q, k), net(Reshape((1, 1, 1, LENGTH)), left_out))
    seen = net(Transpose((0, 2, 1, 3)), net(MatMul(), net(Softmax(), scores), v))
    x = net.norm(net(Add(), x, net.dense(net(Reshape((1, LENGTH, WIDTH)), seen), WIDTH)))
    x = net.norm(net(Add(), x, net.dense(net(Gelu(), net.dense(x, 2 * WIDTH)), WIDTH)))
    kept = net(Reshape((1, LENGTH, 1)), real)
    total = net(Reduce("sum", (1,), keepdims=False), net(Mul(), x, kept))
    return net.done(x, net(Div(), total, net(Reduce("sum", (1,), keepdims=False), kept)))

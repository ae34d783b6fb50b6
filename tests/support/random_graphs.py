"""Random small graphs as exporters make them: layers between transposes, residuals, reshapes, leftovers."""

from collections.abc import Callable
from math import prod

import numpy as np
from support.nets import Net

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Min, Mul, Neg, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType

_LARGEST = 4000  # elements of a value

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def random_network(seed: int, steps: int = 14, dtype: DType = DType.F64) -> Graph:
    """Layers of all kinds, in float64, so that another order of additions cannot be mistaken for a fault."""
    return _Maker(Net(dtype, seed), _LAYERS + _MOVES).make((1, 4, 6, 6), steps)


def random_movement(seed: int, steps: int = 14) -> Graph:
    """Nothing but data movement and integer arithmetic: every bit must be right."""
    return _Maker(Net(DType.S32, seed), _MOVES).make((2, 4, 3, 6), steps)


class _Maker:
    def __init__(self, net: Net, recipes: "list[Recipe]") -> None:
        self.net, self.recipes = net, recipes
        self.rng = net.rng
        self.made: list[str] = []

    def make(self, shape: tuple[int, ...], steps: int) -> Graph:
        """Apply random recipes to what was made before; values without a consumer are outputs."""
        self.made = [self.net.x(*shape), self.net.x(*shape, name="z")]
        while len(self.made) < steps + 2:
            recipe = self.recipes[self.rng.integers(len(self.recipes))]
            # Mostly the newest: deep graphs have more to simplify than broad ones.
            back = min(int(self.rng.geometric(0.6)), len(self.made))
            x = self.made[-back]
            try:
                y = recipe(self, x)
            except EdgeKitError:  # does not fit these shapes
                continue
            if y and y != x and 0 < self.net.type(y).size <= _LARGEST:
                self.made.append(y)
        read = {name for node in self.net.nodes for name in node.inputs}
        return self.net.done(*(y for y in self.made[2:] if y not in read))

    def shape(self, x: str) -> tuple[int, ...]:
        return self.net.type(x).shape

    def pick(self, n: int) -> int:
        return int(self.rng.integers(n))

    def coin(self) -> bool:
        return bool(self.rng.integers(2))


Recipe = Callable[[_Maker, str], str | None]


def unary(m: _Maker, x: str) -> str:
    if not m.net.dtype.is_float:
        return m.net(Neg(), x)
    choices = [lambda: m.net(Neg(), x), lambda: m.net(Sigmoid(), x), lambda: relu(m, x)]
    return choices[m.pick(3)]()


def relu(m: _Maker, x: str) -> str:
    if not m.net.dtype.is_float:
        return m.net(Max(), x, 0)
    return m.net(Clip(), x, 0.0, 6.0 if m.coin() else np.inf)


def with_constant(m: _Maker, x: str) -> str:
    """A number, a number per cell of one dimension, or a number per element; on either side."""
    shape = m.shape(x)
    kind = m.pick(4)
    if kind == 0 or not shape:
        c = m.net.random()
    elif kind == 1:
        c = m.net.random(*shape)
    else:
        axis = m.pick(len(shape))
        along = [n if i == axis else 1 for i, n in enumerate(shape)]
        c = m.net.random(*along[axis if m.coin() else 0 :])
    op = (Add(), Sub(), Mul(), Max(), Min())[m.pick(5)]
    if m.net.dtype.is_float and m.pick(6) == 0:
        return m.net(Div(), x, np.sign(c) + c + (c == 0))
    return m.net(op, x, c) if m.coin() else m.net(op, c, x)


def with_other(m: _Maker, x: str) -> str | None:
    """Combined with a value that broadcasts to it."""
    others = [y for y in m.made if _broadcasts(m.shape(y), m.shape(x))]
    y = others[m.pick(len(others))]
    return m.net((Add(), Mul(), Sub())[m.pick(3)], *((x, y) if m.coin() else (y, x)))


def transpose(m: _Maker, x: str) -> str | None:
    return m.net(Transpose(tuple(int(p) for p in m.rng.permutation(len(m.shape(x))))), x)


def reshape(m: _Maker, x: str) -> str:
    """Neighbours merged, or a dimension split, or one of size 1 added or removed."""
    shape = list(m.shape(x))
    at = m.pick(len(shape) + 1)
    match m.pick(4):
        case 0 if len(shape) > 1:
            at = m.pick(len(shape) - 1)
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        case 1 if shape:
            at = m.pick(len(shape))
            divisors = [d for d in range(1, shape[at] + 1) if shape[at] % d == 0]
            d = divisors[m.pick(len(divisors))]
            shape[at : at + 1] = [d, shape[at] // d]
        case 2 if 1 in shape:
            shape.remove(1)
        case 3 if len(shape) > 2 and m.pick(4) == 0:
            shape = [prod(shape[:1]), prod(shape[1:])]
        case _ if len(shape) < 6:
            shape.insert(at, 1)
    return m.net(Reshape(tuple(shape)), x)


def concat(m: _Maker, x: str) -> str | None:
    shape = m.shape(x)
    if not shape:
        return None
    axis = m.pick(len(shape))

    def fits(y: str) -> bool:
        other = m.shape(y)
        return len(other) == len(shape) and all(
            a == b for i, (a, b) in enumerate(zip(shape, other, strict=True)) if i != axis
        )

    others = [y for y in m.made if fits(y)]
    parts = [x, others[m.pick(len(others))]]
    if m.coin():
        parts.append(m.net.const(m.net.random(*shape)))
    return m.net(Concat(axis), *(parts if m.coin() else reversed(parts)))


def cut(m: _Maker, x: str) -> str | None:
    shape = m.shape(x)
    if not shape:
        return None
    axis = m.pick(len(shape))
    size = 1 + m.pick(shape[axis])
    start = m.pick(shape[axis] - size + 1)
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    return m.net(Slice(starts, (1,) * len(shape), (*shape[:axis], size, *shape[axis + 1 :])), x)


def border(m: _Maker, x: str) -> str:
    shape = m.shape(x)
    before, after = ([int(m.pick(6) == 0) for _ in shape] for _ in range(2))
    return m.net(Pad(tuple(before), tuple(after)), x, 0 if m.coin() else 3)


def expand(m: _Maker, x: str) -> str | None:
    return m.net(Expand(tuple(3 if n == 1 and m.coin() else n for n in m.shape(x))), x)


def reduce(m: _Maker, x: str) -> str:
    axes = tuple(i for i in range(len(m.shape(x))) if m.pick(3) == 0)
    return m.net(Reduce("mean" if m.net.dtype.is_float else "max", axes, m.coin()), x)


def softmax(m: _Maker, x: str) -> str:
    return m.net(Softmax(), x)


def conv(m: _Maker, x: str) -> str | None:
    """Between transposes, as the importer leaves it; batch norm and activation behind it."""
    if len(m.shape(x)) != 4:
        return None
    channels = m.shape(x)[1]
    groups = (channels, 1, 2 - channels % 2)[m.pick(3)]
    outputs, k = channels if groups == channels else groups * (1 + m.pick(3)), 1 + 2 * m.pick(2)
    w = m.net.random(outputs, k, k, channels // groups) / np.sqrt(k * k * channels / groups)
    b = m.net.random(outputs)
    dead = m.rng.random(outputs) < 0.3
    w[dead], b[dead] = 0, b[dead] * m.pick(2)
    y = m.net(Transpose(TO_NHWC), x)
    y = m.net(Conv2d((1 + m.pick(2),) * 2, (k // 2,) * 4 if m.coin() else (0,) * 4, groups=groups), y, w, b)
    y = m.net(Transpose(TO_NCHW), y)
    if m.coin():
        y = m.net(Add(), m.net(Mul(), y, m.net.random(outputs, 1, 1)), m.net.random(outputs, 1, 1))
    return relu(m, y) if m.coin() else y


def pool(m: _Maker, x: str) -> str | None:
    if len(m.shape(x)) != 4:
        return None
    y = m.net(Pool2d("max" if m.coin() else "mean", (2, 2), (2, 2)), m.net(Transpose(TO_NHWC), x))
    return m.net(Transpose(TO_NCHW), y)


def dense(m: _Maker, x: str) -> str | None:
    shape = m.shape(x)
    if not shape:
        return None
    w = m.net.random(2 + m.pick(5), shape[-1]) / np.sqrt(shape[-1])
    if len(shape) > 1 and m.coin():
        return m.net(MatMul(), x, w.T)
    return m.net(Dense(), x, w, m.net.random(len(w)))


def flat_dense(m: _Maker, x: str) -> str | None:
    shape = m.shape(x)
    return dense(m, m.net(Reshape((shape[0], prod(shape[1:]))), x)) if len(shape) > 1 else None


def matmul(m: _Maker, x: str) -> str | None:
    shape = m.shape(x)
    if len(shape) < 2:
        return None
    rank = len(shape)
    return m.net(MatMul(), x, m.net(Transpose((*range(rank - 2), rank - 1, rank - 2)), x))


def _broadcasts(y: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(y) <= len(to) and all(a in (1, b) for a, b in zip(reversed(y), reversed(to), strict=False))


_MOVES: list[Recipe] = [transpose, transpose, reshape, reshape, concat, cut, border, expand, reduce]
_MOVES += [unary, with_constant, with_constant, with_other, with_other]
_LAYERS: list[Recipe] = [conv, conv, conv, conv, pool, dense, flat_dense, matmul, softmax, relu]

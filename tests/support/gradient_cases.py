"""Operators with gradients, and operands for them."""

import numpy as np

from edgekit.core.ops import Op
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array

SAME = (1, 1, 1, 1)
_INDEX = np.array([[0, 1], [1, 1], [2, 0], [3, 2], [3, 0]], np.int32)  # some are read by both taps
CASES: list[tuple[Op, list[tuple[int, ...] | Array]]] = [
    (Conv2d(), [(2, 5, 4, 3), (4, 1, 1, 3), (4,)]),
    (Conv2d(pads=(1, 0, 2, 1), strides=(2, 1), lo=0.0), [(2, 6, 5, 3), (4, 3, 2, 3), (4,)]),
    (Conv2d(pads=SAME, dilations=(2, 1), lo=-0.5, hi=0.5), [(1, 6, 6, 2), (3, 3, 3, 2), (3,)]),
    (Conv2d(pads=SAME, groups=6), [(2, 4, 4, 6), (6, 3, 3, 1), (6,)]),
    (Conv2d(groups=2), [(2, 4, 4, 6), (4, 2, 2, 3), (4,)]),
    (ConvTranspose2d((9, 7), (2, 2)), [(2, 4, 3, 3), (5, 3, 3, 3), (5,)]),
    (ConvTranspose2d((4, 9), (1, 2), (1, -2), (2, 1), lo=0.0), [(1, 4, 3, 2), (3, 2, 3, 2), (3,)]),
    (ConvTranspose2d((8, 6), (2, 2), groups=2), [(2, 4, 3, 6), (4, 2, 2, 3), (4,)]),
    (LayerNorm(1e-5), [(2, 3, 6), (6,), (6,)]),
    (Resample(1), [(2, 4, 3), _INDEX, (5, 2)]),
    (Resample(0), [(4, 3), _INDEX, (5, 2)]),
    (Expand((2, 3, 4)), [(2, 1, 4)]),
    (Pad((0, 1, 0), (2, 0, 1)), [(2, 3, 4), np.zeros(())]),
    (Dense(lo=0.0), [(3, 7), (4, 7), (4,)]),
    (Dense(), [(2, 3, 7), (4, 7), (4,)]),
    (Pool2d("max", (2, 3), (2, 1), (1, 1, 0, 1)), [(2, 5, 5, 3)]),
    (Pool2d("mean", (3, 3), (2, 2), SAME), [(2, 5, 5, 3)]),
    (Pool2d("mean", (3, 3), (1, 1), SAME, counted=SAME), [(2, 4, 5, 3)]),
    (Pool2d("sum", (2, 2), (2, 2)), [(2, 4, 4, 3)]),
    (Reduce("mean", (1, 2), keepdims=False), [(2, 4, 5, 3)]),
    (Reduce("sum", (1,)), [(2, 4, 5)]),
    (Sigmoid(), [(2, 5)]),
    (Add(), [(2, 4, 3), (4, 1)]),
    (Mul(), [(2, 4, 3), (3,)]),
    (Concat(1), [(2, 3), (2, 4)]),
    (Reshape((6, 4)), [(2, 3, 4)]),
    (Slice((0, 1), (1, 2), (2, 3)), [(2, 6)]),
    (Transpose((2, 0, 1)), [(2, 3, 4)]),
]


def operands(shapes: list[tuple[int, ...] | Array]) -> list[Array]:
    """Random numbers; arrays are what they are."""
    rng = np.random.default_rng(0)
    return [x if isinstance(x, np.ndarray) else np.asarray(rng.standard_normal(x)) for x in shapes]

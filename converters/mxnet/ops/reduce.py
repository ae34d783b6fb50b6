"""Reductions, products of matrices, and recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.aten import recurrent
from edgekit.converters.semantics.movement import part, transposed
from edgekit.converters.semantics.onnx.elementwise import Abs, Sqrt
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

Axes = int | tuple[int, ...]
_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}


def _reduction(kind: str) -> Callable[..., Tensor]:
    def handler(x: Tensor, *, axis: Axes = (), keepdims: bool = False, exclude: bool = False) -> Tensor:
        return compose.reduce(x, kind, _axes(x, axis, exclude), keepdims)

    return handler


mean = _reduction("mean")
sum = _reduction("sum")
max = _reduction("max")
min = _reduction("min")
prod = _reduction("prod")


def norm(x: Tensor, *, ord: int = 2, axis: Axes = (), keepdims: bool = False) -> Tensor:
    if ord not in (1, 2):
        raise EdgeKitError("E0203", f"norm: order {ord} is not supported")
    cells = Abs(x) if ord == 1 else x * x
    total = compose.reduce(cells, "sum", _axes(x, axis, False), keepdims)
    return total if ord == 1 else Sqrt(total)


def dot(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """The last dimension of a with the first of b, as MXNet has it."""
    if a.rank > 2 or b.rank > 2:
        raise EdgeKitError("E0205", f"dot of {a.type} and {b.type} is not supported")
    return compose.matmul(transposed(a, transpose_a), transposed(b, transpose_b))


def batch_dot(a: Tensor, b: Tensor, *, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    return compose.matmul(transposed(a, transpose_a), transposed(b, transpose_b))


def RNN(
    x: Tensor,
    parameters: Tensor,
    *states: Tensor,
    mode: str,
    state_size: int,
    num_layers: int,
    bidirectional: bool = False,
    state_outputs: bool = False,
    p: float = 0.0,
    use_sequence_length: bool = False,
    lstm_state_clip_nan: bool = False,
) -> tuple[Tensor, ...]:
    """Layers above each other; all weights lie in one row, and behind them all biases."""
    if mode not in _GATES or use_sequence_length:
        raise EdgeKitError("E0203", f"RNN: {mode} with lengths of sequences is not supported")
    directions = num_layers * (2 if bidirectional else 1)
    shapes = list(_shapes(x.shape[2], state_size, num_layers, bidirectional, _GATES[mode]))
    total = int(np.sum([_prod(shape) for shape in shapes]))
    if parameters.type.size != total:
        raise EdgeKitError("E0401", f"{parameters.type.size} weights for layers that take {total}")
    params: list[Tensor] = []
    at = 0
    for shape in shapes:
        params.append(part(parameters.reshape(total), 0, at, _prod(shape)).reshape(*shape))
        at += _prod(shape)
    weights, biases = params[: 2 * directions], params[2 * directions :]
    each = [p for i in range(directions) for p in (*weights[2 * i : 2 * i + 2], *biases[2 * i : 2 * i + 2])]
    # A state whose batch is not known yet is one of zeros.
    first = x.like(np.zeros((directions, x.shape[1], state_size)))
    hx = [first if state.type.size == 0 else state for state in states]
    handler: Callable[..., tuple[Tensor, ...]] = getattr(recurrent, mode)
    made = handler(
        x,
        hx=hx if mode == "lstm" else hx[0],
        params=each,
        has_biases=True,
        num_layers=num_layers,
        dropout=0.0,
        train=False,
        bidirectional=bidirectional,
        batch_first=False,
    )
    return made if state_outputs else made[:1]


def _shapes(
    inputs: int, size: int, num_layers: int, bidirectional: bool, gates: int
) -> Iterator[tuple[int, ...]]:
    """Those of all weights, then those of all biases, layer by layer and direction by direction."""
    count = 2 if bidirectional else 1
    for layer in range(num_layers):
        for _ in range(count):
            yield gates * size, size * count if layer else inputs
            yield gates * size, size
    for _ in range(num_layers * count * 2):
        yield (gates * size,)


def _axes(x: Tensor, axis: Axes, exclude: bool) -> list[int]:
    """All where none is named; `exclude` asks for those that are not."""
    named = {x.axis(a) for a in ((axis,) if isinstance(axis, int) else axis)}
    return [i for i in range(x.rank) if not named or (i in named) is not exclude]

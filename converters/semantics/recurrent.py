"""RNN, GRU and LSTM as ONNX has them: the plain ones are one operator, all others are unrolled over time.

Sequences of several lengths need no unrolling: a plain layer computes the padded steps, too, and their
results are masked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.movement import part, reverse_sequence, where
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Less
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn

_SATURATED = 20.0  # a sigmoid of it is 1 in float32
_ANY_STATE = 1e4  # what a state may add to a gate, where weights are not known
_P = ParamSpec("_P")
Result = tuple[Tensor, Tensor, "Tensor | None"]  # y [T, B, H], the last state, the last cells


@dataclass(frozen=True)
class Activation:
    """A function of gates, by the name that the plain operators know."""

    name: str
    apply: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        return self.apply(x)


@dataclass(frozen=True)
class RecurrentLayer:
    """One direction of a recurrent layer.

    x [T, B, I], w [gates H, I], r [gates H, H], biases of the input and of the state [gates H], the first
    state [B, H], and for an LSTM the cells and peepholes [3 H]."""

    x: Tensor
    w: Tensor
    r: Tensor
    input_bias: Tensor
    state_bias: Tensor
    h: Tensor
    c: Tensor | None = None
    peepholes: Tensor | None = None
    lengths: Tensor | None = None  # steps of each sequence [B], None: all
    reverse: bool = False
    activations: Sequence[Activation] = ()
    clip: float | None = None

    @property
    def size(self) -> int:
        return self.h.shape[1]

    def is_plain(self, *activations: str) -> bool:
        """Is there nothing that the operators leave to unrolling?"""
        names = tuple(a.name for a in self.activations)
        return names == activations and self.clip is None and self.peepholes is None

    def has_step(self, step: ArrayLike) -> Tensor:
        """Which sequences have this step [B, 1], or each of the steps [T, 1, 1]: a mask [T, B, 1]."""
        assert self.lengths is not None, "all sequences have all steps"
        return self.lengths.like(step).apply(Less(), self.lengths.reshape(self.h.shape[0], 1))

    def padding_mask(self) -> Tensor:
        """False in padded steps: [T, B, 1]."""
        return self.has_step(np.arange(self.x.shape[0]).reshape(-1, 1, 1))

    def gates(self, bias: Tensor) -> Tensor:
        """What the input adds to each gate, for all steps at once."""
        steps, batch, inputs = self.x.shape
        flat = self.input_products(self.x.reshape(steps * batch, inputs)) + bias
        return flat.reshape(steps, batch, self.w.shape[0])

    def input_products(self, x: Tensor) -> Tensor:
        """x w'"""
        return linear(x, self.w)

    def state_products(self, h: Tensor) -> Tensor:
        """h r'"""
        return linear(h, self.r)

    def lstm(self, gates: Tensor) -> Result:
        """A plain LSTM, where the input adds so much to its gates."""
        assert self.c is not None, "an LSTM has cells"
        y, h, c = gates.apply_all(Lstm(self.reverse), self.r, self.h, self.c)
        return y, h, c

    def clipped(self, a: Tensor) -> Tensor:
        return a if self.clip is None else a.clip(-self.clip, self.clip)


def linear(x: Tensor, w: Tensor) -> Tensor:
    """x w' for weights that are constant or computed."""
    return dense(x, w) if w.data is not None else x.apply(MatMul((), (1, 0)), w)


def _padded_at_the_end(
    run: Callable[Concatenate[RecurrentLayer, _P], Result],
) -> Callable[Concatenate[RecurrentLayer, _P], Result]:
    """A layer in reverse goes forward over reversed sequences, so that padded steps are the last ones."""

    @wraps(run)
    def forward(layer: RecurrentLayer, /, *args: _P.args, **settings: _P.kwargs) -> Result:
        if not layer.reverse or layer.lengths is None:
            return run(layer, *args, **settings)
        x = reverse_sequence(layer.x, layer.lengths, 1, 0)
        y, h, c = run(replace(layer, x=x, reverse=False), *args, **settings)
        return reverse_sequence(y, layer.lengths, 1, 0), h, c

    return forward


@_padded_at_the_end
def rnn(layer: RecurrentLayer) -> Result:
    is_plain = layer.is_plain("tanh") or layer.is_plain("relu")
    if is_plain and layer.lengths is not None:
        return _masked(layer, rnn(replace(layer, lengths=None))[0])
    gates = layer.gates(layer.input_bias + layer.state_bias)
    (f,) = layer.activations
    if is_plain:
        y, h = gates.apply_all(Rnn(layer.reverse, f.name), layer.r, layer.h)
        return y, h, None

    def step(x: Tensor, h: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return f(layer.clipped(x + linear(h, layer.r))), None

    return _unrolled(layer, gates, step)


@_padded_at_the_end
def gru(layer: RecurrentLayer, reset_after: bool) -> Result:
    is_plain = layer.is_plain("sigmoid", "tanh")
    if is_plain and layer.lengths is not None:
        return _masked(layer, gru(replace(layer, lengths=None), reset_after)[0])
    n = layer.size
    bias = part(layer.state_bias, 0, 2 * n, n)
    inner = concat(
        [part(layer.state_bias, 0, 0, 2 * n), bias if not reset_after else bias.like(np.zeros(n))], 0
    )
    gates = layer.gates(layer.input_bias + inner)
    if is_plain:
        y, h = gates.apply_all(Gru(layer.reverse, reset_after), layer.r, layer.h, bias)
        return y, h, None
    f, g = layer.activations
    first, last = part(layer.r, 0, 0, 2 * n), part(layer.r, 0, 2 * n, n)

    def step(x: Tensor, h: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor | None]:
        zs = f(layer.clipped(part(x, 1, 0, 2 * n) + linear(h, first)))
        z, s = part(zs, 1, 0, n), part(zs, 1, n, n)
        new = s * (linear(h, last) + bias) if reset_after else linear(s * h, last)
        new = g(layer.clipped(part(x, 1, 2 * n, n) + new))
        return (1 - z) * new + z * h, None

    return _unrolled(layer, gates, step)


@_padded_at_the_end
def lstm(layer: RecurrentLayer, input_forget: bool) -> Result:
    is_plain = layer.is_plain("sigmoid", "tanh", "tanh") and not input_forget
    gates = layer.gates(layer.input_bias + layer.state_bias)
    if is_plain and layer.lengths is not None:
        return _masked(layer, layer.lstm(gates)[0], _last_cells(layer, gates))
    if is_plain:
        return layer.lstm(gates)
    n = layer.size
    f, g, last = layer.activations
    p = layer.peepholes
    p_i, p_o, p_f = (None,) * 3 if p is None else (part(p, 0, i * n, n) for i in range(3))

    def gate(i: int, a: Tensor, peephole: Tensor | None, c: Tensor) -> Tensor:
        own = part(a, 1, i * n, n)
        return f(layer.clipped(own if peephole is None else own + peephole * c))

    def step(x: Tensor, h: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor | None]:
        assert c is not None, "an LSTM has cells"
        a = x + layer.state_products(h)
        i = gate(0, a, p_i, c)
        forget = 1 - i if input_forget else gate(2, a, p_f, c)
        c = forget * c + i * g(layer.clipped(part(a, 1, 3 * n, n)))
        return gate(1, a, p_o, c) * last(c), c  # ONNX Runtime does not clip the cells either

    return _unrolled(layer, gates, step)


def _masked(layer: RecurrentLayer, y: Tensor, c: Tensor | None = None) -> Result:
    """The results of a layer with lengths, from the y of the layer without: y is 0 in padded steps, and the
    last state is that of the last step of each sequence."""
    assert layer.lengths is not None, "all sequences have all steps"
    states = concat([layer.h.reshape(1, *layer.h.shape), y], 0)
    ends = layer.lengths.reshape(1, layer.h.shape[0], 1)
    last = states.apply(Gather(0), ends).reshape(*layer.h.shape)
    return where(layer.padding_mask(), y, 0), last, c


def _last_cells(layer: RecurrentLayer, gates: Tensor) -> Tensor:
    """The cells at the end of each sequence, by a second LSTM whose gates keep them in padded steps: an input
    gate of 0 and a forget gate of 1, whatever a state of at most 1 adds. It is dead code where nothing reads
    cells."""
    r, cells = layer.r.data, layer.c
    assert cells is not None, "an LSTM has cells"
    most = _SATURATED + (_ANY_STATE if r is None else float(np.abs(r).sum(axis=1).max(initial=0)))
    keeping = gates.like(most * np.repeat([-1, 0, 1, 0], layer.size))
    _, _, last = layer.lstm(where(layer.padding_mask(), gates, keeping))
    assert last is not None, "an LSTM has cells"
    return where(layer.has_step(0), last, cells)  # the first state may be more than 1


Step = Callable[[Tensor, Tensor, "Tensor | None"], tuple[Tensor, "Tensor | None"]]


def _unrolled(layer: RecurrentLayer, gates: Tensor, step: Step) -> Result:
    """Every step for itself. A sequence that has ended keeps its last state, and its results are 0. Padded
    steps read these zeros, as in ONNX Runtime, where the states of all sequences share a dynamic scale."""
    steps, batch, width = gates.shape
    gates.builder.check_room(2 * steps, [gates.name])  # a step has at least as many
    y, h, c = layer.h, layer.h, layer.c
    results: dict[int, Tensor] = {}
    for t in range(steps - 1, -1, -1) if layer.reverse else range(steps):
        y, new_c = step(part(gates, 0, t, 1).reshape(batch, width), y, c)
        if layer.lengths is None:
            h, c = y, new_c
        else:
            is_inside = layer.has_step(t)
            h = where(is_inside, y, h)
            c = None if new_c is None or c is None else where(is_inside, new_c, c)
            y = where(is_inside, y, 0)
        results[t] = y
    rows = [results[t].reshape(1, batch, layer.size) for t in range(steps)]
    every = concat(rows, 0) if rows else gates.like(np.zeros((0, batch, layer.size)))
    return every, h, c


def directions(tensor: Tensor | None, count: int) -> Iterator[Tensor | None]:
    """A tensor [directions, ...] cut into one for each direction."""
    for i in range(count):
        yield None if tensor is None else part(tensor, 0, i, 1).reshape(*tensor.shape[1:])

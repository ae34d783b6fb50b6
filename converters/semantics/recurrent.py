"""RNN, GRU and LSTM as ONNX has them: the plain ones are one operator, all others are unrolled over time.

Sequences that end early need no unrolling: a plain layer goes on to the last step, and what it makes
behind the end of a sequence is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.converters.semantics.compose import dense
from edgekit.converters.semantics.movement import part, reverse_sequence, where
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Less
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.recurrent import Gru, Lstm, Rnn
from edgekit.core.types import Array

_SATURATED = 20.0  # a sigmoid of it is 1 in float32
_ANY_STATE = 1e4  # what a state may add to a gate, where weights or the first state are not known
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

    def without_lengths(self) -> RecurrentLayer:
        """The layer over all steps, forward: sequences that it would go through in reverse are reversed."""
        if not self.reverse or self.lengths is None:
            return replace(self, lengths=None)
        return replace(self, lengths=None, reverse=False, x=reverse_sequence(self.x, self.lengths, 1, 0))

    def inside(self) -> Tensor:
        """Which steps a sequence has: [T, B, 1]."""
        assert self.lengths is not None, "all sequences have all steps"
        steps = self.lengths.like(np.arange(self.x.shape[0]).reshape(-1, 1, 1))
        return steps.apply(Less(), self.lengths.reshape(1, self.lengths.type.size, 1))

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


def rnn(layer: RecurrentLayer) -> Result:
    gates = layer.gates(layer.input_bias + layer.state_bias)
    (f,) = layer.activations
    if layer.is_plain("tanh") or layer.is_plain("relu"):
        if layer.lengths is not None:
            return _with_ends(layer, layer.lengths, *rnn(layer.without_lengths()))
        y, h = gates.apply_all(Rnn(layer.reverse, f.name), layer.r, layer.h)
        return y, h, None

    def step(x: Tensor, h: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return f(layer.clipped(x + linear(h, layer.r))), None

    return _unrolled(layer, gates, step)


def gru(layer: RecurrentLayer, reset_after: bool) -> Result:
    n = layer.size
    bias = part(layer.state_bias, 0, 2 * n, n)
    inner = concat(
        [part(layer.state_bias, 0, 0, 2 * n), bias if not reset_after else bias.like(np.zeros(n))], 0
    )
    gates = layer.gates(layer.input_bias + inner)
    if layer.is_plain("sigmoid", "tanh"):
        if layer.lengths is not None:
            return _with_ends(layer, layer.lengths, *gru(layer.without_lengths(), reset_after))
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


def lstm(layer: RecurrentLayer, input_forget: bool) -> Result:
    n = layer.size
    gates = layer.gates(layer.input_bias + layer.state_bias)
    if layer.is_plain("sigmoid", "tanh", "tanh") and not input_forget:
        if layer.lengths is None:
            return layer.lstm(gates)
        forward = layer.without_lengths()
        own = forward.gates(layer.input_bias + layer.state_bias)
        y, h, _ = forward.lstm(own)
        # A layer of its own for the cells, which is not there where these are not read.
        cells = forward.lstm(where(layer.inside(), own, own.like(_holding(layer))))[2]
        return _with_ends(layer, layer.lengths, y, h, cells)
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


def _with_ends(layer: RecurrentLayer, lengths: Tensor, y: Tensor, h: Tensor, c: Tensor | None) -> Result:
    """What a layer makes of sequences of these lengths, from what the one without lengths makes."""
    states = concat([layer.h.reshape(1, *layer.h.shape), y], 0)
    last = states.apply(Gather(0), lengths.reshape(1, lengths.type.size, 1)).reshape(*layer.h.shape)
    y = where(layer.inside(), y, 0)
    return reverse_sequence(y, lengths, 1, 0) if layer.reverse else y, last, c


def _holding(layer: RecurrentLayer) -> Array:
    """Gates [4 H] that keep cells as they are: nothing comes in, and nothing is forgotten, whatever a state
    adds, whose numbers are at most 1 behind the first step."""
    r = layer.r.data
    if r is None or layer.h.data is None:
        most = _ANY_STATE
    else:
        most = float(np.abs(r).sum(axis=1).max(initial=0) * max(1, np.abs(layer.h.data).max(initial=0)))
    most += _SATURATED
    return most * np.repeat([-1, 0, 1, 0], layer.size)


Step = Callable[[Tensor, Tensor, "Tensor | None"], tuple[Tensor, "Tensor | None"]]


def _unrolled(layer: RecurrentLayer, gates: Tensor, step: Step) -> Result:
    """Every step for itself. A sequence that has ended keeps its state, and its results are 0."""
    steps, batch, width = gates.shape
    gates.builder.check_room(2 * steps, [gates.name])  # a step has at least as many
    h, c = layer.h, layer.c
    results: dict[int, Tensor] = {}
    for t in range(steps - 1, -1, -1) if layer.reverse else range(steps):
        new_h, new_c = step(part(gates, 0, t, 1).reshape(batch, width), h, c)
        results[t] = new_h
        if layer.lengths is not None:
            is_inside = layer.lengths.like(t).apply(Less(), layer.lengths.reshape(batch, 1))
            results[t] = where(is_inside, new_h, 0)
            new_h = where(is_inside, new_h, h)
            new_c = None if new_c is None or c is None else where(is_inside, new_c, c)
        h, c = new_h, new_c
    rows = [results[t].reshape(1, batch, layer.size) for t in range(steps)]
    y = concat(rows, 0) if rows else gates.like(np.zeros((0, batch, layer.size)))
    return y, h, c


def directions(tensor: Tensor | None, count: int) -> Iterator[Tensor | None]:
    """A tensor [directions, ...] cut into one for each direction."""
    for i in range(count):
        yield None if tensor is None else part(tensor, 0, i, 1).reshape(*tensor.shape[1:])

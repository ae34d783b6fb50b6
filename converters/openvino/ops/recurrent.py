"""RNN, GRU and LSTM: single steps, and sequences with the batch first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from edgekit.converters.openvino.attributes import Floats as _Floats
from edgekit.converters.openvino.attributes import Texts as _Texts
from edgekit.converters.semantics import recurrent as _recurrent
from edgekit.converters.semantics.movement import part as _part
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.semantics.recurrent import Activation as _Activation
from edgekit.converters.semantics.recurrent import RecurrentLayer as _Layer
from edgekit.converters.semantics.recurrent import Result as _Result
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.errors import EdgeKitError

_FUNCTIONS = {"sigmoid": _onnx.Sigmoid, "tanh": _onnx.Tanh, "relu": _onnx.Relu}
_Run = Callable[[_Layer], _Result]


@dataclass(frozen=True)
class _Kind:
    """A cell: its activations, and the order of its gates where that is not ONNX's."""

    activations: Sequence[str]
    run: Callable[[bool, _Layer], _Result]
    order: Sequence[int] = ()

    def gates(self, p: Tensor) -> Tensor:
        """Weights or biases [D, gates H, ...] in ONNX's order."""
        if not self.order:
            return p
        size = p.shape[1] // len(self.order)
        return _concat([_part(p, 1, i * size, size) for i in self.order], 1)

    def functions(
        self, names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
    ) -> Sequence[_Activation]:
        wanted = [name.lower() for name in names] or list(self.activations)
        if len(wanted) != len(self.activations) or not {*wanted} <= {*_FUNCTIONS} or alphas or betas:
            message = f"a recurrent layer with activations {wanted[:4]} is not supported"
            raise EdgeKitError("E0205", message)
        return [_Activation(name, _FUNCTIONS[name]) for name in wanted]


def _sequences(kind: _Kind) -> Callable[..., tuple[Tensor, ...]]:
    """A handler of a layer over steps: x, the states, lengths, weights of x and of the state, and biases."""

    def handler(
        x: Tensor,
        *operands: Tensor,
        hidden_size: int,
        direction: str,
        linear_before_reset: bool = False,
        activations: _Texts = (),
        activations_alpha: _Floats = (),
        activations_beta: _Floats = (),
        clip: float = 0.0,
    ) -> tuple[Tensor, ...]:
        *states, lengths, w, r, b = operands
        functions = kind.functions(activations, activations_alpha, activations_beta)
        run = partial(kind.run, linear_before_reset)
        gates = [kind.gates(p) for p in (w, r, b)]
        return _sequence(run, x, states, lengths, gates, direction, functions, clip)

    return handler


def _cells(kind: _Kind, states: int) -> Callable[..., tuple[Tensor, ...]]:
    """A handler of one step: x, the states, weights of x and of the state, and biases that may be missing."""

    def handler(
        x: Tensor,
        *operands: Tensor,
        hidden_size: int,
        linear_before_reset: bool = False,
        activations: _Texts = (),
        activations_alpha: _Floats = (),
        activations_beta: _Floats = (),
        clip: float = 0.0,
    ) -> tuple[Tensor, ...]:
        first, (w, r, *biases) = operands[:states], operands[states:]
        (b,) = biases or [x.like(np.zeros(w.shape[0] + linear_before_reset * hidden_size))]
        functions = kind.functions(activations, activations_alpha, activations_beta)
        run = partial(kind.run, linear_before_reset)
        gates = [kind.gates(p.reshape(1, *p.shape)) for p in (w, r, b)]
        row, *before = (p.reshape(p.shape[0], 1, *p.shape[1:]) for p in (x, *first))
        _, *last = _sequence(run, row, before, None, gates, "forward", functions, clip)
        return tuple(s.reshape(s.shape[0], hidden_size) for s in last)

    return handler


def _sequence(
    run: _Run,
    x: Tensor,
    states: Sequence[Tensor],
    lengths: Tensor | None,
    gates: Sequence[Tensor],
    direction: str,
    functions: Sequence[_Activation],
    clip: float,
) -> tuple[Tensor, ...]:
    """y [B, D, T, H] and the last states [B, D, H] of x [B, T, I], weights and biases [D, gates H, ...]."""
    w, r, b = gates
    count, size = r.shape[0], r.shape[2]
    if count != (2 if direction == "bidirectional" else 1):
        raise EdgeKitError("E0401", f"direction {direction[:20]} with weights {r.type}")
    if lengths is not None and lengths.data is not None and bool((lengths.data >= x.shape[1]).all()):
        lengths = None
    results = [
        run(
            _Layer(
                x=x.transpose(1, 0, 2),
                w=_of(w, i),
                r=_of(r, i),
                input_bias=bias,
                state_bias=state_bias,
                h=_of(states[0].transpose(1, 0, 2), i),
                c=_of(states[1].transpose(1, 0, 2), i) if len(states) > 1 else None,
                lengths=lengths,
                reverse=direction == "reverse" or i == 1,
                activations=functions,
                clip=clip or None,
            )
        )
        for i, (bias, state_bias) in enumerate(_biases(b, r.shape[1], size))
    ]
    made = [_stacked([y.transpose(1, 0, 2) for y, _, _ in results]), _stacked([h for _, h, _ in results])]
    cells = [c for _, _, c in results if c is not None]
    return (*made, _stacked(cells)) if cells else tuple(made)


def _biases(b: Tensor, width: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Those of the input and of the state, for each direction. A bias of the state alone is that of the new
    memory of a GRU, after the others."""
    for i in range(b.shape[0]):
        own = _of(b, i)
        inner = own.like(np.zeros(width))
        if own.shape[0] == width + size:
            inner = _concat([own.like(np.zeros(width - size)), _part(own, 0, width, size)], 0)
        yield _part(own, 0, 0, width), inner


def _of(p: Tensor, i: int) -> Tensor:
    return _part(p, 0, i, 1).reshape(*p.shape[1:])


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """Directions as the second dimension."""
    rows = [p.reshape(p.shape[0], 1, *p.shape[1:]) for p in parts]
    return _concat(rows, 1) if len(rows) > 1 else rows[0]


_LSTM = _Kind(
    ("sigmoid", "tanh", "tanh"),
    lambda _, layer: _recurrent.lstm(layer, False),
    (1, 3, 0, 2),  # from forget, input, cell, output to input, output, forget, cell
)
_GRU = _Kind(("sigmoid", "tanh"), lambda reset_after, layer: _recurrent.gru(layer, reset_after))
_RNN = _Kind(("tanh",), lambda _, layer: _recurrent.rnn(layer))
LSTMSequence, GRUSequence, RNNSequence = map(_sequences, (_LSTM, _GRU, _RNN))
LSTMCell, GRUCell, RNNCell = _cells(_LSTM, 2), _cells(_GRU, 1), _cells(_RNN, 1)

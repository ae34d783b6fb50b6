"""RNN, GRU and LSTM: single steps, and sequences with the batch first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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
_LSTM = (1, 3, 0, 2)  # from forget, input, cell, output to input, output, forget, cell
_Run = Callable[[_Layer], _Result]


def LSTMSequence(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    lengths: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor,
    *,
    hidden_size: int,
    direction: str,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("sigmoid", "tanh", "tanh"), activations_alpha, activations_beta)
    gates = [_gates(p, _LSTM, hidden_size) for p in (w, r, b)]
    return _sequence(_lstm, x, (h, c), lengths, gates, direction, functions, clip)


def GRUSequence(
    x: Tensor,
    h: Tensor,
    lengths: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor,
    *,
    hidden_size: int,
    direction: str,
    linear_before_reset: bool = False,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("sigmoid", "tanh"), activations_alpha, activations_beta)
    run = _gru(linear_before_reset)
    return _sequence(run, x, (h,), lengths, (w, r, b), direction, functions, clip)


def RNNSequence(
    x: Tensor,
    h: Tensor,
    lengths: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor,
    *,
    hidden_size: int,
    direction: str,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("tanh",), activations_alpha, activations_beta)
    return _sequence(_recurrent.rnn, x, (h,), lengths, (w, r, b), direction, functions, clip)


def LSTMCell(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    *,
    hidden_size: int,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("sigmoid", "tanh", "tanh"), activations_alpha, activations_beta)
    bias = x.like(np.zeros(4 * hidden_size)) if b is None else b
    gates = [_gates(p.reshape(1, *p.shape), _LSTM, hidden_size) for p in (w, r, bias)]
    return _cell(_lstm, x, (h, c), gates, functions, clip)


def GRUCell(
    x: Tensor,
    h: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    *,
    hidden_size: int,
    linear_before_reset: bool = False,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("sigmoid", "tanh"), activations_alpha, activations_beta)
    bias = x.like(np.zeros((4 if linear_before_reset else 3) * hidden_size)) if b is None else b
    gates = [p.reshape(1, *p.shape) for p in (w, r, bias)]
    return _cell(_gru(linear_before_reset), x, (h,), gates, functions, clip)


def RNNCell(
    x: Tensor,
    h: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    *,
    hidden_size: int,
    activations: _Texts = (),
    activations_alpha: _Floats = (),
    activations_beta: _Floats = (),
    clip: float = 0.0,
) -> tuple[Tensor, ...]:
    functions = _activations(activations, ("tanh",), activations_alpha, activations_beta)
    bias = x.like(np.zeros(hidden_size)) if b is None else b
    gates = [p.reshape(1, *p.shape) for p in (w, r, bias)]
    return _cell(_recurrent.rnn, x, (h,), gates, functions, clip)


def _cell(
    run: _Run,
    x: Tensor,
    states: Sequence[Tensor],
    gates: Sequence[Tensor],
    functions: Sequence[_Activation],
    clip: float,
) -> tuple[Tensor, ...]:
    """A sequence of one step."""
    sequence, first = (
        x.reshape(x.shape[0], 1, *x.shape[1:]),
        [s.reshape(s.shape[0], 1, *s.shape[1:]) for s in states],
    )
    _, *last = _sequence(run, sequence, first, None, gates, "forward", functions, clip)
    return tuple(s.reshape(*states[0].shape) for s in last)


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


def _lstm(layer: _Layer) -> _Result:
    return _recurrent.lstm(layer, False)


def _gru(linear_before_reset: bool) -> _Run:
    return lambda layer: _recurrent.gru(layer, linear_before_reset)


def _gates(p: Tensor, order: Sequence[int], size: int) -> Tensor:
    """The second dimension in blocks of this size, in another order."""
    return _concat([_part(p, 1, i * size, size) for i in order], 1)


def _of(p: Tensor, i: int) -> Tensor:
    return _part(p, 0, i, 1).reshape(*p.shape[1:])


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """Directions as the second dimension."""
    rows = [p.reshape(p.shape[0], 1, *p.shape[1:]) for p in parts]
    return _concat(rows, 1) if len(rows) > 1 else rows[0]


def _activations(
    names: Sequence[str], defaults: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> Sequence[_Activation]:
    wanted = [name.lower() for name in names] or list(defaults)
    if len(wanted) != len(defaults) or not {*wanted} <= {*_FUNCTIONS} or alphas or betas:
        raise EdgeKitError("E0205", f"a recurrent layer with activations {wanted[:4]} is not supported")
    return [_Activation(name, _FUNCTIONS[name]) for name in wanted]

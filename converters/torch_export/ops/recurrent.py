"""RNN, GRU and LSTM: layers above each other, one or two directions each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial as _partial

from edgekit.converters.semantics import recurrent as _shared
from edgekit.converters.semantics.aten.recurrent import (
    _GRU_GATES,
    _LSTM_GATES,
    _RELU,
    _SIGMOID,
    _TANH,
    _layer,
)
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result
from edgekit.converters.tensor import Tensor


def lstm_cell(
    x: Tensor,
    *,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, ...]:
    run = _partial(_shared.lstm, input_forget=False)
    return _cell(x, run, (_SIGMOID, _TANH, _TANH), _LSTM_GATES, hx, (w_ih, w_hh, b_ih, b_hh))


def gru_cell(
    x: Tensor,
    *,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    run = _partial(_shared.gru, reset_after=True)
    return _cell(x, run, (_SIGMOID, _TANH), _GRU_GATES, [hx], (w_ih, w_hh, b_ih, b_hh))[0]


def rnn_tanh_cell(
    x: Tensor,
    *,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    return _cell(x, _shared.rnn, (_TANH,), (0,), [hx], (w_ih, w_hh, b_ih, b_hh))[0]


def rnn_relu_cell(
    x: Tensor,
    *,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    return _cell(x, _shared.rnn, (_RELU,), (0,), [hx], (w_ih, w_hh, b_ih, b_hh))[0]


def _cell(
    x: Tensor,
    run: Callable[[RecurrentLayer], Result],
    functions: Sequence[Activation],
    gates: Sequence[int],
    hx: Sequence[Tensor],
    params: Sequence[Tensor | None],
) -> tuple[Tensor, ...]:
    """One step: a sequence of length 1."""
    if x.rank == 1:
        whole = [h.reshape(1, *h.shape) for h in hx]
        made = _cell(x.reshape(1, *x.shape), run, functions, gates, whole, params)
        return tuple(h.reshape(*h.shape[1:]) for h in made)
    layer = _layer(x.reshape(1, *x.shape), [p for p in params if p is not None], hx, gates)
    _, *states = run(replace(layer, activations=functions))
    return tuple(h for h in states if h is not None)

"""RNN, GRU and LSTM: layers above each other, one or two directions each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial as _partial

import numpy as np

from edgekit.converters.semantics import recurrent as _shared
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx import activations as _functions
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError

_SIGMOID = Activation("sigmoid", _functions.Sigmoid)


_TANH = Activation("tanh", _functions.Tanh)


_RELU = Activation("relu", _functions.Relu)


# Our gates among those of torch: i o f c of i f g o, z r h of r z n.
_LSTM_GATES = (0, 3, 1, 2)


_GRU_GATES = (1, 0, 2)


def lstm(
    x: Tensor,
    *,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    run = _partial(_shared.lstm, input_forget=False)
    functions = (_SIGMOID, _TANH, _TANH)
    return _stack(
        x,
        run,
        functions,
        _LSTM_GATES,
        hx,
        params,
        has_biases,
        num_layers,
        train,
        bidirectional,
        batch_first,
        lengths,
    )


def gru(
    x: Tensor,
    *,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    run = _partial(_shared.gru, reset_after=True)
    functions = (_SIGMOID, _TANH)
    return _stack(
        x,
        run,
        functions,
        _GRU_GATES,
        [hx],
        params,
        has_biases,
        num_layers,
        train,
        bidirectional,
        batch_first,
        lengths,
    )


def rnn_tanh(
    x: Tensor,
    *,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    return _stack(
        x,
        _shared.rnn,
        (_TANH,),
        (0,),
        [hx],
        params,
        has_biases,
        num_layers,
        train,
        bidirectional,
        batch_first,
        lengths,
    )


def rnn_relu(
    x: Tensor,
    *,
    hx: Tensor,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    return _stack(
        x,
        _shared.rnn,
        (_RELU,),
        (0,),
        [hx],
        params,
        has_biases,
        num_layers,
        train,
        bidirectional,
        batch_first,
        lengths,
    )


def _stack(
    x: Tensor,
    run: Callable[[RecurrentLayer], Result],
    functions: Sequence[Activation],
    gates: Sequence[int],
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    lengths: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """All layers: the result of the last one, then the last states of all layers and directions."""
    if x.rank == 2:  # one sequence, without a batch
        states = [h.reshape(h.shape[0], 1, h.shape[1]) for h in hx]
        whole = x.reshape(x.shape[0], 1, x.shape[1])
        y, *last = _stack(
            whole, run, functions, gates, states, params, has_biases, num_layers, train, bidirectional, False
        )
        return y.reshape(y.shape[0], y.shape[2]), *(h.reshape(h.shape[0], h.shape[2]) for h in last)
    count = 2 if bidirectional else 1
    each = 4 if has_biases else 2
    if len(params) != each * count * num_layers or any(h.shape[0] != count * num_layers for h in hx):
        hint = "layers with projections (proj_size) are not supported"
        raise EdgeKitError("E0205", f"{len(params)} weights for {num_layers} layers", hint=hint)
    y = x.transpose(1, 0, 2) if batch_first else x
    ends: list[list[Tensor]] = [[] for _ in hx]
    for i in range(num_layers):
        parts = []
        for direction in range(count):
            at = i * count + direction
            first = [part(h, 0, at, 1).reshape(*h.shape[1:]) for h in hx]
            layer = _layer(y, list(params[at * each : (at + 1) * each]), first, gates)
            layer = replace(layer, reverse=direction == 1, activations=functions, lengths=lengths)
            result, *final = run(layer)
            parts.append(result)
            for kept, state in zip(ends, final, strict=False):
                assert state is not None, "there is a state for each that was given"
                kept.append(state.reshape(1, *state.shape))
        y = concat(parts, 2) if count > 1 else parts[0]
    states = [concat(kept, 0) if len(kept) > 1 else kept[0] for kept in ends]
    return (y.transpose(1, 0, 2) if batch_first else y), *states


def _layer(x: Tensor, params: list[Tensor], states: Sequence[Tensor], gates: Sequence[int]) -> RecurrentLayer:
    w, r, *biases = (_ordered(p, gates) for p in params)
    zeros = x.like(np.zeros(w.shape[0]))
    input_bias, state_bias = biases or (zeros, zeros)
    return RecurrentLayer(x, w, r, input_bias, state_bias, states[0], states[1] if len(states) > 1 else None)


def _ordered(p: Tensor, gates: Sequence[int]) -> Tensor:
    """Weights or a bias with its gates in our order."""
    if len(gates) == 1:
        return p
    n = p.shape[0] // len(gates)
    return concat(list(_rows(p, gates, n)), 0)


def _rows(p: Tensor, gates: Sequence[int], n: int) -> Iterator[Tensor]:
    for gate in gates:
        yield part(p, 0, gate * n, n)

"""Recurrent layers, one after the other in both directions, and layers for each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as _partial
from typing import Any

import numpy as np

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.keras import layer as keras_layer
from edgekit.converters.keras.ops.activations import Named, _gate
from edgekit.converters.keras.ops.layers import _checked
from edgekit.converters.keras.weights import Weights
from edgekit.converters.semantics import recurrent as shared
from edgekit.converters.semantics.masked_steps import skipping
from edgekit.converters.semantics.movement import part, take, where
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError

# Our gates among those of Keras: i o f c of i f c o, and z r h are as they are.
_LSTM_GATES = (0, 3, 1, 2)
_GRU_GATES = (0, 1, 2)
_MERGES: Mapping[str, Callable[[Sequence[Tensor]], Tensor]] = {
    "concat": lambda ys: concat(ys, -1),
    "sum": lambda ys: ys[0] + ys[1],
    "mul": lambda ys: ys[0] * ys[1],
    "ave": lambda ys: (ys[0] + ys[1]) / 2,
}


def LSTM(
    x: Tensor,
    *,
    weights: Weights,
    units: int,
    activation: Named = "tanh",
    recurrent_activation: Named = "sigmoid",
    use_bias: bool = True,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    initial_state: Sequence[Tensor] = (),
    mask: Tensor | None = None,
    zero_output_for_mask: bool = False,
) -> tuple[Tensor, ...]:
    gates = (_gate(recurrent_activation), _gate(activation), _gate(activation))
    kernel, inner, *bias = _checked(weights.part("cell"), 3 if use_bias else 2)
    zeros = x.like(np.zeros(4 * units))
    parts = [_ordered(w, _LSTM_GATES) for w in (kernel, inner, *(bias or [zeros]))]
    layer = _layer(x, [*parts, zeros], units, gates, initial_state, 2, go_backwards, stateful)
    steps = _Steps(return_sequences, go_backwards, mask, zero_output_for_mask)
    return steps.results(layer, _partial(shared.lstm, input_forget=False), return_state)


def GRU(
    x: Tensor,
    *,
    weights: Weights,
    units: int,
    activation: Named = "tanh",
    recurrent_activation: Named = "sigmoid",
    use_bias: bool = True,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    reset_after: bool = True,
    initial_state: Sequence[Tensor] = (),
    mask: Tensor | None = None,
    zero_output_for_mask: bool = False,
) -> tuple[Tensor, ...]:
    """With `reset_after`, there are two biases, of the input and of the state."""
    gates = (_gate(recurrent_activation), _gate(activation))
    kernel, inner, *bias = _checked(weights.part("cell"), 3 if use_bias else 2)
    zeros = x.like(np.zeros(3 * units))
    biases = [zeros, zeros]
    if bias:
        both = bias[0].reshape(-(-bias[0].type.size // (3 * units)), 3 * units)
        biases = [part(both, 0, i, 1).reshape(3 * units) for i in range(both.shape[0])]
    biases = [*biases, zeros][:2]
    parts = [_ordered(w, _GRU_GATES) for w in (kernel, inner)]
    layer = _layer(x, [*parts, *biases], units, gates, initial_state, 1, go_backwards, stateful)
    steps = _Steps(return_sequences, go_backwards, mask, zero_output_for_mask)
    return steps.results(layer, _partial(shared.gru, reset_after=reset_after), return_state)


def SimpleRNN(
    x: Tensor,
    *,
    weights: Weights,
    units: int,
    activation: Named = "tanh",
    use_bias: bool = True,
    return_sequences: bool = False,
    return_state: bool = False,
    go_backwards: bool = False,
    stateful: bool = False,
    initial_state: Sequence[Tensor] = (),
    mask: Tensor | None = None,
    zero_output_for_mask: bool = False,
) -> tuple[Tensor, ...]:
    kernel, inner, *bias = _checked(weights.part("cell"), 3 if use_bias else 2)
    zeros = x.like(np.zeros(units))
    parts = [kernel.transpose(1, 0), inner.transpose(1, 0), *(bias or [zeros]), zeros]
    layer = _layer(x, parts, units, (_gate(activation),), initial_state, 1, go_backwards, stateful)
    steps = _Steps(return_sequences, go_backwards, mask, zero_output_for_mask)
    return steps.results(layer, shared.rnn, return_state)


def RNN(
    x: Tensor,
    *,
    weights: Weights,
    cell: Mapping[str, Any],
    initial_state: Sequence[Tensor] = (),
    mask: Tensor | None = None,
    zero_output_for_mask: bool = False,
    **settings: bool,
) -> tuple[Tensor, ...]:
    """A layer given as the cell of a known one."""
    inner = keras_layer.KerasLayer.of(Record(cell, "cell"))
    if inner.kind not in ("LSTMCell", "GRUCell", "SimpleRNNCell"):
        raise EdgeKitError("E0205", f"RNN of {inner.kind} is not supported")
    settings["zero_output_for_mask"] = zero_output_for_mask
    config = Record({**inner.config.fields, **settings}, inner.config.where)
    own = keras_layer.KerasLayer(inner.kind.removesuffix("Cell"), inner.name, config, inner.record)
    return keras_layer.apply(own, [x], _options(initial_state, mask), weights)


def Bidirectional(
    x: Tensor,
    *,
    weights: Weights,
    layer: Mapping[str, Any],
    backward_layer: Mapping[str, Any] | None = None,
    merge_mode: str | None = None,
    initial_state: Sequence[Tensor] = (),
    mask: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """The same layer from the first step on and from the last; steps of both lie beside each other."""
    forward = keras_layer.KerasLayer.of(Record(layer, "layer"))
    backward = keras_layer.KerasLayer.of(Record(backward_layer or layer, "backward_layer"))
    half = len(initial_state) // 2
    made = []
    for direction, inner, states in (
        ("forward", forward, initial_state[:half]),
        ("backward", backward, initial_state[half:]),
    ):
        returns_steps = inner.config.flag("return_sequences", False)
        settings = {"go_backwards": direction == "backward", "zero_output_for_mask": returns_steps}
        config = Record({**inner.config.fields, **settings}, inner.config.where)
        own = keras_layer.KerasLayer(inner.kind, inner.name, config, inner.record)
        stored = weights.part(f"{direction}_layer", f"{direction}_")
        made.append(keras_layer.apply(own, [x], _options(states, mask), stored))
    (y, *states), (back, *more) = made
    if forward.config.flag("return_sequences", False):
        back = take(back, 1, np.arange(back.shape[1])[::-1])
    if merge_mode is None:
        return y, back, *states, *more
    if merge_mode not in _MERGES:
        raise EdgeKitError("E0401", f"merge_mode {merge_mode} is unknown")
    return _MERGES[merge_mode]([y, back]), *states, *more


def TimeDistributed(
    x: Tensor, *, weights: Weights, layer: Mapping[str, Any], mask: Tensor | None = None
) -> Tensor:
    """Steps are as good as a batch; a mask is for layers that follow."""
    inner = keras_layer.KerasLayer.of(Record(layer, "layer"))
    batch, steps = x.shape[:2]
    (y,) = keras_layer.apply(inner, [x.reshape(batch * steps, *x.shape[2:])], {}, weights.part("layer"))
    return y.reshape(batch, steps, *y.shape[1:])


def _layer(
    x: Tensor,
    parts: Sequence[Tensor],
    units: int,
    gates: Sequence[Activation],
    initial: Sequence[Tensor],
    count: int,
    reverse: bool,
    stateful: bool,
) -> RecurrentLayer:
    """x [B, T, I] with weights [gates H, I] and [gates H, H] and two biases."""
    if stateful:
        hint = "convert it to TFLite, whose states are kept: docs/states.md"
        raise EdgeKitError("E0205", "stateful layers are not supported", hint=hint)
    w, r, *biases = parts
    if r.shape[1] != units or x.rank != 3 or w.shape != (r.shape[0], x.shape[2]):
        raise EdgeKitError("E0401", f"weights {w.type} and {r.type} do not make {units} of {x.type}")
    states = list(initial) or [x.like(np.zeros((x.shape[0], units)))] * count
    if len(states) != count:
        raise EdgeKitError("E0401", f"{len(states)} states are given to a layer with {count}")
    cells = states[1] if count > 1 else None
    return RecurrentLayer(
        x.transpose(1, 0, 2), w, r, biases[0], biases[1], states[0], cells, reverse=reverse, activations=gates
    )


@dataclass(frozen=True)
class _Steps:
    """Which steps are returned, and in which order; in masked ones, the state and what is returned stay."""

    are_returned: bool
    reverse: bool
    mask: Tensor | None  # [B, T]
    zero_output_for_mask: bool

    def results(
        self, layer: RecurrentLayer, run: Callable[[RecurrentLayer], Result], with_state: bool
    ) -> tuple[Tensor, ...]:
        """Steps come as they were computed: backwards, the last one first."""
        steps, batch, _ = layer.x.shape
        if self.mask is not None and self.mask.shape != (batch, steps):
            raise EdgeKitError("E0401", f"a mask {self.mask.type} for {steps} steps of {batch} sequences")
        mask = None if self.mask is None else self.mask.transpose(1, 0)
        y, h, c = skipping(layer, mask, run)
        if mask is not None and self.zero_output_for_mask:
            y = where(mask.reshape(*mask.shape, 1), y, 0)
        states = [s for s in (h, c) if s is not None] if with_state else []
        if not self.are_returned:
            return (h if mask is None else self._last(layer, y, h)), *states
        every = y.transpose(1, 0, 2)
        return take(every, 1, np.arange(steps)[::-1]) if self.reverse else every, *states

    def _last(self, layer: RecurrentLayer, y: Tensor, h: Tensor) -> Tensor:
        """The state, unless what is returned is 0 where the state is not."""
        starts = layer.h.data
        if starts is not None and not starts.any() and not self.zero_output_for_mask:
            return h
        return part(y, 0, 0 if self.reverse else y.shape[0] - 1, 1).reshape(*h.shape)


def _options(states: Sequence[Tensor], mask: Tensor | None) -> dict[str, Any]:
    """What a layer gives one within."""
    given = {"initial_state": list(states) if states else None, "mask": mask}
    return {key: value for key, value in given.items() if value is not None}


def _ordered(w: Tensor, gates: Sequence[int]) -> Tensor:
    """A kernel [I, gates H] or a bias [gates H] with our gates in our order, as [gates H, I]."""
    rows = w.transpose(1, 0) if w.rank == 2 else w
    n = rows.shape[0] // len(gates)
    return concat([part(rows, 0, g * n, n) for g in gates], 0)

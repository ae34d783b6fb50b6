"""LSTMs as TFLite has them: their operands, and the layers on floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.recurrent import Activation, linear
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite.file import Table
from edgekit.converters.tflite.layer import dequantized
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Sigmoid, Tanh
from edgekit.core.ops.layer_norm import LayerNorm

_TANH = 4  # of the schema's fused activations
_ACTIVATIONS = (
    Activation("sigmoid", lambda x: x.apply(Sigmoid())),
    Activation("tanh", lambda x: x.apply(Tanh())),
    Activation("tanh", lambda x: x.apply(Tanh())),
)
_EPSILON = 1e-8  # of the normalization
Maybe = Tensor | None


@dataclass(frozen=True)
class Operands:
    """What an LSTM reads. What belongs to gates is in the order i, f, c, o; there is no i where the input
    gate is 1 - f, and no peephole for c."""

    major: bool  # does x have time before batch in the file?
    x: Tensor  # [T, B, I]
    w: Sequence[Maybe]  # [H, I] each
    r: Sequence[Maybe]  # [H, O]
    peepholes: Sequence[Maybe]  # [H]
    biases: Sequence[Maybe]  # [H]
    projection: Maybe  # [O, H]
    projection_bias: Maybe  # [O]
    h: Tensor  # [B, O]
    c: Tensor  # [B, H]
    norms: Sequence[Maybe]  # [H]
    cell_clip: float
    projection_clip: float

    @property
    def coupled(self) -> bool:
        """Is the input gate 1 - f?"""
        return self.w[0] is None

    def of_gates(self, what: str, tensors: Sequence[Maybe]) -> list[Tensor]:
        """Those of the gates that are computed; all or none of them are there."""
        own = list(tensors[self.coupled :])
        if self.coupled and tensors[0] is not None:
            raise EdgeKitError("E0401", f"the input gate of an LSTM has {what}, but no weights")
        found = [t for t in own if t is not None]
        if len(found) not in (0, len(own)):
            raise EdgeKitError("E0401", f"the {what} of a gate are left out")
        return found


def operands(options: Table, x: Tensor, others: Sequence[Maybe]) -> Operands:
    """Operands come in fours, for the gates i, f, c, o: weights of the input, of the state, peepholes
    (three), biases; then a projection, the states, and a normalization."""
    given: list[Maybe] = [x, *others, *(None,) * (23 - len(others))]
    if options.integer(0, "b") != _TANH:
        raise EdgeKitError("E0205", "UNIDIRECTIONAL_SEQUENCE_LSTM is supported with tanh")
    if options.integer(5, "b") or any(t is not None and t.rank != 2 for t in given[1:9]):
        raise EdgeKitError("E0205", "UNIDIRECTIONAL_SEQUENCE_LSTM with diagonal weights is not supported")
    h, c = given[18], given[19]
    if h is None or c is None:
        raise EdgeKitError("E0401", "UNIDIRECTIONAL_SEQUENCE_LSTM without states")
    if given[2] is None or given[6] is None:
        raise EdgeKitError("E0401", "UNIDIRECTIONAL_SEQUENCE_LSTM without weights")
    major = bool(options.integer(3, "b"))
    x = x if major else x.transpose(1, 0, 2)
    batch, (size, outputs) = x.shape[1], given[6].shape
    i, f, o = given[9:12]
    found = Operands(
        major,
        x,
        given[1:5],
        given[5:9],
        (i, f, None, o),
        given[12:16],
        given[16],
        given[17],
        h.reshape(batch, outputs),
        c.reshape(batch, size),
        given[20:24],
        options.number(1, "f"),
        options.number(2, "f"),
    )
    for what, tensors in (("weights", found.w), ("weights", found.r), ("biases", found.biases)):
        if not found.of_gates(what, tensors):
            raise EdgeKitError("E0401", f"UNIDIRECTIONAL_SEQUENCE_LSTM without {what}")
    if len({t is None for t in (f, o, *([] if found.coupled else [i]))}) > 1:
        raise EdgeKitError("E0401", "the peepholes of a gate are left out")
    return found


Result = tuple[Tensor, Tensor, Tensor]  # y [T, B, O], the last state, the last cells


def floats(o: Operands) -> Result:
    """The layer on floats; weights may be stored as integers."""
    plain = o.projection is None and not o.of_gates("normalization", o.norms) and not o.cell_clip
    return _plain(o) if plain else _unrolled(o)


def _plain(o: Operands) -> Result:
    """As ONNX has it: gates in the order i, o, f, c. 1 - sigmoid(f) = sigmoid(-f)."""

    def ordered(tensors: Sequence[Maybe]) -> Tensor:
        i, f, c, out = (None if t is None else dequantized(t) for t in tensors)
        assert f is not None, "checked where operands are read"
        return concat([-f if i is None else i, *(t for t in (out, f, c) if t is not None)], 0)

    biases = ordered(o.biases)
    layer = recurrent.RecurrentLayer(
        o.x,
        ordered(o.w),
        ordered(o.r),
        biases,
        biases.like(np.zeros(biases.shape)),
        o.h,
        o.c,
        ordered(o.peepholes) if o.peepholes[1] is not None else None,
        activations=_ACTIVATIONS,
    )
    y, h, c = recurrent.lstm(layer, input_forget=False)
    assert c is not None, "an LSTM has cells"
    return y, h, c


def _unrolled(o: Operands) -> Result:
    """Step by step, with everything that a layer may have."""
    sigmoid, tanh, _ = _ACTIVATIONS
    steps, batch, inputs = o.x.shape
    size = o.c.shape[1]
    w, r, biases = (
        [dequantized(t) for t in o.of_gates(what, tensors)]
        for what, tensors in (("weights", o.w), ("weights", o.r), ("biases", o.biases))
    )
    norms = o.of_gates("normalization", o.norms)
    flat = linear(o.x.reshape(steps * batch, inputs), concat(w, 0))
    gates = (flat if norms else flat + concat(biases, 0)).reshape(steps, batch, len(w) * size)
    all_r = concat(r, 0)

    def gate(sums: Tensor, k: int, c: Tensor | None) -> Tensor:
        """The sums of gate k of i, f, c, o."""
        at = k - o.coupled
        a, peephole = part(sums, 1, at * size, size), o.peepholes[k]
        if peephole is not None and c is not None:
            a = a + dequantized(peephole) * c
        return a.apply(LayerNorm(_EPSILON), dequantized(norms[at]), biases[at]) if norms else a

    h, c = o.h, o.c
    results = []
    for t in range(steps):
        sums = part(gates, 0, t, 1).reshape(batch, len(w) * size) + linear(h, all_r)
        f = sigmoid(gate(sums, 1, c))
        i = 1 - f if o.coupled else sigmoid(gate(sums, 0, c))
        c = f * c + i * tanh(gate(sums, 2, None))
        if o.cell_clip:
            c = c.clip(-o.cell_clip, o.cell_clip)
        h = sigmoid(gate(sums, 3, c)) * tanh(c)
        if o.projection is not None:
            h = linear(h, dequantized(o.projection))
            h = h if o.projection_bias is None else h + dequantized(o.projection_bias)
            h = h.clip(-o.projection_clip, o.projection_clip) if o.projection_clip else h
        results.append(h.reshape(1, *h.shape))
    return concat(results, 0), h, c

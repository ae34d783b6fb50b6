"""RNN, GRU and LSTM: attributes and layouts of ONNX, one direction after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from edgekit.converters.onnx.ops import activations as functions
from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.compose import widened
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.semantics.onnx import activations as shared_functions
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result, directions
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError

Strings = tuple[str, ...] | None
Floats = tuple[float, ...] | None


def _affine(x: Tensor, *, alpha: float = 1.0, beta: float = 0.0) -> Tensor:
    return x * alpha + beta


def _scaled_tanh(x: Tensor, *, alpha: float, beta: float) -> Tensor:
    return shared_functions.Tanh(x * beta) * alpha


# What each activation does, and which of alpha and beta it takes.
_ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], Sequence[str]]] = {
    "relu": (shared_functions.Relu, ()),
    "tanh": (shared_functions.Tanh, ()),
    "sigmoid": (shared_functions.Sigmoid, ()),
    "affine": (_affine, ("alpha", "beta")),
    "leakyrelu": (functions.LeakyRelu, ("alpha",)),
    "thresholdedrelu": (functions.ThresholdedRelu, ("alpha",)),
    "scaledtanh": (_scaled_tanh, ("alpha", "beta")),
    "hardsigmoid": (functions.HardSigmoid, ("alpha", "beta")),
    "elu": (functions.Elu, ("alpha",)),
    "softsign": (shared_functions.Softsign, ()),
    "softplus": (shared_functions.Softplus, ()),
}


# Functions whose parameters have no default that runtimes agree on, and what is an example of them.
_UNSETTLED = {"affine": "Affine", "scaledtanh": "ScaledTanh", "thresholdedrelu": "ThresholdedRelu"}
_PLAIN = {
    "affine": "1 and 0 change nothing",
    "scaledtanh": "1 and 1 are a plain Tanh",
    "thresholdedrelu": "1 is the specification's, 0 is ONNX Runtime's",
}


def _activations(names: Sequence[str], alphas: Floats, betas: Floats) -> Iterator[Activation]:
    """The functions of all directions; alphas and betas go to those that take one, in order."""
    left = {"alpha": list(alphas or ()), "beta": list(betas or ())}
    for name in (n.lower() for n in names):
        if name not in _ACTIVATIONS:
            raise EdgeKitError("E0205", f"activation {name} is not supported")
        function, takes = _ACTIVATIONS[name]
        if name in _UNSETTLED and not all(left[key] for key in takes):
            message = f"{_UNSETTLED[name]} without {' and '.join(f'activation_{key}' for key in takes)}"
            hint = f"state {' and '.join(takes)}: {_PLAIN[name]}"
            raise EdgeKitError("E0205", f"{message} differs between runtimes", hint=hint)
        given: dict[str, Any] = {key: left[key].pop(0) for key in takes if left[key]}
        yield Activation(name, partial(function, **given) if given else function)


def all_directions(
    run: Callable[[RecurrentLayer], Result],
    defaults: Sequence[str],
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    h: Tensor | None,
    c: Tensor | None = None,
    peepholes: Tensor | None = None,
    *,
    activation_alpha: Floats,
    activation_beta: Floats,
    activations: Strings,
    clip: float | None,
    direction: str,
    layout: int,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """All directions of a layer, as y [T, D, B, H], h [D, B, H], c [D, B, H], or with the batch first."""
    dtype, steps, batch = x.dtype, x.shape[layout], x.shape[1 - layout]
    x = widened(x.transpose(1, 0, 2) if layout else x)
    count, width, size = r.shape
    if count != (2 if direction == "bidirectional" else 1):
        raise EdgeKitError("E0401", f"direction {direction} with weights {r.type}")
    if lengths is not None and lengths.data is not None and bool((lengths.data >= steps).all()):
        lengths = None
    found = list(_activations(activations or tuple(defaults) * count, activation_alpha, activation_beta))
    each = len(defaults)
    if len(found) != each * count:
        raise EdgeKitError("E0401", f"{len(found)} activations for {count} directions of {each}")

    def state(given: Tensor | None) -> Iterator[Tensor]:
        start = (
            given
            if given is not None
            else x.like(np.zeros((batch, count, size) if layout else (count, batch, size)))
        )
        yield from (
            s
            for s in directions(widened(start.transpose(1, 0, 2) if layout else start), count)
            if s is not None
        )

    zeros = x.like(np.zeros(2 * width))
    biases = [zeros if bias is None else widened(bias) for bias in directions(b, count)]
    results = [
        run(
            RecurrentLayer(
                x=x,
                w=widened(part(w, 0, i, 1).reshape(*w.shape[1:])),
                r=widened(part(r, 0, i, 1).reshape(*r.shape[1:])),
                input_bias=part(biases[i], 0, 0, width),
                state_bias=part(biases[i], 0, width, width),
                h=first,
                c=cells,
                peepholes=None if hole is None else widened(hole),
                lengths=lengths,
                reverse=direction == "reverse" or i == 1,
                activations=found[i * each : (i + 1) * each],
                clip=clip,
            )
        )
        for i, (first, cells, hole) in enumerate(
            zip(state(h), state(c), directions(peepholes, count), strict=True)
        )
    ]
    y = _stacked([y for y, _, _ in results], 1)
    last = _stacked([h for _, h, _ in results], 0)
    last_cells = [c for _, _, c in results if c is not None]
    cells_out = _stacked(last_cells, 0) if last_cells else None
    if layout:
        y, last = y.transpose(2, 0, 1, 3), last.transpose(1, 0, 2)
        cells_out = None if cells_out is None else cells_out.transpose(1, 0, 2)
    return cast(y, dtype), cast(last, dtype), None if cells_out is None else cast(cells_out, dtype)


def _stacked(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors side by side along a new axis."""
    parts = [t.reshape(*t.shape[:axis], 1, *t.shape[axis:]) for t in tensors]
    return concat(parts, axis) if len(parts) > 1 else parts[0]


def RNN(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    *,
    activation_alpha: Floats = None,
    activation_beta: Floats = None,
    activations: Strings = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor | None, ...]:
    return all_directions(
        recurrent.rnn,
        ("Tanh",),
        *(x, w, r, b, lengths, h),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        layout=layout,
    )[:2]


def GRU(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    *,
    activation_alpha: Floats = None,
    activation_beta: Floats = None,
    activations: Strings = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor | None, ...]:
    return all_directions(
        partial(recurrent.gru, reset_after=bool(linear_before_reset)),
        ("Sigmoid", "Tanh"),
        *(x, w, r, b, lengths, h),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        layout=layout,
    )[:2]


def LSTM(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    h: Tensor | None = None,
    c: Tensor | None = None,
    p: Tensor | None = None,
    *,
    activation_alpha: Floats = None,
    activation_beta: Floats = None,
    activations: Strings = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Tensor | None, ...]:
    return all_directions(
        partial(recurrent.lstm, input_forget=bool(input_forget)),
        ("Sigmoid", "Tanh", "Tanh"),
        *(x, w, r, b, lengths, h, c, p),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        layout=layout,
    )

"""Recurrent layers step by step in torch, for gradients to flow through: values come from the simulator."""

from __future__ import annotations

import torch

from edgekit.core.ops.recurrent import Gru, Lstm, Recurrent, Rnn

Tensor = torch.Tensor


def unrolled(op: Recurrent, x: Tensor, r: Tensor, h: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """What `op` makes of [steps, samples, sums of gates], and its states after the last step."""
    steps = range(len(x) - 1, -1, -1) if op.reverse else range(len(x))
    states: tuple[Tensor, ...] = (h, *others) if isinstance(op, Lstm) else (h,)
    course: dict[int, Tensor] = {}
    for t in steps:
        match op:
            case Lstm():
                states = _lstm_step(x[t] + states[0] @ r.T, states[1])
            case Gru():
                states = (_gru_step(op, x[t], r, states[0], others[0]),)
            case Rnn():
                sums = x[t] + states[0] @ r.T
                states = (sums.tanh() if op.activation == "tanh" else sums.relu(),)
        course[t] = states[0]
    y = torch.stack([course[t] for t in range(len(x))]) if course else x.new_zeros(0, *h.shape)
    return y, *states


def _lstm_step(sums: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The state and the cells."""
    i, o, f, n = sums.chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * n.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(op: Gru, x: Tensor, r: Tensor, h: Tensor, bias: Tensor) -> Tensor:
    x_z, x_s, x_n = x.chunk(3, dim=1)
    r_z, r_s, r_n = (part.T for part in r.chunk(3))
    z, s = (x_z + h @ r_z).sigmoid(), (x_s + h @ r_s).sigmoid()
    n = x_n + (s * (h @ r_n + bias) if op.reset_after else (s * h) @ r_n)
    return (1 - z) * n.tanh() + z * h

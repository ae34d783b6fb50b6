"""Recurrent layers over time: what is left to do once the inputs of all steps went through their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array, DType, Type
from edgekit.ops import Arg, Call, Op, Param, Step, require


@dataclass(frozen=True)
class _Recurrent(Op):
    """Operands: x [T, B, gates H], what the input and all biases add to each gate; r [gates H, H]; the state
    [B, H]. Results: y [T, B, H], and the state after the last step. `reverse` goes from the last step to the
    first."""

    reverse: bool = False

    def _check(self, gates: int, *ins: Type) -> tuple[Type, Type]:
        x, r, h = ins[:3]
        require(
            x.rank == 3 and r.rank == 2 and h.rank == 2, f"takes x[T,B,G], r[G,H], h[B,H], got {x}, {r}, {h}"
        )
        require(x.dtype in (DType.F32, DType.F64), f"is not defined on {x.dtype.value}")
        require(len({t.dtype for t in ins}) == 1, f"operands differ in type: {', '.join(map(str, ins))}")
        size = h.shape[1]
        require(
            x.shape[2] == gates * size and r.shape == (gates * size, size) and h.shape[0] == x.shape[1],
            f"input {x}, weights {r} and state {h} do not match",
        )
        return Type(x.dtype, (*x.shape[:2], size)), h

    def _steps(self, x: Array) -> Iterator[int]:
        return iter(range(len(x) - 1, -1, -1) if self.reverse else range(len(x)))

    def macs(self, *ins: Type) -> int:
        x, _, h = ins[:3]
        return x.size * h.shape[1]

    def _call(
        self,
        gates: int,
        kernel: str,
        ins: Sequence[Arg],
        outs: Sequence[Arg],
        label: str = "",
        expr: str = "",
        extra: int = 0,
        **params: Param,
    ) -> list[Step]:
        steps, batch, width = ins[0].type.shape
        size = width // gates
        return [
            Call(
                kernel=kernel,
                types={"T": ins[0].type.dtype},
                args=(*ins, *outs),
                params={
                    "steps": steps,
                    "batch": batch,
                    "size": size,
                    "reverse": int(self.reverse),
                    "groups": gates,
                    **params,
                },
                label=label,
                expr=expr,
                results=len(outs),
                scratch=(gates + extra) * size * ins[0].type.dtype.bytes,
                macs=self.macs(*(a.type for a in ins)),
            )
        ]


@dataclass(frozen=True)
class Rnn(_Recurrent):
    """h = f(x + r h), where f is tanh or relu."""

    activation: str = "tanh"

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(self.activation in ("tanh", "relu"), f"knows no activation {self.activation!r}")
        return self._check(1, *ins)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, r, h = ins
        y = np.empty((*x.shape[:2], h.shape[1]), x.dtype)
        for t in self._steps(x):
            a = x[t] + h @ r.T
            h = np.tanh(a) if self.activation == "tanh" else np.maximum(a, 0)
            y[t] = h
        return y, h

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        d = ins[0].type.dtype.value
        formula = f"ek_tanh_{d}(a)" if self.activation == "tanh" else "a < 0 ? 0 : a"
        return self._call(1, "rnn", ins, outs, label=f"rnn_{self.activation}", expr=formula)


@dataclass(frozen=True)
class Gru(_Recurrent):
    """z, s = sigmoid of their gates; n = tanh(x + s (r h + b)), or tanh(x + r (s h)) where the reset s comes
    before the weights; h = (1 - z) n + z h. Gates are in the order z, s, n. A fourth operand is b [H]."""

    reset_after: bool = True

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == 4 and ins[3].shape == ins[2].shape[1:], f"takes a bias b[H], got {ins[-1]}")
        return self._check(3, *ins)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, r, h, b = ins
        size = h.shape[1]
        y = np.empty((*x.shape[:2], size), x.dtype)
        r_z, r_s, r_n = (part.T for part in np.split(r, 3))
        for t in self._steps(x):
            x_z, x_s, x_n = np.split(x[t], 3, axis=1)
            z, s = _sigmoid(x_z + h @ r_z), _sigmoid(x_s + h @ r_s)
            n = np.tanh(x_n + (s * (h @ r_n + b) if self.reset_after else (s * h) @ r_n))
            h = (1 - z) * n + z * h
            y[t] = h
        return y, h

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return self._call(3, "gru", ins, outs, extra=1, reset_after=int(self.reset_after))


@dataclass(frozen=True)
class Lstm(_Recurrent):
    """i, o, f = sigmoid and n = tanh of their gates, in that order; c = f c + i n; h = o tanh(c). The fourth
    operand and the third result are the cells c [B, H]."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == 4 and ins[3].shape == ins[2].shape, f"takes cells as the state, got {ins[-1]}")
        return (*self._check(4, *ins), ins[3])

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, r, h, c = ins
        y = np.empty((*x.shape[:2], h.shape[1]), x.dtype)
        for t in self._steps(x):
            i, o, f, n = np.split(x[t] + h @ r.T, 4, axis=1)
            c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(n)
            h = _sigmoid(o) * np.tanh(c)
            y[t] = h
        return y, h, c

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return self._call(4, "lstm", ins, outs)


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))  # never overflows
    result: Array = np.where(x < 0, e / (1 + e), 1 / (1 + e)).astype(x.dtype)
    return result

"""Recurrent layers over time: what is left to do once the inputs of all steps went through their weights.

Quantized, x has 16 bits, weights and y have 8, and the weights take the state in the scale of y. What adds up
over time, cells and the state of a GRU, has 16 bits and a power of two as its scale. See fixed_gates.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.fixed_gates import MAX_INNER, as_sum, saturated, sigmoid, tanh, within_16_bits
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._gates import Gates, NarrowGates, bits_of, check, relu_unit, require_same
from edgekit.core.types import Array, DType, Type, Value


class Recurrent(Op):
    """Operands: x [T, B, gates H], what the input and all biases add to each gate; r [gates H, H]; the state
    [B, H]. Results: y [T, B, H], and the state after the last step. `reverse` goes from the last step to the
    first."""

    reverse: bool
    # Of the operands from the state on, where they are quantized.
    states: ClassVar[tuple[DType, ...]] = (DType.S8,)

    def _check(self, gates: int, *ins: Type) -> tuple[Type, Type]:
        x, r, h = ins[:3]
        require(
            x.rank == 3 and r.rank == 2 and h.rank == 2, f"takes x[T,B,G], r[G,H], h[B,H], got {x}, {r}, {h}"
        )
        size = h.shape[1]
        require(
            x.shape[2] == gates * size and r.shape == (gates * size, size) and h.shape[0] == x.shape[1],
            f"input {x}, weights {r} and state {h} do not match",
        )
        y = Type(x.dtype, (*x.shape[:2], size))
        if x.quant is not None:
            check(x, r, ins[2:], self.states)
            return Type(DType.S8, y.shape), h
        require(x.dtype in (DType.F32, DType.F64), f"is not defined on {x.dtype.value}")
        require(len({t.dtype for t in ins}) == 1, f"operands differ in type: {', '.join(map(str, ins))}")
        return y, h

    def has_integers(self, ins: Sequence[Value]) -> bool:
        """Weights and a bias become integers once and for all."""
        x, r, h = ins[:3]
        return x.data is None and r.data is not None and x.type.size > 0 and h.type.size > 0

    def course(self, *ins: Array) -> tuple[Array, ...]:
        """What each result is on the way, from the first state on: calibration looks at that."""
        y = self.eval(*ins)[0]
        return y, np.concatenate([ins[2][None], y])

    def _steps(self, x: Array) -> Iterator[int]:
        return iter(range(len(x) - 1, -1, -1) if self.reverse else range(len(x)))

    def macs(self, *ins: Type) -> int:
        x, _, h = ins[:3]
        return x.size * h.shape[1]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Step by step."""
        return super().work(ins, outs) + 8 * (ELEMENT * ins[0].size + ITERATION * ins[0].shape[0])

    def _call(
        self,
        gates: int,
        kernel: str,
        args: Sequence[Arg],
        outs: Sequence[Arg],
        label: str = "",
        expr: str = "",
        extra: int = 0,
        params: Mapping[str, Param] = {},
    ) -> list[Step]:
        steps, batch, width = args[0].type.shape
        size, dtype = width // gates, args[0].type.dtype
        return [
            Call(
                kernel=kernel,
                types={"T": dtype} if dtype.is_float else {},
                args=(*args, *outs),
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
                scratch=(gates + extra) * size * dtype.bytes,
                macs=self.macs(*(a.type for a in args[:3])),
            )
        ]


@dataclass(frozen=True)
class Rnn(Recurrent):
    """h = f(x + r h), where f is tanh or relu."""

    reverse: bool = False
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

    def _rules(self, ins: Sequence[Type], outs: Sequence[Type], r: Array) -> tuple[Gates, NarrowGates]:
        x, weights, h = ins
        require_same(h, *outs)
        is_table = self.activation == "tanh"
        unit = 2.0**-15 if is_table else relu_unit(h)
        return Gates.of(x, weights, h, r, is_table=is_table), NarrowGates.of(unit, h)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        x, r, h = (a.astype(np.int64) for a in args)
        gates, narrow = self._rules(ins, outs, r)
        y = np.empty((*x.shape[:2], h.shape[1]), np.int8)
        own = gates.input(x)
        for t in self._steps(x):
            sums = saturated(own[t] + gates.state(h))
            h = narrow(tanh(sums) if self.activation == "tanh" else np.maximum(sums, 0))
            y[t] = h
        return y, h.astype(np.int8)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        d = ins[0].type.dtype.value
        if ins[0].type.quant is None:
            formula = f"ek_tanh_{d}(a)" if self.activation == "tanh" else "a < 0 ? 0 : a"
            return self._call(1, "rnn", ins, outs, label=f"rnn_{self.activation}", expr=formula)
        gates, narrow = self._rules(*_types(ins, outs), _known(ins[1]))
        params = gates.params() | narrow.params() | {"relu": int(self.activation == "relu")}
        return self._call(1, "rnn_int", (*ins, *gates.args(outs[0].name)), outs, params=params)


@dataclass(frozen=True)
class Gru(Recurrent):
    """z, s = sigmoid of their gates; n = tanh(x + s (r h + b)), or tanh(x + r (s h)) where the reset s comes
    before the weights; h = (1 - z) n + z h. Gates are in the order z, s, n. A fourth operand is b [H], which
    stays real beside quantized ones."""

    reverse: bool = False
    reset_after: bool = True
    states = (DType.S16,)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == 4 and ins[3].shape == ins[2].shape[1:], f"takes a bias b[H], got {ins[-1]}")
        if ins[0].quant is not None:
            require(ins[3].dtype is DType.F32, f"takes a bias of reals, got {ins[3]}")
            return self._check(3, *ins[:3])
        return self._check(3, *ins)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return super().has_integers(ins) and ins[3].data is not None

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, r, h, b = ins
        size = h.shape[1]
        y = np.empty((*x.shape[:2], size), x.dtype)
        r_z, r_s, r_n = (part.T for part in np.split(r, 3))
        for t in self._steps(x):
            x_z, x_s, x_n = _each(x[t], 3)
            z, s = _sigmoid(x_z + h @ r_z), _sigmoid(x_s + h @ r_s)
            n = np.tanh(x_n + (s * (h @ r_n + b) if self.reset_after else (s * h) @ r_n))
            h = (1 - z) * n + z * h
            y[t] = h
        return y, h

    def _rules(
        self, ins: Sequence[Type], outs: Sequence[Type], r: Array, b: Array
    ) -> tuple[Gates, NarrowGates, int]:
        x, weights, h, _ = ins
        y, last = outs
        require_same(h, last)
        bias = np.concatenate([np.zeros(2 * len(b)), b if self.reset_after else 0 * b])
        return Gates.of(x, weights, y, r, bias), NarrowGates.of(h, y), bits_of(h)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        x, r, h = (a.astype(np.int64) for a in args[:3])
        gates, narrow, bits = self._rules(ins, outs, r, args[3])
        size = h.shape[1]
        first, last = slice(2 * size), slice(2 * size, None)
        y = np.empty((*x.shape[:2], size), np.int8)
        own, q = gates.input(x), narrow(h)
        for t in self._steps(x):
            z, s = _each(sigmoid(saturated(own[t, :, first] + gates.state(q, first))), 2)
            if self.reset_after:
                inner = gates.state(q, last).clip(-MAX_INNER, MAX_INNER)
                kept = (s * inner + (1 << 14)) >> 15
            else:
                kept = gates.state(narrow.zero + ((s * (q - narrow.zero) + (1 << 14)) >> 15), last)
            n = tanh(saturated(own[t, :, last] + kept))
            h = within_16_bits((z * h + (((2**15 - z) * n) >> bits) + (1 << 14)) >> 15)
            q = narrow(h)
            y[t] = q
        return y, h.astype(np.int16)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        if ins[0].type.quant is None:
            return self._call(3, "gru", ins, outs, extra=1, params={"reset_after": int(self.reset_after)})
        gates, narrow, bits = self._rules(*_types(ins, outs), _known(ins[1]), _known(ins[3]))
        params = gates.params() | narrow.params() | {"bits": bits, "reset_after": int(self.reset_after)}
        args = (*ins[:3], *gates.args(outs[0].name))
        return self._call(3, "gru_int", args, outs, extra=int(not self.reset_after), params=params)


@dataclass(frozen=True)
class Lstm(Recurrent):
    """i, o, f = sigmoid and n = tanh of their gates, in that order; c = f c + i n; h = o tanh(c). The fourth
    operand and the third result are the cells c [B, H]."""

    reverse: bool = False
    states = (DType.S8, DType.S16)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == 4 and ins[3].shape == ins[2].shape, f"takes cells as the state, got {ins[-1]}")
        return (*self._check(4, *ins), ins[3])

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        y, cells = self._all(*ins)
        last = 0 if self.reverse else -1
        return (y, y[last], cells[last]) if len(y) else (y, *ins[2:])

    def course(self, *ins: Array) -> tuple[Array, ...]:
        y, cells = self._all(*ins)
        return y, np.concatenate([ins[2][None], y]), np.concatenate([ins[3][None], cells])

    def _all(self, x: Array, r: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """The state and the cells after each step."""
        y, cells = (np.empty((*x.shape[:2], h.shape[1]), x.dtype) for _ in range(2))
        for t in self._steps(x):
            h, c = cell_step(x[t] + h @ r.T, c)
            y[t], cells[t] = h, c
        return y, cells

    def _rules(self, ins: Sequence[Type], outs: Sequence[Type], r: Array) -> tuple[Gates, NarrowGates, int]:
        x, weights, h, c = ins
        require_same(h, *outs[:2])
        require_same(c, outs[2])
        return Gates.of(x, weights, h, r), NarrowGates.of(2.0**-15, h), bits_of(c)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        x, r, h, c = (a.astype(np.int64) for a in args)
        gates, narrow, bits = self._rules(ins, outs, r)
        y = np.empty((*x.shape[:2], h.shape[1]), np.int8)
        own = gates.input(x)
        for t in self._steps(x):
            sums = _each(saturated(own[t] + gates.state(h)), 4)
            i, o, f = sigmoid(sums[:3])
            c = within_16_bits((f * c + ((i * tanh(sums[3])) >> bits) + (1 << 14)) >> 15)
            h = narrow((o * tanh(as_sum(c, bits)) + (1 << 14)) >> 15)
            y[t] = h
        return y, h.astype(np.int8), c.astype(np.int16)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        if ins[0].type.quant is None:
            return self._call(4, "lstm", ins, outs)
        gates, narrow, bits = self._rules(*_types(ins, outs), _known(ins[1]))
        params = gates.params() | narrow.params() | {"bits": bits}
        return self._call(4, "lstm_int", (*ins, *gates.args(outs[0].name)), outs, params=params)


def cell_step(sums: Array, c: Array) -> tuple[Array, Array]:
    """The state and the cells of an LSTM after a step with these sums of its gates."""
    gates = _each(sums, 4)
    i, o, f = _sigmoid(gates[:3])
    c = f * c + i * np.tanh(gates[3])
    return o * np.tanh(c), c


def _each(sums: Array, gates: int) -> Array:
    """[B, gates H] as [gates, B, H]."""
    return sums.reshape(len(sums), gates, -1).swapaxes(0, 1)


def _types(ins: Sequence[Arg], outs: Sequence[Arg]) -> tuple[list[Type], list[Type]]:
    return [a.type for a in ins], [a.type for a in outs]


def _known(arg: Arg) -> Array:
    """Weights or a bias, which become integers at build time."""
    if arg.value.data is None:
        raise EdgeKitError(
            "E0207", "quantized weights that are computed at run time are not supported", arg.name
        )
    return arg.value.data


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))  # never overflows
    result: Array = np.where(x < 0, e / (1 + e), 1 / (1 + e)).astype(x.dtype)
    return result

"""TFLite's LSTM on integers: bytes, with cells of 16 bits, every rounding as its reference kernel has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed, fixed_tfl, fixed_tfl16
from edgekit.core.fixed import Int
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.types import Array, DType, Type

Factor = tuple[int, int]  # m, e of m / 2^31 2^e: 0 <= m < 2^31, -31 <= e <= 30
_TYPES = (
    DType.S8,
    *(DType.S8, DType.S32) * 2,
    DType.S16,
    *(DType.S16, DType.S32),
    *(DType.S8, DType.S32),
    *(DType.S8, DType.S16),
)


@dataclass(frozen=True)
class LstmS8(Op):
    """Operands: x [T, B, I]; weights w [gates H, I] and biases [gates H]; weights r [gates H, O] of the state
    and biases; peepholes [3, H] for i, f, o, or [0, H]; weights and biases [gates, H] of a normalization, or
    [0, H]; a projection [O, H] and biases [O], or [0, H] and [0]; the state h [B, O] and cells c [B, H]. Zero
    points are in the biases. Results: y [T, B, O], and h and c after the last step. Gates are i, f, n, o, or
    f, n, o where i is 1 - f; their sums are Q3.12 in the end."""

    input_factors: tuple[Factor, ...]  # of each gate
    state_factors: tuple[Factor, ...]
    peephole_factors: tuple[Factor, ...]  # of i, f, o, or none
    norm_factors: tuple[Factor, ...]  # of each gate, or none
    guards: tuple[int, ...]  # the variance of each gate where there is none
    hidden_factor: Factor  # of Q0.30 to what is projected, else to h
    hidden_zero: int
    projection_factor: Factor  # of projected sums to h
    zero: int  # of h with a projection
    cell_bits: int  # integer bits of c
    cell_clip: int = 0  # bound of |c|, 0 for none
    projection_clip: int = 0  # bound of |h| with a projection, 0 for none

    may_be_absent = (5, 6, 7, 8, 9)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(len(ins) == len(_TYPES), f"takes {len(_TYPES)} operands, got {len(ins)}")
        for t, dtype in zip(ins, _TYPES, strict=True):
            require(t.dtype is dtype and t.quant is None, f"takes plain {dtype.value}, got {t}")
        x, w, *_, h, c = ins
        gates = len(self.input_factors)
        require(x.rank == 3 and w.rank == h.rank == c.rank == 2, f"takes x[T,B,I], got {x}, {w}, {h}, {c}")
        (steps, batch, inputs), outputs, size = x.shape, h.shape[1], c.shape[1]
        require(gates in (3, 4) and len(self.state_factors) == gates, f"has 3 or 4 gates, not {gates}")
        peepholes, norms = len(self.peephole_factors), len(self.norm_factors)
        projected = ins[8].shape[:1] != (0,)
        require(peepholes in (0, 3), f"has 3 peepholes or none, not {peepholes}")
        require(norms in (0, gates) and len(self.guards) == norms, f"has {norms} normalizations")
        require(size > 0, f"has no cells in {c}")
        require(all(0 < guard < 2**31 for guard in self.guards), "has variances above 0")
        require(projected or outputs == size, f"state {h} and cells {c} differ in size")
        all_gates = gates * size
        shapes = [x.shape, (all_gates, inputs), (all_gates,), (all_gates, outputs), (all_gates,)]
        shapes += [(peepholes, size), (norms, size), (norms, size)]
        shapes += [(outputs * projected, size), (outputs * projected,)]
        shapes += [(batch, outputs), (batch, size)]
        for t, shape in zip(ins, shapes, strict=True):
            require(t.shape == shape, f"takes an operand of {list(shape)} in the place of {t}")
        factors = (*self.input_factors, *self.state_factors, *self.peephole_factors, *self.norm_factors)
        for m, e in (*factors, self.hidden_factor, self.projection_factor):
            require(0 <= m < 2**31 and -31 <= e <= 30, f"has no factor {m} / 2^31 2^{e}")
        require(0 <= self.cell_bits <= 6, f"takes cells with 0 to 6 integer bits, not {self.cell_bits}")
        require(0 <= self.cell_clip < 2**15, f"clips no cells at {self.cell_clip}")
        require(0 <= self.projection_clip < 2**7, f"clips no projection at {self.projection_clip}")
        require(-128 <= self.zero < 128 and -128 <= self.hidden_zero <= 128, "has zero points of int8")
        return Type(DType.S8, (steps, batch, outputs)), h, c

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, w, w_bias, r, r_bias, peepholes, norms, norm_bias, projection, p_bias, h, c = (
            a.astype(np.int64) for a in ins
        )
        gates, size = len(self.input_factors), c.shape[1]
        bound = self.cell_clip or 2**15
        y = np.empty((*x.shape[:2], h.shape[1]), np.int8)

        def peeped(sums: Int, k: int, cells: Int) -> Int:
            if not self.peephole_factors:
                return sums
            return _saturated(_times(peepholes[k] * cells, self.peephole_factors[k]) + sums)

        def normal(sums: Int, k: int) -> Int:
            if not self.norm_factors:
                return sums
            return self._normalized(sums, k, norms[k], norm_bias[k])

        for t in range(len(x)):
            sums = []
            for k, (own, state) in enumerate(zip(self.input_factors, self.state_factors, strict=True)):
                rows = slice(k * size, (k + 1) * size)
                a = _saturated(_times(_wrapped(x[t] @ w[rows].T + w_bias[rows]), own))
                sums.append(_saturated(_times(_wrapped(h @ r[rows].T + r_bias[rows]), state) + a))
            f, n, o = sums[gates - 3 :]
            f = fixed_tfl16.logistic(normal(peeped(f, 1, c), gates - 3))
            i = 2**15 - 1 - f if gates == 3 else fixed_tfl16.logistic(normal(peeped(sums[0], 0, c), 0))
            new = fixed.rdbpot(i * fixed_tfl16.tanh(normal(n, gates - 2), 3), 15 + self.cell_bits)
            c = fixed.clamp(_saturated(fixed.rdbpot(f * c, 15) + new), -bound, bound)
            o = fixed_tfl16.logistic(normal(peeped(o, 2, c), gates - 1))
            product = o * fixed_tfl16.tanh(c, self.cell_bits)
            h = fixed.clamp(_times(product, self.hidden_factor) + self.hidden_zero, -128, 127)
            if len(projection):
                limit = self.projection_clip or 128
                sums_of_state = _wrapped(h @ projection.T + p_bias)
                h = fixed.clamp(_times(sums_of_state, self.projection_factor) + self.zero, -128, 127)
                h = fixed.clamp(h, -limit, limit)
            y[t] = h
        return y, h.astype(np.int8), c.astype(np.int16)

    def _normalized(self, sums: Int, k: int, weights: Int, bias: Int) -> Int:
        """The sums of gate k, less their mean and over their standard deviation, in units of 2^-10."""
        size = sums.shape[1]
        mean = _quotient(1024 * sums.sum(axis=1, keepdims=True), size)
        squares = np.square(sums).sum(axis=1, keepdims=True)
        variance = _quotient(squares * (2**20 // size) - mean * mean, 2**20)
        variance = np.where(variance < 1, self.guards[k], variance)
        m, e = fixed_tfl.inverse_square_root(variance)
        y = fixed.mbqm(1024 * sums - mean, m, e) * weights + bias
        whole = _quotient(y + np.where(y > 0, 512, -512), 1024)
        return _saturated(_times(whole, self.norm_factors[k]))

    def macs(self, *ins: Type) -> int:
        x, w, _, r, *_ = ins
        projection = ins[8]
        return x.shape[0] * x.shape[1] * (w.size + r.size + projection.size)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Step by step."""
        return super().work(ins, outs) + 8 * (ELEMENT * ins[0].size + ITERATION * sum(ins[0].shape[:2]))

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, h, c = (ins[i].type for i in (0, 10, 11))
        gates, size = len(self.input_factors), c.shape[1]
        first = 4 - gates
        params: dict[str, Param] = {
            "steps": x.shape[0],
            "batch": x.shape[1],
            "inputs": x.shape[2],
            "size": size,
            "outputs": h.shape[1],
            "first": first,
            "peepholes": int(bool(self.peephole_factors)),
            "normalizes": int(bool(self.norm_factors)),
            "projects": int(ins[8].type.size > 0),
            "cell_bits": self.cell_bits,
            "cell_lo": -self.cell_clip or -(2**15),
            "cell_hi": self.cell_clip or 2**15 - 1,
            "hidden_zero": self.hidden_zero,
            "zero": self.zero,
            "lo": -self.projection_clip or -128,
            "hi": self.projection_clip or 127,
        }
        absent = ((0, 0),)
        for name, factors in (
            ("x", absent * first + self.input_factors),
            ("h", absent * first + self.state_factors),
            ("c", self.peephole_factors or absent * 3),
            ("n", absent * first + self.norm_factors if self.norm_factors else absent * 4),
        ):
            params |= {f"{name}_m": [m for m, _ in factors], f"{name}_e": [e for _, e in factors]}
        params["guard"] = [1] * (4 - len(self.guards)) + list(self.guards)
        params["hidden_m"], params["hidden_e"] = self.hidden_factor
        params["p_m"], params["p_e"] = self.projection_factor
        return [
            Call(
                kernel="lstm_s8",
                types={},
                args=(*ins, *outs),
                params=params,
                results=3,
                scratch=2 * gates * size,
                macs=self.macs(*(a.type for a in ins)),
            )
        ]


def _times(x: Int, factor: Factor) -> Int:
    return fixed.mbqm(x, *factor)


def _wrapped(x: Int) -> Int:
    """As sums of 32 bits wrap: no network has biases that leave no room, yet a damaged file may."""
    return (x + 2**31) % 2**32 - 2**31


def _quotient(x: Int, by: int) -> Int:
    """Cut off towards zero, as C divides."""
    return np.where(x >= 0, x // by, -(-x // by))


def _saturated(x: Int) -> Int:
    return fixed.clamp(x, -(2**15), 2**15 - 1)

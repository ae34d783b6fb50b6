"""Dynamic quantization: bytes over the range that activations have in this run, as ONNX Runtime has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Step, require
from edgekit.core.ops._integer import constant
from edgekit.core.ops.recurrent import cell_step
from edgekit.core.types import Array, DType, Type

MAX_INPUTS = 1 << 16  # of a sum of products of 8 and 9 bits


@dataclass(frozen=True)
class DynamicQuantize(Op):
    """Results: x as u8, and the scale and the zero point of that. The range of x and 0 is that of bytes."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype is DType.F32, f"takes float32, got {x}")
        return Type(DType.U8, x.shape), Type(DType.F32, ()), Type(DType.U8, ())

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        y, scale, zero = quantized(x)
        return y.astype(np.uint8), np.asarray(scale, np.float32), np.asarray(zero, np.uint8)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        n = ins[0].type.size
        return [Call("dynamic_quantize", {}, (*ins, *outs), {"n": n}, results=3)]


@dataclass(frozen=True)
class DynamicQuantizeDense(Op):
    """y = x_scale scale (sum of (x - x_zero) w) + b. Operands: x [..., I] as s8, the signed form of what
    DynamicQuantize gives, with its scale [] and zero point []; w [O, I], scale [O], b [O]. Sums are exact;
    floats are rounded after each operation."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, x_scale, x_zero, w, scale, b = ins
        for t, dtype in zip((x, x_zero, w), (DType.S8,) * 3, strict=True):
            require(t.dtype is dtype and t.quant is None, f"takes plain {dtype.value}, got {t}")
        require(x.rank >= 1 and w.rank == 2, f"takes x[..., I], w[O, I], got {x}, {w}")
        require(
            x.shape[-1] == w.shape[1], f"input {x} has {x.shape[-1]} features, weights expect {w.shape[1]}"
        )
        require(w.shape[1] <= MAX_INPUTS, f"{w.shape[1]} products do not fit into sums of 32 bits")
        require(x_scale == Type(DType.F32, ()) and x_zero.shape == (), "takes one scale and one zero point")
        outputs = Type(DType.F32, w.shape[:1])
        require(scale == b == outputs, f"takes a scale and a bias of each output, got {scale}, {b}")
        return (Type(DType.F32, (*x.shape[:-1], w.shape[0])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, x_scale, x_zero, w, scale, b = ins
        sums = (x.astype(np.float64) - x_zero) @ w.astype(np.float64).T  # whole numbers: exact in float64
        with np.errstate(all="ignore"):
            y = sums.astype(np.float32) * (x_scale * scale).astype(np.float32) + b
        return (y.astype(np.float32),)

    def macs(self, *ins: Type) -> int:
        return ins[0].size * ins[3].shape[0]

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, x_scale, x_zero, w, scale, b = ins
        (y,) = outs
        outputs, inputs = w.type.shape
        return [
            Call(
                "dynamic_quantize_dense",
                {},
                (x, x_scale, x_zero, w, _sums(w, y), scale, b, y),
                {"rows": y.type.size // outputs, "inputs": inputs, "outputs": outputs},
                macs=self.macs(*(a.type for a in ins)),
            )
        ]


@dataclass(frozen=True)
class DynamicQuantizeLstm(Op):
    """An LSTM (see recurrent.py) with weights of bytes for its state, which is quantized anew at each step,
    all sequences together. Operands: x [T, B, 4 H], what inputs and biases add to gates i, o, f, n; r
    [4 H, H], its scales and zero points [4 H]; the state h and cells c [B, H]. Results: y [T, B, H], and h
    and c after the last step."""

    reverse: bool = False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, r, scale, zero, h, c = ins
        types = (DType.F32, DType.S8, DType.F32, DType.S32, DType.F32, DType.F32)
        for t, dtype in zip(ins, types, strict=True):
            require(t.dtype is dtype and t.quant is None, f"takes plain {dtype.value}, got {t}")
        require(x.rank == 3 and h.rank == 2, f"takes x[T,B,G], h[B,H], got {x}, {h}")
        batch, size = h.shape
        fits = x.shape[1:] == (batch, 4 * size) and r.shape == (4 * size, size)
        require(fits, f"input {x}, weights {r} and state {h} do not match")
        require(scale.shape == zero.shape == (4 * size,), f"takes a scale a gate, got {scale}, {zero}")
        require(c.shape == h.shape, f"takes cells as the state, got {c}")
        return Type(DType.F32, (*x.shape[:2], size)), h, c

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, r, scale, zero, h, c = ins
        weights = (r.astype(np.int64) - zero[:, None]).T
        y = np.empty((*x.shape[:2], h.shape[1]), np.float32)
        for t in self._steps(len(x)):
            q, h_scale, h_zero = quantized(h)
            sums = ((q - h_zero) @ weights).astype(np.float32)
            h, c = cell_step(x[t] + sums * (h_scale * scale), c)
            y[t] = h
        return y, h, c

    def _steps(self, count: int) -> Iterator[int]:
        return iter(range(count - 1, -1, -1) if self.reverse else range(count))

    def macs(self, *ins: Type) -> int:
        return ins[0].size * ins[4].shape[1]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Step by step."""
        return super().work(ins, outs) + 8 * (ELEMENT * ins[0].size + ITERATION * sum(ins[0].shape[:2]))

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        steps, batch, _ = ins[0].type.shape
        size = ins[4].type.shape[1]
        params = {"steps": steps, "batch": batch, "size": size, "reverse": int(self.reverse), "groups": 4}
        room = 4 * size * DType.F32.bytes + batch * size * DType.S16.bytes
        macs = self.macs(*(a.type for a in ins))
        x, r, *rest = ins
        args = (x, r, _sums(r, outs[0]), *rest, *outs)
        return [Call("dynamic_quantize_lstm", {}, args, params, results=len(outs), scratch=room, macs=macs)]


def _sums(w: Arg, y: Arg) -> Arg:
    """What the zero point of activations is multiplied by: the sums of the weights of outputs."""
    if w.value.data is None:
        raise EdgeKitError("E0207", "weights of bytes that are computed at run time", w.name)
    totals = w.value.data.astype(np.int32).sum(axis=1, dtype=np.int32)
    return constant(f"{y.name}#sums", totals, "sums of the weights of outputs")


def quantized(x: Array) -> tuple[Array, np.float32, int]:
    """x as whole numbers from 0 to 255, their scale and their zero point."""
    low = np.fmin(np.fmin.reduce(x, axis=None, initial=np.float32(0)), np.float32(0))
    high = np.fmax(np.fmax.reduce(x, axis=None, initial=np.float32(0)), np.float32(0))
    with np.errstate(all="ignore"):
        scale = np.float32((high - low) / np.float32(255))
        scale = scale if scale > 0 else np.float32(1)
        zero = int(_byte(np.rint((np.float32(0) - low) / scale)))
        codes = _byte(np.rint(x / scale) + np.float32(zero))
    return codes, scale, zero


def _byte(v: Array) -> Array:
    return np.asarray(np.nan_to_num(v, nan=0.0).clip(0, 255).astype(np.int64))

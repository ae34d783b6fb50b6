"""y = (x - mean) / sqrt(variance + epsilon) * scale + bias, over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array, DType, Type
from edgekit.ops import Arg, Call, Op, Step, require
from edgekit.ops._layout import Layout, Moved, plain, stored


@dataclass(frozen=True)
class LayerNorm(Op):
    """Operands: x [..., n], scale [n], bias [n]."""

    epsilon: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, scale, bias = ins
        require(
            x.rank >= 1 and scale.shape == bias.shape == x.shape[-1:],
            f"takes x[..., n], scale[n], bias[n], got {x}, {scale}, {bias}",
        )
        require(x.dtype in (DType.F32, DType.F64), f"is not defined on {x.dtype.value}")
        require(x.dtype == scale.dtype == bias.dtype, f"operands differ in type: {x}, {scale}, {bias}")
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, scale, bias = ins
        d = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(d).mean(axis=-1, keepdims=True)
        return ((d / np.sqrt(variance + x.dtype.type(self.epsilon)) * scale + bias).astype(x.dtype),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _rows("layer_norm", ins, outs, self.epsilon)

    def moved(self, at: int, ins: Sequence[Layout]) -> Moved | None:
        x, *vectors = ins
        if at != 0 or not x.ends_alike:
            return None
        return stored(self, [x, *(plain(v.value_shape) for v in vectors)], [x])


@dataclass(frozen=True)
class RmsNorm(Op):
    """y = x / sqrt(mean of x x + epsilon) * scale. Operands: x [..., n], scale [n]."""

    epsilon: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, scale = ins
        require(x.rank >= 1 and scale.shape == x.shape[-1:], f"takes x[..., n], scale[n], got {x}, {scale}")
        require(x.dtype in (DType.F32, DType.F64), f"is not defined on {x.dtype.value}")
        require(x.dtype == scale.dtype, f"operands differ in type: {x}, {scale}")
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, scale = ins
        square = np.square(x).mean(axis=-1, keepdims=True)
        return ((x / np.sqrt(square + x.dtype.type(self.epsilon)) * scale).astype(x.dtype),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return _rows("rms_norm", ins, outs, self.epsilon)

    def moved(self, at: int, ins: Sequence[Layout]) -> Moved | None:
        x, *vectors = ins
        if at != 0 or not x.ends_alike:
            return None
        return stored(self, [x, *(plain(v.value_shape) for v in vectors)], [x])


def _rows(kernel: str, ins: Sequence[Arg], outs: Sequence[Arg], epsilon: float) -> list[Step]:
    x = ins[0].type
    if x.size == 0:
        return []
    n = x.shape[-1]
    params = {"rows": x.size // n, "n": n, "epsilon": epsilon}
    return [Call(kernel=kernel, types={"T": x.dtype}, args=(*ins, *outs), params=params, inplace=(0,))]

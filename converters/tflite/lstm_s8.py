"""TFLite's LSTM on bytes with cells of 16 bits: scales become factors, and zero points go into biases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import TfliteLayer, raw
from edgekit.converters.tflite.lstm import Operands, Result
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.lstm_s8 import Factor, LstmS8
from edgekit.core.types import Array, DType

_Q12 = np.float32(2.0**-12)
_KIND = "UNIDIRECTIONAL_SEQUENCE_LSTM of integers"


def integers(layer: TfliteLayer, o: Operands) -> Result:
    """The layer, whose every rounding is that of TFLite's reference kernel."""
    if len(layer.inner) != 5:
        raise EdgeKitError("E0401", f"{_KIND} has 5 inner types, not {len(layer.inner)}")
    size, norms = o.c.shape[1], o.of_gates("normalization", o.norms)
    hidden = layer.known(layer.inner[4], "the hidden state")
    scales = _Scales.of(layer, o)
    w, r = (o.of_gates("weights", tensors) for tensors in (o.w, o.r))
    peepholes = _peepholes(o)
    projected = o.projection is not None
    # LiteRT moves what is projected by its zero point the other way.
    hidden_zero = -hidden.zero[0] if projected else hidden.zero[0]
    op = LstmS8(
        input_factors=scales.factors(w, scales.x, scales.sums[o.coupled :]),
        state_factors=scales.factors(r, scales.h, scales.sums[o.coupled :]),
        peephole_factors=scales.factors(peepholes, 2.0**scales.exponent, [scales.sums[k] for k in (0, 1, 3)]),
        norm_factors=tuple((m, e + 12) for m, e in (_factor(scales.of_one(t)) for t in norms)),
        guards=tuple(max(1, int(np.float32(10000) * scales.of_one(t))) for t in norms),
        hidden_factor=_factor(2.0**-15 / float(scales.hidden) * 2.0**-15),
        hidden_zero=hidden_zero,
        projection_factor=scales.factors([o.projection], scales.hidden, [scales.h])[0]
        if o.projection is not None
        else (0, 0),
        zero=layer.out_quant.zero[0],
        cell_bits=15 + scales.exponent,
        cell_clip=_clip(o.cell_clip, scales.c, 2**15 - 1),
        projection_clip=_clip(o.projection_clip, scales.y, 2**7 - 1) if projected else 0,
    )
    all_w, all_r = _constants(w, DType.S8), _constants(r, DType.S8)
    zero_x, zero_h = (layer.quant_of(t).zero[0] for t in (o.x, o.h))
    biases = _constants(o.of_gates("biases", o.biases), DType.S32)
    arrays = [all_w, _folded(all_w, -zero_x, 0 if norms else biases), all_r, _folded(all_r, -zero_h, 0)]
    arrays.append(_rows(peepholes, size))
    arrays += [_rows(norms, size), biases.reshape(-1, size) if norms else np.zeros((0, size), np.int32)]
    if o.projection is not None:
        projection = _constants([o.projection], DType.S8)
        bias = 0 if o.projection_bias is None else _constants([o.projection_bias], DType.S32)
        arrays += [projection, _folded(projection, -hidden_zero, bias)]
    else:
        arrays += [np.zeros((0, size), np.int8), np.zeros(0, np.int32)]
    weights = (o.x.new(a, "lstm") for a in arrays)
    y, h, c = raw(o.x).apply_all(op, *weights, raw(o.h), raw(o.c))
    return y, h, c


@dataclass(frozen=True)
class _Scales:
    """What a unit of each tensor is, in float32 as TFLite computes with them."""

    layer: TfliteLayer
    x: Any
    h: Any
    c: Any
    hidden: Any  # of what the gates give
    y: Any
    exponent: int  # of 2 in c
    sums: Sequence[Any]  # of the gates i, f, c, o

    @staticmethod
    def of(layer: TfliteLayer, o: Operands) -> _Scales:
        x, h, c = (np.float32(layer.quant_of(t).scale[0]) for t in (o.x, o.h, o.c))
        *gates, hidden = (layer.inner[k] for k in range(5))
        exponent = round(float(np.log2(c)))
        if abs(np.log2(c) - exponent) > 1e-3 or not -15 <= exponent <= -9:
            raise EdgeKitError("E0209", f"the scale of cells is {c}, not a power of two from 2^-15 to 2^-9")
        # Before a normalization, sums have scales of the file.
        norms = o.of_gates("normalization", o.norms)
        sums = [np.float32(layer.known(t, "a gate").scale[0]) if norms else _Q12 for t in gates]
        inner = np.float32(layer.known(hidden, "the hidden state").scale[0])
        return _Scales(layer, x, h, c, inner, np.float32(layer.out_quant.scale[0]), exponent, sums)

    def of_one(self, t: Tensor) -> Any:
        return np.float32(self.layer.quant_of(t).scale[0])

    def factors(self, tensors: Sequence[Tensor], other: Any, results: Sequence[Any]) -> tuple[Factor, ...]:
        """Of products with something of the scale `other`, as results."""
        if not tensors:
            return ()
        pairs = zip(tensors, results, strict=True)
        return tuple(_factor(self.of_one(t) * other / result) for t, result in pairs)


def _peepholes(o: Operands) -> list[Tensor]:
    """Those of i, f and o, or none."""
    i, f, _, out = o.peepholes
    if f is None:
        return []
    assert out is not None, "checked where operands are read"
    if o.h.shape[1] != o.c.shape[1]:
        message = f"{_KIND} with peepholes and a projection to another size is not supported"
        raise EdgeKitError("E0205", message, hint="TFLite's kernel reads the wrong cells there")
    return [f if i is None else i, f, out]  # that of a gate which is not there is not read


def _constants(tensors: Sequence[Tensor], dtype: DType) -> Array:
    """Weights of gates, one behind the other."""
    for t in tensors:
        if t.dtype is not dtype:
            raise EdgeKitError("E0204", f"{_KIND} has weights {t.type}, not {dtype.value}")
    return np.concatenate([t.constant("the weights of an LSTM") for t in tensors])


def _rows(tensors: Sequence[Tensor], size: int) -> Array:
    """Vectors of 16 bits as rows."""
    if not tensors:
        return np.zeros((0, size), np.int16)
    return _constants(tensors, DType.S16).reshape(len(tensors), size)


def _folded(weights: Array, zero: int, bias: Array | int) -> Array:
    """A bias with what the zero point of the other factor adds to each sum."""
    sums: Array = bias + zero * weights.astype(np.int64).sum(axis=1)
    return sums.astype(np.int32)


def _factor(ratio: Any) -> Factor:
    """A ratio, which TFLite has in float32."""
    multiplier, exponent = fixed.quantize_multiplier(np.float64(np.float32(ratio)))
    return int(multiplier), int(exponent)


def _clip(bound: float, scale: Any, most: int) -> int:
    """A bound in units of a scale, cut off."""
    return int(min(np.float32(bound) / scale, most))

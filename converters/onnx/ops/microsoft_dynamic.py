"""Dynamic quantization in the domain com.microsoft: layers that quantize their activations in each run.

This is what onnxruntime.quantization.quantize_dynamic writes, beside MatMulInteger and ConvInteger. Weights
stay bytes; those of an LSTM are [directions, inputs, gates] here, the transpose of ONNX.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from edgekit.converters.onnx.ops.integer_sums import integer_product, scaled_product
from edgekit.converters.onnx.ops.quantization import DynamicQuantizeLinear
from edgekit.converters.onnx.ops.recurrent import Floats, Strings, all_directions
from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.semantics.quantized import check
from edgekit.converters.semantics.recurrent import RecurrentLayer, Result
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.dynamic_quantize import DynamicQuantizeLstm
from edgekit.core.types import DType

DOMAIN = "com.microsoft"


def DynamicQuantizeMatMul(
    a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    check(b_scale, b_zero, b.dtype)
    x, x_scale, x_zero = DynamicQuantizeLinear(a)
    return MatMulIntegerToFloat(x, b, x_scale, b_scale, x_zero, b_zero, bias)


def MatMulIntegerToFloat(
    a: Tensor,
    b: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    a_zero: Tensor | None = None,
    b_zero: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    product = scaled_product(a, b, a_zero, b_zero, a_scale, b_scale, bias)
    if product is not None:
        return product
    sums = cast(integer_product(a, b, a_zero, b_zero), a_scale.dtype)
    y = sums * (_one(a_scale) * _one(b_scale))
    return y if bias is None else y + bias


def DynamicQuantizeLSTM(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None,
    lengths: Tensor | None,
    h: Tensor | None,
    c: Tensor | None,
    p: Tensor | None,
    w_scale: Tensor,
    w_zero: Tensor,
    r_scale: Tensor,
    r_zero: Tensor,
    *,
    activation_alpha: Floats = None,
    activation_beta: Floats = None,
    activations: Strings = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
) -> tuple[Tensor | None, ...]:
    own = iter(
        [
            (_Bytes(*of_w), _Bytes(*of_r))
            for of_w, of_r in zip(
                _directions(w, w_scale, w_zero), _directions(r, r_scale, r_zero), strict=True
            )
        ]
    )

    def run(layer: RecurrentLayer) -> Result:
        given = {field.name: getattr(layer, field.name) for field in fields(layer)}
        weights, state_weights = next(own)
        return recurrent.lstm(
            _DynamicLayer(**given, weights=weights, state_weights=state_weights), bool(input_forget)
        )

    return all_directions(
        run,
        ("Sigmoid", "Tanh", "Tanh"),
        *(x, w.transpose(0, 2, 1), r.transpose(0, 2, 1), b, lengths, h, c, p),
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        activations=activations,
        clip=clip,
        direction=direction,
        layout=0,
    )


@dataclass(frozen=True)
class _Bytes:
    """Weights [inputs, outputs] as integers, and what these stand for: one scale and zero point, or one an
    output."""

    integers: Tensor
    scale: Tensor
    zero: Tensor

    def products(self, x: Tensor) -> Tensor:
        return DynamicQuantizeMatMul(x, self.integers, self.scale, self.zero)


@dataclass(frozen=True, kw_only=True)
class _DynamicLayer(RecurrentLayer):
    """An LSTM that quantizes its input, all steps together, and its state at each step."""

    weights: _Bytes
    state_weights: _Bytes

    def is_plain(self, *activations: str) -> bool:
        """Not with lengths: all sequences share the scale of a state, so that those of padded steps are 0."""
        return super().is_plain(*activations) and self.lengths is None

    def input_products(self, x: Tensor) -> Tensor:
        return self.weights.products(x)

    def state_products(self, h: Tensor) -> Tensor:
        return self.state_weights.products(h)

    def lstm(self, gates: Tensor) -> Result:
        assert self.c is not None, "an LSTM has cells"
        own = self.state_weights
        integers = own.integers.constant("the weights of the state")
        middle = 0 if own.integers.dtype.is_signed else 128
        count = integers.shape[1]
        r = gates.new((integers.astype(np.int32) - middle).T.astype(np.int8))
        zero = own.zero.constant("the zero point of the state's weights").astype(np.int32) - middle
        scale = own.scale.constant("the scale of the state's weights").reshape(-1)
        y, h, c = gates.apply_all(
            DynamicQuantizeLstm(self.reverse),
            r,
            gates.new(np.broadcast_to(scale, count)),
            gates.new(np.broadcast_to(zero.reshape(-1), count)),
            self.h,
            self.c,
        )
        return y, h, c


def _directions(w: Tensor, scale: Tensor, zero: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Weights, scales and zero points of each direction."""
    check(scale, zero, w.dtype)
    if w.rank != 3 or w.dtype not in (DType.S8, DType.U8):
        raise EdgeKitError("E0401", f"the weights {w.type} are no bytes [directions, inputs, gates]")
    count, _, outputs = w.shape
    if scale.shape not in ((count,), (count, outputs)) or zero.shape != scale.shape:
        raise EdgeKitError("E0401", f"scales {scale.type} do not fit the weights {w.type}")
    for i in range(count):
        yield tuple(part(t, 0, i, 1).reshape(*t.shape[1:]) for t in (w, scale, zero))  # type: ignore[misc]  # three


def _one(p: Tensor) -> Tensor:
    return p.reshape() if p.type.size == 1 else p

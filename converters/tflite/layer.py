"""What import handlers of TFLite operators work with: the layer, and quantized tensors as plain integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from edgekit.converters.file_formats.flexbuffers import Value as Option
from edgekit.converters.file_formats.flexbuffers import options
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.file import Table
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Clip
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.logic import ShiftRight
from edgekit.core.ops.lookup import Lookup
from edgekit.core.ops.rescale import Rescale, RescaleOnce
from edgekit.core.reasons import DamageError, reason_of
from edgekit.core.types import Array, DType, Quant, Type, Value, type_of

# The fused activations of the schema: NONE, RELU, RELU_N1_TO_1, RELU6.
ACTIVATIONS = {0: (-inf, inf), 1: (0.0, inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}


@dataclass(frozen=True)
class TfliteLayer:
    """What a handler sees of one operator: its options, and the types that the file gives the results."""

    name: str
    options: Table
    outs: tuple[Type, ...]
    inner: tuple[Type, ...] = ()  # the types that it gives what is between steps
    custom: bytes = b""  # the options of a custom operator
    # What is in the states that this operator changes, by the names of what was there before.
    written: dict[str, Tensor] = field(default_factory=dict)
    kept: dict[str, Value] = field(default_factory=dict)  # states of its own, and what is there first

    def state(self, x: Tensor, name: str, initial: Array) -> Tensor:
        """A state that no tensor of the file stands for; `write` says what is there next."""
        value = Value(type_of(initial), initial)
        name = x.builder.input(name, value.type)
        self.kept[name] = value
        return Tensor(x.builder, name)

    @property
    def attributes(self) -> Mapping[str, Option]:
        """The options of a custom operator, where they are a FlexBuffer."""
        try:
            return options(self.custom) if self.custom else {}
        except DamageError as error:
            raise EdgeKitError("E0401", reason_of(error)) from None

    def option(self, name: str) -> int:
        """A whole number among the options of a custom operator."""
        found = self.real(name)
        if found != int(found):
            raise EdgeKitError("E0401", f"the option {name} is {found:g}, not a whole number")
        return int(found)

    def real(self, name: str) -> float:
        """A number among the options of a custom operator."""
        found = self.attributes.get(name)
        if not isinstance(found, int | float) or not np.isfinite(found):
            raise EdgeKitError("E0401", f"the option {name}, a number, is missing")
        return found

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers among the options of a custom operator."""
        found = self.attributes.get(name)
        if not isinstance(found, tuple) or any(isinstance(v, float) for v in found):
            raise EdgeKitError("E0401", f"the option {name}, a list of whole numbers, is missing")
        return tuple(int(v) for v in found)

    def write(self, state: Tensor, content: Tensor) -> None:
        """Change a state."""
        whole = content.reshape(*state.shape)
        self.written[state.name] = labelled(cast(whole, state.dtype), state.type.quant)

    @property
    def quant(self) -> Quant | None:
        return self.outs[0].quant

    @property
    def out_quant(self) -> Quant:
        """What the integers of the first result stand for, which a quantized layer must say."""
        return self.known(self.outs[0], "the result")

    def product_ratio(self, a: Quant, b: Quant) -> np.float64:
        """s_a s_b / s_y"""
        return self.ratio(a, b.scale[0])

    def ratio(self, x: Quant, factor: float = 1.0) -> np.float64:
        """s_x factor / s_y, which LiteRT computes in float32, and TFLite Micro in float64."""
        s_x, f, s_y = np.float32(x.scale[0]), np.float32(factor), np.float32(self.out_quant.scale[0])
        if self.out_quant.rounding == "tflm":
            return np.float64(s_x) * np.float64(f) / np.float64(s_y)
        return np.float64(s_x * f / s_y)

    def quant_of(self, x: Tensor, what: str = "an operand") -> Quant:
        return self.known(x.type, what)

    def known(self, type: Type, what: str) -> Quant:
        """What the integers of this type stand for, which must be one scale."""
        if type.quant is None:
            raise EdgeKitError("E0401", f"{what} {type} of a quantized layer has no scale")
        if len(type.quant.scale) != 1:
            raise EdgeKitError("E0401", f"{what} {type} should have one scale, not one a channel")
        return type.quant

    def apply(self, op: Op, x: Tensor, *others: Tensor) -> Tensor:
        """op(x, ...) with the quantization that the file gives the first result."""
        (name,) = x.builder.add(op, x.name, *(t.name for t in others), quant=self.quant)
        return Tensor(x.builder, name)

    def clamp(self, activation: int) -> tuple[float, float]:
        """The bounds of a fused activation."""
        if activation not in ACTIVATIONS:
            raise EdgeKitError("E0203", f"fused activation {activation} is not supported")
        return ACTIVATIONS[activation]

    def activated(self, y: Tensor, activation: int) -> Tensor:
        """y, clamped; quantized bounds are integers of y's own scale."""
        low, high = self.clamp(activation)
        if (low, high) == (-inf, inf):
            return y
        quant = y.type.quant
        if quant is None and y.dtype.is_float:
            return y.clip(low, high)
        if quant is None:
            least, most = fixed.int_range(y.dtype)
            return y.clip(max(low, least), min(high, most))
        bounds = fixed.bounds(low, high, y.dtype, quant)
        return y.apply(Clip(), *(y.like(b) for b in bounds))

    def table(self, x: Tensor, entries: Array) -> Tensor:
        """An int8 function of x, given by its results for -128 to 127."""
        return self.apply(Lookup(), x, x.new(entries.astype(np.int8), "table"))

    def rescaled(self, sums: Tensor, ratio: Any, activation: int = 0, *, once: bool = False) -> Tensor:
        """Plain integers times `ratio`, one or one a channel, as integers of the result; by TFLite's rule
        for 32 bits, or by that for 64 where the sums have as many."""
        return self.stored(times(sums, ratio, once=once), activation)

    def stored(self, y: Tensor, activation: int = 0) -> Tensor:
        """Plain integers in the scale of the result as integers of the result."""
        quant, dtype = self.out_quant, self.outs[0].dtype
        low, high = fixed.bounds(*self.clamp(activation), dtype, quant)
        return self.labelled(cast((y + quant.zero[0] if quant.zero[0] else y).clip(low, high), dtype))

    def labelled(self, y: Tensor, at: int = 0) -> Tensor:
        """Integers as what the file says that they stand for."""
        return labelled(y, self.outs[at].quant)


def labelled(y: Tensor, quant: Quant | None) -> Tensor:
    """The same integers, which stand for something else. No code."""
    if y.type.quant == quant:
        return y
    if y.data is not None:
        name = y.builder.fresh(y.name)
        y.builder.values[name] = Value(replace(y.type, quant=quant), y.data)
        return Tensor(y.builder, name)
    (name,) = y.builder.add(BitCast(y.dtype), y.name, quant=quant)
    return Tensor(y.builder, name)


def raw(x: Tensor) -> Tensor:
    """The integers of a quantized tensor as plain numbers. No code."""
    return labelled(x, None)


def centred(x: Tensor, dtype: DType = DType.S32) -> Tensor:
    """x - zero as plain integers of another type."""
    zero = x.type.quant.zero[0] if x.type.quant else 0
    wide = cast(raw(x), dtype)
    return wide - zero if zero else wide


def times(sums: Tensor, ratio: Any, *, once: bool = False) -> Tensor:
    """Plain integers times a real factor, one or one a channel, by TFLite's rules."""
    multiplier, exponent = fixed.quantize_multiplier(np.asarray(ratio, np.float64))
    if sums.dtype is DType.S64 and once:
        half = np.int64(1) << (30 - exponent)
        product = sums * sums.like(multiplier)
        below_zero = product.apply(ShiftRight(), sums.like(np.int64(63)))  # -1: halves go away from zero
        return (product + below_zero + sums.like(half)).apply(ShiftRight(), sums.like(31 - exponent))
    if sums.dtype is DType.S64:
        reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
        half = np.int64(1) << (14 - exponent)
        return (sums * sums.like(reduced) + sums.like(half)).apply(ShiftRight(), sums.like(15 - exponent))
    return sums.apply(RescaleOnce() if once else Rescale(), sums.like(multiplier), sums.like(exponent))


def dequantized(x: Tensor) -> Tensor:
    """Constant weights as floats: float models may store theirs as int8 or as float16."""
    quant, data = x.type.quant, x.data
    if data is None or (quant is None and x.dtype is not DType.F16):
        return x
    x.builder.note_widened(x.type, replace(x.type, dtype=DType.F32))
    if quant is None:
        return x.new(data.astype(np.float32))
    shape = [1] * x.rank
    if quant.axis is not None:
        shape[quant.axis] = -1
    scale = np.asarray(quant.scale, np.float32).reshape(shape)
    zero = np.asarray(quant.zero, np.float32).reshape(shape)
    return x.new((data.astype(np.float32) - zero) * scale)


def moved_axis(x: Tensor, *perm: int) -> Tensor:
    """Constant weights with their dimensions in another order, channel scales included."""
    data, quant = x.data, x.type.quant
    if data is None:
        return x.transpose(*perm)
    if data.ndim != len(perm):
        raise EdgeKitError("E0401", f"weights {x.type} should have {len(perm)} dimensions")
    if quant is not None and quant.axis is not None:
        quant = replace(quant, axis=perm.index(quant.axis))
    name = x.builder.fresh(x.name)
    array = np.ascontiguousarray(data.transpose(perm))
    x.builder.values[name] = Value(Type(x.dtype, array.shape, quant), array)
    return Tensor(x.builder, name)


def bias_or_zeros(x: Tensor, bias: Tensor | None, outputs: int) -> Tensor:
    """The bias; zeros in the type that sums have where the layer has none."""
    if bias is not None:
        return bias
    return x.new(np.zeros(outputs, np.int32 if x.dtype.is_integer else x.dtype.numpy))


def single(x: Quant) -> np.float64:
    """The scale of a tensor as float64, which holds the file's float32."""
    return np.float64(np.float32(x.scale[0]))


def is_plain(xs: Sequence[Tensor]) -> bool:
    """Is none of them quantized?"""
    return all(x.type.quant is None for x in xs)

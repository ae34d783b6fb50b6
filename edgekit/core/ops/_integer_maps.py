"""Elementwise operators on quantized tensors: sums, products, and tables of 256 results for all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.ops._integer import centred, constant, quant_of, single_rule
from edgekit.core.ops._strided import broadcast, loops
from edgekit.core.types import Array, Quant, Type


@dataclass(frozen=True)
class Tfl:
    """a +- b by TFLite's rule: operands go to twice the larger scale and 20 more bits, their sum to y's."""

    multipliers: tuple[int, int, int]  # of a, b and their sum
    exponents: tuple[int, int, int]


@dataclass(frozen=True)
class Affine:
    """a +- b by rule E: y = (a first + b second + constant) >> shift, factors of 16 bits."""

    first: int
    second: int
    constant: int
    shift: int


def sum_rule(ins: Sequence[Type], out: Type, sign: int) -> Tfl | Affine:
    """How a + sign b is computed."""
    y = quant_of(out)
    a, b = (float(np.float32(quant_of(t).scale[0])) for t in ins)
    s = float(np.float32(y.scale[0]))
    if y.rounding != "E":
        twice = 2 * max(a, b)
        ratios = np.asarray([a / twice, b / twice, twice / ((1 << 20) * s)])
        if twice * 256 / s >= 2.0**30:  # adding the zero point would overflow
            raise EdgeKitError("E0209", f"an operand's scale {max(a, b)} is too far above the result's {s}")
        multipliers, exponents = fixed.quantize_multiplier(ratios)
        return Tfl(tuple(multipliers.tolist()), tuple(exponents.tolist()))
    shift = int(np.clip(14 - np.floor(np.log2(max(a, b) / s)), 1, 22))
    if shift > 1 and np.floor(max(a, b) / s * 2.0**shift + 0.5) >= 1 << 15:  # just below a power of two
        shift -= 1
    factor = [int(np.floor(ratio / s * 2.0**shift + 0.5)) for ratio in (a, b)]
    if max(factor) >= 1 << 15:
        raise EdgeKitError("E0209", f"an operand's scale {max(a, b)} is too far above the result's {s}")
    first, second = factor[0], sign * factor[1]
    offset = (1 << (shift - 1)) + (y.zero[0] << shift)
    offset -= quant_of(ins[0]).zero[0] * first + quant_of(ins[1]).zero[0] * second
    return Affine(first, second, offset, shift)


def sum_integers(args: Sequence[Array], ins: Sequence[Type], out: Type, sign: int) -> Array:
    """a + sign b on quantized tensors."""
    low, high = fixed.int_range(out.dtype)
    match sum_rule(ins, out, sign):
        case Affine(first, second, offset, shift):
            y = (args[0].astype(np.int64) * first + args[1].astype(np.int64) * second + offset) >> shift
        case Tfl(multipliers, exponents):
            parts = [
                fixed.mbqm(centred(x, t).astype(np.int64) << 20, m, e)
                for x, t, m, e in zip(args, ins, multipliers, exponents, strict=False)
            ]
            total = parts[0] + sign * parts[1]
            y = fixed.mbqm(total, multipliers[2], exponents[2]) + quant_of(out).zero[0]
    result: Array = y.clip(low, high)
    return result.astype(out.dtype.numpy)


def sum_calls(ins: Sequence[Arg], y: Arg, sign: int) -> list[Call]:
    """The kernel calls of a + sign b on quantized tensors."""
    low, high = fixed.int_range(y.type.dtype)
    params: dict[str, Param] = {"lo": low, "hi": high}
    match sum_rule([x.type for x in ins], y.type, sign):
        case Affine(first, second, offset, shift):
            params |= {"first": first, "second": second, "constant": offset, "shift": shift}
            return _strided_calls("affine_s8", "affine_s8", ins, y, params)
        case Tfl(multipliers, exponents):
            params |= {"zero": quant_of(y.type).zero[0], "sign": sign}
            for i, letter in enumerate("ab"):
                params[f"{letter}_zero"] = quant_of(ins[i].type).zero[0]
            for i, name in enumerate(("a_", "b_", "")):
                params[f"{name}multiplier"], params[f"{name}exponent"] = multipliers[i], exponents[i]
            return _strided_calls("add_s8", "add_s8_tfl", ins, y, params)


def _product_ratio(ins: Sequence[Type], out: Type) -> Array:
    b = quant_of(ins[1])
    if quant_of(out).rounding == "tfl":  # LiteRT computes this one ratio in float32
        scales = [np.float32(quant_of(t).scale[0]) for t in (*ins, out)]
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray([scales[0] * scales[1] / scales[2]], np.float64)
    return fixed.ratio(quant_of(ins[0]), Quant(b.scale, b.zero), quant_of(out))


def product_integers(args: Sequence[Array], ins: Sequence[Type], out: Type) -> Array:
    """a b on quantized tensors."""
    low, high = fixed.int_range(out.dtype)
    product = (centred(args[0], ins[0]) * centred(args[1], ins[1])).astype(np.int64)
    return fixed.requantize(product, _product_ratio(ins, out), quant_of(out), low, high).astype(
        out.dtype.numpy
    )


def product_calls(ins: Sequence[Arg], y: Arg) -> list[Call]:
    """The kernel calls of a b on quantized tensors."""
    types = [x.type for x in ins]
    out = quant_of(y.type)
    low, high = fixed.int_range(y.type.dtype)
    params: dict[str, Param] = {"zero": out.zero[0], "lo": low, "hi": high}
    params |= {f"{letter}_zero": quant_of(t).zero[0] for letter, t in zip("ab", types, strict=True)}
    ratio = _product_ratio(types, y.type)
    rule = single_rule(ratio, out, 16)
    calls = _strided_calls("mul_s8", "mul_s8", ins, y, params | rule.params, rule.expr)
    return [replace(call, rule=rule.name) for call in calls]


@dataclass(frozen=True)
class _Slopes:
    """PRelu by rule E: y = (u g + constant) >> shift, g of 16 bits: one for u >= 0, slopes for u < 0."""

    positive: int
    negative: Array
    constant: int
    shift: int


def _slopes(slope: Array, x: Type, out: Type) -> _Slopes:
    y = quant_of(out)
    ratio = float(np.float32(quant_of(x).scale[0])) / float(np.float32(y.scale[0]))
    factors = np.append(slope.astype(np.float64).reshape(-1), 1.0) * ratio
    largest = float(np.abs(factors).max())
    shift = int(np.clip(14 - np.floor(np.log2(largest)), 1, 22))
    if shift > 1 and np.floor(largest * 2.0**shift + 0.5) >= 1 << 15:
        shift -= 1
    integers = np.floor(factors * 2.0**shift + 0.5).astype(np.int64)
    if np.abs(integers).max() >= 1 << 15:
        raise EdgeKitError("E0209", f"a slope's factor {largest:g} is too large for int8 results")
    constant = (1 << (shift - 1)) + (y.zero[0] << shift)
    return _Slopes(int(integers[-1]), integers[:-1].reshape(slope.shape), constant, shift)


def prelu_integers(x: Array, slope: Array, types: Sequence[Type], out: Type) -> Array:
    """x for x >= 0, else its product with a slope, which is a real number for each channel or element."""
    rule = _slopes(slope, types[0], out)
    u = centred(x, types[0]).astype(np.int64)
    y = (u * np.where(u < 0, rule.negative, rule.positive) + rule.constant) >> rule.shift
    return y.clip(*fixed.int_range(out.dtype)).astype(out.dtype.numpy)


def prelu_calls(x: Arg, slope: Arg, y: Arg) -> list[Call]:
    """The kernel calls of x for x >= 0, else its product with a constant slope."""
    assert slope.value.data is not None, "has_integers lets no other slopes pass"
    rule = _slopes(slope.value.data, x.type, y.type)
    low, high = fixed.int_range(y.type.dtype)
    params: dict[str, Param] = {"a_zero": quant_of(x.type).zero[0], "positive": rule.positive}
    params |= {"constant": rule.constant, "shift": rule.shift, "lo": low, "hi": high}
    slopes = constant(
        f"{slope.name}#slopes",
        rule.negative.astype(np.int16),
        "the slopes below 0, in the scale of the result",
    )
    return _strided_calls("prelu_s8", "prelu_s8", [x, slopes], y, params)


def table(compute: Callable[..., Array], numbers: Sequence[Array], x: Type, out: Type) -> Array:
    """What an int8 function of one tensor gives for -128 to 127, rounded half up, computed in float64."""
    real = (np.arange(-128, 128) - quant_of(x).zero[0]) * float(np.float32(quant_of(x).scale[0]))
    y = quant_of(out)
    with np.errstate(all="ignore"):
        values = np.asarray(compute(real, *(np.float64(n.item()) for n in numbers)), np.float64)
    scaled = np.nan_to_num(values / float(np.float32(y.scale[0])), nan=0.0, posinf=1e9, neginf=-1e9)
    integers = np.floor(scaled + 0.5) + y.zero[0]
    return integers.clip(*fixed.int_range(out.dtype)).astype(out.dtype.numpy)


def rescaled(x: Type, out: Type) -> Array:
    """-128 to 127 in the scale of x as integers of `out`, by the rule of `out`."""
    low, high = fixed.int_range(out.dtype)
    centre = np.arange(-128, 128, dtype=np.int64) - quant_of(x).zero[0]
    ratio = fixed.ratio(quant_of(x), Quant((1.0,), (0,)), quant_of(out))
    return fixed.requantize(centre, ratio, quant_of(out), low, high).astype(out.dtype.numpy)


def table_call(entries: Array, x: Arg, y: Arg) -> Call:
    """The kernel call of a function given as a table."""
    args = (x, constant(f"{y.name}#table", entries, "the result for every input"), y)
    return Call("table_s8", {}, args, {"n": x.type.size}, label="table_s8", inplace=(0,))


def _strided_calls(
    kernel: str, label: str, ins: Sequence[Arg], y: Arg, params: dict[str, Param], expr: str = ""
) -> list[Call]:
    """Calls of an elementwise kernel of two operands, with broadcasting."""
    shape = y.type.shape
    calls = []
    for n, (sa, sb, _), (a0, b0, y0) in loops(
        shape, *(broadcast(x.type.shape, shape) for x in ins), broadcast(shape, shape)
    ):
        starts: dict[str, Param] = {"a0": a0, "b0": b0, "y0": y0}
        calls.append(
            Call(
                kernel=kernel,
                types={},
                args=(*ins, y),
                params={"n": n, "sa": sa, "sb": sb, **starts, **params},
                label=label,
                expr=expr,
                inplace=tuple(i for i, x in enumerate(ins) if x.type.shape == shape),
            )
        )
    return calls

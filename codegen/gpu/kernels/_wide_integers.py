"""Elementwise operators on integers of 64 bits, which devices have as two words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from edgekit.codegen.gpu.ast import BOOL, F32, I32, U32, Expr, GpuBuffer, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.formula import SIGNS
from edgekit.codegen.gpu.kernels import _strided
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, groups_for
from edgekit.core.formula import Cast, Formula, Function, Number, Operand, Operation, parse
from edgekit.core.ops import Call
from edgekit.core.types import DType

_LACKING = "integers of 64 bits"
_OTHERS = ("/", "!", "&&", "||")  # of numbers, C has what operators here have not
_BEYOND = 127 + 63  # the exponent of floats that have no place


@dataclass(frozen=True)
class Wide:
    """An integer of 64 bits."""

    k: KernelBuilder
    high: Expr  # with the sign
    low: Expr

    def of(self, high: Expr, low: Expr) -> Wide:
        return Wide(self.k, self.k.let("high", high), self.k.let("low", low))

    def __add__(self, other: Wide) -> Wide:
        low = self.k.let("low", self.low + other.low)
        return self.of(self.high + other.high + _one_if(low < other.low), low)

    def __sub__(self, other: Wide) -> Wide:
        return self.of(self.high - other.high - _one_if(self.low < other.low), self.low - other.low)

    def __mul__(self, other: Wide) -> Wide:
        crossed = self.high * other.low.bits(I32) + self.low.bits(I32) * other.high
        return self.of(function("mulhi", self.low, other.low).bits(I32) + crossed, self.low * other.low)

    def __neg__(self) -> Wide:
        return wide(self.k, 0) - self

    def __invert__(self) -> Wide:
        return self.of(~self.high, ~self.low)

    def __and__(self, other: Wide) -> Wide:
        return self.of(self.high & other.high, self.low & other.low)

    def __or__(self, other: Wide) -> Wide:
        return self.of(self.high | other.high, self.low | other.low)

    def __xor__(self, other: Wide) -> Wide:
        return self.of(self.high ^ other.high, self.low ^ other.low)

    def eq(self, other: Wide) -> Expr:
        return self.high.eq(other.high) & self.low.eq(other.low)

    def ne(self, other: Wide) -> Expr:
        return ~self.eq(other)

    def __lt__(self, other: Wide) -> Expr:
        return (self.high < other.high) | (self.high.eq(other.high) & (self.low < other.low))

    def __gt__(self, other: Wide) -> Expr:
        return other < self

    def __le__(self, other: Wide) -> Expr:
        return ~(other < self)

    def __ge__(self, other: Wide) -> Expr:
        return ~(self < other)


def wide(k: KernelBuilder, value: Expr | int) -> Wide:
    """Of 32 bits."""
    x = number(value, I32) if isinstance(value, int) else value
    return Wide(k, x >> 31 if x.kind == I32 else number(0, I32), x.bits(U32))


def use(call: Call) -> GpuCall:
    letters = "abc"[: len(call.args) - 1]
    values = _strided.values(call, letters)
    n = _strided.size(values)
    types = tuple(arg.type.dtype for arg in call.args)
    kernel = _kernel(call.label, call.expr, types)
    groups = groups_for(-(-n // per_item(types[-1])) if types[-1] is not DType.S64 else n)
    return GpuCall(kernel, tuple(range(len(types))), values | {"n": n}, groups)


@cache
def _kernel(label: str, text: str, types: tuple[DType, ...]) -> GpuKernel:
    *of_operands, of_y = types
    letters = "abc"[: len(of_operands)]
    k = KernelBuilder("_".join([label, *dict.fromkeys(t.value for t in types)]))
    read = {
        c: _Wides(k.buffer(c, U32), k) if t is DType.S64 else elements(k, c, t)
        for c, t in zip(letters, of_operands, strict=True)
    }
    y = k.buffer("y", U32 if of_y is DType.S64 else stored(of_y), writes=True)

    def computed(i: Expr) -> Wide | Expr:
        places = _strided.sources(k, i, letters)
        operands: dict[str, Wide | Expr] = {}
        for c, t, at in zip(letters, of_operands, places, strict=True):
            found = read[c][at]
            if isinstance(found, Expr) and not t.is_float:
                value = k.let("read", found)
                found = value.ne(number(0, I32)) if t is DType.BOOL else wide(k, value)
            operands[c] = found
        return _value(k, parse(text), operands)

    if of_y is DType.S64:
        with k.when(k.item < k.constant("n")):
            result = computed(k.item)
            if isinstance(result, Expr) and result.kind == BOOL:
                result = wide(k, _one_if(result))
            if not isinstance(result, Wide):
                raise UnsupportedError(_LACKING)
            k.store(y, k.item * 2, result.low)
            k.store(y, k.item * 2 + 1, result.high.bits(U32))
        return k.done()

    def narrow(i: Expr) -> Expr:
        result = computed(i)
        if isinstance(result, Wide):
            return result.low.bits(I32)
        return _one_if(result) if result.kind == BOOL else result

    for_each(k, y, of_y, k.constant("n"), narrow)
    return k.done()


@dataclass(frozen=True)
class _Wides:
    """A tensor to read."""

    buffer: GpuBuffer
    k: KernelBuilder

    def __getitem__(self, i: Expr) -> Wide:
        return Wide(
            self.k,
            self.k.let("high", self.buffer[i * 2 + 1].bits(I32)),
            self.k.let("low", self.buffer[i * 2]),
        )


def _value(k: KernelBuilder, formula: Formula, operands: Mapping[str, Wide | Expr]) -> Wide | Expr:
    """Of a formula whose numbers have 64 bits."""

    def value(part: Formula) -> Wide | Expr:
        return _value(k, part, operands)

    match formula:
        case Number(text):
            return wide(k, int(text))
        case Operand(name):
            return operands[name]
        case Cast("int64_t" | "uint64_t", inner):
            return value(inner)
        case Cast("float", inner) if isinstance(found := value(inner), Wide):
            return _as_float(k, found)
        case Operation("?:", (condition, yes, no)):
            return _selected(value(condition), value(yes), value(no))
        case Operation(sign, parts) if sign in SIGNS and sign not in _OTHERS:
            is_unsigned = any(isinstance(part, Cast) and part.ctype == "uint64_t" for part in parts)
            result: Wide | Expr = SIGNS[sign](*map(value, parts))
            if not is_unsigned or isinstance(result, Wide):  # numbers with a sign are compared
                return result
        case Function("ek_f32_to_s64", (inner,)) if isinstance(x := value(inner), Expr):
            return _truncated(k, x)
    raise UnsupportedError(_LACKING)


def _selected(condition: Wide | Expr, yes: Wide | Expr, no: Wide | Expr) -> Wide | Expr:
    if not (isinstance(condition, Expr) and isinstance(yes, Wide) and isinstance(no, Wide)):
        raise UnsupportedError(_LACKING)
    return yes.of(select(condition, yes.high, no.high), select(condition, yes.low, no.low))


def _as_float(k: KernelBuilder, x: Wide) -> Expr:
    """The nearest float, halves to even: of 32 digits, the last of which stands for all behind it."""
    is_negative = k.let("is_negative", x.high < 0)
    size = _selected(is_negative, -x, x)
    assert isinstance(size, Wide), "both are integers"
    top = size.high.bits(U32)
    by = k.let("by", 32 - function("clz", top))
    # No language shifts by 32.
    upper = select(by.eq(0), number(0, U32), top << ((32 - by) & 31))
    lower = select(by >= 32, number(0, U32), size.low >> (by & 31))
    lost = select(by.eq(0), number(0, U32), size.low << ((32 - by) & 31))
    lost = select(by >= 32, size.low, lost)
    digits = k.let("digits", upper | lower | select(lost.ne(0), number(1, U32), number(0, U32)))
    value = (digits >> 16).to(F32) * 65536 + (digits & 65535).to(F32)
    scaled = k.let("scaled", value * ((by + 127) << 23).bits(F32))
    return select(is_negative, -scaled, scaled)


def _truncated(k: KernelBuilder, x: Expr) -> Wide:
    """Without its fraction, and cut off at the ends of 64 bits; NaN becomes 0."""
    bits = k.let("bits", x.bits(U32))
    exponent = k.let("exponent", ((bits >> 23) & 255).to(I32))
    digits = k.let("digits", (bits & 0x7FFFFF) | 0x800000)
    up = k.let("up", function("max", exponent - 150, 0).to(U32))
    down = k.let("down", function("min", function("max", 150 - exponent, 0), 31).to(U32))
    crossed = select(up.eq(0), number(0, U32), (digits >> 1) >> ((31 - up) & 31))
    high = k.let("high", select(up >= 32, digits << (up & 31), crossed).bits(I32))
    low = k.let("low", select(up >= 32, number(0, U32), (digits >> down) << (up & 31)))
    is_negative = k.let("is_negative", bits >> 31 > 0)
    size = Wide(k, high, low)
    within = _selected(is_negative, -size, size)
    ends = Wide(
        k,
        select(is_negative, number(-(1 << 31), I32), number((1 << 31) - 1, I32)),
        select(is_negative, number(0, U32), number(0xFFFFFFFF, U32)),
    )
    found = _selected(exponent >= _BEYOND, ends, within)
    is_number = (bits & 0x7FFFFFFF) <= 0x7F800000
    result = _selected(is_number & (exponent >= 127), found, wide(k, 0))
    assert isinstance(result, Wide), "both are integers"
    return result


def _one_if(condition: Expr) -> Expr:
    return select(condition, number(1, I32), number(0, I32))

"""The C formulas of elementwise operators as expressions for GPUs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from edgekit.codegen.gpu.ast import BOOL, F32, I32, U32, Expr, Kind, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.math_f32 import FUNCTIONS
from edgekit.codegen.gpu.use import UnsupportedError
from edgekit.core.formula import (
    ARITHMETIC,
    Cast,
    Formula,
    FormulaError,
    Function,
    Number,
    Operand,
    Operation,
    parse,
)

_LEAST = -(1 << 31)
SIGNS: Mapping[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "||": operator.or_,
    "&&": operator.and_,
    "|": operator.or_,
    "&": operator.and_,
    "^": operator.xor,
    "~": operator.invert,
    "==": lambda a, b: a.eq(b),
    "!=": lambda a, b: a.ne(b),
    "!": operator.invert,
    "?:": select,
}


def formula(k: KernelBuilder, text: str, kind: Kind, operands: Mapping[str, Expr]) -> Expr:
    """The value of a formula over these operands, whose numbers are of one kind."""
    try:
        parsed = parse(text)
    except FormulaError:
        raise UnsupportedError(f"the formula {text}") from None
    return _Printer(k, text, kind, operands).expr(parsed)


class _Printer:
    """Builds the expression of one formula."""

    def __init__(self, k: KernelBuilder, text: str, kind: Kind, operands: Mapping[str, Expr]) -> None:
        self.k, self.text, self.kind, self.operands = k, text, kind, operands

    def expr(self, formula: Formula) -> Expr:
        match formula:
            case Number(text, is_unsigned):
                return number(float(text), U32 if is_unsigned else self.kind)
            case Operand(name) if name in self.operands:
                return self.operands[name]
            case Cast("float", inner):
                return self.expr(inner).to(F32)
            case Cast("int32_t" | "uint32_t" as ctype, inner) if self.kind != F32:
                # Among integers of 32 bits, casts keep the bits: sums and products of signed ones wrap so.
                found = self.expr(inner)
                kind = I32 if ctype == "int32_t" else U32
                return found.to(kind) if found.kind == BOOL else found.bits(kind)
            case Operation(sign, operands) if sign in SIGNS:
                result: Expr = SIGNS[sign](*map(self.expr, operands))
                return result
            case Function("ek_f32_to_s32", (inner,)) if self.kind == F32:
                return _truncated(self.k.let("operand", self.expr(inner)))
            case Function(name, (a, b)) if name in _QUOTIENTS and self.kind in (I32, U32):
                return _QUOTIENTS[name](*(self.k.let("operand", self.expr(x)) for x in (a, b)))
            case Function(name, operands) if self.kind == F32 and name.endswith("_f32"):
                arguments = [self.expr(x) for x in operands]
                if found_function := FUNCTIONS.get(name.removeprefix("ek_").removesuffix("_f32")):
                    return found_function(self.k, *(self.k.let("operand", a) for a in arguments))
        raise UnsupportedError(f"{_lacking(formula)} in {self.text}")


def _safe(b: Expr) -> Expr:
    """A divisor that every language divides by. Remainders of 1 and -1 are 0, and those of 0 are 0 here."""
    is_odd = b.eq(0) | b.eq(-1) if b.kind == I32 else b.eq(0)
    return select(is_odd, number(1, b.kind), b)


def _quotient(a: Expr, b: Expr) -> Expr:
    found = a // _safe(b)
    if b.kind == I32:
        found = select(b.eq(-1), (0 - a.bits(U32)).bits(I32), found)
    return select(b.eq(0), number(0, b.kind), found)


def _remainder(a: Expr, b: Expr) -> Expr:
    """By a quotient: Vulkan leaves remainders of negative integers (SPIR-V's OpSRem) undefined, and some GPUs
    compute other ones."""
    safe = _safe(b)
    return a - a // safe * safe if b.kind == I32 else a % safe


def _modulus(a: Expr, b: Expr) -> Expr:
    """With the sign of b."""
    rest = _remainder(a, b)
    return select(rest.ne(0) & ((rest ^ b) < 0), rest + b, rest)


_QUOTIENTS: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "ek_div_s32": _quotient,
    "ek_div_u32": _quotient,
    "ek_rem_s32": _remainder,
    "ek_rem_u32": _remainder,
    "ek_mod_s32": _modulus,
    "ek_mod_u32": _remainder,
}


def _truncated(x: Expr) -> Expr:
    """A whole number of 32 bits, cut off at the ends; NaN becomes 0. Languages leave that open."""
    near = function(
        "min", function("max", x, float(_LEAST)), 2147483520
    )  # which is the last float below 2^31
    whole = select(x >= -float(_LEAST), number(-_LEAST - 1, I32), near.to(I32))
    return select((x.bits(U32) & 0x7FFFFFFF) <= 0x7F800000, whole, number(0, I32))


def _lacking(formula: Formula) -> str:
    """What has no form here."""
    match formula:
        case Cast(ctype):
            return f"({ctype})"
        case Operation(sign):
            return sign
        case Operand(name) | Function(name):
            return name
    raise AssertionError(formula)

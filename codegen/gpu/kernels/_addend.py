"""A tensor that a convolution adds to its result before that is stored (fused epilogue)."""

from __future__ import annotations

from edgekit.codegen.gpu.ast import Expr, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.fixed import clamped, requantized
from edgekit.codegen.gpu.use import CONSTANTS, listed
from edgekit.core.ops import Call

_COUNTS = {"": 0, "add": 0, "affine": 6, "tfl": 13}  # numbers of each kind of sum, as addend.h has them


def kind_of(call: Call) -> str:
    """How a convolution adds: not at all, floats, or bytes by one of the rules."""
    if not call.kernel.startswith("conv2d_add"):
        return ""
    return call.label.rpartition("_")[2] if call.kernel.endswith("_int") else "add"


def label(kind: str) -> str:
    """Of a kernel that adds so."""
    return f"_add_{kind}" if _COUNTS[kind] else "_add" if kind else ""


def operands(call: Call) -> tuple[int, ...]:
    """The image, the constants, what is added, the result."""
    y = len(call.args) - 1
    return (0, CONSTANTS, y - 1, y) if kind_of(call) else (0, CONSTANTS, y)


def values(call: Call) -> dict[str, float]:
    """The constants of the sum of bytes."""
    count = _COUNTS[kind_of(call)]
    return {f"add_{i}": n for i, n in enumerate(listed(call, "add")[:count])} if count else {}


def sum_of_bytes(k: KernelBuilder, kind: str, y: Expr, addend: Expr) -> Expr:
    """Integers of the result with what is added, one or four."""
    numbers = [k.constant(f"add_{i}") for i in range(_COUNTS[kind])]
    if y.kind.lanes == 4:
        numbers = [splat(n) for n in numbers]
    if kind == "affine":
        first, second, offset, shift, lo, hi = numbers
        return clamped((y * first + addend * second + offset) >> shift, lo, hi)
    of_y, of_addend, (multiplier, exponent, zero, lo, hi) = numbers[:4], numbers[4:8], numbers[8:]
    parts = [sign * scaled(k, x, of_x, m, e) for x, (of_x, m, e, sign) in ((y, of_y), (addend, of_addend))]
    total = k.let("total", parts[0] + parts[1])
    return clamped(k.let("scaled", requantized(k, "tfl", total, multiplier, exponent)) + zero, lo, hi)


def scaled(k: KernelBuilder, x: Expr, zero: Expr, multiplier: Expr, exponent: Expr) -> Expr:
    """An operand of a sum by TFLite's rule."""
    wide = k.let("wide", (x - zero) * (1 << 20))
    return k.let("scaled", requantized(k, "tfl", wide, multiplier, exponent))

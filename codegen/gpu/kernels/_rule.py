"""Which requantization rule a call wants, and sums that take one multiplier for all results."""

from __future__ import annotations

import re

from edgekit.codegen.gpu.ast import Expr
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.fixed import RULES, clamped, requantized
from edgekit.codegen.gpu.use import UnsupportedError
from edgekit.core.ops import Call

BOUNDS = "zero lo hi"
SINGLE = f"multiplier exponent {BOUNDS}"


def rule_of(call: Call) -> str:
    """The name of the rule that the formula of the call applies."""
    found = re.match(r"ek_requantize_(\w+)\(", call.expr)
    rule = found[1] if found else ""
    if rule not in RULES:
        raise UnsupportedError(f"{call.kernel} by rule {rule or call.expr}")
    return rule


def finished(k: KernelBuilder, y: Expr) -> Expr:
    """With the zero point of the result, and within its bounds."""
    zero, lo, hi = k.constants(BOUNDS)
    return clamped(y + zero, lo, hi)


def single(k: KernelBuilder, rule: str, acc: Expr) -> Expr:
    """A sum as an integer of the result: SINGLE are the constants of the kernel."""
    multiplier, exponent = k.constants("multiplier exponent")
    return finished(k, k.let("scaled", requantized(k, rule, k.let("acc", acc), multiplier, exponent)))

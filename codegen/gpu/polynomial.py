"""Polynomials of the C runtime, whose coefficients are read from its headers."""

from __future__ import annotations

from edgekit.codegen.gpu.ast import F32, Expr, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.core.math_f32.numbers import coefficients


def polynomial(k: KernelBuilder, name: str, x: Expr) -> Expr:
    """The polynomial of that name, by Horner's rule."""
    first, *rest = coefficients(name)
    p = number(first, F32)
    for c in rest:
        p = k.let("p", p * x + c)
    return p

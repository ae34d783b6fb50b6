"""Fits the polynomials of the C float math by minimax and writes math_poly_*.h of runtime_c.

Every function of the runtime is an exact reduction, a polynomial on a short interval and a reconstruction.
This script owns the polynomials: what they stand for, where, and how well. It computes with 60 digits, so its
output is the same on every machine; `python scripts/fit_math.py --check` proves that the headers are current.
"""

from __future__ import annotations

import argparse
import struct
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from minimax import Fit, Function, Real, solve
from mpmath import (  # type: ignore[import-untyped]  # published without types
    asin,
    atan,
    cos,
    erf,
    erfc,
    exp,
    log,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)

mp.dps = 60
INCLUDE = Path(__file__).resolve().parent.parent / "runtime_c" / "include" / "edgekit" / "math"


@dataclass(frozen=True)
class FixedFit:
    """A polynomial in integers: x, p and all values between are fixed point."""

    fit: Fit
    x_bits: int  # fraction bits of x
    p_bits: int  # fraction bits of p and of its coefficients
    signed: bool


def odd(name: str, function: Function, limit: Real, degree: int) -> Fit:
    """f(x) = x + x z p(z) with z = x^2, for |x| <= limit."""
    return Fit(
        name,
        f"{name}(x) = x + x z p(z), z = x^2",
        lambda z: function(sqrt(z)),
        sqrt,
        lambda z: z * sqrt(z),
        mpf(2) ** -60,
        mpf(limit) ** 2,
        degree,
        "z",
    )


def exponential(degree: int) -> Fit:
    limit = log(2) / 2 * mpf("1.0001")
    return Fit(
        "exp",
        "exp(r) = 1 + r + r^2 p(r)",
        exp,
        lambda r: 1 + r,
        lambda r: r**2,
        -limit,
        limit,
        degree,
        "r",
    )


def power_of_two(name: str, low: Real, high: Real, degree: int) -> Fit:
    return Fit(
        name, "2^r = 1 + r p(r)", lambda r: mpf(2) ** r, lambda r: mpf(1), lambda r: r, low, high, degree, "r"
    )


def cosine(degree: int) -> Fit:
    return Fit(
        "cos",
        "cos(x) = 1 - z/2 + z^2 p(z), z = x^2",
        lambda z: cos(sqrt(z)),
        lambda z: 1 - z / 2,
        lambda z: z**2,
        mpf(2) ** -60,
        QUARTER_PI**2,
        degree,
        "z",
    )


def error_function(limit: Real, degree: int) -> Fit:
    return Fit(
        "erf",
        "erf(x) = x + x p(z), z = x^2",
        lambda z: erf(sqrt(z)),
        sqrt,
        sqrt,
        mpf(2) ** -60,
        mpf(limit) ** 2,
        degree,
        "z",
    )


def log_erfc(name: str, center: Real, low: Real, high: Real, degree: int, least: int) -> Fit:
    """The error of p is scaled by erfc when it reaches erf; 2^least of it is harmless anywhere."""
    c = mpf(center)
    return Fit(
        name,
        f"erf({center} + t) = 1 - exp(p(t))" if center else "erf(t) = 1 - exp(p(t))",
        lambda t: log(erfc(c + t)),
        lambda t: mpf(0),
        lambda t: mpf(1),
        mpf(low) - c,
        mpf(high) - c,
        degree,
        "t",
        lambda t: 1 / (erfc(c + t) / erf(c + t) + mpf(2) ** least),
    )


QUARTER_PI = pi / 4 * mpf("1.0001")
POW_LIMIT = mpf("0.0472")  # the largest |f| that pow_cells leaves


def float32_fits() -> list[Fit]:
    """The polynomials of the f32 functions. Intervals are a little wider than the reductions reach."""
    log_f32 = Fit(
        "log",
        "log(1 + f) = f - f^2/2 + f^3 p(f)",
        lambda f: log(1 + f),
        lambda f: f - f**2 / 2,
        lambda f: f**3,
        sqrt(mpf(1) / 2) - 1,
        sqrt(mpf(2)) - 1,
        7,
        "f",
    )
    half = mpf("0.50001")
    return [
        exponential(4),
        power_of_two("exp2", -half, half, 5),
        log_f32,
        odd("tanh", tanh, "0.9", 6),
        odd("sinh", sinh, 1, 3),
        error_function(1, 6),
        log_erfc("log_erfc", 0, 1, 4, 7, -18),
        odd("sin", sin, QUARTER_PI, 3),
        cosine(2),
        odd("tan", tan, QUARTER_PI, 6),
        odd("asin", asin, half, 4),
        odd("atan", atan, "0.6667", 6),
    ]


def pow_fits() -> list[FixedFit]:
    """The polynomials of pow_f32."""
    log2_pow = Fit(
        "pow_log2",
        "log2(1 + f) = f (log2(e) + f p(f))",
        lambda f: log(1 + f) / log(2),
        lambda f: f / log(2),
        lambda f: f**2,
        -POW_LIMIT,
        POW_LIMIT,
        5,
        "f",
    )
    return [
        FixedFit(log2_pow, 31, 31, True),
        FixedFit(power_of_two("pow_exp2", mpf(2) ** -40, mpf(1), 6), 32, 31, False),
    ]


def float64_fits() -> list[Fit]:
    """The polynomials of the f64 functions."""
    log_f64 = Fit(
        "log",
        "log((1 + s) / (1 - s)) = 2 s + s z (2/3 + z p(z)), z = s^2",
        lambda z: log((1 + sqrt(z)) / (1 - sqrt(z))),
        lambda z: sqrt(z) * (2 + z * mpf(2) / 3),
        lambda z: z**2 * sqrt(z),
        mpf(2) ** -60,
        mpf("0.02945"),
        6,
        "z",
    )
    return [
        exponential(9),
        log_f64,
        error_function("0.9", 12),
        log_erfc("log_erfc_near", "1.55", "0.9", "2.2", 15, -60),
        log_erfc("log_erfc_far", 4, "2.2", 6, 10, -50),
        odd("sin", sin, QUARTER_PI, 5),
        cosine(5),
        odd("asin", asin, "0.50001", 12),
        odd("atan", atan, "0.41422", 10),
    ]


def to_bits(bits: int) -> Function:
    """Rounding to the nearest float of that many significand bits."""

    def rounded(value: Real) -> Real:
        with mp.workprec(bits):
            return +value

    return rounded


def to_fixed(bits: int) -> Function:
    """Rounding to the nearest multiple of 2^-bits."""
    return lambda value: mp.nint(value * 2**bits) / mpf(2) ** bits


def literal(value: Real, bits: int) -> str:
    """A C literal that reads back as exactly this float."""
    if bits == 53:
        return repr(float(value))
    text = f"{float(value):.9g}"
    assert struct.unpack("f", struct.pack("f", float(text)))[0] == float(value)
    return (text if "." in text or "e" in text else text + ".0") + "f"


def comment_text(fit: Fit, error: Real, note: str = "") -> str:
    low, high, error_bits = mp.nstr(fit.low, 4), mp.nstr(fit.high, 4), mp.nstr(log(error, 2), 4)
    return f"/* {fit.formula} for {low} <= {fit.variable} <= {high}; error 2^{error_bits}{note} */"


def function_text(fit: Fit, bits: int) -> str:
    """One C function: p by Horner's rule."""
    coefficients, error = solve(fit, to_bits(bits))
    *middle, last = (literal(c, bits) for c in coefficients[1:])
    kind, suffix = ("float", "f32") if bits == 24 else ("double", "f64")
    v = fit.variable
    lines = [
        comment_text(fit, error),
        f"static inline {kind} ek_{fit.name}_poly_{suffix}({kind} {v})",
        "{",
        f"    {kind} p = {last};",
        *(f"    p = p * {v} + {c};" for c in reversed(middle)),
        f"    return p * {v} + {literal(coefficients[0], bits)};",
        "}",
    ]
    return "\n".join(lines).replace("+ -", "- ")


def fixed_function_text(fixed: FixedFit) -> str:
    """One C function: p by Horner's rule in integers."""
    fit, v = fixed.fit, fixed.fit.variable
    coefficients, error = solve(fit, to_fixed(fixed.p_bits))
    first, *middle, last = (int(c * 2**fixed.p_bits) for c in coefficients)
    kind, wide, end = ("int32_t", "int64_t", "") if fixed.signed else ("uint32_t", "uint64_t", "u")
    step = f"({kind})(({wide})p * {v} >> {fixed.x_bits})"
    lines = [
        comment_text(fit, error),
        f"/* {v} in units of 2^-{fixed.x_bits}, p of 2^-{fixed.p_bits} */",
        f"static inline {kind} ek_{fit.name}_poly({kind} {v})",
        "{",
        f"    {kind} p = {last}{end};",
        *(f"    p = {step} + {c}{end};" for c in reversed(middle)),
        f"    return {step} + {first}{end};",
        "}",
    ]
    return "\n".join(lines).replace("+ -", "- ")


def table_text(kind: str, name: str, numbers: list[str]) -> str:
    """A C array, broken into lines as clang-format does."""
    text = f"static const {kind} {name}[{len(numbers)}] = {{{', '.join(numbers)}}};"
    indent = " " * 4
    return textwrap.fill(
        text, 110, initial_indent=indent, subsequent_indent=2 * indent, break_on_hyphens=False
    )


def pow_cells() -> list[tuple[int, int]]:
    """For each m near i/16, i = 11 .. 23: c close to 1/m in 7 fraction bits, and -log2(c) in 55."""
    cells = []
    for i in range(11, 24):
        c = int(mp.nint(mpf(2048) / i))
        cells.append((c, int(mp.nint(-log(mpf(c) / 128, 2) * 2**55))))
        low, high = max(mpf(2 * i - 1) / 32, sqrt(mpf(1) / 2)), min(mpf(2 * i + 1) / 32, sqrt(mpf(2)))
        assert max(abs(low * c / 128 - 1), abs(high * c / 128 - 1)) < POW_LIMIT
    return cells


def pow_cells_text() -> str:
    """The two tables of pow_f32."""
    cells = pow_cells()
    return f"""/* c close to 16/i for i = 11 .. 23, in units of 2^-7 */
static inline uint32_t ek_pow_inverse(uint32_t i)
{{
{table_text("uint8_t", "c", [str(c) for c, _ in cells])}
    return c[i - 11u];
}}

/* -log2(c) in units of 2^-55 */
static inline int64_t ek_pow_offset(uint32_t i)
{{
{table_text("int64_t", "offset", [str(log_c) for _, log_c in cells])}
    return offset[i - 11u];
}}"""


def two_over_pi_text() -> str:
    """2/pi to as many bits as the reduction of the largest f64 reads, behind two words of 0."""
    count = 38
    with mp.workprec(32 * count + 64):
        digits = int(mp.floor(2 / pi * mpf(2) ** (32 * count)))
    words = [0, 0] + [digits >> 32 * i & 0xFFFFFFFF for i in reversed(range(count))]
    return f"""/* 2/pi * 2^-64, 32 bits from bit 32 i on */
static inline uint32_t ek_two_over_pi_word(uint32_t i)
{{
{table_text("uint32_t", "word", [f"0x{w:08X}u" for w in words])}
    return word[i];
}}"""


def header_text(suffix: str) -> str:
    """A whole header, ready to write."""
    if suffix == "f32":
        parts = [function_text(fit, 24) for fit in float32_fits()]
        parts += [*(fixed_function_text(fixed) for fixed in pow_fits()), pow_cells_text()]
    else:
        parts = [*(function_text(fit, 53) for fit in float64_fits()), two_over_pi_text()]
    guard = f"EDGEKIT_MATH_POLY_{suffix.upper()}_H"
    return "\n\n".join(
        [
            f"/* Minimax polynomials of the {suffix} math. Fitted by a script; do not edit. */\n"
            f"#ifndef {guard}\n#define {guard}",
            "#include <stdint.h>",
            *parts,
            "#endif\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the headers, write nothing")
    check = parser.parse_args().check
    stale = []
    for suffix in ("f32", "f64"):
        path = INCLUDE / f"math_poly_{suffix}.h"
        text = header_text(suffix)
        if not check:
            path.write_text(text)
        elif path.read_text() != text:
            stale.append(path.name)
    for name in stale:
        print(f"error: {name} differs from its fit\nhint: run python scripts/fit_math.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Fits the polynomials of the C float math by minimax and writes runtime_c/include/edgekit/math_poly_*.h.

Every function of the runtime is an exact reduction, a polynomial on a short interval and a reconstruction. This
script owns the polynomials: what they approximate, where, to which error. It works in 60-digit arithmetic, so the
output is the same on every machine, and `python scripts/fit_math.py --check` proves that the headers are current.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpmath import (  # type: ignore[import-untyped]
    asin,
    atan,
    cos,
    erfc,
    exp,
    expm1,
    log,
    log1p,
    lu_solve,
    matrix,
    mp,
    mpf,
    pi,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from mpmath import erf as erf_of

mp.dps = 60
INCLUDE = Path(__file__).resolve().parent.parent / "runtime_c" / "include" / "edgekit"

Real = Any  # mpmath has no types
Function = Callable[[Real], Real]


@dataclass(frozen=True)
class Fit:
    """One polynomial p: what it stands for, and how an error of p shows in the result."""

    name: str
    formula: str  # for the comment: how the caller uses p
    target: Function  # what p approximates
    weight: Function  # error of the result, relative, per error of p
    low: Real
    high: Real
    degree: int
    variable: str = "x"
    exact: int = 3  # leading coefficients that are rounded one by one, the rest refitted each time


def odd(function: Function, leading: Real = 1) -> tuple[Function, Function]:
    """For f(x) = leading*x + x*z*p(z), z = x^2: what p is, and the weight of its error."""

    def target(z: Real) -> Real:
        x = sqrt(z)
        return (function(x) / x - leading) / z

    def weight(z: Real) -> Real:
        x = sqrt(z)
        return x * z / function(x)

    return target, weight


HALF_LN2 = log(2) / 2
QUARTER_PI = pi / 4


def float32_fits() -> list[Fit]:
    """The polynomials of the f32 functions. Intervals are a little wider than the reductions can reach."""
    r = HALF_LN2 * mpf("1.0001")
    log_low, log_high = sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1
    erf_split, tanh_split = mpf("1.0"), mpf("0.9")
    sin_p, sin_w = odd(sin)
    tan_p, tan_w = odd(tan)
    asin_p, asin_w = odd(asin)
    atan_p, atan_w = odd(atan)
    sinh_p, sinh_w = odd(sinh)
    tanh_p, tanh_w = odd(tanh)
    quarter = (QUARTER_PI * mpf("1.0001")) ** 2
    tiny = mpf(2) ** -40
    return [
        Fit("exp", "exp(r) = 1 + r + r^2 p(r)", lambda r: (expm1(r) - r) / r**2, lambda r: r**2 * exp(-r), -r, r, 4, "r"),
        Fit("exp2", "2^r = 1 + r p(r)", lambda r: expm1(r * log(2)) / r, lambda r: r * 2**-r, -mpf("0.50001"),
            mpf("0.50001"), 5, "r"),
        Fit("log", "log(1 + f) = f - f^2/2 + f^3 p(f)", lambda f: (log1p(f) - f + f**2 / 2) / f**3,
            lambda f: f**3 / log1p(f), log_low, log_high, 7, "f"),
        Fit("tanh", "tanh(x) = x + x z p(z), z = x^2", tanh_p, tanh_w, tiny, tanh_split**2, 6, "z"),
        Fit("sinh", "sinh(x) = x + x z p(z), z = x^2", sinh_p, sinh_w, tiny, mpf(1), 3, "z"),
        Fit("erf", "erf(x) = x + x p(z), z = x^2", lambda z: erf_of(sqrt(z)) / sqrt(z) - 1,
            lambda z: sqrt(z) / erf_of(sqrt(z)), tiny, erf_split**2, 6, "z"),
        Fit("log_erfc", "erf(x) = 1 - exp(p(x))", lambda x: log(erfc(x)),
            lambda x: erfc(x) / erf_of(x) + mpf(2) ** -18, erf_split, mpf(4), 7, "x"),
        Fit("sin", "sin(r) = r + r z p(z), z = r^2", sin_p, sin_w, tiny, quarter, 3, "z"),
        Fit("cos", "cos(r) = 1 - z/2 + z^2 p(z), z = r^2", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2,
            lambda z: z**2 / cos(sqrt(z)), tiny, quarter, 2, "z"),
        Fit("tan", "tan(r) = r + r z p(z), z = r^2", tan_p, tan_w, tiny, quarter, 6, "z"),
        Fit("asin", "asin(x) = x + x z p(z), z = x^2", asin_p, asin_w, tiny, mpf("0.25001"), 4, "z"),
        Fit("atan", "atan(t) = t + t z p(z), z = t^2", atan_p, atan_w, tiny, mpf("0.4446"), 6, "z"),
    ]  # fmt: skip


@dataclass(frozen=True)
class FixedFit:
    """A polynomial in integers: x and p are fixed point, and so are all values between."""

    fit: Fit
    x_bits: int  # fraction bits of x
    p_bits: int  # fraction bits of p and of its coefficients
    signed: bool


POW_LIMIT = mpf("0.0472")  # largest |f| that pow_cells leaves


def fixed_fits() -> list[FixedFit]:
    """The polynomials of pow_f32."""
    log2_e = 1 / log(2)
    tiny = mpf(2) ** -40
    return [
        FixedFit(
            Fit("pow_log2", "log2(1 + f) = f (log2(e) + f p(f))", lambda f: (log1p(f) / f - 1) / f * log2_e,
                lambda f: f**2 / log1p(f) * log(2), -POW_LIMIT, POW_LIMIT, 5, "f", 0), 31, 31, True),
        FixedFit(
            Fit("pow_exp2", "2^r = 1 + r p(r)", lambda r: expm1(r * log(2)) / r, lambda r: r * 2**-r, tiny, mpf(1),
                6, "r", 0), 32, 31, False),
    ]  # fmt: skip


def pow_cells() -> list[tuple[int, int]]:
    """For each m near i/16, i = 11 .. 23: c close to 1/m in 7 fraction bits, and -log2(c) in 55."""
    cells = []
    for i in range(11, 24):
        c = int(mp.nint(mpf(2048) / i))
        cells.append((c, int(mp.nint(-log(mpf(c) / 128, 2) * 2**55))))
        low, high = max(mpf(2 * i - 1) / 32, sqrt(mpf(1) / 2)), min(mpf(2 * i + 1) / 32, sqrt(mpf(2)))
        assert max(abs(low * c / 128 - 1), abs(high * c / 128 - 1)) < POW_LIMIT
    return cells


def float64_fits() -> list[Fit]:
    """The polynomials of the f64 functions."""
    return []


def rounded(value: Real, bits: int) -> Real:
    """The nearest float of that many significand bits (ties to even), exact in mpmath."""
    saved, mp.prec = mp.prec, bits
    try:
        return +mpf(value)
    finally:
        mp.prec = saved


def grid_of(fit: Fit, points: int) -> list[Real]:
    """Chebyshev points: dense at the ends, where the error of a minimax polynomial peaks."""
    middle, radius = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    return [middle - radius * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]


def peaks(errors: list[Real], count: int) -> list[int]:
    """Indices of `count` alternating extrema: the largest error of each run of one sign, best window of runs."""
    runs: list[int] = []
    for i, error in enumerate(errors):
        if runs and (error > 0) == (errors[runs[-1]] > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count:
        runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
    return runs


def remez(xs: list[Real], target: list[Real], weight: list[Real], degree: int) -> tuple[list[Real], Real]:
    """Weighted minimax polynomial on the points xs, and its largest weighted error."""
    count = degree + 2
    last = len(xs) - 1
    chosen = [int((last * (1 - cos(pi * i / (count - 1))) / 2) + mpf("0.5")) for i in range(count)]
    best: tuple[list[Real], Real] | None = None
    for _ in range(40):
        system = matrix(count, count)
        right = matrix(count, 1)
        for row, i in enumerate(chosen):
            power = mpf(1)
            for column in range(degree + 1):
                system[row, column] = power
                power *= xs[i]
            system[row, degree + 1] = (-1) ** row / weight[i]
            right[row] = target[i]
        solution = lu_solve(system, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        errors = [w * (t - horner(coefficients, x)) for x, t, w in zip(xs, target, weight, strict=True)]
        worst = max(abs(e) for e in errors)
        if best is None or worst < best[1]:
            best = coefficients, worst
        if worst <= abs(solution[degree + 1]) * mpf("1.001"):
            break
        following = peaks(errors, count)
        if len(following) < count or following == chosen:
            break
        chosen = following
    assert best is not None
    return best


def horner(coefficients: list[Real], x: Real) -> Real:
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def solve(fit: Fit, bits: int) -> tuple[list[Real], Real]:
    """Coefficients that are floats, and the largest relative error of the function they rebuild.

    Rounding all at once would waste the leading ones: each is rounded alone, and the others make up for it.
    """
    xs = grid_of(fit, 16 * (fit.degree + 2))
    target = [fit.target(x) for x in xs]
    weight = [abs(fit.weight(x)) for x in xs]
    fixed: list[Real] = []
    rest_target, rest_weight = target, weight
    while len(fixed) < fit.exact and fit.degree > len(fixed):
        coefficients, _ = remez(xs, rest_target, rest_weight, fit.degree - len(fixed))
        fixed.append(rounded(coefficients[0], bits))
        rest_target = [(t - fixed[-1]) / x for t, x in zip(rest_target, xs, strict=True)]
        rest_weight = [w * abs(x) for w, x in zip(rest_weight, xs, strict=True)]
    coefficients, _ = remez(xs, rest_target, rest_weight, fit.degree - len(fixed))
    fixed += [rounded(c, bits) for c in coefficients]
    error = max(w * abs(t - horner(fixed, x)) for x, t, w in zip(xs, target, weight, strict=True))
    return fixed, error


def literal(value: Real, bits: int) -> str:
    """The shortest usual C literal that reads back as exactly this float."""
    if bits == 53:
        return repr(float(value))
    text = f"{float(value):.9g}"
    assert struct.unpack("f", struct.pack("f", float(text)))[0] == float(value)
    return (text if "." in text or "e" in text else text + ".0") + "f"


def function_text(fit: Fit, bits: int) -> str:
    """One C function: p by Horner's rule."""
    coefficients, error = solve(fit, bits)
    kind, suffix = ("float", "f32") if bits == 24 else ("double", "f64")
    v = fit.variable
    low, high = mp.nstr(fit.low, 4), mp.nstr(fit.high, 4)
    lines = [
        f"/* {fit.formula} for {low} <= {v} <= {high}; error 2^{mp.nstr(log(error, 2), 4)} */",
        f"static inline {kind} ek_{fit.name}_poly_{suffix}({kind} {v})",
        "{",
        f"    {kind} p = {literal(coefficients[-1], bits)};",
        *(f"    p = p * {v} + {literal(c, bits)};" for c in reversed(coefficients[1:-1])),
        f"    return p * {v} + {literal(coefficients[0], bits)};",
        "}",
    ]
    return "\n".join(lines).replace("+ -", "- ")


def fixed_function_text(fixed: FixedFit) -> str:
    """One C function: p by Horner's rule in integers."""
    fit = fixed.fit
    xs = grid_of(fit, 16 * (fit.degree + 2))
    coefficients, error = remez(xs, [fit.target(x) for x in xs], [abs(fit.weight(x)) for x in xs], fit.degree)
    numbers = [int(mp.nint(c * 2**fixed.p_bits)) for c in coefficients]
    kind, wide, end = ("int32_t", "int64_t", "") if fixed.signed else ("uint32_t", "uint64_t", "u")
    v = fit.variable
    lines = [
        f"/* {fit.formula} for {mp.nstr(fit.low, 4)} <= {v} <= {mp.nstr(fit.high, 4)};"
        f" error 2^{mp.nstr(log(error, 2), 4)}; {v} in units of 2^-{fixed.x_bits}, p of 2^-{fixed.p_bits} */",
        f"static inline {kind} ek_{fit.name}_poly({kind} {v})",
        "{",
        f"    {kind} p = {numbers[-1]}{end};",
        *(f"    p = ({kind})(({wide})p * {v} >> {fixed.x_bits}) + {c}{end};" for c in reversed(numbers[1:-1])),
        f"    return ({kind})(({wide})p * {v} >> {fixed.x_bits}) + {numbers[0]}{end};",
        "}",
    ]
    return "\n".join(lines).replace("+ -", "- ")


def pow_cells_text() -> str:
    """The two tables of pow_f32."""
    cells = pow_cells()
    return f"""/* c close to 16/i for i = 11 .. 23, in units of 2^-7 */
static inline uint32_t ek_pow_inverse(uint32_t i)
{{
    static const uint8_t c[{len(cells)}] = {{ {", ".join(str(c) for c, _ in cells)} }};
    return c[i - 11u];
}}

/* -log2(c) in units of 2^-55 */
static inline int64_t ek_pow_offset(uint32_t i)
{{
    static const int64_t offset[{len(cells)}] = {{ {", ".join(f"{log_c}" for _, log_c in cells)} }};
    return offset[i - 11u];
}}"""


def header_text(suffix: str) -> str:
    """A whole header, ready to write."""
    bits, fits = (24, float32_fits()) if suffix == "f32" else (53, float64_fits())
    guard = f"EDGEKIT_MATH_POLY_{suffix.upper()}_H"
    parts = [function_text(fit, bits) for fit in fits]
    if suffix == "f32":
        parts += [fixed_function_text(fixed) for fixed in fixed_fits()] + [pow_cells_text()]
    body = "\n\n".join(parts)
    return (
        f"/* Minimax polynomials of the {suffix} math functions. Written by scripts/fit_math.py; do not edit. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n{body}\n\n#endif\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the headers instead of writing them")
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
        print(f"error: {name} differs from its fit; run scripts/fit_math.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

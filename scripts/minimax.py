"""Minimax polynomials by Remez's exchange algorithm, in the arithmetic of mpmath."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import cos, lu_solve, matrix, mp, mpf, pi  # type: ignore[import-untyped]  # published without types

Real = Any  # mpmath has no types
Function = Callable[[Real], Real]


@dataclass(frozen=True)
class Fit:
    """A polynomial p that makes base(x) + factor(x) p(x) approximate value(x) best on an interval."""

    name: str
    formula: str  # how the C code uses p
    value: Function
    base: Function
    factor: Function
    low: Real
    high: Real
    degree: int
    variable: str = "x"
    scale: Function | None = None  # what the error is relative to, if not to the value


def horner(coefficients: list[Real], x: Real) -> Real:
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def peaks(errors: list[Real], count: int) -> list[int]:
    """Indices of `count` alternating extrema: the largest error of each run of one sign, least ends cut."""
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


def remez(xs: list[Real], target: list[Real], weight: list[Real], degree: int) -> list[Real]:
    """The polynomial with the least largest weighted error on the points xs, by Remez's exchange."""
    count = degree + 2
    last = len(xs) - 1
    chosen = [int(last * (1 - cos(pi * i / (count - 1))) / 2 + mpf("0.5")) for i in range(count)]
    best, least = [mpf(0)], mp.inf
    for _ in range(40):
        system, right = matrix(count, count), matrix(count, 1)
        for row, i in enumerate(chosen):
            for column in range(degree + 1):
                system[row, column] = xs[i] ** column
            system[row, degree + 1] = (-1) ** row / weight[i]
            right[row] = target[i]
        solution = list(lu_solve(system, right))
        errors = [w * (t - horner(solution[:-1], x)) for x, t, w in zip(xs, target, weight, strict=True)]
        worst = max(abs(e) for e in errors)
        if worst < least:
            best, least = solution[:-1], worst
        following = peaks(errors, count)
        if worst <= abs(solution[-1]) * mpf("1.001") or len(following) < count or following == chosen:
            break
        chosen = following
    return best


def solve(fit: Fit, rounded: Function) -> tuple[list[Real], Real]:
    """Rounded coefficients, and the largest relative error of the function they rebuild.

    The first three matter most: each is rounded alone, and those after it are fitted again to make up for it.
    """
    middle, radius, points = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2, 16 * (fit.degree + 2)
    xs = [middle - radius * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]
    target = [(fit.value(x) - fit.base(x)) / fit.factor(x) for x in xs]
    weight = [abs(fit.factor(x) / (fit.scale or fit.value)(x)) for x in xs]
    fixed: list[Real] = []
    rest, rest_weight = target, weight
    while len(fixed) < min(3, fit.degree):
        fixed.append(rounded(remez(xs, rest, rest_weight, fit.degree - len(fixed))[0]))
        rest = [(t - fixed[-1]) / x for t, x in zip(rest, xs, strict=True)]
        rest_weight = [w * abs(x) for w, x in zip(rest_weight, xs, strict=True)]
    fixed += [rounded(c) for c in remez(xs, rest, rest_weight, fit.degree - len(fixed))]
    return fixed, max(w * abs(t - horner(fixed, x)) for x, t, w in zip(xs, target, weight, strict=True))

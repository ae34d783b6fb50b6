"""Integers whose weighted sums are nearest to given sums: each makes up for the rounding of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.core.types import Array

_FLOOR = 1e-4  # of the mean of the diagonal: keeps what was never seen where it is
_FLOAT32_SUM_ERROR = 4e-6  # of a sum of products in single precision
_BLOCK = 64  # inputs whose effect on all others is computed at once
_MAX_SWEEPS = 4


class Moments:
    """Means of products over rows seen so far: of inputs x[G, R, I] with each other and with wanted sums
    y[G, R, O]. The size is that of one layer, however many rows there are."""

    def __init__(self, groups: int, inputs: int, outputs: int) -> None:
        self.squares = np.zeros((groups, inputs, inputs))
        self.products = np.zeros((groups, inputs, outputs))
        self.x = np.zeros((groups, inputs))
        self.y = np.zeros((groups, outputs))
        self.rows = 0

    def add(self, x: Array, y: Array) -> None:
        across = x.transpose(0, 2, 1)
        self.squares += across @ x
        self.products += across @ y
        self.x += x.sum(axis=1, dtype=np.float64)
        self.y += y.sum(axis=1, dtype=np.float64)
        self.rows += x.shape[1]

    def __add__(self, other: Moments) -> Moments:
        total = Moments(*self.products.shape)
        for part in (self, other):
            total.squares += part.squares
            total.products += part.products
            total.x += part.x
            total.y += part.y
            total.rows += part.rows
        return total

    def centred(self) -> tuple[Array, Array]:
        """The means of products of what differs from the mean: a bias takes care of means. Squares are larger
        by what single precision may have lost, so that no distance has one below 0."""
        rows = max(self.rows, 1)
        x, y = self.x / rows, self.y / rows
        lost = np.einsum("gii->gi", self.squares) / rows * _FLOAT32_SUM_ERROR
        squares = self.squares / rows - x[:, :, None] * x[:, None, :] + np.eye(x.shape[1]) * lost[:, :, None]
        products = self.products / rows - x[:, :, None] * y[:, None, :]
        return squares, products


@dataclass(frozen=True)
class GptqTarget:
    """What integers should come near to. `share` moves the real weights that far to those that make up best
    for the errors of the inputs; `damping` weighs the distance of each weight alone, against chance in few
    rows: 0 trusts the rows, and much of it ends at the nearest integers."""

    share: float
    damping: float


class GptqProblem:
    """The quadratic error of weights w[G, I, O] around a centre, with inputs in the order of rounding."""

    def __init__(self, moments: Moments, weights: Array, aim: GptqTarget) -> None:
        squares, products = moments.centred()
        diagonal = np.einsum("gii->gi", squares)
        mean = float(diagonal.mean()) or 1.0
        own = aim.damping * np.maximum(diagonal, _FLOOR * mean) + _FLOOR * mean
        squares = squares + np.eye(squares.shape[1]) * own[:, :, None]
        centre = weights
        if aim.share:
            best = np.linalg.solve(squares, products + own[:, :, None] * weights)
            centre = weights + aim.share * (best - weights)
        # Rounded from the last to the first: those that matter most while others can still make up for it.
        self.order = np.argsort(diagonal, axis=1, kind="stable")
        groups = np.arange(len(squares))[:, None, None]
        self.squares = squares[groups, self.order[:, :, None], self.order[:, None, :]]
        self.centre, self.weights = self.sorted(centre), self.sorted(weights)

    def sorted(self, weights: Array) -> Array:
        return np.take_along_axis(weights, self.order[:, :, None], axis=1)

    def unsorted(self, weights: Array) -> Array:
        result = np.empty_like(weights)
        np.put_along_axis(result, self.order[:, :, None], weights, axis=1)
        return result

    def bounds(self, limit: int) -> Array:
        """Of each integer: weights that are 0 stay 0, as kernels may leave them out."""
        return np.where(self.weights == 0, 0, limit)

    def error(self, integers: Array, scale: Array) -> Array:
        """Of each output [G, O], for sorted integers."""
        distance = integers * scale[:, None] - self.centre
        result: Array = (distance * (self.squares @ distance)).sum(axis=1)
        return result


def best_scale(problem: GptqProblem, scales: Array, limit: int) -> Array:
    """Of candidates [K, G, O] the one for each output whose rounded weights leave the least error."""
    errors = np.stack([problem.error(_in_turn(problem, scale, limit), scale) for scale in scales])
    result: Array = np.take_along_axis(scales, errors.argmin(axis=0)[None], axis=0)[0]
    return result


def round_to(problem: GptqProblem, scale: Array, limit: int) -> Array:
    """Integers [G, I, O] within the limit on both sides. No output's error, as the problem has it, is larger
    than with the nearest integers."""
    found = _descended(problem, _in_turn(problem, scale, limit), scale, limit)
    nearest = np.rint(problem.weights / scale[:, None]).clip(-limit, limit)
    is_worse = problem.error(found, scale) > problem.error(nearest, scale)
    if is_worse.any():
        found = np.where(is_worse[:, None], _descended(problem, nearest, scale, limit), found)
    return problem.unsorted(found)


def _in_turn(problem: GptqProblem, scale: Array, limit: int) -> Array:
    """One weight after the other to the nearest integer, each where the error of those before it is made up
    for best (Babai's nearest plane, which GPTQ is, too)."""
    target, bounds = problem.centre / scale[:, None], problem.bounds(limit)
    upper = np.linalg.cholesky(problem.squares).transpose(0, 2, 1)
    upper = upper / np.einsum("gii->gi", upper)[:, :, None]
    integers, error, carried = np.empty_like(target), np.empty_like(target), np.zeros_like(target)
    for end in range(target.shape[1], 0, -_BLOCK):
        first = max(end - _BLOCK, 0)
        for i in range(end - 1, first - 1, -1):
            inside = (upper[:, i, None, i + 1 : end] @ error[:, i + 1 : end])[:, 0]
            wanted = np.rint(target[:, i] + carried[:, i] + inside)
            integers[:, i] = wanted.clip(-bounds[:, i], bounds[:, i])
            error[:, i] = target[:, i] - integers[:, i]
        carried[:, :first] += upper[:, :first, first:end] @ error[:, first:end]
    return integers


def _descended(problem: GptqProblem, integers: Array, scale: Array, limit: int) -> Array:
    """Each weight in turn to the integer that is best beside all others, until none moves."""
    squares, bounds, integers = problem.squares, problem.bounds(limit), integers.copy()
    diagonal = np.einsum("gii->gi", squares)[:, :, None]
    slope = squares @ (integers - problem.centre / scale[:, None])
    for _ in range(_MAX_SWEEPS):
        before = integers.copy()
        for first in range(0, integers.shape[1], _BLOCK):
            block = slice(first, first + _BLOCK)
            for i in range(first, min(first + _BLOCK, integers.shape[1])):
                wanted = np.rint(integers[:, i] - slope[:, i] / diagonal[:, i])
                step = wanted.clip(-bounds[:, i], bounds[:, i]) - integers[:, i]
                # Halves could go back and forth for ever.
                step[step * (2 * slope[:, i] + step * diagonal[:, i]) >= -1e-9 * diagonal[:, i]] = 0
                if step.any():
                    slope[:, block] += squares[:, block, i, None] * step[:, None]
                    integers[:, i] += step
            moved = integers[:, block] - before[:, block]
            if moved.any():
                inside = slope[:, block].copy()
                slope += squares[:, :, block] @ moved
                slope[:, block] = inside
        if np.array_equal(before, integers):
            break
    return integers

"""Operands with any strides: where the element of a result comes from."""

from __future__ import annotations

from edgekit.codegen.gpu.ast import Expr
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import UnsupportedError, integer, integers, numbered
from edgekit.core.ops import Call
from edgekit.core.ops._strided import RANK


def sources(k: KernelBuilder, i: Expr, letters: str) -> list[Expr]:
    """The elements of operands a, b, ... that belong to element i of a dense result."""
    rest = i
    places = [k.constant(f"{letter}0") for letter in letters]
    for d in reversed(range(RANK)):
        n = k.constant(f"n_{d}")
        at = k.let("at", rest % n)
        rest = k.let("rest", rest // n)
        places = [
            place + at * k.constant(f"s{letter}_{d}") for place, letter in zip(places, letters, strict=True)
        ]
    return [k.let("source", place) if place.op != "name" else place for place in places]


def values(call: Call, letters: str) -> dict[str, float]:
    """The constants of `sources`, for calls with n, sa, a0, ..."""
    starts = integers(call, " ".join(f"{letter}0" for letter in letters))
    shape: dict[str, float]
    if isinstance(call.params["n"], tuple | list):
        shape = numbered(call, " ".join(["n", *(f"s{letter}" for letter in letters)]))
    else:  # one dimension
        shape = {f"n_{d}": 1 for d in range(RANK - 1)}
        shape[f"n_{RANK - 1}"] = integer(call, "n")
        for letter in letters:
            shape |= {f"s{letter}_{d}": 0 for d in range(RANK)}
            shape[f"s{letter}_{RANK - 1}"] = integer(call, f"s{letter}")
    if integer(call, "y0"):
        raise UnsupportedError(f"{call.label or call.kernel} of more than {RANK} dimensions")
    return shape | starts


def size(values: dict[str, float]) -> int:
    """Elements of the result."""
    total = 1
    for d in range(RANK):
        total *= int(values[f"n_{d}"])
    return total

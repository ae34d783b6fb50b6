"""Settings of Paddle's operators: attributes, tensors, or lists of tensors, as the exporter has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from edgekit.converters.semantics.convolution import pads_of
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError

Number: TypeAlias = int | float | bool
Setting: TypeAlias = Any  # numbers in one of those forms, or None
Tensors: TypeAlias = Tensor | Sequence[Tensor]


def ints(given: Setting, what: str) -> list[int]:
    """Integers, which have to be known at import."""
    if given is None:
        return []
    if isinstance(given, Tensor):
        return list(given.ints(what))
    if isinstance(given, int | float):
        return [int(given)]
    return [n for item in given for n in ints(item, what)]


def integer(given: Setting, what: str) -> int:
    found = ints(given, what)
    if len(found) != 1:
        raise EdgeKitError("E0401", f"{what} should be one integer, is {found[:8]}")
    return found[0]


def number(given: Setting, what: str) -> Number:
    if isinstance(given, Tensor):
        return scalar(given, what)
    if isinstance(given, int | float):
        return given
    raise EdgeKitError("E0401", f"{what} should be a number")


def several(given: Tensors) -> list[Tensor]:
    """One tensor or a list as a list."""
    return [given] if isinstance(given, Tensor) else list(given)


def channels_first(x: Tensor, data_format: str) -> tuple[Tensor, bool]:
    """Images as N C ..., and whether they came otherwise."""
    last = data_format in ("NHWC", "NDHWC", "NLC")
    if not last and data_format not in ("NCHW", "NCDHW", "NCL", "AnyLayout", ""):
        raise EdgeKitError("E0203", f"the layout {data_format[:20]} is not supported")
    return (x.to_nchw() if last else x), last


def as_came(y: Tensor, last: bool) -> Tensor:
    return y.to_nhwc() if last else y


def padding(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    paddings: Sequence[int],
    algorithm: str,
) -> tuple[int, ...]:
    """Begins, then ends; Paddle has one number for both, or one behind the other."""
    n = len(strides)
    if algorithm == "VALID":
        return (0,) * (2 * n)
    if algorithm == "SAME":
        return pads_of("SAME_UPPER", None, size, kernel, strides, (1,) * n)
    if algorithm != "EXPLICIT" or len(paddings) not in (n, 2 * n):
        raise EdgeKitError("E0401", f"padding {algorithm[:20]} {list(paddings)[:8]} over {n} dimensions")
    both = [p for p in paddings for _ in (0, 1)] if len(paddings) == n else list(paddings)
    return (*both[::2], *both[1::2])

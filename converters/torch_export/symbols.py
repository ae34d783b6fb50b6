"""Arithmetic on sizes that exported programs spell out: functions of Python on numbers that are known."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

_OPERATORS = (
    "add sub mul truediv floordiv mod pow neg pos abs and_ or_ not_ eq ne lt le gt ge lshift rshift getitem"
)
SYMBOLIC: Mapping[str, Callable[..., Any]] = {
    **{f"_operator.{name}": getattr(operator, name) for name in _OPERATORS.split()},
    **{f"math.{name}": getattr(math, name) for name in ("trunc", "floor", "ceil", "sqrt")},
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_int": int,
    "torch.sym_float": float,
    "torch.sym_not": operator.not_,
    "torch.sym_ite": lambda condition, yes, no: yes if condition else no,
    "torch.sym_sum": sum,
}

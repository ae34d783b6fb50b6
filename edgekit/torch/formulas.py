"""Elementwise operators in torch: their formulas, and the derivatives of these for gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from edgekit.core.derivative import derivative
from edgekit.core.formula import ARITHMETIC, Cast, Formula, Function, Number, Operand, Operation, parse
from edgekit.core.ops._map import Map
from edgekit.core.types import DType

Tensor = torch.Tensor

_TYPES = {"float": torch.float32, "double": torch.float64}
_SIGNS: Mapping[str, Callable[..., Any]] = {
    **ARITHMETIC,
    "||": lambda a, b: a.bool() | b.bool(),
    "&&": lambda a, b: a.bool() & b.bool(),
    "==": torch.eq,
    "!=": torch.ne,
    "!": lambda a: ~a.bool(),
    "?:": lambda condition, yes, no: torch.where(condition.bool(), yes, no),
}
# What torch calls otherwise than the runtime does, which says ek_<name>_f32.
_FUNCTIONS: Mapping[str, Callable[..., Tensor]] = {
    "fabs": torch.abs,
    "gate": torch.sigmoid,
    "mod": torch.remainder,
    "round_even": torch.round,
}


def elementwise(op: Map, *args: Tensor) -> Tensor:
    """What an operator makes of tensors, by its formula on real numbers."""
    apply: Callable[..., Tensor] = _Elementwise.apply
    return apply(parse(op.formula(*(DType.F32,) * op.arity)), *args)


def evaluate(formula: Formula, args: tuple[Tensor, ...]) -> Tensor:
    """A formula over a, b and c."""
    operands, dtype = dict(zip("abc", args, strict=False)), args[-1].dtype

    def value(formula: Formula) -> Tensor:
        match formula:
            case Number(text):
                return torch.tensor(float(text), dtype=dtype)
            case Operand(name):
                return operands[name]
            case Cast(ctype, inner):
                return value(inner).to(_TYPES[ctype])
            case Operation(sign, inner):
                found: Tensor = _SIGNS[sign](*map(value, inner))
                return found
            case Function(name, inner):
                stem = name.removeprefix("ek_").removesuffix("_f32")
                function: Callable[..., Tensor] = _FUNCTIONS.get(stem) or getattr(torch, stem)
                return function(*map(value, inner))

    return value(formula)


class _Elementwise(torch.autograd.Function):
    """torch would differentiate both sides of a condition, and an infinite slope of the side that is not
    taken makes NaN of the gradient."""

    @staticmethod
    def forward(ctx: Any, formula: Formula, *args: Tensor) -> Tensor:
        ctx.formula = formula
        ctx.save_for_backward(*args)
        return evaluate(formula, args)

    @staticmethod
    def backward(ctx: Any, *wanted: Tensor) -> tuple[Tensor | None, ...]:
        args: tuple[Tensor, ...] = ctx.saved_tensors
        slopes: list[Tensor | None] = [None]
        for name, arg, needed in zip("abc", args, ctx.needs_input_grad[1:], strict=False):
            if needed:
                slope = evaluate(derivative(ctx.formula, name), args)
                finite = slope.nan_to_num(0, 0, 0)  # where it is vertical, no step is right
                slopes.append((wanted[0] * finite).sum_to_size(arg.shape))
            else:
                slopes.append(None)
        return tuple(slopes)

"""Complex numbers, as spectra are made of: a tensor of real parts and one of imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekit.converters.frontend import Handler, tensors
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.trigonometry import Cos, Sin

# What does the same to real and imaginary parts.
_BY_PARTS = {
    *("Add", "AddN", "AddV2", "Sub", "Neg", "Identity", "StopGradient", "Reshape", "ExpandDims", "Squeeze"),
    *("Transpose", "Slice", "StridedSlice", "Split", "SplitV", "Concat", "ConcatV2", "Gather", "GatherV2"),
    *("Pack", "Unpack", "Tile", "Pad", "PadV2", "ReverseV2", "Sum", "Mean", "EnsureShape"),
}


@dataclass(frozen=True)
class ComplexTensor:
    """Both parts have one shape."""

    real: Tensor
    imaginary: Tensor


def takes(handler: Handler) -> bool:
    """Has the handler a complex operand?"""
    return any(
        kind == ComplexTensor.__name__ for name, kind in handler.__annotations__.items() if name != "return"
    )


def apply(op: str, operands: Sequence[Any], compute: Callable[[Sequence[Any]], Any]) -> Any:
    """What an operator makes of complex operands, by what it computes of real ones."""
    if not any(isinstance(x, ComplexTensor) for x in operands):
        raise EdgeKitError("E0401", f"{op} takes complex numbers")
    if op in _FORMULAS:
        return _FORMULAS[op](*operands)
    if op not in _BY_PARTS:
        raise EdgeKitError("E0201", f"{op} of complex numbers is not supported")
    made = [
        tensors(compute([getattr(x, part) if isinstance(x, ComplexTensor) else x for x in operands]))
        for part in ("real", "imaginary")
    ]
    return [ComplexTensor(real, imaginary) for real, imaginary in zip(*made, strict=True)]


def _product(a: ComplexTensor, b: ComplexTensor) -> ComplexTensor:
    return ComplexTensor(
        a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real
    )


def _exponential(z: ComplexTensor) -> ComplexTensor:
    size = z.real.apply(Exp())
    return ComplexTensor(size * z.imaginary.apply(Cos()), size * z.imaginary.apply(Sin()))


_FORMULAS: Mapping[str, Callable[..., ComplexTensor]] = {
    "Mul": _product,
    "Exp": _exponential,
    "Square": lambda z: _product(z, z),
}

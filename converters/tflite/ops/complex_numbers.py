"""Fourier transforms of real numbers, and their results: complex numbers, pairs along a last dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.semantics.fourier import spectrum
from edgekit.converters.semantics.movement import pad, part
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite.layer import TfliteLayer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.fft import Fft

# What does the same to real and imaginary parts.
BY_PARTS = (
    *("ADD", "SUB", "NEG", "RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TRANSPOSE", "SLICE", "STRIDED_SLICE"),
    *("SPLIT", "CONCATENATION", "GATHER", "PACK", "UNPACK", "TILE"),
)


def RFFT2D(layer: TfliteLayer, x: Tensor, lengths: Tensor) -> Tensor:
    """Of the last two dimensions, cut off or filled up with zeros."""
    rows, points = lengths.ints("the size of a transform")[:2] if lengths.type.size == 2 else (0, 0)
    if x.rank < 2 or rows < 1:
        raise EdgeKitError("E0203", f"transforms of {x.type} to {rows} x {points} are not supported")
    x = pad(x, [0] * x.rank, [*[0] * (x.rank - 2), rows - x.shape[-2], 0], "constant")
    y = spectrum(x, points)
    if rows == 1:
        return y
    outer = range(y.rank - 3)
    swapped = *outer, y.rank - 2, y.rank - 3, y.rank - 1
    y = y.transpose(*swapped)
    columns = y.reshape(*y.shape[:-2], 2 * rows).apply(Fft(rows))
    return columns.reshape(*y.shape).transpose(*swapped)


def REAL(layer: TfliteLayer, z: Tensor) -> Tensor:
    return parts(z)[0]


def IMAG(layer: TfliteLayer, z: Tensor) -> Tensor:
    return parts(z)[1]


def COMPLEX_ABS(layer: TfliteLayer, z: Tensor) -> Tensor:
    real, imaginary = parts(z)
    return (real * real + imaginary * imaginary).apply(Sqrt())


def parts(z: Tensor) -> tuple[Tensor, Tensor]:
    """Real and imaginary ones."""
    real, imaginary = (part(z, z.rank - 1, i, 1).reshape(*z.shape[:-1]) for i in (0, 1))
    return real, imaginary


def by_parts(
    kind: str,
    handler: Callable[..., Tensor | Sequence[Tensor]],
    layer: TfliteLayer,
    inputs: Sequence[Tensor | None],
    are_complex: Sequence[bool],
) -> Tensor | Sequence[Tensor]:
    """What an operator makes of complex operands: of their parts what it makes of real ones."""
    if kind in ("REAL", "IMAG", "COMPLEX_ABS"):
        return handler(layer, *inputs)
    if kind not in BY_PARTS:
        raise EdgeKitError("E0201", f"{kind} of complex numbers is not supported")
    made = []
    for i in (0, 1):
        pairs = zip(inputs, are_complex, strict=True)
        found = handler(layer, *(parts(x)[i] if x and is_complex else x for x, is_complex in pairs))
        made.append([found] if isinstance(found, Tensor) else [*found])
    return [
        concat([y.reshape(*y.shape, 1) for y in (real, imaginary)], real.rank)
        for real, imaginary in zip(*made, strict=True)
    ]

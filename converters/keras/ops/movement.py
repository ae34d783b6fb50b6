"""Layers that move cells, join tensors, and those that only do something in training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from math import prod

from edgekit.converters.keras.masks import steps_unlike
from edgekit.converters.keras.ops.windows import _each, _from_first, _is_last, _to_first
from edgekit.converters.semantics import movement
from edgekit.converters.semantics.compose import matmul
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx.resize import Axis, ResizeStyle, resize
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError

Ints = tuple[int, ...]
Border = int | tuple[int | tuple[int, int], ...]


def Flatten(x: Tensor, *, data_format: str = "channels_last") -> Tensor:
    """Always with channels last."""
    cells = x if _is_last(data_format) or x.rank < 3 else x.to_nhwc()
    return cells.reshape(x.shape[0], prod(x.shape[1:]))


def Reshape(x: Tensor, *, target_shape: Sequence[int | None]) -> Tensor:
    """TensorFlow.js has null where Keras has -1."""
    dims = [-1 if d is None else d for d in target_shape]
    if dims.count(-1) == 1:
        known = prod(d for d in dims if d != -1)
        dims[dims.index(-1)] = prod(x.shape[1:]) // known if known else 0
    return x.reshape(x.shape[0], *dims)


def Permute(x: Tensor, *, dims: Ints) -> Tensor:
    if sorted(dims) != list(range(1, x.rank)):
        raise EdgeKitError("E0401", f"Permute {list(dims)[:8]} of {x.type}")
    return x.transpose(0, *dims)


def RepeatVector(x: Tensor, *, n: int) -> Tensor:
    return movement.expand(x.reshape(x.shape[0], 1, *x.shape[1:]), (x.shape[0], n, *x.shape[1:]))


def ZeroPadding2D(x: Tensor, *, padding: Border, data_format: str = "channels_last") -> Tensor:
    before, after = _borders(x, padding, data_format)
    return movement.pad(x, before, after, "constant")


ZeroPadding1D = ZeroPadding3D = ZeroPadding2D


def Cropping2D(x: Tensor, *, cropping: Border, data_format: str = "channels_last") -> Tensor:
    before, after = _borders(x, cropping, data_format)
    sizes = [n - b - a for n, b, a in zip(x.shape, before, after, strict=True)]
    if min(sizes) < 1 or min(*before, *after) < 0:
        raise EdgeKitError("E0401", f"cropping of {x.type} by {before} and {after}")
    return movement.box(x, before, sizes)


Cropping1D = Cropping3D = Cropping2D


def CenterCrop(x: Tensor, *, height: int, width: int, data_format: str = "channels_last") -> Tensor:
    first = 1 if _is_last(data_format) else 2
    at = first if x.rank == 4 else first - 1
    for axis, size in ((at, height), (at + 1, width)):
        if not 0 < size <= x.shape[axis]:
            raise EdgeKitError("E0203", f"CenterCrop of {x.type} to {height} x {width} is not supported")
        x = part(x, axis, (x.shape[axis] - size) // 2, size)
    return x


def UpSampling2D(
    x: Tensor,
    *,
    size: int | Ints = 2,
    interpolation: str = "nearest",
    data_format: str = "channels_last",
) -> Tensor:
    cells = _to_first(x, data_format)
    times = _each(size, cells.rank - 2)
    if interpolation == "nearest":
        y = movement.repeat(cells, (1, 1, *times))
    else:
        sizes = [n * t for n, t in zip(cells.shape[2:], times, strict=True)]
        y = _resized(cells, sizes, interpolation)
    return _from_first(y, data_format)


UpSampling1D = UpSampling3D = UpSampling2D


def Resizing(
    x: Tensor,
    *,
    height: int,
    width: int,
    interpolation: str = "bilinear",
    data_format: str = "channels_last",
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    antialias: bool = False,
) -> Tensor:
    if crop_to_aspect_ratio or pad_to_aspect_ratio or antialias:
        raise EdgeKitError("E0203", "Resizing that keeps proportions, or smooths, is not supported")
    y = _resized(_to_first(x, data_format), [height, width], interpolation)
    return _from_first(y, data_format)


def Add(*xs: Tensor | list[Tensor]) -> Tensor:
    return fold(lambda a, b: a + b, _aligned(xs))


def Subtract(*xs: Tensor | list[Tensor]) -> Tensor:
    a, b = _aligned(xs)
    return a - b


def Multiply(*xs: Tensor | list[Tensor]) -> Tensor:
    return fold(lambda a, b: a * b, _aligned(xs))


def Average(*xs: Tensor | list[Tensor]) -> Tensor:
    parts = _aligned(xs)
    return fold(lambda a, b: a + b, parts) / len(parts)


def Maximum(*xs: Tensor | list[Tensor]) -> Tensor:
    return fold(Tensor.max, _aligned(xs))


def Minimum(*xs: Tensor | list[Tensor]) -> Tensor:
    return fold(Tensor.min, _aligned(xs))


def Concatenate(*xs: Tensor | list[Tensor], axis: int = -1) -> Tensor:
    parts = _several(xs)
    return concat(parts, axis) if len(parts) > 1 else parts[0]


def Dot(*xs: Tensor | list[Tensor], axes: int | Ints, normalize: bool = False) -> Tensor:
    """Of two tensors of matrices [B, n, m], along one dimension of each."""
    a, b = _several(xs)
    first, second = (axes, axes) if isinstance(axes, int) else axes
    if normalize or a.rank not in (2, 3) or b.rank not in (2, 3):
        raise EdgeKitError("E0203", f"Dot of {a.type} and {b.type} is not supported")
    left = a.reshape(a.shape[0], 1, a.shape[1]) if a.rank == 2 else a
    right = b.reshape(b.shape[0], b.shape[1], 1) if b.rank == 2 else b
    left = left.transpose(0, 2, 1) if a.rank == 3 and a.axis(first) == 1 else left
    right = right.transpose(0, 2, 1) if b.rank == 3 and b.axis(second) == 2 else right
    y = matmul(left, right)
    kept = [n for n, drop in zip(y.shape, (False, a.rank == 2, b.rank == 2), strict=True) if not drop]
    return y.reshape(*(kept if len(kept) > 1 else (*kept, 1)))


def Identity(x: Tensor) -> Tensor:
    return x


def Masking(x: Tensor, *, mask_value: float = 0.0) -> Tensor:
    """Masked steps are 0."""
    mask = steps_unlike(x, mask_value)
    return movement.where(mask.reshape(*mask.shape, 1), x, 0)


def Dropout(x: Tensor, *, rate: float = 0.0) -> Tensor:
    return x


SpatialDropout1D = SpatialDropout2D = SpatialDropout3D = AlphaDropout = GaussianDropout = Dropout


def GaussianNoise(x: Tensor, *, stddev: float) -> Tensor:
    return x


def StochasticDepth(x: Tensor, *, drop_path_rate: float) -> Tensor:
    return x


def ActivityRegularization(x: Tensor, *, l1: float = 0.0, l2: float = 0.0) -> Tensor:
    return x


def _augmentation() -> Callable[..., Tensor]:
    """A handler of layers that change images at random in training, and pass them on in use."""

    def handler(x: Tensor, **settings: object) -> Tensor:
        return x

    return handler


_random = _augmentation()
RandomFlip = RandomRotation = RandomZoom = RandomTranslation = _random
RandomContrast = RandomBrightness = RandomHeight = RandomWidth = _random


def _borders(x: Tensor, given: Border, data_format: str) -> tuple[list[int], list[int]]:
    """Cells before and after each dimension: one number, one for each dimension, or two for each."""
    n = x.rank - 2
    each = (given,) * n if isinstance(given, int) else given
    if n == 1 and len(each) == 2 and all(isinstance(g, int) for g in each):
        each = (each,)  # type: ignore[assignment]  # before and after the only dimension
    if len(each) != n:
        raise EdgeKitError("E0401", f"borders {each} for {n} dimensions")
    pairs = [(g, g) if isinstance(g, int) else (g[0], g[1]) for g in each]
    pairs = [(0, 0), *pairs, (0, 0)] if _is_last(data_format) else [(0, 0), (0, 0), *pairs]
    return [b for b, _ in pairs], [a for _, a in pairs]


def _resized(x: Tensor, sizes: Sequence[int], interpolation: str) -> Tensor:
    """TensorFlow.js has other places of pixels than Keras, by names that its reader gives."""
    styles = {
        "nearest": ResizeStyle("nearest", "half_pixel", "round_prefer_ceil"),
        "bilinear": ResizeStyle("linear", "half_pixel"),
        "bilinear, asymmetric": ResizeStyle("linear", "asymmetric"),
        "bilinear, align_corners": ResizeStyle("linear", "align_corners"),
    }
    if interpolation not in styles:
        raise EdgeKitError("E0203", f"interpolation {interpolation} is not supported")
    if min(sizes) < 1 or 0 in x.shape:
        raise EdgeKitError("E0401", f"resizing of {x.type} to {list(sizes)}")
    axes = [Axis(i + 2, n, m, m / n) for i, (n, m) in enumerate(zip(x.shape[2:], sizes, strict=True))]
    return resize(x, axes, styles[interpolation])


def _several(xs: Sequence[Tensor | list[Tensor]]) -> list[Tensor]:
    """Operands, given one by one or in a list."""
    found = [x for item in xs for x in (item if isinstance(item, list | tuple) else [item])]
    if not found or not all(isinstance(x, Tensor) for x in found):
        raise EdgeKitError("E0401", "takes tensors")
    return found


def _aligned(xs: Sequence[Tensor | list[Tensor]]) -> list[Tensor]:
    """With dimensions behind the batch, so that all have as many."""
    found = _several(xs)
    rank = max(x.rank for x in found)
    return [x.reshape(x.shape[0], *(1,) * (rank - x.rank), *x.shape[1:]) if x.rank else x for x in found]

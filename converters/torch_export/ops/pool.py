"""Poolings with windows, and adaptive ones, whose windows follow from the size of the result."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.aten import pool as shared
from edgekit.converters.semantics.aten.pool import _avg_pool, _Ints, max_pool3d
from edgekit.converters.tensor import Tensor


def max_pool2d_with_indices(
    x: Tensor,
    *,
    kernel_size: _Ints,
    stride: _Ints = (),
    padding: _Ints = (0,),
    dilation: _Ints = (1,),
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    return shared.max_pool2d_with_indices(
        x, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil_mode
    )


max_pool3d_with_indices = max_pool3d  # without the indices


def avg_pool1d(
    x: Tensor,
    *,
    kernel_size: _Ints,
    stride: _Ints = (),
    padding: _Ints = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    return _avg_pool(x, 1, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def _avg_pools(n: int) -> Callable[..., Tensor]:
    def handler(
        x: Tensor,
        *,
        kernel_size: _Ints,
        stride: _Ints = (),
        padding: _Ints = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return _avg_pool(x, n, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    return handler


avg_pool2d, avg_pool3d = map(_avg_pools, (2, 3))

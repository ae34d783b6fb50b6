"""Strided access: shapes and strides of up to N dimensions, folded to the few that a kernel loops over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from edgekit.core import limits

RANK = 6  # loops of the strided kernels; EK_RANK in runtime_c/include/edgekit/types.h

_MAX_CALLS = 1 << 15  # of one operator: each is planned and printed

Strides = tuple[int, ...]


def contiguous(shape: Sequence[int]) -> Strides:
    """Element strides of a dense tensor."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def broadcast(shape: Sequence[int], to: Sequence[int]) -> Strides:
    """Element strides with which a dense tensor of `shape` is read as one of shape `to`."""
    dense = contiguous(shape)
    missing = len(to) - len(shape)
    return (0,) * missing + tuple(0 if n == 1 else s for n, s in zip(shape, dense, strict=True))


def fold(shape: Sequence[int], *operands: Strides) -> tuple[tuple[int, ...], tuple[Strides, ...]]:
    """Drop dimensions of size 1 and merge neighbours which every operand walks as one."""
    dims: list[tuple[int, list[int]]] = []
    for i, n in enumerate(shape):
        if n == 1:
            continue
        here = [s[i] for s in operands]
        if dims and all(outer == inner * n for outer, inner in zip(dims[-1][1], here, strict=True)):
            dims[-1] = (dims[-1][0] * n, here)
        else:
            dims.append((n, here))
    return tuple(n for n, _ in dims), tuple(
        tuple(strides[k] for _, strides in dims) for k in range(len(operands))
    )


def loops(
    shape: Sequence[int], *operands: Strides
) -> Iterator[tuple[tuple[int, ...], tuple[Strides, ...], tuple[int, ...]]]:
    """(sizes, strides of each operand, start of each operand) of kernel calls that walk `shape`; sizes and
    strides are padded in front to RANK. One call, unless more than RANK dimensions stay after folding."""
    if 0 in shape:
        return
    sizes, strides = fold(shape, *operands)
    extra = max(0, len(sizes) - RANK)
    pad = max(0, RANK - len(sizes))
    calls = prod(sizes[:extra])
    message = f"walking {len(sizes)} dimensions takes {calls:,} calls of a kernel, more than {_MAX_CALLS:,}"
    limits.refuse_beyond(_MAX_CALLS, calls, message)
    for outer in product(*(range(n) for n in sizes[:extra])):
        starts = tuple(sum(i * s for i, s in zip(outer, operand[:extra], strict=True)) for operand in strides)
        yield (1,) * pad + sizes[extra:], tuple((0,) * pad + s[extra:] for s in strides), starts

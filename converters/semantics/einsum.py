"""Einstein sums as diagonals, sums, transposes and matrix products, two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from edgekit.converters.semantics.compose import matmul, reduce
from edgekit.converters.semantics.movement import part
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

# A label is a letter, or -1, -2, ... for a dimension of the ellipsis, counted from its end.
Label = str | int


def einsum(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The sum over all labels that the result lacks of the product of the operands."""
    terms, result = _parse(equation, [x.rank for x in operands])
    rest = [_diagonals(x, labels) for x, labels in zip(operands, terms, strict=True)]
    y, labels = rest.pop(0)
    while rest:
        other, others = rest.pop(0)
        wanted = {*result, *(label for _, later in rest for label in later)}
        y, labels = _product(y, labels, other, others, wanted)
    y, labels = _sum_out(y, labels, set(result))
    return y.transpose(*(labels.index(label) for label in result))


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of each operand, and of the result."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(ranks):
        raise EdgeKitError("E0401", f"Einsum: {equation!r} has {len(texts)} terms for {len(ranks)} operands")
    terms = [_labels(text, rank, equation) for text, rank in zip(texts, ranks, strict=True)]
    ellipsis = max((sum(isinstance(label, int) for label in term) for term in terms), default=0)
    if arrow:
        letters = len(right.replace("...", ""))
        result = _labels(right, letters + ellipsis * ("..." in right), equation)
    else:
        counts = [c for c in sorted(set(left)) if c.isalpha() and left.count(c) == 1]
        result = [*range(-ellipsis, 0), *counts]
    known = {label for term in terms for label in term}
    if len(set(result)) < len(result) or not known.issuperset(result):
        raise EdgeKitError("E0401", f"Einsum: the result of {equation!r} repeats a label or makes one up")
    return terms, result


def _labels(text: str, rank: int, equation: str) -> list[Label]:
    before, dots, after = text.partition("...")
    covered = rank - len(before) - len(after)
    letters = before + after
    if covered < 0 or (covered and not dots) or (letters and not letters.isalpha()):
        raise EdgeKitError("E0401", f"Einsum: {text!r} of {equation!r} does not fit {rank} dimensions")
    return [*before, *range(-covered, 0), *after]


def _diagonals(x: Tensor, labels: list[Label]) -> tuple[Tensor, list[Label]]:
    """Each label once: of dimensions that share one, only the diagonal counts."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            others = [i for i in range(x.rank) if i not in (first, second)]
            shape, n = [x.shape[i] for i in others], x.shape[first]
            x = x.transpose(*others, first, second).reshape(*shape, n * n)
            x = part(x, len(shape), 0, n, n + 1)
            labels = [*(labels[i] for i in others), label]
    return x, labels


def _sum_out(x: Tensor, labels: list[Label], wanted: set[Label]) -> tuple[Tensor, list[Label]]:
    """Without the dimensions that are not wanted."""
    axes = [i for i, label in enumerate(labels) if label not in wanted]
    if not axes:
        return x, labels
    return reduce(x, "sum", axes, keepdims=False), [label for label in labels if label in wanted]


def _product(
    a: Tensor, left: list[Label], b: Tensor, right: list[Label], wanted: set[Label]
) -> tuple[Tensor, list[Label]]:
    """The product of two operands, summed over what both have and the result does not."""
    a, left = _sum_out(a, left, wanted | set(right))
    b, right = _sum_out(b, right, wanted | set(left))
    batch = [label for label in left if label in right and label in wanted]
    inner = [label for label in left if label in right and label not in wanted]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    sizes = dict(zip(right, b.shape, strict=True)) | dict(zip(left, a.shape, strict=True))
    a = a.transpose(*(left.index(label) for label in (*batch, *rows, *inner)))
    b = b.transpose(*(right.index(label) for label in (*batch, *inner, *columns)))
    if inner:
        a = a.reshape(
            *a.shape[: len(batch)],
            prod(sizes[label] for label in rows),
            prod(sizes[label] for label in inner),
        )
        b = b.reshape(
            *b.shape[: len(batch)],
            prod(sizes[label] for label in inner),
            prod(sizes[label] for label in columns),
        )
        y = matmul(a, b)
    else:
        a = a.reshape(*a.shape[: len(batch)], prod(sizes[label] for label in rows), 1)
        b = b.reshape(*b.shape[: len(batch)], 1, prod(sizes[label] for label in columns))
        y = a * b
    shape = [*y.shape[: len(batch)], *(sizes[label] for label in (*rows, *columns))]
    return y.reshape(*shape), [*batch, *rows, *columns]

"""What import handlers compute with: a named tensor of the graph in the making, with numpy's operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Min, Mul, Neg, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType, Type

Operand: TypeAlias = "Tensor | float | int | bool"


FIXED = "shapes and counts are fixed in generated code: bind the input to a constant or fix it at export"


@dataclass(frozen=True)
class Tensor:
    """An edge of the graph under construction. Methods add nodes (or fold constants) and return edges."""

    builder: Builder
    name: str

    @property
    def type(self) -> Type:
        return self.builder.type(self.name)

    @property
    def is_there(self) -> bool:
        """Has the graph not dropped it, as constants that nothing needs any more?"""
        return self.name in self.builder.values

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def data(self) -> Array | None:
        """The value, where it does not depend on the model's inputs."""
        return self.builder.data(self.name)

    def constant(self, what: str, hint: str = FIXED) -> Array:
        """The value, or the error that it depends on an input: static C needs to know `what`."""
        if self.data is not None:
            return self.data
        inputs = self.ancestors
        raise EdgeKitError(
            "E0301",
            f"{what} depends on the input {', '.join(inputs)}",
            f"node {self.builder.origin}",
            hint,
            inputs,
        )

    @property
    def ancestors(self) -> tuple[str, ...]:
        """The graph inputs that the value depends on."""
        return _ancestors(self.builder, self.name)

    def ints(self, what: str) -> tuple[int, ...]:
        """The value as integers."""
        return tuple(int(v) for v in self.constant(what).reshape(-1))

    def axis(self, axis: int) -> int:
        """A dimension counted from the front; negative ones count from the back."""
        if not -self.rank <= axis < self.rank:
            raise EdgeKitError("E0401", f"axis {axis} is outside {self.type}", f"node {self.builder.origin}")
        return axis % self.rank

    # Nodes
    def apply(self, op: Op, *others: Operand) -> Tensor:
        """op(self, *others); numbers become constants of this tensor's type."""
        names = [other.name if isinstance(other, Tensor) else self.like(other).name for other in others]
        return Tensor(self.builder, self.builder.one(op, self.name, *names))

    def apply_all(self, op: Op, *others: Operand) -> tuple[Tensor, ...]:
        """As `apply`, for operators with several results."""
        names = [other.name if isinstance(other, Tensor) else self.like(other).name for other in others]
        return tuple(Tensor(self.builder, name) for name in self.builder.add(op, self.name, *names))

    def like(self, value: ArrayLike) -> Tensor:
        """A constant of this tensor's element type."""
        return Tensor(self.builder, self.builder.const(value, self.dtype.numpy))

    def new(self, value: Array, hint: str = "c") -> Tensor:
        """A constant of its own type in the same graph."""
        return Tensor(self.builder, self.builder.const(value, hint=hint))

    def __add__(self, other: Operand) -> Tensor:
        return self.apply(Add(), other)

    def __radd__(self, other: Operand) -> Tensor:
        return self.apply(Add(), other)

    def __sub__(self, other: Operand) -> Tensor:
        return self.apply(Sub(), other)

    def __rsub__(self, other: float) -> Tensor:
        return self.like(other).apply(Sub(), self)

    def __mul__(self, other: Operand) -> Tensor:
        return self.apply(Mul(), other)

    def __rmul__(self, other: Operand) -> Tensor:
        return self.apply(Mul(), other)

    def __truediv__(self, other: Operand) -> Tensor:
        return self.apply(Div(), other)

    def __rtruediv__(self, other: float) -> Tensor:
        return self.like(other).apply(Div(), self)

    def __neg__(self) -> Tensor:
        return self.apply(Neg())

    def max(self, other: Operand) -> Tensor:
        return self.apply(Max(), other)

    def min(self, other: Operand) -> Tensor:
        return self.apply(Min(), other)

    def clip(self, low: Operand = -inf, high: Operand = inf) -> Tensor:
        return self.apply(Clip(), low, high)

    def reshape(self, *shape: int) -> Tensor:
        return self if shape == self.shape else self.apply(Reshape(shape))

    def transpose(self, *perm: int) -> Tensor:
        return self if perm == tuple(range(self.rank)) else self.apply(Transpose(perm))

    def to_nhwc(self) -> Tensor:
        """Channels from second to last."""
        return self.transpose(0, *range(2, self.rank), 1)

    def to_nchw(self) -> Tensor:
        """Channels from last to second."""
        return self.transpose(0, self.rank - 1, *range(1, self.rank - 1))


def concat(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors one behind the other along an axis."""
    first, *rest = tensors
    return first.apply(Concat(first.axis(axis)), *rest)


def scalar(tensor: Tensor, what: str) -> float | int | bool:
    """The only element of a constant."""
    data = tensor.constant(what)
    if data.size != 1:
        raise EdgeKitError(
            "E0401", f"{what} should be one number, got {tensor.type}", f"node {tensor.builder.origin}"
        )
    return np.asarray(data).reshape(()).item()  # type: ignore[no-any-return]  # one number


def _ancestors(builder: Builder, name: str) -> tuple[str, ...]:
    """The graph inputs that a value depends on."""
    producer = {result: node for node in builder.nodes for result in node.outputs}
    seen: set[str] = set()
    queue = [name]
    found: list[str] = []
    while queue:
        edge = queue.pop()
        if edge in seen or builder.data(edge) is not None:
            continue
        seen.add(edge)
        if edge in producer:
            queue.extend(producer[edge].inputs)
        else:
            found.append(edge)
    return tuple(sorted(found))

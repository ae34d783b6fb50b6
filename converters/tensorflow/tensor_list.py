"""Lists of tensors of one shape (TensorList, which TensorArray is made of): tensors with a dimension more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.types import DType


@dataclass(frozen=True)
class EmptyList:
    """A list of so many elements, whose shape the first one will tell."""

    size: int
    dtype: DType

    def zeros(self, builder: Builder, shape: Sequence[int]) -> Tensor:
        builder.afford((self.size, *shape))
        return Tensor(builder, builder.const(np.zeros((self.size, *shape), self.dtype.numpy), hint="list"))

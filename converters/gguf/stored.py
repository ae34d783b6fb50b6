"""A tensor in the blocks of a GGUF file: its numbers, and the integers that they are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgekit.converters import files
from edgekit.converters.gguf.blocks import Block
from edgekit.core.ir import GroupwiseWeights
from edgekit.core.types import Array, DType


@dataclass(frozen=True)
class StoredBlocks:
    """All bytes of a tensor; its last dimension is what blocks are along."""

    raw: memoryview
    block: Block
    shape: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        return self.block.dtype

    def array(self) -> Array:
        return self._numbers[0]

    def groups(self) -> GroupwiseWeights | None:
        """Integers with scales, if groups have no minima."""
        return self._numbers[1]

    @cached_property
    def _numbers(self) -> tuple[Array, GroupwiseWeights | None]:
        if self.block.unpack is None:
            return files.array(self.raw, self.dtype, self.shape, self.block.name), None
        integers, scale, minimum = self.block.unpack(np.frombuffer(self.raw, self.block.fields))
        group = self.block.size // scale.shape[1]
        numbers = integers.reshape(*scale.shape, group).astype(np.float32) * scale[..., None]
        if minimum is not None:
            numbers -= minimum[..., None]
        real = numbers.reshape(self.shape)
        if minimum is not None or len(self.shape) < 2:
            return real, None
        kept = integers.astype((DType.S4 if self.block.bits == 4 else DType.S8).numpy)
        integers, scale = (part.reshape(math.prod(self.shape[:-1]), -1) for part in (kept, scale))
        return real, GroupwiseWeights(integers, scale, None, group)

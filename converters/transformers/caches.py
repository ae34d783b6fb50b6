"""States of decoders: caches of keys and values, all 0 before the first run."""

from __future__ import annotations

import numpy as np

from edgekit.converters.naming import ModelState
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.types import Type, Value


def stored(builder: Builder, name: str, type: Type) -> Tensor:
    """What the last run left in a state."""
    return Tensor(builder, builder.input(name, type))


def replaced(old: Tensor, new: Tensor) -> ModelState:
    """The state, with what this run leaves in it: `old` itself where that is what it found."""
    return ModelState(old.name, new, Value(old.type, np.zeros(old.shape, old.dtype.numpy)))

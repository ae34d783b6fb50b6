"""ALiBi (attention with linear biases): scores fall with the distance of keys, by a slope of each head."""

from __future__ import annotations

import math

import numpy as np

from edgekit.core.types import Array


def slopes(heads: int, most: float) -> Array:
    """2 to the powers -most / n, -2 most / n, ... -most, where n is a power of 2. Fewer heads have every
    second of them first, and then those between."""
    count = 2 ** math.ceil(math.log2(heads))
    powers = np.exp2(-np.arange(1, count + 1) * (most / count))
    found: Array = powers if count == heads else np.concatenate([powers[1::2], powers[::2]])[:heads]
    return found.astype(np.float32)

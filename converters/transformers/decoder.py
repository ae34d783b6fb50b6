"""A decoder of one of the families as a graph: tokens and their position in, logits out, caches as states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from edgekit.converters.naming import ModelState
from edgekit.converters.semantics import compose
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.caches import replaced, stored
from edgekit.converters.transformers.config import Config, Layer, Room
from edgekit.converters.transformers.layers import Layers, scaled
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Mod
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice


class Decoder(Layers):
    """Tokens that follow one another from a position on."""

    def __init__(
        self,
        builder: Builder,
        config: Config,
        weights: Weights,
        rooms: Sequence[Room],
        token: Tensor,
        position: Tensor,
    ) -> None:
        super().__init__(builder, config, weights)
        self.rooms, self.token = rooms, token
        (count,) = token.shape
        places = position.new(np.arange(count, dtype=np.int32))
        self.places = position + places if count > 1 else position
        self.caches: list[ModelState] = []

    def logits(self, kept: int) -> Tensor:
        """[kept, words], of the last ones of the tokens."""
        (count,) = self.token.shape
        c = self.config
        turns = self.turns(self.places)
        self.at("embedding")
        table = self.weights("embedding", c.words, c.width)
        x = scaled(table.apply(Gather(0), self.token.reshape(count, 1)), c.embedding_scale)
        if "positions" in c.names:
            self.at("positions")
            offset = c.family.position_offset
            positions = self.weights("positions", c.positions + offset, c.width)
            at = self.places + offset if offset else self.places
            x = x + positions.apply(Gather(0), at.reshape(count, 1))
        x = self.norm("embedding_norm", x)
        for i, layer in enumerate(c.layers):
            x = self.block(i, layer, x, turns)
        if kept < count:
            x = x.apply(Slice((count - kept, 0), (1, 1), (kept, c.width)))
        x = self.norm("norm", x)
        bias = self.weights("head", c.words, kind="bias") if "head" in c.biases else None
        self.at("head")
        y = compose.dense(x, table if c.tied else self.weights("head", c.words, c.width), bias)
        if c.family.logits_bias:
            y = y + self.weights.named(c.family.logits_bias, 1, c.words)
        y = scaled(y, c.logits_scale)
        return (y * (1 / c.logits_cap)).apply(Tanh()) * c.logits_cap if c.logits_cap else y

    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """By a cache, which holds what was written before."""
        room = self.rooms[i]
        row = self.places.apply(Mod(), room.rows) if room.window else self.places
        keys, values = (
            self._written(f"{kind}_{i}", new, row, room.rows) for kind, new in (("keys", k), ("values", v))
        )
        op = CachedAttention(self.config.attention_scale, room.window, self.config.scores_cap)
        return q.apply(op, keys, values, self.places, *self._biases(i))

    @cached_property
    def _lines(self) -> Tensor | None:
        """Scores fall along a line with the distance."""
        slopes = self.config.slopes
        return None if slopes is None else self.token.new(np.stack([0 * slopes, -slopes], 1), "alibi")

    def _biases(self, i: int) -> Sequence[Tensor]:
        """Of scores by distance: a line (ALiBi), or a table."""
        c = self.config
        if self._lines is not None:
            return [self._lines]
        if "relative_bias" not in c.names:
            return []
        distances = np.arange(min(c.farthest + 2, max(room.rows for room in self.rooms)))
        return [self.relative_bias(i, -distances, both_ways=False)]

    def _written(self, name: str, new: Tensor, at: Tensor, rows: int) -> Tensor:
        """The cache with the rows of these tokens."""
        old = stored(self.builder, name, self.config.cache(rows))
        made = old.apply(Scatter(2), at.reshape(1, 1, at.shape[0], 1), new)
        self.caches.append(replaced(old, made))
        return made

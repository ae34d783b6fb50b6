"""A decoder of one of the families as a graph: tokens and their position in, logits out, caches as states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edgekit.converters.naming import ModelState
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.attention import heads_of, rotary, rows_of_heads
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config, Layer, Room
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.ops.activations import Gelu, GeluTanh, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Mod
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import DType, Type, Value

Turns = Mapping[str, tuple[Tensor, Tensor]]  # cosines and sines, for each type of layers


class Decoder:
    """One conversion. Names of layers are those of the tensors in the files."""

    def __init__(self, builder: Builder, config: Config, weights: Weights, rooms: Sequence[Room]) -> None:
        self.builder, self.config, self.weights, self.rooms = builder, config, weights, rooms
        self.caches: list[ModelState] = []

    def logits(self, token: Tensor, position: Tensor, kept: int) -> Tensor:
        """[kept, words], of the last ones of tokens that follow one another from a position on."""
        (count,) = token.shape
        c = self.config
        at = position + position.new(np.arange(count, dtype=np.int32)) if count > 1 else position
        self.builder.origin = "rotary_emb"
        turns = {kind: self._angles(at, kind) for kind in dict.fromkeys(x.rope for x in c.layers if x.rope)}
        self._at("embedding")
        table = self.weights("embedding", c.words, c.width)
        x = _scaled(table.apply(Gather(0), token.reshape(count, 1)), c.embedding_scale)
        if "positions" in c.names:
            self._at("positions")
            offset = c.family.position_offset
            places = self.weights("positions", c.positions + offset, c.width)
            x = x + places.apply(Gather(0), (at + offset if offset else at).reshape(count, 1))
        for i, layer in enumerate(c.layers):
            x = self._block(i, layer, x, at, turns)
        if kept < count:
            x = x.apply(Slice((count - kept, 0), (1, 1), (kept, c.width)))
        x = self._norm("norm", x)
        bias = self.weights("head", c.words, kind="bias") if "head" in c.biases else None
        self._at("head")
        y = compose.dense(x, table if c.tied else self.weights("head", c.words, c.width), bias)
        y = _scaled(y, c.logits_scale)
        return (y * (1 / c.logits_cap)).apply(Tanh()) * c.logits_cap if c.logits_cap else y

    def _angles(self, at: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        rates = self.config.rates[kind]
        angles = cast(at, DType.F32).reshape(at.shape[0], 1) * at.new(rates.reshape(1, -1), "rope_rates")
        cos, sin = (angles.apply(f).reshape(1, at.shape[0], rates.size) for f in (Cos(), Sin()))
        return cos, sin

    def _block(self, i: int, layer: Layer, x: Tensor, at: Tensor, turns: Turns) -> Tensor:
        c = self.config
        normed = self._norm("attention_norm", x, i)
        y = self._norm("attention_post_norm", self._attention(i, layer, normed, at, turns), i)
        after = x + _scaled(y, c.residual_scale)
        if not c.parallel:
            normed = self._norm("mlp_norm", after, i)
        elif c.names["mlp_norm"] != c.names["attention_norm"]:
            normed = self._norm("mlp_norm", x, i)
        y = self._norm("mlp_post_norm", self._mlp(i, normed), i)
        return after + _scaled(y, c.residual_scale)

    def _mlp(self, i: int, x: Tensor) -> Tensor:
        c = self.config
        is_gated = "gate" in c.names or "gate_up" in c.names
        inner = [self._dense(part, x, c.hidden, i) for part in (("gate", "up") if is_gated else ("up",))]
        self._at("down", i)
        y = _activated(inner[0], c.activation)
        return self._dense("down", y * inner[1] if is_gated else y, c.width, i)

    def _attention(self, i: int, layer: Layer, x: Tensor, at: Tensor, turns: Turns) -> Tensor:
        c = self.config
        counts = {"q": c.heads, "k": c.shared, "v": c.shared}
        rows = {part: self._dense(part, x, n * c.size, i) for part, n in counts.items()}
        if c.family.whole_norms:
            rows |= {part: self._norm(f"{part}_norm", rows[part], i) for part in "qk"}
        q, k, v = (heads_of(rows[part].reshape(1, x.shape[0], n * c.size), n) for part, n in counts.items())
        if not c.family.whole_norms:
            q, k = self._norm("q_norm", q, i), self._norm("k_norm", k, i)
        self._at("o", i)
        if layer.rope:
            q, k = (rotary(t, *turns[layer.rope], interleaved=False) for t in (q, k))
        room = self.rooms[i]
        row = at.apply(Mod(), room.rows) if room.window else at
        keys, values = (
            self._written(f"{kind}_{i}", new, row, room.rows) for kind, new in (("keys", k), ("values", v))
        )
        y = q.apply(CachedAttention(c.attention_scale, room.window), keys, values, at)
        return self._dense("o", rows_of_heads(y).reshape(x.shape[0], c.heads * c.size), c.width, i)

    def _written(self, name: str, new: Tensor, at: Tensor, rows: int) -> Tensor:
        """The cache with the rows of these tokens."""
        cache = Type(DType.F32, (1, self.config.shared, rows, self.config.size))
        old = self.builder.input(name, cache)
        made = Tensor(self.builder, old).apply(Scatter(2), at.reshape(1, 1, at.shape[0], 1), new)
        self.caches.append(ModelState(old, made, Value(cache, np.zeros(cache.shape, np.float32))))
        return made

    def _dense(self, part: str, x: Tensor, outputs: int, layer: int) -> Tensor:
        weights = self.weights(part, outputs, x.shape[-1], layer=layer)
        has_bias = part in self.config.biases
        bias = self.weights(part, outputs, layer=layer, kind="bias") if has_bias else None
        self._at(part, layer)
        return compose.dense(x, weights, bias)

    def _norm(self, part: str, x: Tensor, layer: int | None = None) -> Tensor:
        c, n = self.config, x.shape[-1]
        if part not in c.names:
            return x
        self._at(part, layer)
        scale = self.weights(part, n, layer=layer) if c.family.norm_weights else x.like(np.ones(n))
        if c.storage.norm_offset:
            scale = scale + c.storage.norm_offset
        if not c.family.layer_norm:
            return x.apply(RmsNorm(c.epsilon), scale)
        has_bias = "norm" in c.biases
        bias = self.weights(part, n, layer=layer, kind="bias") if has_bias else x.like(np.zeros(n))
        return x.apply(LayerNorm(c.epsilon), scale, bias)

    def _at(self, part: str, layer: int | None = None) -> None:
        """What the next operators belong to, without the name of the whole model."""
        self.builder.origin = self.weights.name(part, layer).split(".", 1)[-1]


def _scaled(x: Tensor, by: float) -> Tensor:
    return x if by == 1 else x * by


def _activated(x: Tensor, name: str) -> Tensor:
    if name in ("silu", "swish"):
        return x * x.apply(Sigmoid())
    if name in ("relu", "relu2"):
        y = x.clip(0)
        return y * y if name == "relu2" else y
    return x.apply(Gelu() if name == "gelu" else GeluTanh())

"""A decoder of the Llama family as a graph: tokens and their position in, logits out, caches as states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgekit.converters.naming import ModelState
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.attention import heads_of, rotary, rows_of_heads
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config, Layer, Room
from edgekit.core.builder import Builder
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Mod
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import RmsNorm
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import DType, Type, Value

EMBEDDING = "model.embed_tokens.weight"
Weights = Callable[..., Tensor]  # a name and the shape that it has to have -> the weights


class Decoder:
    """One conversion. Names are those of the tensors in the files."""

    def __init__(self, builder: Builder, config: Config, weights: Weights, rooms: Sequence[Room]) -> None:
        self.builder, self.config, self.weights, self.rooms = builder, config, weights, rooms
        self.caches: list[ModelState] = []

    def logits(self, token: Tensor, position: Tensor, kept: int) -> Tensor:
        """[kept, words], of the last ones of tokens that follow one another from a position on."""
        (count,) = token.shape
        c = self.config
        at = position + position.new(np.arange(count, dtype=np.int32)) if count > 1 else position
        self.builder.origin = "rotary_emb"
        angles = cast(at, DType.F32).reshape(count, 1) * at.new(c.rates.reshape(1, -1), "rope_rates")
        cos, sin = (angles.apply(f).reshape(1, count, c.size // 2) for f in (Cos(), Sin()))
        self.builder.origin = "embed_tokens"
        table = self.weights(EMBEDDING, c.words, c.width)
        x = table.apply(Gather(0), token.reshape(count, 1))
        for i, layer in enumerate(c.layers):
            x = self._block(f"model.layers.{i}", i, layer, x, at, cos, sin)
        if kept < count:
            x = x.apply(Slice((count - kept, 0), (1, 1), (kept, c.width)))
        x = self._norm("model.norm", x)
        self.builder.origin = "lm_head"
        return compose.dense(x, table if c.tied else self.weights("lm_head.weight", c.words, c.width))

    def _block(
        self, name: str, i: int, layer: Layer, x: Tensor, at: Tensor, cos: Tensor, sin: Tensor
    ) -> Tensor:
        c = self.config
        y = self._norm(f"{name}.input_layernorm", x)
        turned = (cos, sin) if layer.rotates else None
        x = x + self._attention(f"{name}.self_attn", i, y, at, turned)
        y = self._norm(f"{name}.post_attention_layernorm", x)
        gate, up = (
            self._dense(f"{name}.mlp.{kind}_proj", y, c.hidden, c.mlp_bias) for kind in ("gate", "up")
        )
        self.builder.origin = f"{name}.mlp".removeprefix("model.")
        y = gate * gate.apply(Sigmoid()) * up
        return x + self._dense(f"{name}.mlp.down_proj", y, c.width, c.mlp_bias)

    def _attention(
        self, name: str, i: int, x: Tensor, at: Tensor, turned: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        c = self.config
        counts = {"q": c.heads, "k": c.shared, "v": c.shared}
        q, k, v = (
            heads_of(
                self._dense(f"{name}.{kind}_proj", x, n * c.size, c.qkv_bias).reshape(
                    1, x.shape[0], n * c.size
                ),
                n,
            )
            for kind, n in counts.items()
        )
        if c.head_norms:
            q, k = self._norm(f"{name}.q_norm", q), self._norm(f"{name}.k_norm", k)
        self.builder.origin = name.removeprefix("model.")
        if turned:
            q, k = (rotary(t, *turned, interleaved=False) for t in (q, k))
        room = self.rooms[i]
        row = at.apply(Mod(), room.rows) if room.window else at
        keys, values = (
            self._written(f"{kind}_{i}", new, row, room.rows) for kind, new in (("keys", k), ("values", v))
        )
        y = q.apply(CachedAttention(1 / float(np.sqrt(c.size)), room.window), keys, values, at)
        y = rows_of_heads(y).reshape(x.shape[0], c.heads * c.size)
        return self._dense(f"{name}.o_proj", y, c.width, c.output_bias)

    def _written(self, name: str, new: Tensor, at: Tensor, rows: int) -> Tensor:
        """The cache with the rows of these tokens."""
        cache = Type(DType.F32, (1, self.config.shared, rows, self.config.size))
        old = self.builder.input(name, cache)
        made = Tensor(self.builder, old).apply(Scatter(2), at.reshape(1, 1, at.shape[0], 1), new)
        self.caches.append(ModelState(old, made, Value(cache, np.zeros(cache.shape, np.float32))))
        return made

    def _dense(self, name: str, x: Tensor, outputs: int, has_bias: bool) -> Tensor:
        weights = self.weights(f"{name}.weight", outputs, x.shape[-1])
        bias = self.weights(f"{name}.bias", outputs) if has_bias else None
        self.builder.origin = name.removeprefix("model.")
        return compose.dense(x, weights, bias)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        scale = self.weights(f"{name}.weight", x.shape[-1])
        self.builder.origin = name.removeprefix("model.")
        return x.apply(RmsNorm(self.config.epsilon), scale)

"""The layers of a transformer: attention and MLP between norms, with what a family has of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.attention import heads_of, rotary, rows_of_heads
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config, Layer
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.ops.activations import Gelu, GeluTanh, Sigmoid
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import DType

Turns = Mapping[str, tuple[Tensor, Tensor]]  # cosines and sines, for each type of layers


class Layers(ABC):
    """One conversion. Names of layers are those of the tensors in the files."""

    def __init__(self, builder: Builder, config: Config, weights: Weights) -> None:
        self.builder, self.config, self.weights = builder, config, weights

    @abstractmethod
    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What the queries see, [batch, heads, queries, size]."""

    def turns(self, at: Tensor) -> Turns:
        """Of the positions at which tokens are."""
        kinds = dict.fromkeys(layer.rope for layer in self.config.layers if layer.rope)
        self.builder.origin = "rotary_emb"
        return {kind: self._angles(at, kind) for kind in kinds}

    def _angles(self, at: Tensor, kind: str) -> tuple[Tensor, Tensor]:
        rates = self.config.rates[kind]
        angles = cast(at, DType.F32).reshape(at.shape[0], 1) * at.new(rates.reshape(1, -1), "rope_rates")
        cos, sin = (angles.apply(f).reshape(1, at.shape[0], rates.size) for f in (Cos(), Sin()))
        return cos, sin

    def block(self, i: int, layer: Layer, x: Tensor, turns: Turns) -> Tensor:
        """Attention and MLP, [..., tokens, width]."""
        c = self.config
        normed = self.norm("attention_norm", x, i)
        y = self.norm("attention_post_norm", self._attention(i, layer, normed, turns), i)
        after = self.norm("attention_sum_norm", x + scaled(y, c.residual_scale), i)
        if not c.parallel:
            normed = self.norm("mlp_norm", after, i)
        elif c.names["mlp_norm"] != c.names["attention_norm"]:
            normed = self.norm("mlp_norm", x, i)
        y = self.norm("mlp_post_norm", self._mlp(i, normed), i)
        return self.norm("mlp_sum_norm", after + scaled(y, c.residual_scale), i)

    def _mlp(self, i: int, x: Tensor) -> Tensor:
        c = self.config
        is_gated = "gate" in c.names or "gate_up" in c.names
        inner = [self._dense(part, x, c.hidden, i) for part in (("gate", "up") if is_gated else ("up",))]
        self.at("down", i)
        y = activated(inner[0], c.activation)
        return self._dense("down", y * inner[1] if is_gated else y, c.width, i)

    def _attention(self, i: int, layer: Layer, x: Tensor, turns: Turns) -> Tensor:
        c = self.config
        counts = {"q": c.heads, "k": c.shared, "v": c.shared}
        rows = {part: self._dense(part, x, n * c.size, i) for part, n in counts.items()}
        if c.family.whole_norms:
            rows |= {part: self.norm(f"{part}_norm", rows[part], i) for part in "qk"}
        lead = x.shape[:-1] if x.rank == 3 else (1, x.shape[0])
        q, k, v = (heads_of(rows[part].reshape(*lead, n * c.size), n) for part, n in counts.items())
        if not c.family.whole_norms:
            q, k = self.norm("q_norm", q, i), self.norm("k_norm", k, i)
        self.at("o", i)
        if layer.rope:
            q, k = (rotary(t, *turns[layer.rope], interleaved=False) for t in (q, k))
        y = self.attended(i, layer, q, k, v)
        return self._dense("o", rows_of_heads(y).reshape(*x.shape[:-1], c.heads * c.size), c.width, i)

    def _dense(self, part: str, x: Tensor, outputs: int, layer: int) -> Tensor:
        weights = self.weights(part, outputs, x.shape[-1], layer=layer)
        has_bias = part in self.config.biases
        bias = self.weights(part, outputs, layer=layer, kind="bias") if has_bias else None
        self.at(part, layer)
        return compose.dense(x, weights, bias)

    def norm(self, part: str, x: Tensor, layer: int | None = None) -> Tensor:
        """x, where such models have no norm there."""
        c, n = self.config, x.shape[-1]
        if part not in c.names or (c.family.skips_first_norm and (part, layer) == ("attention_norm", 0)):
            return x
        self.at(part, layer)
        scale = self.weights(part, n, layer=layer) if c.family.norm_weights else x.like(np.ones(n))
        if c.storage.norm_offset:
            scale = scale + c.storage.norm_offset
        if not c.family.layer_norm:
            return x.apply(RmsNorm(c.epsilon), scale)
        has_bias = "norm" in c.biases
        bias = self.weights(part, n, layer=layer, kind="bias") if has_bias else x.like(np.zeros(n))
        return x.apply(LayerNorm(c.epsilon), scale, bias)

    def at(self, part: str, layer: int | None = None) -> None:
        """What the next operators belong to, without the name of the whole model."""
        self.builder.origin = self.weights.name(part, layer).split(".", 1)[-1]


def scaled(x: Tensor, by: float) -> Tensor:
    return x if by == 1 else x * by


def activated(x: Tensor, name: str) -> Tensor:
    if name in ("silu", "swish"):
        return x * x.apply(Sigmoid())
    if name in ("relu", "relu2"):
        y = x.clip(0)
        return y * y if name == "relu2" else y
    return x.apply(Gelu() if name == "gelu" else GeluTanh())

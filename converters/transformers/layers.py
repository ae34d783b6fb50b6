"""The layers of a transformer: attention and MLP between norms, with what a family has of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from edgekit.converters.semantics.attention import heads_of, rotary, rows_of_heads
from edgekit.converters.semantics.mixture import (
    Shares,
    in_shares,
    margin_shares,
    sigmoid_shares,
    softmax_shares,
)
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Layer
from edgekit.converters.transformers.mixtures import Mixture
from edgekit.converters.transformers.parts import Parts
from edgekit.core.ops.activations import Gelu, GeluTanh, Sigmoid, Tanh
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import DType

Turns = Mapping[str, tuple[Tensor, Tensor]]  # cosines and sines, for each type of layers


class Layers(Parts, ABC):
    """One conversion. Names of layers are those of the tensors in the files."""

    @abstractmethod
    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """What the queries see, [batch, heads, queries, size]."""

    def crossed(self, i: int, x: Tensor) -> Tensor:
        """x after cross-attention, where a layer has it."""
        return x

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
        after = self.crossed(i, after)
        if not c.parallel:
            normed = self.norm("mlp_norm", after, i)
        elif c.names["mlp_norm"] != c.names["attention_norm"]:
            normed = self.norm("mlp_norm", x, i)
        y = self.norm("mlp_post_norm", self._mlp(i, layer, normed), i)
        return self.norm("mlp_sum_norm", after + scaled(y, c.residual_scale), i)

    def _mlp(self, i: int, layer: Layer, x: Tensor) -> Tensor:
        if not (m := layer.mixture):
            return self._network(i, x, self.config.hidden)
        at, shares = self._routed(i, m, self.dense("router", x, m.experts, i))
        y = in_shares(at, shares, m.experts, lambda e: self._network(i, x, m.hidden, "expert_", f".{e}"))
        if not m.shared:
            return y
        shared = self._network(i, x, m.shared, "shared_")
        if "shared_share" in self.config.names:
            shared = shared * self.dense("shared_share", x, 1, i).apply(Sigmoid())
        return y + shared

    def _routed(self, i: int, m: Mixture, scores: Tensor) -> Shares:
        """Which experts the tokens run through."""
        if m.router == "margin":
            return margin_shares(scores, m.margin)
        if m.router == "softmax":
            return softmax_shares(scores, m.chosen, m.normalizes)
        correction = self.weights("router", m.experts, layer=i, kind="e_score_correction_bias")
        return sigmoid_shares(scores, correction, m.chosen, m.normalizes, m.scale)

    def _network(self, i: int, x: Tensor, hidden: int, kind: str = "", number: str = "") -> Tensor:
        """Two layers, or three with a gate; `kind` and `number` are before and behind the names of parts."""
        c = self.config
        is_gated = f"{kind}gate" in c.names or f"{kind}gate_up" in c.names
        parts = ("gate", "up") if is_gated else ("up",)
        inner = [self.dense(f"{kind}{part}{number}", x, hidden, i) for part in parts]
        down = f"{kind}down{number}"
        self.at(down, i)
        y = activated(inner[0], c.activation)
        return self.dense(down, y * inner[1] if is_gated else y, c.width, i)

    def _attention(self, i: int, layer: Layer, x: Tensor, turns: Turns) -> Tensor:
        c = self.config
        counts = {"q": c.heads, "k": c.shared, "v": c.shared}
        rows = {part: self.dense(part, x, n * c.size, i) for part, n in counts.items()}
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
        return self.dense("o", rows_of_heads(y).reshape(*x.shape[:-1], c.heads * c.size), c.width, i)


def scaled(x: Tensor, by: float) -> Tensor:
    return x if by == 1 else x * by


def activated(x: Tensor, name: str) -> Tensor:
    if name in ("silu", "swish"):
        return x * x.apply(Sigmoid())
    if name in ("relu", "relu2"):
        y = x.clip(0)
        return y * y if name == "relu2" else y
    if name == "tanh":
        return x.apply(Tanh())
    return x.apply(Gelu() if name == "gelu" else GeluTanh())

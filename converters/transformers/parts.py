"""What layers of a transformer are made of: dense layers, norms and tables, with the weights of files."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config
from edgekit.converters.transformers.relative_bias import buckets
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array


class Parts:
    """Those of one model, or of a half of it."""

    def __init__(self, builder: Builder, config: Config, weights: Weights) -> None:
        self.builder, self.config, self.weights = builder, config, weights
        self._relative: dict[int, Tensor] = {}

    def dense(self, part: str, x: Tensor, outputs: int, layer: int) -> Tensor:
        return compose.dense(x, *self.matrix(part, outputs, x.shape[-1], layer=layer))

    def matrix(self, part: str, *shape: int, layer: int | None = None) -> tuple[Tensor, Tensor | None]:
        """Weights [outputs, ...], and a bias, where such models have one."""
        weights = self.weights(part, *shape, layer=layer)
        has_bias = part in self.config.biases
        bias = self.weights(part, shape[0], layer=layer, kind="bias") if has_bias else None
        self.at(part, layer)
        return weights, bias

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

    def placed(self, x: Tensor) -> Tensor:
        """x [..., tokens, width] with vectors of their positions, where such models have a table of them."""
        c, count = self.config, x.shape[-2]
        if "positions" not in c.names:
            return x
        if count > c.positions:
            raise EdgeKitError("E0103", f"{count} tokens are more than the {c.positions} of the model")
        self.at("positions")
        first = c.family.position_offset
        table = self.weights("positions", c.positions + first, c.width)
        return x + table.apply(Slice((first, 0), (1, 1), (count, c.width)))

    def relative_bias(self, i: int, relative: Array, *, both_ways: bool) -> Tensor:
        """Of scores of a layer, [heads, ...], by the position of a key relative to that of its query."""
        c = self.config
        layer = i if c.family.biases_by_layer else 0
        if layer not in self._relative:
            table = self.weights("relative_bias", c.buckets, c.heads, layer=layer)
            origin = self.builder.origin
            self.at("relative_bias", layer)
            at = buckets(relative.reshape(-1, 1), c.buckets, c.farthest, both_ways=both_ways)
            rows = table.apply(Gather(0), table.new(at, "buckets"))
            self._relative[layer] = rows.transpose(1, 0).reshape(c.heads, *relative.shape)
            self.builder.origin = origin
        return self._relative[layer]

    def at(self, part: str, layer: int | None = None) -> None:
        """What the next operators belong to, without the name of the whole model."""
        self.builder.origin = self.weights.name(part, layer).split(".", 1)[-1]

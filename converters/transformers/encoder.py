"""An encoder of one of the families as a graph: tokens and which of them count in, vectors or logits out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.attention import Mask, attend
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Layer
from edgekit.converters.transformers.encoder_families import MODEL
from edgekit.converters.transformers.layers import Layers, activated
from edgekit.converters.transformers.weights import Weights
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.logic import And, Less
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType

_IDS, _MASK, _TYPES = "input_ids", "attention_mask", "token_type_ids"


def encoder_graph(title: str, weights: Weights, bindings: Bindings, source: Source) -> Graph:
    """The inputs are those of transformers: ids of tokens, 1 where a token counts and 0 where it is padding,
    and which text a token is of, where a model tells them apart."""
    config, builder = weights.config, weights.builder
    names = [_IDS, _MASK, *([_TYPES] if config.token_types > 1 else [])]
    inputs = [builder.input(name, bindings.type(name, DType.S32, ["batch", "tokens"])) for name in names]
    bindings.check(inputs)
    tensors = {name: Tensor(builder, name) for name in inputs}
    if len({tensor.shape for tensor in tensors.values()}) > 1:
        raise EdgeKitError("E0103", f"{', '.join(names)} are to have one shape")
    encoder = Encoder(weights, tensors[_MASK])
    x = encoder.vectors(tensors[_IDS], tensors.get(_TYPES))
    outputs = encoder.outputs(x)
    weights.check_all_used()
    return named_graph(builder, title, inputs, outputs, {}, bindings.noted(source))


class Encoder(Layers):
    """Every token sees all others that count, or those in its window."""

    def __init__(self, weights: Weights, mask: Tensor) -> None:
        super().__init__(weights.builder, weights.config, weights)
        batch, self.tokens = mask.shape
        self.builder.origin = _MASK
        self.counts = mask.like(0).apply(Less(), mask).reshape(batch, 1, 1, self.tokens)

    def vectors(self, ids: Tensor, types: Tensor | None) -> Tensor:
        """[batch, tokens, width]"""
        c = self.config
        turns = self.turns(ids.new(np.arange(self.tokens, dtype=np.int32)))
        self.at("embedding")
        x = self._looked_up("embedding", c.words, ids)
        if types is not None:
            x = x + self._looked_up("token_types", c.token_types, types)
        elif "token_types" in c.names:
            x = x + self.weights("token_types", 1, c.width)
        x = self.norm("embedding_norm", self.placed(x))
        for i, layer in enumerate(c.layers):
            x = self.block(i, layer, x, turns)
        return self.norm("norm", x)

    def _looked_up(self, part: str, rows: int, ids: Tensor) -> Tensor:
        table = self.weights(part, rows, self.config.width)
        return table.apply(Gather(0), ids.reshape(ids.type.size, 1)).reshape(*ids.shape, self.config.width)

    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        seen = self.counts
        if layer.window is not None and layer.window // 2 < self.tokens - 1:
            at = np.arange(self.tokens)
            near = np.abs(at[:, None] - at) <= layer.window // 2
            seen = seen.apply(And(), q.new(near.reshape(1, 1, *near.shape), "window"))
        return attend(q, k, v, self.config.attention_scale, Mask(allowed=seen))

    def outputs(self, x: Tensor) -> Sequence[tuple[str, Tensor]]:
        """The vectors, and what the model makes of the first one; or logits."""
        steps = self.config.family.heads[self.config.head]
        if self.config.head != MODEL:
            return [("logits", self._after(x, steps))]
        pooled = [step.split()[1] for step in steps if step.startswith("dense")]
        if not pooled or not self.weights.has(pooled[0]):
            return [("last_hidden_state", x)]
        return [("last_hidden_state", x), ("pooler_output", self._after(x, steps))]

    def _after(self, x: Tensor, steps: Sequence[str]) -> Tensor:
        for step in steps:
            kind, *names = step.split()
            self.builder.origin = names[0] if names else kind
            x = self._step(x, kind, names)
        return x

    def _step(self, x: Tensor, kind: str, names: Sequence[str]) -> Tensor:
        n = x.shape[-1]
        match kind:
            case "first":
                batch = x.shape[0]
                return x.apply(Slice((0, 0, 0), (1, 1, 1), (batch, 1, n))).reshape(batch, n)
            case "norm":
                scale, shift = self.weights.named(f"{names[0]}.weight", n), x.like(np.zeros(n))
                if "norm" in self.config.biases:
                    shift = self.weights.named(f"{names[0]}.bias", n)
                return x.apply(LayerNorm(self.config.epsilon), scale, shift)
            case "words":
                words = self.config.words
                if self.weights.has(names[0]):
                    matrix = self.weights.named(f"{names[0]}.weight", words, n)
                else:
                    matrix = self.weights("embedding", words, n)
                return compose.dense(x, matrix, self.weights.named(names[1], words))
            case "dense":
                outputs = self.weights.rows(f"{names[0]}.weight")
                matrix = self.weights.named(f"{names[0]}.weight", outputs, n)
                has_bias = self.weights.has(names[0], "bias")
                bias = self.weights.named(f"{names[0]}.bias", outputs) if has_bias else None
                return compose.dense(x, matrix, bias)
        return activated(x, self.config.activation if kind == "act" else kind)

"""An encoder-decoder as two graphs over the same states.

The encoder writes keys and values of its source for each layer of the decoder, and steps of the decoder
read them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import ModelState, named_graph
from edgekit.converters.semantics.attention import Mask, attend, heads_of
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.caches import replaced, stored
from edgekit.converters.transformers.config import Layer
from edgekit.converters.transformers.cross_attention import INDEX, LAST
from edgekit.converters.transformers.layers import Layers
from edgekit.converters.transformers.parts import Parts
from edgekit.converters.transformers.step import cache_rooms, one_step
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Less
from edgekit.core.types import DType

ENCODE = "encode"  # the signature of the encoder; that of the decoder needs no name
_SOURCE, _LENGTH = "source", "length"


def decode_graph(title: str, decoder: Weights, bindings: Bindings, source: Source) -> Graph:
    """Cross-attention has its keys and values from the encoder, and no use for their matrices."""
    for i in range(len(decoder.config.layers)):
        for part in "kv":
            decoder.leave(f"cross_{part}", i)
    return one_step(title, decoder, bindings, source, _room(decoder, bindings))


def encode_graph(title: str, encoder: Weights, decoder: Weights, bindings: Bindings, source: Source) -> Graph:
    """The tokens of a source and how many of them count in, their vectors out."""
    builder, room = encoder.builder, _room(encoder, bindings)
    sizes = {_SOURCE: room, _LENGTH: 1}
    inputs = [builder.input(name, bindings.type(name, DType.S32, [n])) for name, n in sizes.items()]
    tokens = bindings.size("tokens", 1)
    bindings.size("logits", tokens)
    rooms = cache_rooms(decoder.config, bindings, tokens)
    bindings.check(inputs)
    ids, length = (Tensor(builder, name) for name in inputs)
    x = Encoder(encoder, length, room).vectors(ids)
    last = stored(builder, LAST, INDEX)
    states = [replaced(last, length - 1)]
    states += [state for i in range(len(rooms)) for state in _layer_states(decoder, i, rooms[i].rows, x)]
    encoder.check_all_used()
    return named_graph(builder, title, inputs, [("encoded", x)], {}, source, states)


class Encoder(Layers):
    """Every token of the source sees all others."""

    def __init__(self, weights: Weights, length: Tensor, room: int) -> None:
        super().__init__(weights.builder, weights.config, weights)
        at = np.arange(room, dtype=np.int32)
        self.builder.origin = _LENGTH
        counts = length.new(at).apply(Less(), length).reshape(1, 1, 1, room)
        bias = self.relative_bias(at - at[:, None], both_ways=True)
        self.mask = Mask(counts, bias.reshape(1, *bias.shape))

    def vectors(self, ids: Tensor) -> Tensor:
        """[tokens, width]"""
        c = self.config
        self.at("embedding")
        x = self.weights("embedding", c.words, c.width).apply(Gather(0), ids.reshape(ids.type.size, 1))
        for i, layer in enumerate(c.layers):
            x = self.block(i, layer, x, {})
        return self.norm("norm", x)

    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attend(q, k, v, self.config.attention_scale, self.mask)


def _layer_states(decoder: Weights, i: int, rows: int, x: Tensor) -> Iterator[ModelState]:
    """The caches of a layer of the decoder stay as they are, and keys and values of the source are new."""
    c, parts = decoder.config, Parts(decoder.builder, decoder.config, decoder)
    for kind in ("keys", "values"):
        own = stored(decoder.builder, f"{kind}_{i}", c.cache(rows))
        yield replaced(own, own)
    for kind in ("keys", "values"):
        old = stored(decoder.builder, f"cross_{kind}_{i}", c.cache(x.shape[0]))
        new = parts.dense(f"cross_{kind[0]}", x, c.shared * c.size, i)
        yield replaced(old, heads_of(new.reshape(1, *new.shape), c.shared))


def _room(half: Weights, bindings: Bindings) -> int:
    """How many tokens a source has at most."""
    room = bindings.size(_SOURCE, half.config.positions)
    if room < 1 or absurd((half.config.heads, room, room)):
        hint = f"--dim {_SOURCE}=N sets it"
        raise EdgeKitError("E0402", f"sources of {room} tokens are absurd", hint=hint)
    return room

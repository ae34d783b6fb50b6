"""An encoder-decoder as two graphs over the same states.

The encoder writes keys and values of its source for each layer of the decoder, and steps of the decoder
read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import ModelState, named_graph
from edgekit.converters.semantics.attention import Mask, attend, heads_of
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.audio import convolved, shape, stride, vectors
from edgekit.converters.transformers.caches import replaced, stored
from edgekit.converters.transformers.config import Layer
from edgekit.converters.transformers.cross_attention import INDEX, LAST
from edgekit.converters.transformers.layers import Layers, scaled
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


def decode_graph(title: str, encoder: Weights, decoder: Weights, bindings: Bindings, source: Source) -> Graph:
    """Cross-attention has its keys and values from the encoder, and no use for their matrices."""
    for i in range(len(decoder.config.layers)):
        for part in "kv":
            decoder.leave(f"cross_{part}", i)
    room = vectors(decoder.config.family, _size(encoder, bindings))
    return one_step(title, decoder, bindings, source, room)


def encode_graph(title: str, encoder: Weights, decoder: Weights, bindings: Bindings, source: Source) -> Graph:
    """A source in, its vectors out: tokens and how many of them count, or audio."""
    builder, family, size = encoder.builder, encoder.config.family, _size(encoder, bindings)
    types = {_SOURCE: (DType.S32, [size]), _LENGTH: (DType.S32, [1])}
    if family.convolutions:
        types = {_SOURCE: (DType.F32, shape(family, size))}
    inputs = [builder.input(name, bindings.type(name, *type)) for name, type in types.items()]
    tokens = bindings.size("tokens", 1)
    bindings.size("logits", tokens)
    rooms = cache_rooms(decoder.config, bindings, tokens)
    bindings.check(inputs)
    given, half = [Tensor(builder, name) for name in inputs], Encoder(builder, encoder.config, encoder)
    x = half.heard(*given) if family.convolutions else half.read(*given)
    last = stored(builder, LAST, INDEX)
    length = x.new(np.array([x.shape[0]], np.int32)) if family.convolutions else given[1]
    states = [replaced(last, length - 1)]
    states += [state for i in range(len(rooms)) for state in _layer_states(decoder, i, rooms[i].rows, x)]
    encoder.check_all_used()
    return named_graph(builder, title, inputs, [("encoded", x)], {}, source, states)


class Encoder(Layers):
    """Every vector of the source sees all others that count, [vectors, width]."""

    mask = Mask()

    def read(self, ids: Tensor, length: Tensor) -> Tensor:
        c, (room,) = self.config, ids.shape
        at = np.arange(room, dtype=np.int32)
        self.builder.origin = _LENGTH
        counts = length.new(at).apply(Less(), length).reshape(1, 1, 1, room)
        self.mask = Mask(counts)
        self.at("embedding")
        table = self.weights("embedding", c.words, c.width)
        x = table.apply(Gather(0), ids.reshape(room, 1))
        return self._vectors(scaled(x, c.embedding_scale))

    def heard(self, x: Tensor) -> Tensor:
        return self._vectors(convolved(self, x))

    def _vectors(self, x: Tensor) -> Tensor:
        turns = self.turns(x.new(np.arange(x.shape[0], dtype=np.int32)))
        x = self.norm("embedding_norm", self.placed(x))
        for i, layer in enumerate(self.config.layers):
            x = self.block(i, layer, x, turns)
        return self.norm("norm", x)

    def attended(self, i: int, layer: Layer, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        mask = self.mask
        if "relative_bias" in self.config.names:
            at = np.arange(q.shape[-2], dtype=np.int32)
            bias = self.relative_bias(i, at - at[:, None], both_ways=True)
            mask = replace(mask, bias=bias.reshape(1, *bias.shape))
        return attend(q, k, v, self.config.attention_scale, mask)


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


def _size(encoder: Weights, bindings: Bindings) -> int:
    """How many tokens a source has at most, or how long its audio is."""
    c = encoder.config
    size = bindings.size(_SOURCE, c.positions * stride(c.family))
    room = vectors(c.family, size)
    if room < 1 or absurd((c.heads, room, room)):
        hint = f"--dim {_SOURCE}=N sets it"
        raise EdgeKitError("E0402", f"sources of {size} are absurd: they make {room} vectors", hint=hint)
    return size

"""A decoder with cross-attention: its layers read keys and values of a source, which an encoder wrote."""

from __future__ import annotations

from typing import Any

from edgekit.converters.semantics.attention import heads_of, rows_of_heads
from edgekit.converters.semantics.movement import expand
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.caches import replaced, stored
from edgekit.converters.transformers.decoder import Decoder
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.types import DType, Type

LAST = "source_last"  # the state that says which place of the source is its last one
INDEX = Type(DType.S32, (1,))


class CrossDecoder(Decoder):
    """A step reads these states, and leaves them as they are."""

    def __init__(self, *given: Any, room: int) -> None:
        super().__init__(*given)
        self.room = room  # of a source
        self.last = expand(self._read(LAST, INDEX), self.token.shape)

    def crossed(self, i: int, x: Tensor) -> Tensor:
        c = self.config
        normed = self.norm("cross_norm", x, i)
        rows = self.dense("cross_q", normed, c.heads * c.size, i)
        q = heads_of(rows.reshape(1, *rows.shape), c.heads)
        self.at("cross_o", i)
        keys, values = (self._read(f"cross_{kind}_{i}", c.cache(self.room)) for kind in ("keys", "values"))
        y = q.apply(CachedAttention(c.attention_scale), keys, values, self.last)
        y = self.dense("cross_o", rows_of_heads(y).reshape(*rows.shape), c.width, i)
        return self.norm("cross_sum_norm", x + y, i)

    def _read(self, name: str, type: Type) -> Tensor:
        found = stored(self.builder, name, type)
        self.caches.append(replaced(found, found))
        return found

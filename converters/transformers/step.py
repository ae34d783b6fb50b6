"""One step of a decoder as a graph: inputs, the sizes of its caches, and weights that are all used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config, Room
from edgekit.converters.transformers.decoder import EMBEDDING, Decoder
from edgekit.core.builder import Builder, absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, GroupwiseWeights, Source
from edgekit.core.passes.groupwise_weights import digest
from edgekit.core.types import Array, DType

_CHUNK = 64  # tokens that a run of a model with sliding windows may take, unless --dim says so
_MAX_CACHES = 1 << 30  # bytes, unless the user says how many positions
_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HEAD = "lm_head.weight"
_COMPUTED = ".rotary_emb.inv_freq"  # older files store it, too


class Stored(Protocol):
    """A tensor of a file."""

    @property
    def dtype(self) -> DType: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def array(self) -> Array: ...

    def groups(self) -> GroupwiseWeights | None:
        """The integers that the numbers are made of, where the file has such."""
        ...


def one_step(title: str, config: Config, weights: Weights, bindings: Bindings, source: Source) -> Graph:
    """Tokens and the position of the first one in, logits out."""
    config = replace(config, tied=weights.are_tied(config))
    builder = weights.builder
    inputs = [
        builder.input(key, bindings.type(key, DType.S32, dims))
        for key, dims in (("token", ["tokens"]), ("position", [1]))
    ]
    tokens = builder.type(inputs[0]).size
    rooms, kept = _rooms(config, bindings, tokens), _kept(bindings, tokens)
    bindings.check(inputs)
    decoder = Decoder(builder, config, weights, rooms)
    token, position = (Tensor(builder, key) for key in inputs)
    logits = decoder.logits(token, position, kept)
    weights.check_all_used()
    return named_graph(builder, title, inputs, [("logits", logits)], {}, source, decoder.caches)


def _rooms(config: Config, bindings: Bindings, tokens: int) -> list[Room]:
    """Caches for all positions of the model, unless --dim says how many; those of a layer with a sliding
    window hold the window."""
    positions = bindings.size("positions", config.positions)
    chunk = max(1, tokens)
    if any(layer.window is not None for layer in config.layers):
        chunk = bindings.size("chunk", max(_CHUNK, tokens))
        if chunk < max(1, tokens):
            message = f"a run takes {tokens} tokens, and caches of windows are for runs of {chunk}"
            raise EdgeKitError("E0103", message, hint=f"bind --dim chunk={tokens} for all entries")
    rooms = config.rooms(positions, chunk)
    row = 2 * config.shared * config.size * DType.F32.bytes
    size = sum(room.rows for room in rooms) * row
    most = max(room.rows for room in rooms)
    if positions < 1 or absurd((1, config.shared, most, config.size)):
        hint = "--dim positions=N sets it" if most == positions else "--dim chunk=N is of a few tokens"
        raise EdgeKitError("E0402", f"caches for {most} positions are absurd", hint=hint)
    if "positions" not in bindings.dims and size > _MAX_CACHES:
        message = f"caches for all {positions} positions of this model take {size} bytes"
        few = min(1024, _MAX_CACHES // (row * len(rooms)))
        less = row * sum(room.rows for room in config.rooms(few, chunk))
        hint = f"bind fewer: --dim positions={few} takes {less}" if few else "are the heads damaged?"
        raise EdgeKitError("E0302", message, hint=hint)
    return rooms


def _kept(bindings: Bindings, tokens: int) -> int:
    """Of how many tokens there are logits: of all, unless --dim says so."""
    kept = bindings.size("logits", tokens)
    if not 1 <= kept <= max(tokens, 1):
        message = f"a run takes {tokens} tokens, and cannot give the logits of the last {kept}"
        raise EdgeKitError("E0103", message, hint=f"--dim logits=1, up to {tokens}")
    return kept


class Weights:
    """The tensors of the files, in float32 where they come in fewer bits; each is to be used."""

    def __init__(self, stored: Mapping[str, Stored], builder: Builder) -> None:
        self.stored, self.builder = stored, builder
        self.unused = dict.fromkeys(name for name in stored if not name.endswith(_COMPUTED))

    def __call__(self, name: str, *shape: int) -> Tensor:
        if name not in self.stored:
            raise EdgeKitError("E0401", f"the files have no tensor {name}", hint="is the download complete?")
        one = self.stored[name]
        if one.shape != shape:
            message = f"{name} is of shape {list(one.shape)}, the configuration says {list(shape)}"
            raise EdgeKitError("E0401", message)
        if one.dtype not in _FLOATS:
            raise EdgeKitError("E0204", f"{name} is of type {one.dtype.value}; floats are read")
        self.unused.pop(name, None)
        numbers = one.array()
        if groups := one.groups():
            self.builder.groupwise[digest(numbers)] = groups
        return cast(Tensor(self.builder, self.builder.const(numbers, hint=name)), DType.F32)

    def are_tied(self, config: Config) -> bool:
        """Does the last layer share the weights of the first? By default, if it has none of its own."""
        if _HEAD not in self.stored:
            return config.tied is not False
        if not config.tied:
            return False
        own, shared = (self.stored.get(name) for name in (_HEAD, EMBEDDING))
        if not (own and shared and own.shape == shared.shape and np.array_equal(own.array(), shared.array())):
            message = f"{_HEAD} differs from {EMBEDDING}, and the configuration says that they are tied"
            raise EdgeKitError("E0401", message, hint="is tie_word_embeddings right?")
        self.unused.pop(_HEAD)
        return True

    def check_all_used(self) -> None:
        """A tensor without a place belongs to another model than the configuration says."""
        if self.unused:
            names = ", ".join(f"{name:.80}" for name in [*self.unused][:4])
            message = f"the files have {len(self.unused)} tensors that such a model has no place for: {names}"
            raise EdgeKitError("E0205", message, hint="is the configuration that of these weights?")

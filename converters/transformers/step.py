"""One step of a decoder as a graph: inputs, the sizes of its caches, and weights that are all used."""

from __future__ import annotations

from dataclasses import replace

from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config, Room
from edgekit.converters.transformers.cross_attention import CrossDecoder
from edgekit.converters.transformers.decoder import Decoder
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import DType

_CHUNK = 64  # tokens that a run of a model with sliding windows may take, unless --dim says so
_MAX_CACHES = 1 << 30  # bytes, unless the user says how many positions


def one_step(title: str, weights: Weights, bindings: Bindings, source: Source, room: int = 0) -> Graph:
    """Tokens and the position of the first one in, logits out. `room`: how many tokens a source has at
    most, which an encoder has read; 0 for models without one."""
    config = replace(weights.config, tied=weights.are_tied())
    builder = weights.builder
    inputs = [
        builder.input(key, bindings.type(key, DType.S32, dims))
        for key, dims in (("token", ["tokens"]), ("position", [1]))
    ]
    tokens = builder.type(inputs[0]).size
    rooms, kept = cache_rooms(config, bindings, tokens), _kept(bindings, tokens)
    bindings.check(inputs)
    token, position = (Tensor(builder, key) for key in inputs)
    parts = builder, config, weights, rooms, token, position
    decoder = CrossDecoder(*parts, room=room) if room else Decoder(*parts)
    logits = decoder.logits(kept)
    weights.check_all_used()
    return named_graph(builder, title, inputs, [("logits", logits)], {}, source, decoder.caches)


def cache_rooms(config: Config, bindings: Bindings, tokens: int) -> list[Room]:
    """Caches for all positions of the model, unless --dim says how many; those of a layer with a sliding
    window hold the window."""
    positions = bindings.size("positions", config.positions)
    if "positions" in config.names and positions > config.positions:
        message = f"the model has a table of {config.positions} positions, and no vectors for {positions}"
        raise EdgeKitError("E0103", message, hint=f"--dim positions=N, up to {config.positions}")
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

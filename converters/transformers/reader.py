"""A folder with config.json and safetensors -> Graph of one step of the decoder that they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.file_formats.safetensors import StoredTensor, tensors
from edgekit.converters.frontend import reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers import FORMAT as FORMAT
from edgekit.converters.transformers import SUFFIXES as SUFFIXES
from edgekit.converters.transformers.config import Config, Room, parse
from edgekit.converters.transformers.decoder import EMBEDDING, Decoder
from edgekit.converters.transformers.tokenizer import FILE as TOKENIZER
from edgekit.converters.transformers.tokenizer import read_tokenizer
from edgekit.core.builder import Builder, absurd
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.files import opened
from edgekit.core.ir import Graph
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.types import DType

_CONFIG = "config.json"
_GENERATION = "generation_config.json"
_INDEX = "model.safetensors.index.json"
_WHOLE = "model.safetensors"
_MAX_CONFIG = 1 << 24
_CHUNK = 64  # tokens that a run of a model with sliding windows may take, unless --dim says so
_MAX_CACHES = 1 << 30  # bytes, unless the user says how many positions
_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HEAD = "lm_head.weight"
_COMPUTED = ".rotary_emb.inv_freq"  # older files store it, too


def sniff(path: Path, head: bytes) -> bool:
    """A folder whose config.json names a type of model, or safetensors in it."""
    config = _config(path)
    if not path.is_dir() and head[8:9] != b"{":
        return False
    try:
        with opened(config) as file:
            return b'"model_type"' in file.read(_MAX_CONFIG)
    except (EdgeKitError, OSError):
        return False


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a folder, or the model that a file in it belongs to. `dims` binds `positions`, the length of
    the caches, `tokens` that one run takes, 1 by default, `logits`, of how many of these, the last ones,
    there are logits, and, where layers have sliding windows, `chunk`, how many tokens a run of any entry
    takes at most."""
    with reading(model.name):
        raw_config = files.read_beside(_config(model), _CONFIG, "the configuration", _MAX_CONFIG)
        config = parse(Record.of(files.parse_json(raw_config, _CONFIG), _CONFIG))
        raws = dict(_read(model))
        stored = _merged({file: tensors(raw, file) for file, raw in raws.items()})
        bindings = Bindings(shapes or {}, dims or {})
        weights = _Weights(stored, Builder(given=sum(map(len, raws.values()))))
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
        source = files.source(model, FORMAT, raw_config, *raws.values())
        title = name or (model.absolute().name if model.is_dir() else model.stem)
        graph = named_graph(builder, title, inputs, [("logits", logits)], {}, source, decoder.caches)
    return replace(graph, tokenizer=_tokenizer(_config(model).parent))


def _tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer, if there is one that is read: without it, the graph is as good."""
    if not (folder / TOKENIZER).exists():
        return None
    try:
        tokenizer = read_tokenizer(folder)
    except EdgeKitError as error:
        if error.exit_code is not Exit.UNSUPPORTED:
            raise
        return None
    return replace(tokenizer, stop=tuple(i for i in _stops(folder) if i in tokenizer.tokens))


def _stops(folder: Path) -> Iterator[int]:
    """Ends of texts, eos_token_id: an id or several, as generation_config.json says, or config.json."""
    for name in (_GENERATION, _CONFIG):
        if (folder / name).exists():
            raw = files.read_beside(folder / name, name, "the configuration", _MAX_CONFIG)
            record = Record.of(files.parse_json(raw, name), name)
            if "eos_token_id" in record:
                ends = record.fields["eos_token_id"]
                for end in ends if isinstance(ends, list) else [ends]:
                    yield checked(end, int, f"eos_token_id of {name}")
                return


def _config(path: Path) -> Path:
    return path / _CONFIG if path.is_dir() else path.with_name(_CONFIG)


def _read(model: Path) -> Iterator[tuple[str, bytes]]:
    """The files of weights by name: those that an index lists, or the only one."""
    config = _config(model)
    folder = config.parent
    if (folder / _INDEX).exists():
        index = Record.of(files.parse_json(files.read_beside(config, _INDEX, "the index"), _INDEX), _INDEX)
        names = [
            checked(file, str, f"weight_map of {_INDEX}")
            for file in index.record("weight_map").fields.values()
        ]
    elif model.suffix in SUFFIXES:
        names = [model.name]
    else:
        found = sorted(path.name for path in folder.glob("*.safetensors"))
        names = [_WHOLE] if _WHOLE in found else found
        if len(names) != 1:
            what = (
                f"has {len(names)} files of safetensors, and no {_INDEX}" if names else "has no safetensors"
            )
            hint = (
                "name the one to convert"
                if names
                else "model.save_pretrained(folder) of transformers writes them"
            )
            raise EdgeKitError("E0103", f"the folder {what}", hint=hint)
    for name in dict.fromkeys(names):
        yield name, files.read_beside(config, name, "weights")


def _merged(parts: Mapping[str, Mapping[str, StoredTensor]]) -> dict[str, StoredTensor]:
    found: dict[str, StoredTensor] = {}
    for file, part in parts.items():
        if twice := found.keys() & part.keys():
            raise EdgeKitError("E0401", f"{min(twice)} is in two files, one of them {file}")
        found |= part
    return found


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


class _Weights:
    """The tensors of the files, in float32 where they come in fewer bits; each is to be used."""

    def __init__(self, stored: Mapping[str, StoredTensor], builder: Builder) -> None:
        self.stored, self.builder = stored, builder
        self.unused = dict.fromkeys(name for name in stored if not name.endswith(_COMPUTED))

    def __call__(self, name: str, *shape: int) -> Tensor:
        if name not in self.stored:
            raise EdgeKitError("E0401", f"the files have no tensor {name}", hint="is the folder complete?")
        one = self.stored[name]
        if one.shape != shape:
            message = f"{name} is of shape {list(one.shape)}, config.json says {list(shape)}"
            raise EdgeKitError("E0401", message)
        if one.dtype not in _FLOATS:
            raise EdgeKitError("E0204", f"{name} is of type {one.dtype.value}; floats are read")
        self.unused.pop(name, None)
        return cast(Tensor(self.builder, self.builder.const(one.array(), hint=name)), DType.F32)

    def are_tied(self, config: Config) -> bool:
        """Does the last layer share the weights of the first? By default, if it has none of its own."""
        if _HEAD not in self.stored:
            return config.tied is not False
        if not config.tied:
            return False
        own, shared = (self.stored.get(name) for name in (_HEAD, EMBEDDING))
        if not (own and shared and own.shape == shared.shape and np.array_equal(own.array(), shared.array())):
            message = f"{_HEAD} differs from {EMBEDDING}, and config.json says that they are tied"
            raise EdgeKitError("E0401", message, hint="is tie_word_embeddings right?")
        self.unused.pop(_HEAD)
        return True

    def check_all_used(self) -> None:
        """A tensor without a place belongs to another model than config.json says."""
        if self.unused:
            names = ", ".join(f"{name:.80}" for name in [*self.unused][:4])
            message = f"the files have {len(self.unused)} tensors that such a model has no place for: {names}"
            raise EdgeKitError("E0205", message, hint="is config.json that of these files?")

"""A folder with config.json and safetensors -> Graph of one step of the decoder that they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.file_formats.safetensors import StoredTensor, tensors
from edgekit.converters.frontend import reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.transformers import FORMAT as FORMAT
from edgekit.converters.transformers import SUFFIXES as SUFFIXES
from edgekit.converters.transformers.config import family_of, parse
from edgekit.converters.transformers.encoder import encoder_graph
from edgekit.converters.transformers.seq2seq import ENCODE, decode_graph, encode_graph
from edgekit.converters.transformers.seq2seq_families import Halves
from edgekit.converters.transformers.step import one_step
from edgekit.converters.transformers.tokenizer import FILE as TOKENIZER
from edgekit.converters.transformers.tokenizer import read_tokenizer
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.files import opened
from edgekit.core.ir import Graph
from edgekit.core.text.tokenizer import Tokenizer

HAS_SIGNATURES = True

_CONFIG = "config.json"
_GENERATION = "generation_config.json"
_INDEX = "model.safetensors.index.json"
_WHOLE = "model.safetensors"
_MAX_CONFIG = 1 << 24


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
    signature: str = "",
) -> Graph:
    """Convert a folder, or the model that a file in it belongs to. `dims` binds `positions`, the length of
    the caches, `tokens` that one run takes, 1 by default, `logits`, of how many of these, the last ones,
    there are logits, and, where layers have sliding windows, `chunk`, how many tokens a run of any entry
    takes at most. Encoder-decoders have `source`, how many tokens a source has at most, and the signature
    `encode` for their encoder."""
    with reading(model.name):
        raw_config = files.read_beside(_config(model), _CONFIG, "the configuration", _MAX_CONFIG)
        record = Record.of(files.parse_json(raw_config, _CONFIG), _CONFIG)
        family = family_of(record)
        raws = dict(_read(model))
        stored = _merged({file: tensors(raw, file) for file, raw in raws.items()})
        source = files.source(model, FORMAT, raw_config, *raws.values())
        title = name or (model.absolute().name if model.is_dir() else model.stem)
        builder, bindings = Builder(given=sum(map(len, raws.values()))), Bindings(shapes or {}, dims or {})
        rows = (family.encoder, family.decoder) if isinstance(family, Halves) else (family,)
        weights = [Weights(stored, parse(record, row), builder) for row in rows]
        if signature and (len(weights) == 1 or signature != ENCODE):
            known = f"encoder-decoders have one, {ENCODE}" if len(weights) == 1 else f"{ENCODE} is there"
            raise EdgeKitError("E0103", f"the model has no signature {signature:.60}", hint=known)
        if signature:
            return encode_graph(title, weights[0], weights[-1], bindings, source)
        if len(weights) == 2:
            graph = decode_graph(title, weights[0], weights[-1], bindings, source)
        elif weights[0].config.family.heads:
            return encoder_graph(title, weights[0], bindings, source)
        else:
            graph = one_step(title, weights[0], bindings, source)
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

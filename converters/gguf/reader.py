"""A GGUF file, or all that a model is split into -> Graph of one step of the decoder in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import reading
from edgekit.converters.gguf import FORMAT as FORMAT
from edgekit.converters.gguf import SUFFIXES as SUFFIXES
from edgekit.converters.gguf import tokenizer
from edgekit.converters.gguf.architectures import FREQUENCIES, configured, stops, their_name
from edgekit.converters.gguf.file import MAGIC, GgufFile, parse
from edgekit.converters.gguf.stored import StoredBlocks
from edgekit.converters.inputs import Bindings
from edgekit.converters.transformers.config import Config
from edgekit.converters.transformers.step import one_step
from edgekit.converters.transformers.weights import Weights
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.text.tokenizer import Tokenizer

_MAX_PARTS = 1 << 10
_ONE_OUTPUT = ".ffn_gate_inp_shexp.weight"
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")


def sniff(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC)


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model; `dims` as of folders of transformers."""
    with reading(model.name):
        raws = dict(_parts(model))
        parts = [parse(raw, file) for file, raw in raws.items()]
        settings = parts[0].settings
        tensors = _merged(parts)
        config = configured(settings, {name: one.shape for name, one in tensors.items()})
        config = _with_frequencies(config, tensors.pop(FREQUENCIES, None))
        stored = {their_name(key, config.names): _as_matrix(key, one) for key, one in tensors.items()}
        weights = Weights(stored, config, Builder(given=sum(map(len, raws.values()))))
        source = files.source(model, FORMAT, *raws.values())
        title = name or model.stem
        graph = one_step(title, weights, Bindings(shapes or {}, dims or {}), source)
        return replace(graph, tokenizer=_tokenizer(settings))


def _tokenizer(settings: Record) -> Tokenizer | None:
    """The tokenizer, if it is of a kind that is read: without it, the graph is as good."""
    try:
        made = tokenizer.read(settings)
    except EdgeKitError as error:
        if error.exit_code is not Exit.UNSUPPORTED:
            raise
        return None
    return made and replace(made, stop=stops(settings, made.tokens))


def _parts(model: Path) -> Iterator[tuple[str, bytes]]:
    """The file, or all that it is split into, of which it has to be the first one."""
    raw = files.read(model)
    yield model.name, raw
    count = parse(raw, model.name).settings.integer("split.count", 1)
    if count <= 1:
        return
    named = _PART.fullmatch(model.name)
    if named is None or int(named["count"]) != count or count > _MAX_PARTS:
        message = f"one of {count} files, and has another name than such have"
        raise EdgeKitError("E0103", message, model.name, f"NAME-00001-of-{count:05}.gguf is the first")
    if int(named["number"]) != 1:
        hint = f"give {named['stem']}-00001-of-{count:05}.gguf, which has the settings"
        raise EdgeKitError("E0103", f"{model.name} is not the first of {count} files", hint=hint)
    for number in range(2, count + 1):
        file = f"{named['stem']}-{number:05}-of-{count:05}.gguf"
        yield file, files.read_beside(model, file, "the part")


def _merged(parts: Sequence[GgufFile]) -> dict[str, StoredBlocks]:
    found: dict[str, StoredBlocks] = {}
    for number, part in enumerate(parts):
        place = (part.settings.integer("split.no", 0), part.settings.integer("split.count", 1))
        if place[0] != number or place[1] not in (len(parts), 0):
            message = f"says that it is file {place[0] + 1} of {place[1]}, and is file {number + 1}"
            raise EdgeKitError("E0401", message, part.settings.where)
        if twice := found.keys() & part.tensors.keys():
            raise EdgeKitError("E0401", f"{min(twice):.80} is in two files", part.settings.where)
        found |= part.tensors
    expected = parts[0].settings.integer("split.tensors.count", len(found))
    if expected != len(found):
        raise EdgeKitError("E0401", f"{expected} tensors are in all files, there are {len(found)}")
    return found


def _as_matrix(name: str, one: StoredBlocks) -> StoredBlocks:
    """A layer of one output is a vector in files."""
    is_vector = name.endswith(_ONE_OUTPUT) and len(one.shape) == 1
    return replace(one, shape=(1, *one.shape)) if is_vector else one


def _with_frequencies(config: Config, factors: StoredBlocks | None) -> Config:
    """Rotary embeddings that are scaled for longer texts, as in Llama 3: what each rate is divided by."""
    if factors is None:
        return config
    by = factors.array()
    if any(by.shape != rates.shape for rates in config.rates.values()) or not (by > 0).all():
        raise EdgeKitError("E0401", f"factors of shape {list(by.shape)} are not those of rates", FREQUENCIES)
    return replace(config, rates={kind: (r / by).astype(np.float32) for kind, r in config.rates.items()})

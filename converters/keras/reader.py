"""Keras' .keras archives, and .h5 files of whole models -> Graph, by the handlers of ops.

The configuration says which layers there are; each is known here by the name of its class, and none is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.file_formats import archive
from edgekit.converters.file_formats.hdf5 import SIGNATURE, Hdf5
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.keras import FORMAT as FORMAT
from edgekit.converters.keras import SUFFIXES as SUFFIXES
from edgekit.converters.keras.graph import KERAS_2, KerasFile, graph_of
from edgekit.converters.keras.masks import MaskRules
from edgekit.converters.keras.weights import WeightGroups, Weights, WeightsByLayer
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
_NO_GRAPH = "load them into the model, and save that: model.save('net.keras')"


def sniff(path: Path, head: bytes) -> bool:
    """An archive with the three files of Keras, or HDF5 with a model in it."""
    if head.startswith(archive.SIGNATURE):
        return {_CONFIG, _WEIGHTS} <= archive.member_names(path)
    return head.startswith(SIGNATURE)


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a model; `shapes` binds dynamic dimensions, of which only the batch is bound by itself."""
    with reading(model.name):
        raw = files.read(model)
        file = _whole(model, raw) if raw.startswith(SIGNATURE) else _archive(model)
        return graph_of(file, Bindings(shapes or {}, dims or {}), name or model.stem)


def _archive(path: Path) -> KerasFile:
    with archive.opened(path) as opened:
        if any(name.endswith(".weights.json") for name in opened.members):
            hint = "model.save('net.keras') without max_shard_size"
            raise EdgeKitError("E0205", "weights in several files are not supported", path.name, hint)
        config = Record.of(opened.json(_CONFIG), _CONFIG)
        version = Record.of(opened.json(_METADATA), _METADATA).text("keras_version", "")
        raw = opened.read(_WEIGHTS)
    builder = Builder(given=len(raw))
    weights = WeightGroups(builder, Hdf5(raw, _WEIGHTS).root)
    return _file(config, version, weights, files.source(path, "keras"), builder)


def _whole(path: Path, raw: bytes) -> KerasFile:
    """A model in HDF5, as Keras 2 wrote it and Keras 3 still can."""
    root = Hdf5(raw, path.name).root
    text = root.texts("model_config")
    weights = root.get("model_weights")
    if not text or weights is None:
        raise EdgeKitError("E0205", f"{path.name} holds weights without the model", hint=_NO_GRAPH)
    config = Record.of(files.parse_json(text[0].encode(), "model_config"), "model_config")
    version = (root.texts("keras_version") or [""])[0]
    builder = Builder(given=len(raw))
    source = files.source(path, "keras", raw)
    listed = WeightsByLayer(builder, weights)
    return _file(config, version, listed, source, builder)


def _file(config: Record, version: str, weights: Weights, source: Source, builder: Builder) -> KerasFile:
    is_older = version.startswith("2.")
    rules = MaskRules(2 if is_older else 3)
    return KerasFile(config, version, weights, source, builder, KERAS_2 if is_older else {}, rules)

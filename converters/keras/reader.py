"""Keras' .keras archives, .h5 files of whole models, and layers as JSON with weights beside -> Graph.

The configuration says which layers there are; each is known here by the name of its class, and none is run.
"""

from __future__ import annotations

import re
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
_NO_GRAPH = (
    "convert the .json file of its layers, which belongs beside it, or load them into the model "
    "and save that: model.save('net.keras')"
)
# What to_json wrote: the layers of a model.
_LAYERS = re.compile(
    rb'\s*\{\s*("module"\s*:\s*"[\w.]+"\s*,)?\s*"class_name"\s*:\s*"(Functional|Sequential|Model)"'
)
_BESIDE = (".weights.h5", ".h5", ".hdf5", "_weights.h5")  # what save_weights wrote, after the stem
_NO_WEIGHTS = "or save both as one: model.load_weights('net.h5'); model.save('net.keras')"


def sniff(path: Path, head: bytes) -> bool:
    """An archive with the three files of Keras, HDF5 with a model in it, or the layers of one as JSON."""
    if head.startswith(archive.SIGNATURE):
        return {_CONFIG, _WEIGHTS} <= archive.member_names(path)
    return head.startswith(SIGNATURE) or _LAYERS.match(head) is not None


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
        if raw.startswith(SIGNATURE):
            file = _whole(model, raw)
        else:
            file = _layers(model, raw) if _LAYERS.match(raw) else _archive(model)
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


def _layers(path: Path, raw: bytes) -> KerasFile:
    """Layers as JSON, with their weights in HDF5 beside them."""
    config = Record.of(files.parse_json(raw, path.name), path.name)
    stored = files.read_beside(path, _weights_beside(path), "the file of weights")
    root, builder = Hdf5(stored, path.name).root, Builder(given=len(stored))
    listed = root.get("model_weights") or (root if root.texts("layer_names") is not None else None)
    weights = WeightsByLayer(builder, listed) if listed else WeightGroups(builder, root)
    source = files.source(path, "keras", raw, stored)
    version = config.text("keras_version", "3." if "module" in config else "2.")
    return _file(config, version, weights, source, builder)


def _weights_beside(path: Path) -> str:
    """The file of weights: that of the same name, or the only one in the folder."""
    names = sorted(each.name for each in path.parent.iterdir() if each.suffix in (".h5", ".hdf5"))
    own = [path.stem + suffix for suffix in _BESIDE if path.stem + suffix in names]
    if own or len(names) == 1:
        return (own or names)[0]
    what = f"the folder has {len(names)} files of weights" if names else "its weights are in another file"
    hint = f"call them {path.stem}.weights.h5, {_NO_WEIGHTS}"
    raise EdgeKitError("E0205", f"{path.name} holds layers without weights: {what}", hint=hint)


def _file(config: Record, version: str, weights: Weights, source: Source, builder: Builder) -> KerasFile:
    is_older = version.startswith("2.")
    rules = MaskRules(2 if is_older else 3)
    return KerasFile(config, version, weights, source, builder, KERAS_2 if is_older else {}, rules)

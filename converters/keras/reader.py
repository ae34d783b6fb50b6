"""Keras' .keras archives, and .h5 files of whole models -> Graph, by the handlers of ops.

The configuration says which layers there are; each is known here by the name of its class, and none is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgekit.converters import files
from edgekit.converters.file_formats import archive
from edgekit.converters.file_formats.hdf5 import SIGNATURE, Hdf5, Item
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import check_supported, reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.keras import FORMAT as FORMAT
from edgekit.converters.keras import SUFFIXES as SUFFIXES
from edgekit.converters.keras.layer import MODELS, KerasLayer
from edgekit.converters.keras.model import Model
from edgekit.converters.keras.weights import WeightGroups, Weights, WeightsByLayer
from edgekit.converters.naming import named_graph
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import DType, Type

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
_SUBCLASSED = "its configuration is code; export it: model.export('net.onnx', format='onnx')"
_DTYPES = {str(d.numpy): d for d in DType}
_NO_GRAPH = "load them into the model, and save that: model.save('net.keras')"


@dataclass(frozen=True)
class _File:
    """What a file says: the model, the version of Keras, and where the weights are."""

    model: Record
    version: str
    weights: Item
    source: Source
    size: int
    is_listed: bool  # weights in one list for each layer


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
        layer = KerasLayer.of(file.model)
        _check(layer, file)
        builder = Builder(given=file.size)
        weights: Weights = (
            WeightsByLayer(builder, file.weights) if file.is_listed else WeightGroups(builder, file.weights)
        )
        top = Model(builder, layer, weights)
        bindings = Bindings(shapes or {}, dims or {})
        inputs = [_input(builder, top, place[0], bindings) for place in top.inputs]
        bindings.check([x.name for x in inputs])
        made = top.run(inputs)
        outputs = {_named(place): x for place, x in zip(top.outputs, made, strict=True)}
        scope = {_named((*at, i)): x for at, xs in top.made.items() for i, x in enumerate(xs)}
        source, names = bindings.noted(file.source), [x.name for x in inputs]
        return named_graph(builder, name or model.stem, names, list(outputs.items()), scope, source)


def _archive(path: Path) -> _File:
    with archive.opened(path) as opened:
        if any(name.endswith(".weights.json") for name in opened.members):
            hint = "model.save('net.keras') without max_shard_size"
            raise EdgeKitError("E0205", "weights in several files are not supported", path.name, hint)
        config = Record.of(opened.json(_CONFIG), _CONFIG)
        version = Record.of(opened.json(_METADATA), _METADATA).text("keras_version", "")
        raw = opened.read(_WEIGHTS)
    stored = Hdf5(raw, _WEIGHTS)
    return _File(config, version, stored.root, files.source(path, "keras"), len(raw), is_listed=False)


def _whole(path: Path, raw: bytes) -> _File:
    """A model in HDF5, as Keras 2 wrote it and Keras 3 still can."""
    root = Hdf5(raw, path.name).root
    text = root.texts("model_config")
    weights = root.get("model_weights")
    if not text or weights is None:
        raise EdgeKitError("E0205", f"{path.name} holds weights without the model", hint=_NO_GRAPH)
    config = Record.of(files.parse_json(text[0].encode(), "model_config"), "model_config")
    version = (root.texts("keras_version") or [""])[0]
    return _File(config, version, weights, files.source(path, "keras", raw), len(raw), is_listed=True)


def _check(model: KerasLayer, file: _File) -> None:
    """Refuse what is no model of known layers, and versions whose layers compute something else."""
    if model.kind not in MODELS:
        message = f"{model.kind} is a model of its own class"
        raise EdgeKitError("E0205", message, file.model.where, _SUBCLASSED)
    major = file.version.partition(".")[0]
    if major not in ("2", "3"):
        raise EdgeKitError("E0205", f"models of Keras {file.version[:20] or '?'} are not supported")
    check_supported(model.unsupported(), {}, "docs/frontends.md says what is read of Keras")
    if major == "2" and "hard_sigmoid" in str(model.config.fields):
        message = "hard_sigmoid of Keras 2 is another function than that of Keras 3"
        raise EdgeKitError("E0205", message, hint="convert the model to TFLite, and that")


def _input(builder: Builder, model: Model, name: str, bindings: Bindings) -> Tensor:
    layer = next((layer for layer in model.layers if layer.name == name), None)
    shape, dtype = _described(layer, model)
    name = name or "input"
    return Tensor(builder, builder.input(name, _type(name, shape, dtype, bindings)))


def _described(layer: KerasLayer | None, model: Model) -> tuple[Any, Any]:
    """Shape and type of an input: of its layer, or of the first layer of a sequential model."""
    fields = (layer or model.layers[0]).config.fields if model.layers else {}
    shape = fields.get("batch_shape") or fields.get("batch_input_shape")
    if shape is None and layer is None:
        built = model.model.record.fields.get("build_config")
        shape = built.get("input_shape") if isinstance(built, dict) else None
        shape = shape or model.model.config.fields.get("build_input_shape")
    return shape, fields.get("dtype") if layer is not None else None


def _type(name: str, shape: Any, dtype: Any, bindings: Bindings) -> Type:
    if isinstance(dtype, dict):
        dtype = dtype.get("config", {}).get("name") if isinstance(dtype.get("config"), dict) else None
    dtype = dtype or "float32"
    if dtype not in _DTYPES:
        raise EdgeKitError("E0204", f"elements of type {str(dtype)[:40]} are not supported", f"input {name}")
    dims = shape if isinstance(shape, list) and all(n is None or type(n) is int for n in shape) else None
    return bindings.type(name, _DTYPES[dtype], dims)


def _named(place: tuple[str, int, int]) -> str:
    """What a result is called: as its layer, and by a number where there are several."""
    name, *numbers = place
    return "_".join([name, *(str(n) for n in numbers if n)])

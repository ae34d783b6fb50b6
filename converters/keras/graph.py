"""A model of Keras, wherever its configuration and weights are stored -> Graph, by the handlers of ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import check_supported
from edgekit.converters.inputs import Bindings
from edgekit.converters.keras.layer import MODELS, KerasLayer
from edgekit.converters.keras.masks import MaskRules
from edgekit.converters.keras.model import Model, Place
from edgekit.converters.keras.weights import Weights
from edgekit.converters.naming import named_graph
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import DType, Type

_SUBCLASSED = "its configuration is code; export it: model.export('net.onnx', format='onnx')"
_DTYPES = {str(d.numpy): d for d in DType}
# What another program calls by the name of something else: a class, or "" for all, a setting and its value.
Renamed = Mapping[tuple[str, str, str], str]
KERAS_2: dict[tuple[str, str, str], str] = {
    ("", key, "hard_sigmoid"): "hard_sigmoid of Keras 2" for key in ("activation", "recurrent_activation")
}


@dataclass(frozen=True)
class KerasFile:
    """What a file says: the model, the version of Keras, and where the weights are."""

    model: Record
    version: str
    weights: Weights
    source: Source
    builder: Builder
    renamed: Renamed
    masks: MaskRules


def graph_of(file: KerasFile, bindings: Bindings, name: str) -> Graph:
    layer = KerasLayer.of(Record(_with_names(file.model.fields, file.renamed), file.model.where))
    _check(layer, file)
    builder = file.builder
    top = Model(builder, layer, file.weights, file.masks)
    inputs = [_input(builder, top, place[0], bindings) for place in top.inputs]
    bindings.check([x.name for x in inputs])
    made = top.run(inputs)
    results = {(*at, i): x for at, xs in top.made.items() for i, x in enumerate(xs)}
    names = _names([*top.outputs, *results], [layer.name for layer in top.layers])
    outputs = {names[place]: x for place, x in zip(top.outputs, made, strict=True)}
    scope = {names[place]: x for place, x in results.items()}
    source = bindings.noted(file.source)
    return named_graph(builder, name, [x.name for x in inputs], list(outputs.items()), scope, source)


def _with_names(value: Any, renamed: Renamed, kind: str = "") -> Any:
    """A configuration in which each name has one meaning."""
    if isinstance(value, list):
        return [_with_names(item, renamed, kind) for item in value]
    if not isinstance(value, dict):
        return value
    kind = str(value.get("class_name", kind))
    return {
        key: next((renamed[place] for place in ((kind, key, v), ("", key, v)) if place in renamed), v)
        if isinstance(v, str)
        else _with_names(v, renamed, kind)
        for key, v in value.items()
    }


def _check(model: KerasLayer, file: KerasFile) -> None:
    """Refuse what is no model of known layers, and versions whose layers compute something else."""
    if model.kind not in MODELS:
        message = f"{model.kind} is a model of its own class"
        raise EdgeKitError("E0205", message, file.model.where, _SUBCLASSED)
    major = file.version.partition(".")[0]
    if major not in ("2", "3"):
        raise EdgeKitError("E0205", f"models of Keras {file.version[:20] or '?'} are not supported")
    check_supported(model.unsupported(), {}, "docs/frontends.md says what is read of Keras")


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


def _names(places: Iterable[Place], layers: Iterable[str]) -> dict[Place, str]:
    """What results are called: as their layers, and by a number where there are several; by both numbers
    where that is the name of another layer or result."""
    names: dict[Place, str] = {}
    taken = set(layers)
    for place in dict.fromkeys(places):
        layer, *numbers = place
        name = "_".join([layer, *(str(n) for n in numbers if n)])
        if any(numbers) and name in taken:
            name = "_".join([layer, *map(str, numbers)])
        while any(numbers) and name in taken:
            name += "_"
        names[place] = name
        taken.add(name)
    return names

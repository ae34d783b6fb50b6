"""model.json of TensorFlow.js -> Graph, by the layers of Keras or the operators of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import reading
from edgekit.converters.inputs import Bindings, fix_inputs
from edgekit.converters.keras.graph import KERAS_2, KerasFile, Renamed, graph_of
from edgekit.converters.keras.masks import MaskRules
from edgekit.converters.named_outputs import ended_at
from edgekit.converters.tensorflow.conversion import Conversion
from edgekit.converters.tfjs import FORMAT as FORMAT
from edgekit.converters.tfjs import SUFFIXES as SUFFIXES
from edgekit.converters.tfjs.graph import graph_net
from edgekit.converters.tfjs.weights import ManifestWeights, arrays, shards
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array

TAKES_CONSTANTS = True
KEEPS_LOOPS = True
TAKES_OUTPUTS = True
_MODEL = re.compile(rb'\s*\{.*"(modelTopology|weightsManifest)"\s*:', re.DOTALL)
# Images are resized by other places of pixels than in Keras.
_RENAMED: Renamed = KERAS_2 | {
    ("UpSampling2D", "interpolation", "bilinear"): "bilinear, asymmetric",
    ("Resizing", "interpolation", "bilinear"): "bilinear, align_corners",
    ("Resizing", "interpolation", "nearest"): "nearest, align_corners",
}
_TOPOLOGY = "save the whole model: await model.save('downloads://net')"


def sniff(path: Path, head: bytes) -> bool:
    return _MODEL.match(head) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    name: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
) -> Graph:
    """Convert model.json, whose shards are in the same folder."""
    with reading(model.name):
        raw = files.read(model)
        file = Record.of(files.parse_json(raw, model.name), model.name)
        topology = file.record("modelTopology")
        if "weightsManifest" not in file:
            raise EdgeKitError("E0205", f"{model.name} holds layers without weights", hint=_TOPOLOGY)
        groups = list(file.records("weightsManifest"))
        parts = list(shards(model, groups))
        builder = Builder(given=sum(map(len, parts)))
        found = [pair for part, group in zip(parts, groups, strict=True) for pair in arrays(part, group)]
        if len({key for key, _ in found}) < len(found):
            raise EdgeKitError("E0401", "two weights have the same name", model.name)
        bindings = Bindings(shapes or {}, dims or {}, max_iterations)
        if "node" in topology:
            net = graph_net(file, dict(found), parts)
            conversion = Conversion(net.ended_at(outputs), len(raw), bindings, constants or {})
            graph = conversion.run(name or model.stem)
            source = files.source(model, FORMAT, raw, *parts, producer=net.producer)
            source = replace(bindings.noted(source), counted_rows=graph.source.counted_rows)
            return replace(graph, source=source)
        version = topology.text("keras_version", "")
        source = files.source(model, FORMAT, raw, *parts, producer=file.text("generatedBy", ""))
        keras = KerasFile(
            _whole(topology.record("model_config") if "model_config" in topology else topology),
            "2." if version.startswith("tfjs-layers") or not version else version,
            ManifestWeights(builder, dict(found)),
            source,
            builder,
            _RENAMED,
            MaskRules(0),
        )
        graph = graph_of(keras, bindings, name or model.stem)
        graph = ended_at(graph, outputs) if outputs else graph
        return fix_inputs(graph, constants) if constants else graph


def _whole(model: Record) -> Record:
    """Old sequential models are a list of layers alone."""
    config = model.fields.get("config")
    if not isinstance(config, list):
        return model
    return Record({**model.fields, "config": {"name": "sequential", "layers": config}}, model.where)

"""Caffe's .prototxt with the .caffemodel beside it -> Graph, by the handlers of ops.

The text says which layers there are; of the binary file only the weights count, by the name of the layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from edgekit.converters import files
from edgekit.converters.caffe import FORMAT as FORMAT
from edgekit.converters.caffe import SUFFIXES as SUFFIXES
from edgekit.converters.caffe import ops
from edgekit.converters.file_formats import protobuf
from edgekit.converters.file_formats.text_proto import Fields, parse
from edgekit.converters.frontend import call, check_supported, handlers, reading, tensors
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import Array, DType

_LAYER = re.compile(rb"^[ \t]*layers?\s*:?\s*\{", re.MULTILINE)
_UPGRADE = "upgrade_net_proto_text and upgrade_net_proto_binary, of Caffe, write the newer form"
_DEPLOY = "convert deploy.prototxt, without layers of training; docs/frontends.md lists those that are read"
# How values are first set, and with which library they are computed: a trained graph says nothing of them.
_IGNORED = {"weight_filler", "bias_filler", "filler", "engine", "cudnn_flags", "force_nd_im2col"}
_MAX_TEXT = 1 << 24


def sniff(path: Path, head: bytes) -> bool:
    """A text with layers; weights alone are known by their suffix."""
    return b"\0" not in head and _LAYER.search(head) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a pair of files, given as either; `shapes` replaces the shapes of inputs."""
    with reading(model.name):
        if model.suffix.lower() == ".caffemodel":
            binary = files.read(model)
            text = files.read_companion(model, ".prototxt", "the text of the net", _MAX_TEXT)
        else:
            text = files.read(model, _MAX_TEXT)
            binary = files.read_companion(model, ".caffemodel", "weights")
        net = parse(text.decode("utf-8", "replace"), model.stem + ".prototxt")
        weights = _weights(binary, model.stem + ".caffemodel")
        source = files.source(model, "caffe", text, binary)
        return _graph(net, weights, Bindings(shapes or {}, dims or {}), name or model.stem, source)


def _graph(
    net: Fields,
    weights: Mapping[str, list[Array]],
    bindings: Bindings,
    name: str,
    source: Source,
) -> Graph:
    layers = [layer for layer in [*net.messages("layer"), *_older(net)] if _runs(layer)]
    known = handlers(ops)
    operators = [layer for layer in layers if layer.text("type") not in ("Input", "Silence")]
    check_supported([(o.text("type"), o.text("name")) for o in operators], known, _DEPLOY)
    builder = Builder(given=sum(blob.nbytes for blobs in weights.values() for blob in blobs))
    scope: dict[str, Tensor] = {}
    inputs: list[str] = []
    for key, dims in _inputs(net, layers):
        if key in scope:
            raise EdgeKitError("E0401", f"two inputs are called {key}", net.where)
        given = [None] * len(dims) if key in bindings.shapes else dims
        scope[key] = Tensor(builder, builder.input(key, bindings.type(key, DType.F32, given)))
        inputs.append(scope[key].name)
    bindings.check(inputs)
    unread: dict[str, None] = {}
    for layer in operators:
        builder.origin = layer.text("name")
        bottoms, tops = layer.texts("bottom"), layer.texts("top")
        for bottom in bottoms:
            if bottom not in scope:
                raise EdgeKitError(
                    "E0401", f"{bottom} is computed by nothing before", f"node {builder.origin}"
                )
            unread.pop(bottom, None)
        made = _layer(builder, layer, [scope[b] for b in bottoms], weights.get(builder.origin, []))
        if len(made) != len(tops):
            message = f"{layer.text('type')} has {len(tops)} results, {len(made)} are supported"
            raise EdgeKitError("E0205", message, f"node {builder.origin}")
        scope |= dict(zip(tops, made, strict=True))
        unread |= dict.fromkeys(tops)
    for layer in layers:
        if layer.text("type") == "Silence":
            for bottom in layer.texts("bottom"):
                unread.pop(bottom, None)
    if not unread:
        raise EdgeKitError("E0401", "the net computes nothing", net.where)
    outputs = [(key, scope[key]) for key in unread]
    return named_graph(builder, name, inputs, outputs, scope, bindings.noted(source))


def _layer(
    builder: Builder, layer: Fields, bottoms: Sequence[Tensor], blobs: Sequence[Array]
) -> tuple[Tensor, ...]:
    kind, name = layer.text("type"), layer.text("name")
    constants = [Tensor(builder, builder.const(blob, hint=name)) for blob in blobs]
    attributes = _attributes(layer)
    if kind in ("Slice", "Split"):
        attributes["tops"] = len(layer.texts("top"))
    return tensors(call(handlers(ops)[kind], kind, name, [*bottoms, *constants], attributes))


def _attributes(layer: Fields) -> dict[str, object]:
    """What the *_param of a layer say: a number, or a tuple where there are several."""
    found: dict[str, object] = {}
    for key in layer.fields:
        for body in layer.messages(key) if key.endswith("_param") else []:
            for field, values in body.fields.items():
                if field in _IGNORED:
                    continue
                if field == "shape":
                    found[field] = tuple(_dims(body))
                elif any(isinstance(value, Fields) for value in values):
                    raise EdgeKitError("E0203", f"{field} is not supported", body.where)
                else:
                    found[field] = values[0] if len(values) == 1 else tuple(values)
    return found


def _older(net: Fields) -> Iterator[Fields]:
    """Layers of the form before 2014, whose types are words as INNER_PRODUCT."""
    kinds = {kind.lower(): kind for kind in (*handlers(ops), "Silence")}
    for layer in net.messages("layers"):
        if "layer" in layer.fields:
            raise EdgeKitError("E0205", "layers of the form before 2013 are not read", layer.where, _UPGRADE)
        word = layer.text("type")
        kind = kinds.get(word.replace("_", "").lower(), word)
        yield Fields({**layer.fields, "type": [kind]}, layer.where)


def _runs(layer: Fields) -> bool:
    """Does a layer belong to the net that is used, rather than trained?"""
    rules = layer.messages("include")
    chosen = not rules or any(_holds(rule) for rule in rules)
    return chosen and not any(_holds(rule) for rule in layer.messages("exclude"))


def _holds(rule: Fields) -> bool:
    return rule.text("phase", "TEST") == "TEST" and not rule.texts("stage")


def _inputs(net: Fields, layers: Sequence[Fields]) -> Iterator[tuple[str, list[int]]]:
    """Names and shapes: of layers, or in one of two older ways."""
    names, flat = net.texts("input"), net.integers("input_dim")
    shapes = [shape.integers("dim") for shape in net.messages("input_shape")]
    shapes = shapes or [flat[i : i + 4] for i in range(0, len(flat), 4)]
    if len(names) != len(shapes):
        raise EdgeKitError("E0401", f"{len(names)} inputs have {len(shapes)} shapes", net.where)
    yield from zip(names, shapes, strict=True)
    for layer in layers:
        if layer.text("type") == "Input":
            tops = layer.texts("top")
            given = [_dims_of(s) for body in layer.messages("input_param") for s in body.messages("shape")]
            given = given * len(tops) if len(given) == 1 else given
            if len(given) != len(tops):
                raise EdgeKitError("E0401", f"{len(tops)} inputs have {len(given)} shapes", layer.where)
            yield from zip(tops, given, strict=True)


def _dims(body: Fields) -> list[int]:
    return [dim for shape in body.messages("shape") for dim in _dims_of(shape)]


def _dims_of(shape: Fields) -> list[int]:
    return shape.integers("dim")


def _weights(raw: bytes, where: str) -> dict[str, list[Array]]:
    """The blobs of each layer; 1 is the name and 7 the blobs, of older files 4 and 6."""
    net = protobuf.message(raw, where)
    new = {layer.text(1): layer.messages(7) for layer in net.messages(100)}
    old = {layer.text(4): layer.messages(6) for layer in net.messages(2)}
    return {key: [_blob(blob, key) for blob in blobs] for key, blobs in {**old, **new}.items() if blobs}


def _blob(blob: protobuf.Message, name: str) -> Array:
    """Numbers of 4 or of 8 bytes; older files have four dimensions, always."""
    shape = blob.message(7).integers(1) if 7 in blob else [blob.integer(i) for i in (1, 2, 3, 4)]
    data = blob.numbers(8, "<f8").astype(np.float32) if 8 in blob else blob.numbers(5)
    return files.array(data.tobytes(), DType.F32, shape, f"blob of {name}", exact=True)

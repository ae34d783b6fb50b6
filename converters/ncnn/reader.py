"""ncnn's .param with the .bin beside it -> Graph, by the handlers of ops: functions named as its layers.

Blobs have up to four dimensions (c, d, h, w) and no batch. Weights have no places of their own: each layer
loads its own after those of the layer before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.blame import blame
from edgekit.converters.frontend import check_supported, handlers, reading, tensors
from edgekit.converters.inputs import Bindings
from edgekit.converters.naming import named_graph
from edgekit.converters.ncnn import FORMAT as FORMAT
from edgekit.converters.ncnn import SUFFIXES as SUFFIXES
from edgekit.converters.ncnn import ops
from edgekit.converters.ncnn.file import MAGIC, Layer, Weights, layers
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Source
from edgekit.core.types import DType, Type

_INPUT = "Input"
_MAX_TEXT = 1 << 26
_SIZES = (2, 11, 1, 0)  # settings of c, d, h and w
_HINT = "docs/frontends.md says what is read; convert the model that it was made of"


def sniff(path: Path, head: bytes) -> bool:
    return head.split(maxsplit=1)[:1] == [MAGIC.encode()]


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
) -> Graph:
    """Convert a pair of files; `shapes` gives those of inputs that the file leaves open."""
    with reading(model.name):
        text = files.read(model, _MAX_TEXT)
        found = layers(text.decode("utf-8", "replace"), model.name)
        check_supported([(one.type, one.name) for one in found], {**handlers(ops), _INPUT: None}, _HINT)
        binary = files.read_companion(model, ".bin", "weights")
        source = files.source(model, "ncnn", text, binary)
        weights = Weights(binary, model.stem + ".bin")
        return _graph(found, weights, Bindings(shapes or {}, dims or {}), name or model.stem, source)


def _graph(found: Sequence[Layer], weights: Weights, bindings: Bindings, name: str, source: Source) -> Graph:
    inputs = {one.outputs[0]: _type(one, bindings) for one in found if one.type == _INPUT}
    bindings.check(inputs)
    builder = Builder(given=len(weights.raw))
    scope: dict[str, Tensor] = {}
    for one in found:
        builder.origin = one.name
        with blame(f"layer {one.name}"):
            if one.type == _INPUT:
                made: Sequence[Tensor] = [
                    Tensor(builder, builder.input(one.outputs[0], inputs[one.outputs[0]]))
                ]
            else:
                operands = [_blob(scope, key) for key in one.inputs]
                made = tensors(handlers(ops)[one.type](builder, one, weights, *operands))
            for key, tensor in zip(one.outputs, made, strict=True):
                if key in scope:
                    raise EdgeKitError("E0401", f"two layers make the blob {key[:60]}")
                scope[key] = tensor
    if weights.at < len(weights.raw):
        message = f"has {len(weights.raw)} bytes, of which layers load {weights.at}"
        raise EdgeKitError("E0401", message, weights.where, "do both files belong together?")
    read = {key for one in found for key in one.inputs}
    outputs = [(key, tensor) for key, tensor in scope.items() if key not in read and key not in inputs]
    if not outputs:
        raise EdgeKitError("E0401", "the net computes nothing")
    return named_graph(builder, name, list(inputs), outputs, scope, bindings.noted(source))


def _type(layer: Layer, bindings: Bindings) -> Type:
    """What an input is: sizes that are stated, or the shape that the user gives."""
    if len(layer.outputs) != 1:
        raise EdgeKitError("E0401", f"input {layer.name} makes {len(layer.outputs)} blobs")
    sizes = [layer.integer(key) for key in _SIZES]
    stated = [n for n in sizes if n]
    if any(n < 0 for n in sizes):
        raise EdgeKitError("E0401", f"input {layer.name} of sizes {sizes}")
    return bindings.type(layer.outputs[0], DType.F32, [*stated] or None)


def _blob(scope: Mapping[str, Tensor], key: str) -> Tensor:
    if key not in scope:
        raise EdgeKitError("E0401", f"the blob {key[:60]} is made later or never")
    return scope[key]

"""A graph of TensorFlow, frozen or as a SavedModel -> Graph, by the handlers of ops."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.file_formats import protobuf, text_proto
from edgekit.converters.frontend import reading
from edgekit.converters.inputs import Bindings
from edgekit.converters.tensorflow import FORMAT as FORMAT
from edgekit.converters.tensorflow import SUFFIXES as SUFFIXES
from edgekit.converters.tensorflow.conversion import Conversion, frozen
from edgekit.converters.tensorflow.messages import of_text
from edgekit.converters.tensorflow.saved_model import FILE, TEXT, saved_net
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array

TAKES_CONSTANTS = True
HAS_SIGNATURES = True
KEEPS_LOOPS = True
TAKES_OUTPUTS = True
# A node: its name, then its operator.
_NODE = re.compile(
    rb"\n[\x80-\xff]*[\x00-\x7f]\n.([\w.][\w.\\/>-]*)\x12.([A-Z_]\w*)[\x1a\x22\x2a]", re.DOTALL
)
# The version of a SavedModel, then a graph.
_SAVED_MODEL = re.compile(rb"\x08\x01\x12[\x80-\xff]*[\x00-\x7f]\n")
# The same as text.
_TEXT = re.compile(rb"(\s|#[^\n]*\n)*(node\s*\{\s*name\s*:|saved_model_schema_version\s*:|meta_graphs\s*\{)")
_HEAD = 4096
_MAX_TEXT = 1 << 28
_FILES = "a SavedModel is a folder with saved_model.pb, a frozen graph one file"


def sniff(path: Path, head: bytes) -> bool:
    """A message that begins with nodes, the first of which has a name and an operator of these lengths; or a
    SavedModel, or its folder."""
    if path.is_dir():
        return any((path / name).is_file() for name in (FILE, TEXT))
    found = _NODE.match(head)
    is_node = found is not None and all(head[found.start(i) - 1] == len(found[i]) for i in (1, 2))
    is_saved = path.name == FILE and _SAVED_MODEL.match(head) is not None
    return is_node or is_saved or _TEXT.match(head) is not None


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    name: str = "",
    signature: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
) -> Graph:
    """Convert a model; `shapes` binds sizes that the file leaves open, `constants` fixes inputs to values."""
    with reading(model.name):
        path = model / (FILE if (model / FILE).is_file() else TEXT) if model.is_dir() else model
        is_saved = path.name in (FILE, TEXT)
        raw = files.read(path)
        if not sniff(path, raw[:_HEAD]):
            raise EdgeKitError("E0401", "holds no graph of TensorFlow, or a damaged one", model.name, _FILES)
        stored = protobuf.message(_binary(raw, "SavedModel" if is_saved else "GraphDef"), model.name)
        if is_saved:
            net = saved_net(path.parent, stored, signature)
        elif signature:
            raise EdgeKitError("E0103", "a frozen graph has no signatures", hint="leave --signature out")
        else:
            net = frozen(stored)
        bindings = Bindings(shapes or {}, dims or {}, max_iterations)
        conversion = Conversion(net.ended_at(outputs), len(raw), bindings, constants or {})
        graph = conversion.run(name or (path.parent.resolve().name if is_saved else model.stem))
        source = files.source(path, FORMAT, raw, *net.contents, producer=net.producer)
        source = replace(bindings.noted(source), counted_rows=graph.source.counted_rows)
        return replace(graph, source=source)


def _binary(raw: bytes, message: str) -> bytes:
    """A message, where it is text as the bytes that it stands for."""
    if not _TEXT.match(raw[:_HEAD]):
        return raw
    if len(raw) > _MAX_TEXT:
        raise EdgeKitError("E0402", f"{len(raw)} bytes of text are absurd", hint="save it as a binary")
    return of_text(message, text_proto.parse(raw.decode(), message))

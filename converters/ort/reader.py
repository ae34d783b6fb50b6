"""An .ort file -> Graph, by way of the messages of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgekit.converters import files
from edgekit.converters.frontend import reading
from edgekit.converters.onnx.reader import convert as convert_onnx
from edgekit.converters.ort import FORMAT as FORMAT
from edgekit.converters.ort import SUFFIXES as SUFFIXES
from edgekit.converters.ort.model import model_of
from edgekit.converters.ort.schema import schema
from edgekit.core import flatbuffer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.reasons import DamageError
from edgekit.core.types import Array

TAKES_CONSTANTS = True
KEEPS_LOOPS = True
TAKES_OUTPUTS = True
_SHARED = 64  # places that a text may be read from: equal ones are stored once


def sniff(path: Path, head: bytes) -> bool:
    return head[4:8] == schema().identifier


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
    name: str = "",
) -> Graph:
    """Convert a model, with the options of ONNX."""
    with reading(model.name):
        raw = files.read(model)
        try:
            messages = model_of(flatbuffer.read(schema(), raw, _SHARED))
        except DamageError as error:
            hint = "is the download complete?"
            raise EdgeKitError("E0401", f"the file is damaged: {error}", model.name, hint) from None
        producer = " ".join(str(p) for p in (messages.producer_name, messages.producer_version) if p)
        source = files.source(model, FORMAT, raw, producer=producer)
        return convert_onnx(
            messages,
            source=source,
            shapes=shapes,
            dims=dims,
            constants=constants,
            max_iterations=max_iterations,
            outputs=outputs,
            name=name or model.stem,
        )

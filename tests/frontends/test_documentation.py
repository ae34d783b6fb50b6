"""The page of formats names what is read."""

import re
from collections.abc import Mapping
from types import ModuleType

import pytest
from support.tools import ROOT

from edgekit.converters import read
from edgekit.converters.frontend import handlers
from edgekit.converters.gguf.architectures import ARCHITECTURES
from edgekit.converters.gguf.blocks import BLOCKS
from edgekit.converters.keras import function_ops, ops
from edgekit.converters.mxnet import ops as mxnet_ops
from edgekit.converters.ncnn import ops as ncnn_ops
from edgekit.converters.openvino import ops as openvino_ops
from edgekit.converters.tensorflow import ops as tensorflow_ops
from edgekit.converters.tflite import reader as tflite_reader
from edgekit.converters.torch_export import ops as torch_export_ops
from edgekit.converters.transformers.config import DECODERS
from edgekit.converters.transformers.encoder_families import ENCODERS
from edgekit.converters.transformers.seq2seq_families import SEQ2SEQ

PAGE = (ROOT / "docs" / "frontends.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reader", list(read.readers()), ids=lambda reader: reader.FORMAT)
def test_every_format_has_a_row(reader: read.Reader) -> None:
    table = PAGE.partition("\n## ")[0]
    rows = re.findall(r"^\| *([^|]*?) *\| *([^|]*?) *\|", table, re.MULTILINE)
    files = dict(rows)
    assert reader.FORMAT in files, "add the format to docs/frontends.md"
    assert f"`{reader.SUFFIXES[0]}`" in files[reader.FORMAT]


@pytest.mark.parametrize(
    ("package", "heading"),
    [
        (torch_export_ops, "Operators of ATen and of `quantized_decomposed`:"),
        (ops, "Layers of Keras:"),
        (function_ops, "Functions of `keras.ops` in functional models:"),
        (mxnet_ops, "Operators of MXNet, without the `_` and `_contrib_` before some:"),
        (ncnn_ops, "Layers of ncnn, beside `Input`:"),
        (
            openvino_ops,
            "`ReadValue`, `Assign`, `If`, `Loop` and `TensorIterator`:",
        ),
        (tensorflow_ops, "Operators of TensorFlow:"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_operators_are_listed(package: ModuleType, heading: str) -> None:
    assert heading in PAGE
    listed = PAGE.partition(heading)[2].partition(".\n\n")[0]
    names = sorted(handlers(package), key=str.lower)
    assert re.findall(r"`(\w+)`", listed) == names, ", ".join(f"`{name}`" for name in names)


MODELS = (ROOT / "docs" / "language-models.md").read_text(encoding="utf-8")


def test_blocks_of_gguf_are_listed() -> None:
    listed = MODELS.partition("- Block types: ")[2].partition(".")[0]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(block.name for block in BLOCKS.values())


@pytest.mark.parametrize(
    ("heading", "families"),
    [("Encoders", ENCODERS), ("Encoder-decoders", SEQ2SEQ)],
    ids=["encoders", "seq2seq"],
)
def test_families_of_encoders_are_listed(heading: str, families: Mapping[str, object]) -> None:
    section = PAGE.partition(f"\n## {heading}\n")[2]
    listed = re.split(r"\.\s", section.partition("`model_type` may be ")[2])[0]
    assert set(re.findall(r"`(.+?)`", listed)) == set(families)


def test_families_of_language_models_are_listed() -> None:
    rows = re.findall(r"^\| (`.*?) \| .*? \| (.*?) ?\|$", MODELS.partition("### Families")[2], re.MULTILINE)
    families, architectures = (
        {name for row in rows for name in re.findall("`(.+?)`", row[i])} for i in range(2)
    )
    assert families - {"model_type"} == set(DECODERS)
    assert architectures == set(ARCHITECTURES)
    assert f"decoders of {len(DECODERS)} families" in PAGE
    assert f"decoders of {len(ARCHITECTURES)} architectures" in PAGE


def test_custom_operators_of_tflite_are_listed() -> None:
    listed = PAGE.partition("Custom operators that are read:")[2].partition("\n## ")[0]
    custom = {key.split("'")[1] for key in tflite_reader.handlers() if key.startswith("custom ")}
    assert custom
    assert custom <= set(re.findall(r"`(\w+)`", listed))

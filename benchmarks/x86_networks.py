"""Networks for x86-64 in the files that each runtime reads: MLPerf Tiny's, and MobileNetV2 at 224x224.

MobileNetV2 has random weights; it is exported by torch, and written as TFLite from the graph that EdgeKit
makes of that. Its int8 file is made by ai-edge-quantizer, where that can be imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import flatbuffers
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from support.networks import export
from support.tflite_to_onnx import float_tflite, translate

from benchmarks.float_tflite import written
from edgekit import api
from edgekit.core.ir import Graph
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array

TINY = {
    "image classification": ("pretrainedResnet", "pretrainedResnet_quant"),
    "keyword": ("kws_ref_model_float32", "kws_ref_model"),
    "visual wake words": ("vww_96_float", "vww_96_int8"),
    "anomaly": ("ad01_fp32", "ad01_int8"),
}
MOBILENET = "MobileNetV2 224"


@dataclass(frozen=True)
class Network:
    """One network: a TFLite file, of floats or of int8, and always the float ONNX model, channels first."""

    title: str
    is_int8: bool
    tflite: Path
    onnx: Path

    @property
    def numbers(self) -> str:
        return "int8" if self.is_int8 else "float32"


def networks(models: Path, folder: Path) -> Iterator[Network]:
    """All of them, floats first. What has to be written goes to `folder`."""
    sources = {title: models / f"{floats}.tflite" for title, (floats, _) in TINY.items()}
    made = {}
    for title, source in sources.items():
        made[title] = (folder / f"{source.stem}.tflite", folder / f"{source.stem}.onnx")
        made[title][0].write_bytes(float_tflite(source))  # one of them has weights of int8 in parts
        onnx.save(translate(source, layout="NCHW"), made[title][1])
    made[MOBILENET] = _mobilenet(folder)
    for title, (tflite, source) in made.items():
        yield Network(title, False, tflite, source)
    for title, (_, source) in made.items():
        int8 = models / f"{TINY[title][1]}.tflite" if title in TINY else _int8(made[title][0])
        if int8:
            yield Network(title, True, int8, source)


def _mobilenet(folder: Path) -> tuple[Path, Path]:
    """MobileNetV2, padded as TFLite pads: where a stride of 2 leaves an odd cell, behind."""
    tflite, path = folder / "mobilenet_v2.tflite", folder / "mobilenet_v2.onnx"
    model = onnx.load(export("mobilenet_v2", "torchscript", folder))
    for node in model.graph.node:
        fields = {a.name: a for a in node.attribute}
        if node.op_type == "Conv" and list(fields["strides"].ints) == [2, 2]:
            fields["pads"].ints[:] = [0, 0, 1, 1]
    onnx.save(model, path)
    tflite.write_bytes(written(_channels_last(api.convert(path))))
    return tflite, path


def _channels_last(graph: Graph) -> Graph:
    """A graph of one input without the Transpose that comes first."""
    first, (x,) = graph.nodes[0], graph.inputs
    assert isinstance(first.op, Transpose)
    assert list(first.inputs) == [x]
    (y,) = first.outputs
    values = {name: value for name, value in graph.values.items() if name != x}
    return replace(graph, inputs=(y,), nodes=graph.nodes[1:], values=values)


def _int8(source: Path) -> Path | None:
    """An int8 TFLite file of a float one, calibrated on random images."""
    from benchmarks.litert import EDGE_QUANTIZER, input_shape, quantizers

    if not find_spec("ai_edge_quantizer"):
        return None
    path, model = source.with_name(f"{source.stem}_int8.tflite"), source.read_bytes()
    samples = [_image(seed, input_shape(model)) for seed in range(4)]
    path.write_bytes(_in_one_piece(quantizers()[EDGE_QUANTIZER][0](model, samples)))
    return path


def _in_one_piece(file: bytes) -> bytes:
    """A TFLite file with its weights within the tables: the quantizer puts them behind."""
    model = schema.ModelT.InitFromPackedBuf(file, 0)
    for buffer in model.buffers:
        if buffer.offset > 1:
            buffer.data = np.frombuffer(file[buffer.offset : buffer.offset + buffer.size], np.uint8)
            buffer.offset = buffer.size = 0
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _image(seed: int, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)

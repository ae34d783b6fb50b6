"""Files of ONNX Runtime made to do harm: tables that lie, and nodes in circles or of other programs."""

import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.exports import SAMPLES
from support.hostile_files import Case, file

from edgekit.converters.ort.schema import schema
from edgekit.core import flatbuffer

with zipfile.ZipFile(SAMPLES.parent / "recorded" / "ort.zip") as _stored:
    RAW = _stored.read("activations/net.ort")
Graph = dict[str, Any]


def thawed(value: Any) -> Any:
    """Records whose lists can be changed."""
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    return [thawed(item) for item in value] if isinstance(value, tuple) else value


def changed(change: Callable[[Graph], object]) -> Callable[[Path], Path]:
    session = thawed(flatbuffer.read(schema(), RAW, 64))
    change(session["model"]["graph"])
    return file("net.ort", flatbuffer.write(schema(), session))


def node(at: int = 0, **fields: Any) -> Callable[[Path], Path]:
    return changed(lambda graph: graph["nodes"][at].update(fields))


def weight(**fields: Any) -> Callable[[Path], Path]:
    return changed(lambda graph: graph["initializers"][0].update(fields))


def attribute(**fields: Any) -> Callable[[Path], Path]:
    return changed(lambda graph: graph["nodes"][0]["attributes"].append({"name": "more", **fields}))


def circle(graph: Graph) -> None:
    first, second = graph["nodes"][:2]
    first["inputs"].append(second["outputs"][0])


def deep(graph: Graph) -> None:
    for _ in range(40):
        graph["nodes"][0]["attributes"].append({"name": "g", "type": 5, "g": {"nodes": []}})
        graph = graph["nodes"][0]["attributes"][-1]["g"]
        graph["nodes"].append({"op_type": "If", "attributes": []})


CASES = {
    "signature alone": Case("E0401", "damaged", file("net.ort", RAW[:8])),
    "half of a file": Case("E0401", "damaged", file("net.ort", RAW[: len(RAW) // 2])),
    "offset out of the file": Case(
        "E0401", "leads out", file("net.ort", struct.pack("<I", 1 << 31) + RAW[4:])
    ),
    "no model": Case("E0401", "no graph", file("net.ort", flatbuffer.write(schema(), {"ort_version": "6"}))),
    "no graph": Case("E0401", "no graph", file("net.ort", flatbuffer.write(schema(), {"model": {}}))),
    "nodes in a circle": Case("E0401", "their own results", changed(circle)),
    "graphs in graphs without end": Case("E0401", "nested too deep", changed(deep)),
    "node of a provider": Case("E0205", "compiled for", node(type=1, provider="SomeProvider")),
    "unknown operator": Case("E0201", "unsupported op Magic", node(op_type="Magic", domain="")),
    "weights in another file": Case("E0205", "a file of its own", weight(external_data_offset=0)),
    "weights of fewer bytes": Case("E0401", "the data are no", weight(raw_data=b"abc")),
    "weights without end": Case("E0402", "absurd", weight(dims=[1 << 40, 1 << 40])),
    "weights of no type": Case("E0204|E0401", "", weight(data_type=99)),
    "attribute of no type": Case("E0205", "of type 77", attribute(type=77)),
    "attribute without its tensor": Case("E0401", "a tensor is missing", attribute(type=4)),
    "attribute without its graph": Case("E0401", "a graph is missing", attribute(type=5)),
    "input of nothing": Case("E0401|E0204|E0403", "", changed(lambda g: g["inputs"].append("ghost"))),
    "output of nothing": Case("E0401|E0403", "", changed(lambda g: g["outputs"].append("ghost"))),
}

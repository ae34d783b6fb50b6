"""Pairs of MXNet's files made to do harm: arrays that lie about themselves, graphs that make no sense."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.hostile_files import Case, changed_json, file, sample
from support.mxnet_files import V2, Step, listed, symbol

ARRAYS = sample("mxnet/net-0000.params")
SHAPELESS = sample("mxnet/net-symbol.json")
SHAPE = {"attrs": {"__shape__": "(1, 3, 16, 16)"}}
GRAPH = changed_json(SHAPELESS, lambda top: top["nodes"][0].update(SHAPE))


def net(graph: bytes | str = GRAPH, arrays: bytes = ARRAYS) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "net-0000.params").write_bytes(arrays)
        return file("net-symbol.json", graph)(folder)

    return make


def changed(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    return net(changed_json(GRAPH, change))


def stored(*fields: int, kinds: str, data: bytes = b"") -> Callable[[Path], Path]:
    """The file with one array that says this of itself."""
    return net(arrays=listed({"conv0_weight": struct.pack("<" + kinds, *fields) + data}))


def steps(**made: Step) -> Callable[[Path], Path]:
    """A net on an input of 1 x 4 x 5 x 5."""
    graph = symbol(made, ["x"])
    graph["nodes"][0]["attrs"] = {"__shape__": "(1, 4, 5, 5)"}
    return net(json.dumps(graph))


def linked(folder: Path) -> Path:
    (folder / "other").write_bytes(ARRAYS)
    (folder / "net-0000.params").symlink_to(folder / "other")
    return file("net-symbol.json", GRAPH)(folder)


def forward(top: Any) -> None:
    """The first operator reads the result of the last."""
    top["nodes"][3]["inputs"][0] = [14, 0, 0]


CASES = {
    "no arrays": Case("E0104", "net-0000.params belongs beside", file("net-symbol.json", GRAPH)),
    "no graph": Case("E0104", "net-symbol.json belongs beside", file("net-0000.params", ARRAYS)),
    "arrays are a link": Case("E0404", "copy the file", linked),
    "arrays are something else": Case("E0401", "no list of arrays", net(arrays=b"PK\3\4" + bytes(64))),
    "arrays that end": Case("E0401", "takes", net(arrays=ARRAYS[:900])),
    "arrays without end": Case(
        "E0401", "more things", net(arrays=struct.pack("<QQQ", 0x112, 0, 1 << 62) + bytes(64))
    ),
    "array of a petabyte": Case(
        "E0402",
        "absurd",
        stored(V2, 0, 2, 1 << 30, 1 << 30, 1, 0, 0, kinds="IiIqqiii"),
    ),
    "array of less than nothing": Case("E0402", "absurd", stored(V2, 0, 1, -4, 1, 0, 0, kinds="IiIqiii")),
    "array of a million dimensions": Case("E0401", "dimensions", stored(V2, 0, 1 << 20, kinds="IiI")),
    "array of an unknown type": Case("E0204", "type 99", stored(V2, 0, 1, 1, 1, 0, 99, kinds="IiIqiii")),
    "sparse array": Case("E0205", "tostype", stored(V2, 1, 1, 1, kinds="IiIq", data=bytes(64))),
    "weight that is not there": Case("E0401", "weight conv0_weight", net(arrays=listed({}))),
    "node of the future": Case("E0401", "computed by nothing", changed(forward)),
    "result that nothing gives": Case(
        "E0205", "result 7", changed(lambda top: top.update(heads=[[14, 7, 0]]))
    ),
    "head beyond all nodes": Case(
        "E0401",
        "computed by nothing",
        changed(lambda top: top.update(heads=[[99, 0, 0]])),
    ),
    "edge that is no edge": Case(
        "E0401", "should be", changed(lambda top: top["nodes"][3].update(inputs=[["0", None]]))
    ),
    "input without a shape": Case("E0302", "--shape data", net(SHAPELESS)),
    "setting without end": Case(
        "E0402", "absurd", steps(y=("Reshape", ["x"], {"shape": "(" + "1," * 100_000 + ")"}))
    ),
    "settings within settings": Case("E0203", "nested", steps(y=("Reshape", ["x"], {"shape": "((1,),)"}))),
    "constant of a petabyte": Case(
        "E0402", "absurd", steps(y=("_zeros", [], {"shape": "(100000, 100000, 100000)"}))
    ),
    "range without end": Case("E0402", "absurd", steps(y=("_arange", [], {"start": 0, "stop": 1e30}))),
    "repeated without end": Case(
        "E0402", "tensor of", steps(y=("tile", ["x"], {"reps": "(65536, 65536, 1, 1)"}))
    ),
    "window of nothing": Case("E0401", "a window of 0", steps(y=("Pooling", ["x"], {"kernel": "(0, 0)"}))),
    "code of others": Case("E0201", "unsupported op Custom", steps(y=("Custom", ["x"], {"op_type": "evil"}))),
}

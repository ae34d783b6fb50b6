"""Small nets of MXNet for tests: the graph as JSON, the arrays in the bytes of a .params file."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.core.types import Array

V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
TYPES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}

# One operator: its kind, the names of what it reads (a number behind : chooses a result), its settings.
Step = tuple[str, Sequence[str], Mapping[str, Any]]


def symbol(steps: Mapping[str, Step], variables: Sequence[str], heads: Sequence[str] = ()) -> dict[str, Any]:
    """The graph of steps by name; settings become text, as MXNet writes them."""
    nodes: list[dict[str, Any]] = [{"op": "null", "name": name, "inputs": []} for name in variables]
    places = {name: i for i, name in enumerate(variables)}

    def edge(name: str) -> list[int]:
        node, _, result = name.partition(":")
        return [places[node], int(result or 0), 0]

    for name, (kind, operands, settings) in steps.items():
        places[name] = len(nodes)
        attrs = {key: str(value) for key, value in settings.items()}
        nodes.append({"op": kind, "name": name, "attrs": attrs, "inputs": [edge(o) for o in operands]})
    return {"nodes": nodes, "heads": [edge(h) for h in heads or [list(places)[-1]]]}


def array(data: Array, version: int = V2) -> bytes:
    """One array as versions of MXNet wrote it; 0 stands for the first years."""
    dims = struct.pack(f"<{data.ndim}{'q' if version else 'I'}", *data.shape)
    opening = struct.pack("<I", version) if version else b""
    storage = struct.pack("<i", 0) if version in (V2, V3) else b""
    context = struct.pack("<iii", 1, 0, TYPES[str(data.dtype)])
    return opening + storage + struct.pack("<I", data.ndim) + dims + context + data.tobytes()


def listed(arrays: Mapping[str, bytes]) -> bytes:
    """A .params file of arrays in bytes."""
    names = b"".join(struct.pack("<Q", len(name)) + name.encode() for name in arrays)
    count = struct.pack("<Q", len(arrays))
    return struct.pack("<QQ", 0x112, 0) + count + b"".join(arrays.values()) + count + names


def params(weights: Mapping[str, Array], version: int = V2) -> bytes:
    return listed({f"arg:{name}": array(data, version) for name, data in weights.items()})


def write(folder: Path, graph: Mapping[str, Any], weights: Mapping[str, Array], version: int = V2) -> Path:
    (folder / "net-0000.params").write_bytes(params(weights, version))
    (folder / "net-symbol.json").write_text(json.dumps(graph), encoding="utf-8")
    return folder / "net-symbol.json"


def weights_of(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(len(shapes))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

"""Small nets of Caffe for tests: the text as given, the weights by layer in protocol buffers made by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from edgekit.core.types import Array


def varint(value: int) -> bytes:
    made = b""
    while value > 0x7F:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])


def part(field: int, content: bytes) -> bytes:
    """A field of bytes."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def blob(data: bytes, shape: Sequence[int]) -> bytes:
    dims = b"".join(b"\x08" + varint(n) for n in shape)
    return part(7, dims) + part(5, data)


def caffemodel(weights: Mapping[str, Sequence[Array]]) -> bytes:
    """The file with the blobs of each layer."""
    layers = (
        part(1, name.encode())
        + b"".join(part(7, blob(np.asarray(a, "<f4").tobytes(), a.shape)) for a in blobs)
        for name, blobs in weights.items()
    )
    return part(1, b"net") + b"".join(part(100, layer) for layer in layers)


def text(shapes: Mapping[str, Sequence[int]], *layers: str) -> str:
    """Inputs, then layers as they are written between the braces."""
    inputs = [
        f'name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ dim: {list(shape)} }} }}'
        for name, shape in shapes.items()
    ]
    return "\n".join(f"layer {{ {layer} }}" for layer in [*inputs, *layers])


def write(folder: Path, net: str, weights: Mapping[str, Sequence[Array]]) -> Path:
    (folder / "net.caffemodel").write_bytes(caffemodel(weights))
    (folder / "net.prototxt").write_text(net, encoding="utf-8")
    return folder / "net.prototxt"

"""OpenVINO's files by hand: layers as text, with the edges between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from edgekit.core.types import Array

Place = tuple[int, int]
_PRECISIONS = {"f32": "FP32", "f16": "FP16", "i64": "I64", "i32": "I32", "boolean": "BOOL"}


def port(id: int, shape: Sequence[int | str], kind: str = "f32", names: str = "") -> str:
    named = f' names="{names}"' if names else ""
    sizes = "".join(f"<dim>{n}</dim>" for n in shape)
    return f'<port id="{id}" precision="{_PRECISIONS.get(kind, kind)}"{named}>{sizes}</port>'


def layer(
    id: int,
    type: str,
    inputs: int = 0,
    outputs: Sequence[str] = (),
    version: str = "opset1",
    inner: str = "",
    **data: object,
) -> str:
    """A layer whose inputs are ports from 0 on, and which has these ports as outputs."""
    settings = "".join(f' {key}="{value}"' for key, value in data.items())
    ins = "".join(f'<port id="{i}"/>' for i in range(inputs))
    sides = f"<input>{ins}</input>" if inputs else ""
    sides += f"<output>{''.join(outputs)}</output>" if outputs else ""
    name = f"{type.lower()}_{id}"
    head = f'<layer id="{id}" name="{name}" type="{type}" version="{version}">'
    return f"{head}<data{settings}/>{inner}{sides}</layer>"


def parameter(id: int, shape: Sequence[int | str], kind: str = "f32", names: str = "") -> str:
    """An input, whose sizes may be open."""
    known = [-1 if isinstance(n, str) else n for n in shape]
    text = ",".join(map(str, shape))
    return layer(id, "Parameter", outputs=[port(0, known, kind, names)], shape=text, element_type=kind)


def result(id: int) -> str:
    return layer(id, "Result", inputs=1)


def edges(pairs: Mapping[Place, Place]) -> str:
    """From an output to an input."""
    return "".join(
        f'<edge from-layer="{a}" from-port="{p}" to-layer="{b}" to-port="{q}"/>'
        for (b, q), (a, p) in pairs.items()
    )


def net(layers: Sequence[str], sources: Mapping[Place, Place], tag: str = "net", version: int = 11) -> str:
    attributes = f' name="net" version="{version}"' if tag == "net" else ""
    return f"<{tag}{attributes}><layers>{''.join(layers)}</layers><edges>{edges(sources)}</edges></{tag}>"


class Weights:
    """The bytes of a .bin file, which grows by each constant."""

    def __init__(self) -> None:
        self.raw = b""

    def constant(self, id: int, kind: str, data: Array) -> str:
        shape = ",".join(map(str, data.shape))
        self.raw += (content := data.tobytes())
        return layer(
            *(id, "Const"),
            outputs=[port(0, data.shape, kind)],
            element_type=kind,
            shape=shape,
            offset=len(self.raw) - len(content),
            size=len(content),
        )


def write(folder: Path, text: str, weights: bytes = b"") -> Path:
    """Both files; the first one is to be converted."""
    path = folder / "net.xml"
    path.write_text('<?xml version="1.0"?>\n' + text, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(weights)
    return path


def written(text: str, weights: bytes = b"") -> Callable[[Path], Path]:
    return lambda folder: write(folder, text, weights)

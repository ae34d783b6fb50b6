"""ncnn's files by hand: lines of layers, and weights one after the other."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from edgekit.core.types import Array

MAGIC = "7767517"
FLOATS, HALVES = 0, 0x01306B47


@dataclass
class Net:
    """Lines after that of inputs, each with the blobs that it makes, and all weights."""

    lines: list[str] = field(default_factory=list)
    weights: bytes = b""

    def input(self, name: str, *shape: int) -> Net:
        keys = {1: "0", 2: "10", 3: "210"}[len(shape)]
        settings = " ".join(f"{key}={n}" for key, n in zip(keys, shape, strict=True))
        self.lines.append(f"Input {name} 0 1 {name} {settings}")
        return self

    def layer(self, kind: str, inputs: str, outputs: str, settings: str = "") -> Net:
        ins, outs = inputs.split(), outputs.split()
        words = [
            kind,
            f"{kind.lower()}_{len(self.lines)}",
            str(len(ins)),
            str(len(outs)),
            *ins,
            *outs,
            settings,
        ]
        self.lines.append(" ".join(words).strip())
        return self

    def plain(self, *arrays: Array) -> Net:
        for array in arrays:
            self.weights += array.astype("<f4").tobytes()
        return self

    def tagged(self, *arrays: Array, tag: int = FLOATS) -> Net:
        for array in arrays:
            content = array.astype("<f2" if tag == HALVES else "<f4").tobytes()
            self.weights += struct.pack("<I", tag) + content + bytes(-len(content) % 4)
        return self

    @property
    def text(self) -> str:
        blobs = {word for line in self.lines for word in line.split()[4:] if "=" not in word}
        return "\n".join([MAGIC, f"{len(self.lines)} {len(blobs)}", *self.lines]) + "\n"

    def write(self, folder: Path) -> Path:
        """Both files; the first one is to be converted."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "net.bin").write_bytes(self.weights)
        path = folder / "net.param"
        path.write_text(self.text, encoding="utf-8")
        return path


def one(kind: str, settings: str, *shapes: Sequence[int], outputs: int = 1) -> Net:
    """A net of one layer over inputs of these shapes."""
    made = Net()
    names = [f"in{i}" for i in range(len(shapes))]
    for name, shape in zip(names, shapes, strict=True):
        made.input(name, *shape)
    return made.layer(kind, " ".join(names), " ".join(f"out{i}" for i in range(outputs)), settings)


def written(text: str, weights: bytes = b"") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / "net.bin").write_bytes(weights)
        path = folder / "net.param"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def random(*shape: int, seed: int = 0) -> Array:
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) / 2).astype(np.float32)

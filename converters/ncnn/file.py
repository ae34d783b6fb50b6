"""ncnn's two files: lines of layers with numbered settings, and weights in the order of layers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.converters import files
from edgekit.converters.file_formats.text_numbers import integer, is_integer, number
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

MAGIC = "7767517"
_MAX_BLOBS = 1 << 16  # of a layer
_ARRAYS = -23300  # before the number of a setting that is an array
_HALVES, _BYTES, _FLOATS, _TABLE = 0x01306B47, 0x000D4B38, 0x0002C056, 256
_COMPLETE = "is the file complete?"


@dataclass(frozen=True)
class Layer:
    """A line of the text: a type, the names of blobs, and settings by their numbers."""

    type: str
    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    settings: Mapping[int, str]

    def integer(self, key: int, default: int = 0) -> int:
        """A setting that is an integer."""
        text = self.settings.get(key)
        return default if text is None else integer(text, f"setting {key}")

    def number(self, key: int, default: float = 0.0) -> float:
        """A setting that is a number."""
        text = self.settings.get(key)
        return default if text is None else number(text, f"setting {key}")

    def numbers(self, key: int) -> list[float]:
        """A setting that is an array, in either of two forms."""
        counted, plain = self.settings.get(_ARRAYS - key), self.settings.get(key)
        parts = [] if plain is None else plain.split(",")
        if counted is not None:
            count, *parts = counted.split(",")
            if count != str(len(parts)):
                raise EdgeKitError("E0401", f"setting {key} has {len(parts)} numbers, it says {count[:20]}")
        return [number(part, f"setting {key}") for part in parts]

    def integers(self, key: int) -> list[int]:
        return [int(number) for number in self.numbers(key)]

    def refuse(self, *keys: int) -> None:
        """Refuse settings that change what the layer computes, where they are not 0."""
        for key in keys:
            if self.settings.get(key, "0") not in ("0", ""):
                value = self.settings[key][:20]
                raise EdgeKitError("E0203", f"{self.type}: setting {key}={value} is not supported")


def layers(text: str, where: str) -> list[Layer]:
    """The layers of a file, as many as it says, in the order in which they run and load their weights."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or lines[0] != [MAGIC] or len(lines[1]) != 2:
        raise EdgeKitError("E0401", f"does not begin with {MAGIC} and two counts", where, _COMPLETE)
    text, found = lines[1][0], lines[2:]
    if not is_integer(text) or not 0 < int(text) <= len(found):
        raise EdgeKitError("E0401", f"has {len(found)} layers, it says {text[:20]}", where, _COMPLETE)
    return [_layer(words, f"{where}, layer {i}") for i, words in enumerate(found[: int(text)])]


def _layer(words: Sequence[str], where: str) -> Layer:
    counts = [int(word) for word in words[2:4] if word.isdecimal() and len(word) < 6]
    if len(counts) != 2 or max(counts) > _MAX_BLOBS or len(words) < 4 + sum(counts):
        raise EdgeKitError("E0401", "a line without its blobs", where, _COMPLETE)
    ins, outs = words[4 : 4 + counts[0]], words[4 + counts[0] : 4 + sum(counts)]
    settings: dict[int, str] = {}
    for word in words[4 + sum(counts) :]:
        key, equals, value = word.partition("=")
        if not equals or not is_integer(key) or int(key) in settings:
            raise EdgeKitError("E0401", f"setting {word[:40]!r}", where)
        settings[int(key)] = value.strip('"') if value.startswith('"') else value
    return Layer(words[0], words[1], ins, outs, settings)


class Weights:
    """The bytes of the second file, which layers read one after the other."""

    def __init__(self, raw: bytes, where: str) -> None:
        self.raw, self.where, self.at = raw, where, 0

    def plain(self, *shape: int) -> Array:
        """Floats without a word of how they are stored."""
        return self._array(DType.F32, shape)

    def tagged(self, *shape: int) -> Array:
        """Floats after a word that says how they are stored: in 32 or 16 bits, or as places in a table."""
        (tag,) = struct.unpack("<I", self._take(4))
        if tag == _HALVES:
            return self._array(DType.F16, shape).astype(np.float32)
        if tag == _BYTES:
            hint = "convert the model with floats, and quantize it by `edgekit quantize`"
            raise EdgeKitError("E0205", "weights in int8 are not supported", self.where, hint)
        if tag == _FLOATS or not sum(tag.to_bytes(4, "little")):
            return self._array(DType.F32, shape)
        table = self._array(DType.F32, (_TABLE,))
        found: Array = table[self._array(DType.U8, shape)]
        return found

    def _array(self, dtype: DType, shape: Sequence[int]) -> Array:
        size = prod(shape) * dtype.bytes
        if min(shape, default=1) < 0 or size > len(self.raw):
            raise EdgeKitError("E0401", f"has no weights {list(shape)[:8]}", self.where, _COMPLETE)
        raw = self._take(size)
        self.at += -size % 4
        return files.array(raw, dtype, shape, self.where)

    def _take(self, size: int) -> bytes:
        if self.at + size > len(self.raw):
            message = f"ends at byte {len(self.raw)}, within weights"
            raise EdgeKitError("E0401", message, self.where, _COMPLETE)
        self.at += size
        return self.raw[self.at - size : self.at]

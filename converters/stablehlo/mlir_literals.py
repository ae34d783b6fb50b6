"""Types and constants of MLIR text: tensor<2x?xf32>, and dense<...> with splats, lists and bytes in hex."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgekit.converters import files
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

# What is written of a signed integer is the width alone.
_DTYPES: Mapping[str, DType] = {
    "i1": DType.BOOL,
    "i4": DType.S4,
    "i8": DType.S8,
    "i16": DType.S16,
    "i32": DType.S32,
    "i64": DType.S64,
    "ui4": DType.U4,
    "ui8": DType.U8,
    "ui16": DType.U16,
    "ui32": DType.U32,
    "ui64": DType.U64,
    "f16": DType.F16,
    "bf16": DType.BF16,
    "f32": DType.F32,
    "f64": DType.F64,
}
_TENSOR = re.compile(r"tensor<((?:(?:\?|\d+)x)*)([a-z]+\d+)>")
_ELEMENT = re.compile(r"[^\s\[\],]+")


@dataclass(frozen=True)
class Spec:
    """A type as it is written; `dims` has None for sizes that are open, and is None for what is no tensor."""

    text: str
    dims: tuple[int | None, ...] | None
    element: str = ""

    @property
    def dtype(self) -> DType:
        if self.dims is None or self.element not in _DTYPES:
            raise EdgeKitError("E0205", f"values of type {self._short} are not supported")
        return _DTYPES[self.element]

    @property
    def _short(self) -> str:
        """On one line: a damaged file may go on for many."""
        return " ".join(self.text.split())[:60]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, all of which have to be known."""
        dims = self.dims or ()
        if self.dims is None or None in dims:
            raise EdgeKitError("E0401", f"{self._short} has no size that is known")
        return tuple(d for d in dims if d is not None)


def spec(text: str) -> Spec:
    found = _TENSOR.fullmatch(text)
    if found is None:
        return Spec(text, None)
    sizes = [None if size == "?" else int(size) for size in found[1].split("x")[:-1]]
    return Spec(text, tuple(sizes), found[2])


def dense(text: str, type: Spec) -> Array:
    """The array that dense<...> of this type is. One element stands for all of them."""
    if text.startswith("dense_resource"):
        hint = 'write the text without resources: large constants belong into it as dense<"0x...">'
        raise EdgeKitError("E0205", "constants in resources are not supported", hint=hint)
    content, dtype, shape = text[len("dense<") : -1].strip(), type.dtype, type.shape
    if absurd(shape):
        raise EdgeKitError("E0402", f"a constant of {type.text[:60]} is absurd")
    if content.startswith('"'):
        return _from_bytes(content, dtype, shape, type.text)
    words = _ELEMENT.findall(content)
    is_splat = "[" not in content and len(words) == 1
    if not is_splat and (len(words) != math.prod(shape) or not _nested(content, shape)):
        raise EdgeKitError("E0401", f"{len(words)} elements do not make a {type.text[:60]}")
    flat = _elements(words, dtype)
    return _splat(flat, shape) if is_splat else flat.reshape(shape)


def _from_bytes(content: str, dtype: DType, shape: tuple[int, ...], what: str) -> Array:
    try:
        raw = bytes.fromhex(content.strip('"').removeprefix("0x"))
    except ValueError:
        raise EdgeKitError("E0401", f"a constant of {what[:60]} is no hexadecimal number") from None
    size = math.prod(shape)
    if dtype is DType.BOOL:  # eight of them in a byte
        if size == 1 or raw not in (b"\0", b"\xff"):
            bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[:size]
            raw = bits.tobytes()
        else:
            return _splat(np.array([raw != b"\0"]), shape)
    if len(raw) == dtype.bytes and size != 1:
        return _splat(files.array(raw, dtype, (1,), what, exact=True), shape)
    return files.array(raw, dtype, shape, what, exact=True)


def _splat(flat: Array, shape: tuple[int, ...]) -> Array:
    """One element everywhere; without a copy, as a text of a few bytes may ask for a gigabyte."""
    return np.broadcast_to(flat.reshape((1,) * len(shape)), shape)


def _elements(words: list[str], dtype: DType) -> Array:
    try:
        if dtype is DType.BOOL:
            return np.array([{"true": True, "false": False}[word] for word in words], np.bool_)
        if dtype.is_integer:
            wide = np.uint64 if dtype is DType.U64 else np.int64
            return np.array([int(word, 0) for word in words], wide).astype(dtype.numpy)
        values = [_bits(word, dtype) if word.startswith("0x") else float(word) for word in words]
        return np.array(values, np.float64).astype(dtype.numpy)
    except (KeyError, ValueError, OverflowError):
        raise EdgeKitError("E0401", f"a constant holds what is no {dtype.value}") from None


def _bits(word: str, dtype: DType) -> float:
    """A float by its bits: how MLIR writes infinities."""
    raw = int(word, 16).to_bytes(dtype.bytes, "little")
    return float(np.frombuffer(raw, dtype.numpy)[0])


def _nested(content: str, shape: tuple[int, ...]) -> bool:
    """Do the brackets nest as the shape says?"""
    pattern = "e"
    for size in reversed(shape):
        pattern = "[" + ",".join([pattern] * size) + "]"
    if not math.prod(shape):
        return True
    return "".join(_ELEMENT.sub("e", content).split()) == pattern

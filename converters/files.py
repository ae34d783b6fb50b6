"""Reads model files and what lies beside them within bounds, and the arrays that are in their bytes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.core import files
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Source
from edgekit.core.types import Array, DType

MAX_FILE = 1 << 31
_PIECE = 1 << 20
_MAX_JSON = 1 << 28
_MAX_GROWTH = 64
_FREE_BYTES = 1 << 24
_COMPLETE = "is the file complete?"


def read(path: Path, limit: int = MAX_FILE) -> bytes:
    """All bytes of a plain file."""
    return files.read(path, limit - 1)


def read_companion(model: Path, suffix: str, what: str, limit: int = MAX_FILE) -> bytes:
    """The file beside a model that differs from it in its suffix: a plain file, no link."""
    return read_beside(model, model.stem + suffix, what, limit)


def read_beside(model: Path, name: str, what: str, limit: int = MAX_FILE) -> bytes:
    """A file of this name in the folder of the model. `what` says to people what it holds."""
    if not name or name in (".", "..") or any(c in name for c in "/\\:\0"):
        raise EdgeKitError("E0404", f"{what} {name[:100]!r} is outside of the model's folder", model.name)
    path = model.parent / name
    try:
        if path.is_symlink():
            raise EdgeKitError("E0404", f"{what} {name[:100]} is a link", model.name, "copy the file")
        found = path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        found = False
    if not found:
        hint = f"{name[:100]} belongs beside {model.name}"
        raise EdgeKitError("E0104", f"{what} {name[:100]} is missing", model.name, hint)
    return files.read(path, limit - 1, model.parent)


def source(path: Path, format: str, *contents: bytes, producer: str = "") -> Source:
    """Where a model came from: its name, and the digest of all bytes that it consists of; those of the file
    where none are given, a piece at a time."""
    digest = hashlib.sha256()
    for content in contents or _pieces(path):
        digest.update(content)
    name = path.name.encode(errors="replace").decode()  # a file name need not be text
    return Source(name, digest.hexdigest(), format, producer)


def _pieces(path: Path) -> Iterator[bytes]:
    try:
        with files.opened(path) as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None


def parse_json(raw: bytes, what: str) -> Any:
    """JSON of bounded size; NaN and infinities as Python writes them are numbers."""
    if len(raw) > _MAX_JSON:
        raise EdgeKitError("E0402", f"{what} has {len(raw)} bytes of JSON")
    try:
        return json.loads(raw)
    except RecursionError:
        raise EdgeKitError("E0402", f"{what} is nested without end") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise EdgeKitError("E0401", f"{what} is not valid JSON: {where}", hint=_COMPLETE) from None
    except UnicodeDecodeError as error:
        raise EdgeKitError(
            "E0401", f"{what} is not valid JSON: byte {error.start} is not valid UTF-8"
        ) from None
    except ValueError:  # of thousands of digits
        raise EdgeKitError("E0401", f"{what} holds a number that is too long") from None


def array(
    raw: bytes | memoryview,
    dtype: DType,
    shape: Sequence[int],
    where: str,
    *,
    offset: int = 0,
    strides: Sequence[int] | None = None,
    exact: bool = False,
) -> Array:
    """The tensor that begins `offset` bytes into raw, little-endian, a copy. `strides` are in elements, for
    views into a storage; `exact` asks that nothing comes behind it."""
    if absurd(shape):
        raise EdgeKitError("E0402", f"shape {list(shape)[:8]} is absurd", where)
    if strides is not None and (len(strides) != len(shape) or any(s < 0 for s in strides)):
        raise EdgeKitError("E0401", f"strides {list(strides)[:8]} do not fit {list(shape)[:8]}", where)
    size, width = math.prod(shape), dtype.bytes
    if size * width > _MAX_GROWTH * len(raw) + _FREE_BYTES:  # strides of 0 repeat what is there
        raise EdgeKitError("E0402", f"{list(shape)[:8]} of {len(raw)} bytes is absurd", where)
    reach = size if strides is None else sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
    needed = (reach if size else 0) * width
    if offset < 0 or offset + needed > len(raw) or (exact and offset + needed != len(raw)):
        message = f"{list(shape)[:8]} takes {needed} bytes from {offset} on, there are {len(raw)}"
        raise EdgeKitError("E0401", message, where)
    storage = np.uint8 if dtype is DType.BOOL else dtype.numpy
    flat = np.frombuffer(raw, storage, count=needed // width, offset=offset)
    if strides is not None and size:
        steps = [s * width for s in strides]
        flat = np.lib.stride_tricks.as_strided(flat, tuple(shape), steps, writeable=False)
    made = np.array(flat).reshape(tuple(shape))
    return made != 0 if dtype is DType.BOOL else made  # numpy trusts that a bool is 0 or 1

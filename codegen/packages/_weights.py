"""The weights of an npm package, once in a file as the model has them, and how modules pack them for kernels.

A module says it in a section of JSON, which JavaScript reads before it brings the weights into memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.codegen.compilation import wasm
from edgekit.codegen.constants import Constant
from edgekit.codegen.kernels.pack_loops import Nest, gathered, nests
from edgekit.codegen.printing.literal import stored
from edgekit.codegen.printing.render import weight_blocks
from edgekit.codegen.program import Program

ID_BYTES = 16  # in front of the weights: what tells whose they are
SECTION = "edgekit.weights"
_MAX_DIFFERENT_SHARE = 1 / 16  # of the bytes of a constant: what may differ from what loops make of it
_MAX_POSITION = 1 << 24  # of a byte that differs
_MAX_GROWTH = 1.25  # of what a page fetches, for a file that other modules share


@dataclass(frozen=True)
class Part:
    """A constant of a module, or a part of one."""

    at: int  # from the start of all of them in memory, in bytes
    data: bytes  # in the file
    width: int  # bytes of an element; 0: bytes that replace some of another part, each behind 24 bits: where
    nests: tuple[Nest, ...] = ()  # that pack it; none: it is packed in the file


def parts(program: Program) -> tuple[Part, ...]:
    """The constants of a program, in the order in which room.S.j2 has room for them."""
    found: list[Part] = []
    at = 0
    for constant, padded in weight_blocks(program):
        found += _parts(constant, at)
        at += len(padded)
    return tuple(found)


def _parts(constant: Constant, at: int) -> Iterator[Part]:
    """Loops, if they make almost all of what the layout means: this is tried, not reasoned."""
    packed, source = stored(constant.data), np.ascontiguousarray(stored(constant.unpacked))
    # `light` has words in front of what it moves, and changes some weights.
    layout = constant.layout.removeprefix("light ")
    loops = nests(layout, source.shape, constant.groups) if layout else ()
    raw = np.frombuffer(packed.tobytes(), np.uint8)
    made = np.frombuffer(gathered(loops, source).tobytes() if loops else b"", np.uint8)
    head = raw.size - made.size
    differ = np.flatnonzero(raw[head:] != made) if loops and head >= 0 else np.arange(raw.size)
    if len(differ) > _MAX_DIFFERENT_SHARE * made.size or made.size > _MAX_POSITION:
        yield Part(at, raw.tobytes(), packed.itemsize)
        return
    if head:
        yield Part(at, raw[:head].tobytes(), packed.itemsize)
    yield Part(at + head, source.tobytes(), source.itemsize, loops)
    if len(differ):
        changes = (differ << 8 | raw[head:][differ]).astype(np.uint32)
        yield Part(at + head, changes.tobytes(), 0)


@dataclass(frozen=True)
class WeightsFile:
    """The constants of some modules, equal ones once."""

    data: bytes
    places: Mapping[bytes, int]  # where each of them is

    @property
    def id(self) -> str:
        return self.data[:ID_BYTES].hex()


def weights_files(modules: Sequence[Sequence[Part]]) -> list[WeightsFile | None]:
    """The file of each module, None where it has its weights inside: the same one for all, unless a page
    would fetch much that its module does not need. Sparse blocks of each kind of vectors are such a case."""
    groups: list[list[int]] = []
    for i in (i for i, own in enumerate(modules) if own):
        group = next((group for group in groups if _fit([modules[k] for k in (*group, i)])), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    files = {i: file for group in groups for file in [_file([modules[k] for k in group])] for i in group}
    return [files.get(i) for i in range(len(modules))]


def _fit(modules: Sequence[Sequence[Part]]) -> bool:
    """Into one file."""
    sizes = [sum(map(len, {part.data for part in own})) for own in modules]
    return sum(map(len, {part.data for own in modules for part in own})) <= _MAX_GROWTH * min(sizes)


def _file(modules: Sequence[Sequence[Part]]) -> WeightsFile:
    places: dict[bytes, int] = {}
    end = ID_BYTES
    for part in (part for module in modules for part in module):
        if part.data not in places:
            places[part.data] = end
            end += len(part.data)
    content = b"".join(places)
    return WeightsFile(hashlib.sha256(content).digest()[:ID_BYTES] + content, places)


def with_weights(module: bytes, own: Sequence[Part], room: int, file: WeightsFile) -> bytes:
    """The module with a section for JavaScript: where its weights are in the file, and where they go in
    `room` bytes of its memory."""
    uses: dict[bytes, list[object]] = {}
    for part in own:
        packed = [(nest.start, nest.axes, nest.loops) for nest in part.nests]
        uses.setdefault(part.data, []).append([part.at, part.width, packed])
    rows = sorted((file.places[data], len(data), use) for data, use in uses.items())
    about = {"id": file.id, "bytes": len(file.data), "room": room, "parts": rows}
    return wasm.with_section(module, SECTION, json.dumps(about, separators=(",", ":")).encode())

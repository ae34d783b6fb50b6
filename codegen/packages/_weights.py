"""The weights of an npm package, once in a file as the model has them, and how modules pack them for kernels.

A module says it in a section of JSON, which JavaScript reads before it brings the weights into memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.codegen.compilation import wasm
from edgekit.codegen.kernels.pack_loops import Nest, gathered, nests
from edgekit.codegen.printing.literal import stored
from edgekit.codegen.printing.render import weight_blocks
from edgekit.codegen.program import Constant, Program

ID_BYTES = 16  # in front of the weights: what tells whose they are
SECTION = "edgekit.weights"


@dataclass(frozen=True)
class Part:
    """A constant of a module."""

    at: int  # from the start of all of them in memory, in bytes
    room: int  # bytes there
    data: bytes  # in the file
    width: int  # bytes of an element
    nests: tuple[Nest, ...] = ()  # that pack it; none: it is packed in the file


def parts(program: Program) -> tuple[Part, ...]:
    """The constants of a program, in the order in which room.S.j2 has room for them."""
    found, at = [], 0
    for constant, padded in weight_blocks(program):
        found.append(_part(constant, at, len(padded)))
        at += len(padded)
    return tuple(found)


def _part(constant: Constant, at: int, room: int) -> Part:
    packed, source = stored(constant.data), stored(constant.unpacked)
    loops = nests(constant.layout, source.shape, constant.groups) if constant.layout else ()
    # Whether loops make what the layout means is not reasoned, but tried.
    if loops and packed.dtype == source.dtype and np.array_equal(gathered(loops, source), packed):
        return Part(at, room, np.ascontiguousarray(source).tobytes(), source.itemsize, loops)
    return Part(at, room, packed.tobytes(), packed.itemsize)


@dataclass(frozen=True)
class WeightsFile:
    """The constants of all modules of a package, equal ones once."""

    data: bytes
    places: Mapping[bytes, int]  # where each of them is

    @property
    def id(self) -> str:
        return self.data[:ID_BYTES].hex()


def weights_file(modules: Iterable[Sequence[Part]]) -> WeightsFile | None:
    """None where modules have their weights inside."""
    places: dict[bytes, int] = {}
    end = ID_BYTES
    for part in (part for module in modules for part in module):
        if part.data not in places:
            places[part.data] = end
            end += len(part.data)
    content = b"".join(places)
    return WeightsFile(hashlib.sha256(content).digest()[:ID_BYTES] + content, places) if places else None


def with_weights(module: bytes, own: Sequence[Part], file: WeightsFile) -> bytes:
    """The module with a section for JavaScript: where its weights are in the file, and where they go in its
    memory."""
    uses: dict[bytes, list[object]] = {}
    for part in own:
        packed = [(nest.start, nest.axes, nest.loops) for nest in part.nests]
        uses.setdefault(part.data, []).append([part.at, part.width, packed])
    rows = sorted((file.places[data], len(data), use) for data, use in uses.items())
    about = {"id": file.id, "bytes": len(file.data), "room": sum(part.room for part in own), "parts": rows}
    return wasm.with_section(module, SECTION, json.dumps(about, separators=(",", ":")).encode())

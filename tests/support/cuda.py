"""Kernels in CUDA C on this processor: compiled as C++, with threads that take turns."""

import ctypes
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.tools import require

from edgekit.codegen.gpu.ast import Kind
from edgekit.codegen.gpu.cuda import Cuda, program
from edgekit.codegen.gpu.use import Use
from edgekit.core.types import Array

WORDS = Path(__file__).parent / "cuda_words.h"
START = 4  # the first element of every buffer, so that kernels must count from there
OUTSIDE = 0xA5


@dataclass
class HostCuda:
    """Each graph is a library in this folder."""

    folder: Path
    count: int = 0

    def compute(self, uses: Sequence[Use], buffers: Sequence[Sequence[Array]]) -> None:
        library = self._library(uses)
        for i, (use, given) in enumerate(zip(uses, buffers, strict=True)):
            rooms = [
                _with_borders(data, START * b.kind.bytes)
                for data, b in zip(given, use.kernel.buffers, strict=True)
            ]
            library[f"use_{i}"](*(ctypes.c_void_p(room.ctypes.data) for room in rooms))
            for data, room, b in zip(given, rooms, use.kernel.buffers, strict=True):
                before, inside, behind = np.split(room, np.cumsum([START * b.kind.bytes, data.size]))
                for where, border in (("before", before), ("behind", behind)):
                    assert (border == OUTSIDE).all(), f"{use.kernel.name} writes {where} {b.name}"
                if b.writes:
                    data[:] = inside

    def _library(self, uses: Sequence[Use]) -> ctypes.CDLL:
        kernels = {use.kernel.name: use.kernel for use in uses}
        text = program(list(kernels.values())) + "".join(_call(i, use) for i, use in enumerate(uses))
        self.count += 1
        source, library = (self.folder / f"{self.count}.{suffix}" for suffix in ("cpp", "so"))
        source.write_text(text)
        options = ["-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-include", str(WORDS)]
        command = [require("g++"), *options, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(library))


def _with_borders(data: Array, border: int) -> Array:
    edge = np.full(border, OUTSIDE, np.uint8)
    return np.concatenate([edge, data, edge])


def _call(i: int, use: Use) -> str:
    """A function that launches the kernel of a use: in two rows where its groups are even."""
    kernel, cuda = use.kernel, Cuda()
    parameters = ", ".join(f"void *{b.name}" for b in kernel.buffers)
    arguments = [f"({cuda.type(b.kind)} *){b.name}, {START}" for b in kernel.buffers]
    arguments += [_number(use.values[c.text], c.kind) for c in kernel.constants]
    rows = 1 + (use.groups + 1) % 2
    grid = f"words{{{use.groups // rows}u, {rows}u}}"
    body = f"launch({grid}, {kernel.group}u, [=] {{ ek_{kernel.name}({', '.join(arguments)}); }});"
    return f'\nextern "C" void use_{i}({parameters})\n{{\n    {body}\n}}\n'


def _number(value: float, kind: Kind) -> str:
    if kind.scalar == "f32":
        return f"{float(value).hex()}f"
    return f"({Cuda().type(kind)}){int(value)}LL"

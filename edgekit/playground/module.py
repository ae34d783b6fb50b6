"""A model as WebAssembly, for the compiler of the page: its files, its options, what goes in and out."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from edgekit.codegen.compilation import build, library_objects, wasm
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages import _module
from edgekit.codegen.program import Program
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize
from edgekit.core.types import Array

TARGET = "wasm32-simd"
MODULE = "module.wasm"
_BARE = Path(str(files("edgekit.runtime_c"))) / "bare"
_STACK = 1 << 16  # of a run: bounds of stacks come from compilers that tell of frames
_OPTIMIZE: Optimize = "speed"


@dataclass(frozen=True)
class Compilation:
    """What the compiler of the page gets, and the program that it is of."""

    program: Program
    files: Mapping[str, bytes]
    arguments: tuple[str, ...]

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "files": {name: base64.b64encode(data).decode() for name, data in self.files.items()},
            "arguments": list(self.arguments),
        }


def compilation(graph: Graph) -> Compilation:
    """The library and the C of its npm package, by the flags of the target's clang."""
    target = targets.load(TARGET)
    program = fit(graph, target, optimize=_OPTIMIZE)
    library = build.generate(program, _OPTIMIZE)
    bare = {f"bare/{path.name}": path.read_bytes() for path in _BARE.glob("*.h")}
    bare |= {"bare/common.c": (_BARE / "common.c").read_bytes()}
    entry = {_module.ENTRY: _module.entry(program, _STACK, threads=False).encode()}
    (clang,) = (words for words in map(shlex.split, target.compilers) if words[0] == "clang")
    arguments = (
        *clang,
        *library_objects.BASE_FLAGS,
        LEVEL[_OPTIMIZE],
        *target.cflags,
        *("-ffreestanding", "-Ibare", "-I."),
        *(_module.ENTRY, *library_objects.library_sources(library), "bare/common.c"),
        *(*wasm.LINK_FLAGS, f"-Wl,-z,stack-size={_STACK}"),
        *("-o", MODULE),
    )
    return Compilation(program, {**library, **bare, **entry}, arguments)


def given(program: Program, sample: Mapping[str, Array]) -> dict[str, str]:
    """The bytes of each input, by the name that the module has for it."""
    return {
        port.c: base64.b64encode(sample[port.name].astype(port.type.dtype.numpy).tobytes()).decode()
        for port in program.inputs
    }


def taken(program: Program, outputs: Mapping[str, str]) -> dict[str, Array]:
    """Arrays of what the module wrote, by the names of the graph."""
    found = {}
    for port in program.outputs:
        flat = np.frombuffer(base64.b64decode(outputs[port.c]), port.type.dtype.numpy)
        found[port.name] = flat.reshape(port.type.shape)
    return found


def sizes(program: Program) -> dict[str, int]:
    """Bytes of each output."""
    return {port.c: port.type.bytes for port in program.outputs}


def compared(found: Mapping[str, Array], expected: Mapping[str, Array]) -> str:
    """How near the compiled code is to the simulator, in words."""
    if all(found[name].tobytes() == expected[name].tobytes() for name in expected):
        return "equal to the simulator, bit by bit"
    pairs = ((found[name].astype(np.float64), expected[name].astype(np.float64)) for name in expected)
    with np.errstate(invalid="ignore"):
        off = [float(np.max(np.abs(a - b), initial=0)) for a, b in pairs]
    return f"at most {max(off):.2g} off the simulator"

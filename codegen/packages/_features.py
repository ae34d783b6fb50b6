"""What modules of WebAssembly need of an engine, and tiny modules that tell whether it has that."""

from __future__ import annotations

import re
from dataclasses import dataclass

from edgekit.codegen.compilation.wasm import wants_exact
from edgekit.codegen.program import Program
from edgekit.core import target as targets

_HEADER = b"\0asm" + bytes.fromhex("01000000")


@dataclass(frozen=True)
class Feature:
    """Something that not every engine has."""

    isa: str  # of the targets that need it
    file: str  # how their module is called, behind the model's name
    words: str
    target: str  # whose description names the oldest engines that have it
    probe: bytes  # a module that is valid only with it; it may export a function `supported`

    @property
    def has_threads(self) -> bool:
        """Engines with vectors have them, too, where a page may share memory."""
        return self.isa != _NONE.isa

    @property
    def engines(self) -> str:
        """The oldest ones; docs/browser.md says the same."""
        return targets.load(self.target).description.partition(": ")[2]

    @property
    def node(self) -> int:
        """The oldest major version of Node among them, and one that takes the scripts of a package."""
        found = re.search(r"Node (\d+)", self.engines)
        return int(found[1]) if found else _NODE


# A function without arguments that returns a vector: i8x16.splat(0).
_SIMD = bytes.fromhex("010501 600001 7b 03020100 0a08 0106 00 4100 fd0f 0b")
# `supported` is 1 where i32x4.relaxed_dot_i8x16_i7x16_add_s is exact for bytes with the top bit set, whether
# it takes them with a sign or without: four times 127 * -1, or 255, is a multiple of 508. Elsewhere sums of
# two products saturate.
_EXPORTED = bytes.fromhex("010501 600001 7f 03020100 070d 0109") + b"supported" + bytes(2)
_SPLATS = bytes.fromhex("41ff00 fd0f 417f fd0f 4100 fd11")  # 127, -1 and the sum to add to, 0
_REMAINDER = bytes.fromhex("fd9302 fd1b00 41fc03 6f 45 0b")  # dot, first lane, remainder by 508, is it zero?
_RELAXED = _EXPORTED + bytes.fromhex("0a1c 011a 00") + _SPLATS + _REMAINDER

# `supported` is 1 where they are exact for seven bits, as the specification has it: 4 * 127 * 1 + 1. Node 20,
# where the instruction is behind a flag, has twice the products and adds no sum.
_SEVEN_BITS = bytes.fromhex("41ff00 fd0f 4101 fd0f 4101 fd11")  # 127, 1 and the sum to add to, 1
_EQUAL = bytes.fromhex("fd9302 fd1b00 41fd03 46 0b")  # dot, first lane, is it 509?
_ANY_RELAXED = _EXPORTED + bytes.fromhex("0a1b 0119 00") + _SEVEN_BITS + _EQUAL

_NODE = 20

# The best first.
_FEATURES = (
    Feature("relaxed", ".relaxed", "relaxed SIMD that is exact", "wasm32-relaxed", _HEADER + _RELAXED),
    Feature("wasm", ".simd", "SIMD", "wasm32-simd", _HEADER + _SIMD),
)
_ANY = Feature("relaxed", ".relaxed", "relaxed SIMD", "wasm32-relaxed", _HEADER + _ANY_RELAXED)
_NONE = Feature("ref", ".scalar", "WebAssembly", "wasm32", _HEADER)


def needed(program: Program) -> Feature:
    """What the module of a program needs."""
    found = next((feature for feature in _FEATURES if feature.isa in program.target.isa), _NONE)
    return _ANY if found.isa == _ANY.isa and not wants_exact(program) else found

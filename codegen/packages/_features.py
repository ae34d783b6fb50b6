"""What modules of WebAssembly need of an engine, and tiny modules that tell whether it has that."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.target import Target

_HEADER = b"\0asm" + bytes.fromhex("01000000")


@dataclass(frozen=True)
class Feature:
    """Something that not every engine has."""

    isa: str  # of the targets that need it
    file: str  # how their module is called, behind the model's name
    words: str
    probe: bytes  # a module that is valid only with it; it may export a function `supported`


# A function without arguments that returns a vector: i8x16.splat(0).
_SIMD = bytes.fromhex("010501 600001 7b 03020100 0a08 0106 00 4100 fd0f 0b")
# `supported` is 1 where i32x4.relaxed_dot_i8x16_i7x16_add_s is exact for bytes with the top bit set, whether
# it takes them with a sign or without: four times 127 * -1, or 255, is a multiple of 508. Elsewhere sums of
# two products saturate.
_EXPORTED = bytes.fromhex("010501 600001 7f 03020100 070d 0109") + b"supported" + bytes(2)
_SPLATS = bytes.fromhex("41ff00 fd0f 417f fd0f 4100 fd11")  # 127, -1 and the sum to add to, 0
_REMAINDER = bytes.fromhex("fd9302 fd1b00 41fc03 6f 45 0b")  # dot, first lane, remainder by 508, is it zero?
_RELAXED = _EXPORTED + bytes.fromhex("0a1c 011a 00") + _SPLATS + _REMAINDER

# The best first.
_FEATURES = (
    Feature("relaxed", ".relaxed", "relaxed SIMD that is exact", _HEADER + _RELAXED),
    Feature("wasm", ".simd", "SIMD", _HEADER + _SIMD),
)
_NONE = Feature("ref", ".scalar", "WebAssembly", _HEADER)


def needed(target: Target) -> Feature:
    """What the modules of a target need."""
    return next((feature for feature in _FEATURES if feature.isa in target.isa), _NONE)

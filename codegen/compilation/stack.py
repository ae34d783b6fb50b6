"""The stack bound of a library: frames that compilers tell, along the deepest path of calls.

gcc writes frames and calls; clang warns of each frame, and the relocations of ELF files say who calls whom:
every function and every table has a section of its own. Elsewhere calls are unknown, and the bound is wide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from edgekit.codegen.compilation import elf

# Functions of the compiler's own, such as floating point on a processor without it, and of the C library: no
# compiler tells their frames. An allowance each, and tighter ones for those of LLVM's compiler-rt on Arm, as
# zig brings it: by disassembly of what it links, checked on painted stacks (benchmarks/reliability/stack.py).
_OWN_FUNCTIONS = 128
_LIBRARY = {"memcpy": 32, "memset": 32}
_DIVISIONS_OF_64_BITS = 152  # the largest of all: above the allowance
_THUMB1 = {
    16: "fcmplt fcmple fcmpgt fcmpge fcmpeq ui2f f2iz f2uiz lmul lasr llsr memset memclr memclr4 memclr8",
    24: "uidiv dcmplt dcmple dcmpgt dcmpge dcmpeq dcmpun memcpy memcpy4",
    32: "i2f llsl d2iz d2uiz",
    40: "fcmpun idiv",
    48: "fadd fsub ul2f f2lz uidivmod ui2d",
    56: "f2ulz f2d i2d idivmod",
    64: "l2f ul2d d2lz d2ulz",
    72: "fmul fdiv d2f memmove",
    80: "l2d",
    112: "dadd dsub dmul uldivmod",
    120: "ddiv",
    152: "ldivmod",
}
_THUMB2 = {
    8: "fcmplt fcmple fcmpgt fcmpge fcmpeq fcmpun i2f ui2f f2iz llsl llsr",
    16: "fmul f2uiz lasr uidiv memcpy memset memcpy4",
    24: "idiv memclr memclr4 memclr8",
    32: "fadd fsub fdiv lmul idivmod uidivmod",
    48: "dadd dsub dmul ddiv memset4 memmove",
    80: "uldivmod",
    120: "ldivmod",
}

_CI_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \(([\w,]+)\)[^"]*?)?"')
_CI_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')
_FRAME = re.compile(r"stack frame size \((\d+)\) exceeds limit \(\d+\) in '(\w+)'")
_LAYOUT = re.compile(r"Function: (\w+)\s(.*?)\[-Rpass-analysis=stack-frame-layout\]", re.DOTALL)
_ALIGNED = re.compile(r"Type: (?!Fixed)\w+, Align: (\d+)")  # what is fixed is the caller's
_SCALABLE = re.compile(r"Size: vscale x (\d+)")
_VSCALE = 8  # of vector registers of 512 bits, the longest that tests of RISC-V run with
_RETURN = 16  # bytes of a return address, and what aligns the frame behind it
_NEVER = 1 << 30  # bytes, more than any stack has
# Where there is floating point and more, functions of compiler-rt need fewer registers.
_DSP = {8: "idiv memcpy memcpy4 memset memclr memclr4 memclr8"}

# Functions that may push bytes, how many, and the functions that these count for where none of them is seen.
Pushed = tuple[Sequence[str], int, Sequence[str]]


def own_functions(isa: Collection[str]) -> Mapping[str, int]:
    """Bytes that functions of compiler-rt take on Arm's microcontrollers; nothing is known of others."""
    if not {"thumb1", "thumb", "dsp", "mve"} & set(isa):
        return {}
    tables = [_THUMB1] if "thumb1" in isa else [_THUMB2, _DSP] if "dsp" in isa else [_THUMB2]
    found = {name: size for sizes in tables for size, names in sizes.items() for name in names.split()}
    return {prefix + name: size for name, size in found.items() for prefix in ("", "__aeabi_")}


def bound_of_call_graphs(
    call_graphs: Sequence[Path], entry: str, pushed: Sequence[Pushed] = ()
) -> int | None:
    """Bytes of stack below `entry`, from gcc's -fcallgraph-info=su; None where a frame is unbounded. `pushed`
    is what inline assembly takes below functions, which compilers do not see."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for path in call_graphs:
        text = path.read_text(encoding="utf-8", errors="replace")
        for title, size, kind in _CI_NODE.findall(text):
            if size:
                if kind == "dynamic":
                    return None
                frames[title.split(":")[-1]] = int(size)
        for caller, callee in _CI_EDGE.findall(text):
            calls.setdefault(caller.split(":")[-1], set()).add(callee.split(":")[-1])
    if entry not in frames:
        return None

    beneath = _beneath(pushed, frames, entry)

    def deepest(name: str) -> int:
        if name not in frames:
            return _LIBRARY.get(name, _allowance(name))
        return frames[name] + max(map(deepest, calls.get(name, ())), default=0) + beneath.get(name, 0)

    return deepest(entry)


def bound_of_objects(
    objects: Sequence[bytes],
    warnings: str,
    entry: str,
    known_functions: Mapping[str, int] = {},
    pushed: Sequence[Pushed] = (),
) -> int | None:
    """Bytes of stack below `entry`, from clang's warnings and what the sections of ELF files refer to; None
    where that is not known: for another format, or where a function can come back to itself."""
    links = elf.links(objects)
    if links is None or entry not in links.functions:
        return None
    frames = _frames(warnings, 0 if links.has_return_in_frame else _RETURN)
    smallest = 0 if links.has_return_in_frame else _RETURN
    outer = {**_LIBRARY, **known_functions}
    beneath = _beneath(pushed, links.functions, entry)
    known: dict[elf.Place, int] = {}

    def deepest(place: elf.Place) -> int:
        """Below a section: a function with what it calls, or a table with the functions that it names."""
        if place in known:
            return known[place]
        known[place] = _NEVER
        names = links.names.get(place, ())
        own = max((frames.get(name, smallest) for name in names), default=0)
        below = [(deepest(to), is_jump) for to, is_jump in links.between.get(place, ())]
        below += [
            (outer.get(name, _allowance(name)), is_jump) for name, is_jump in links.outside.get(place, ())
        ]
        deep = max([own, *(size if is_jump else own + size for size, is_jump in below)])
        known[place] = deep + max((beneath.get(name, 0) for name in names), default=0)
        return known[place]

    found = deepest(links.functions[entry])
    return found if found < _NEVER else None


def _allowance(name: str) -> int:
    """The allowance for a function that nothing is known of."""
    is_division = any(word in name for word in ("ldivmod", "divdi3", "moddi3"))
    return _DIVISIONS_OF_64_BITS if is_division else _OWN_FUNCTIONS


def _beneath(pushed: Sequence[Pushed], functions: Collection[str], entry: str) -> dict[str, int]:
    """Bytes by function. What was put into its caller counts wherever a run is."""
    found: dict[str, int] = {}
    for own, size, others in pushed:
        seen = [name for name in own if name in functions]
        for name in seen or [next((name for name in others if name in functions), entry)]:
            found[name] = max(size, found.get(name, 0))
    return found


def bound_of_frames(warnings: str, entry: str, layers: Collection[str]) -> int:
    """Bytes of stack below `entry`, where frames are known and calls are not: it calls one of `layers` at a
    time, and those may call all other functions, one within the other."""
    frames = _frames(warnings, _RETURN)
    own = frames.pop(entry, _RETURN)
    layer = max((frames.pop(name, _RETURN) for name in layers), default=0)
    return own + layer + sum(frames.values()) + _OWN_FUNCTIONS


def _frames(warnings: str, beside: int) -> dict[str, int]:
    """By function: the largest of that name, what calls put beside it, and what clang leaves out: what aligns
    it for vectors wider than what callers align to, and vectors that are as long as registers are."""
    kept, widest = (8, 16) if beside == 0 else (16, 64)  # Arm of 32 bits; what else there is, up to AVX-512
    aligned: dict[str, int] = {}
    scalable: dict[str, int] = {}
    for name, layout in _LAYOUT.findall(warnings):
        aligned[name] = max([aligned.get(name, 0), *map(int, _ALIGNED.findall(layout))])
        vectors = _VSCALE * sum(map(int, _SCALABLE.findall(layout)))
        scalable[name] = max(scalable.get(name, 0), vectors)
    frames: dict[str, int] = {}
    for size, name in _FRAME.findall(warnings):
        wanted = aligned.get(name, 0) if aligned else widest
        padding = wanted - 8 if wanted > kept else 0
        frames[name] = max(int(size) + beside + padding + scalable.get(name, 0), frames.get(name, 0))
    return frames

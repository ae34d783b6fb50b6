"""Compilers: finds one, runs it, and reads sizes and stack use from what it leaves behind."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from edgekit.errors import EdgeKitError
from edgekit.target import Target

_SECONDS = 600  # a compiler that runs longer than this is stuck


@dataclass(frozen=True)
class Compiler:
    """A C compiler: how it is called, and what it is."""

    name: str
    argv: tuple[str, ...]
    family: str  # gcc or clang (zig cc is one)

    def run(self, arguments: Sequence[str], folder: Path) -> str:
        """Run it in a folder, and return its warnings; EdgeKitError with its own words where it fails."""
        command = [*self.argv, *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EdgeKitError("E0502", f"{self.name} did not run: {error}") from None
        if done.returncode:
            words = "\n".join(done.stderr.splitlines()[:20])
            raise EdgeKitError(
                "E0502",
                f"{self.name} failed:\n{words}",
                hint="a fault of the generated code is ours: please report it",
            )
        return done.stderr

    @property
    def stack_flags(self) -> tuple[str, ...]:
        """What makes it tell of the stack: gcc writes files, clang warns of every frame."""
        return ("-fcallgraph-info=su",) if self.family == "gcc" else ("-Wframe-larger-than=0",)


@cache
def _family(argv: tuple[str, ...]) -> str:
    """gcc or clang, from what the compiler says of itself; empty where it does not run."""
    try:
        # Elsewhere: some leave files where they are asked.
        done = subprocess.run(
            [*argv, "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tempfile.gettempdir(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode:
        return ""
    return "clang" if "clang" in done.stdout.lower() else "gcc"


def find(target: Target) -> Compiler:
    """The first of the target's compilers that is installed."""
    for name in target.compilers:
        first, *rest = name.split()
        if first == "zig":
            argv = _zig(rest)
        else:
            path = shutil.which(first)
            argv = (path, *rest) if path else ()
        if argv and (family := _family(argv)):
            return Compiler(" ".join(takewhile(lambda word: word[0] != "-", name.split())), argv, family)
    raise EdgeKitError(
        "E0501",
        f"no compiler for target {target.name}: tried {', '.join(target.compilers)}",
        hint="pip install 'edgekit[toolchain]' brings one that builds for every target",
    )


def _zig(rest: Sequence[str]) -> tuple[str, ...]:
    if path := shutil.which("zig"):
        return (path, *rest)
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, "-m", "ziglang", *rest)
    return ()


@dataclass(frozen=True)
class Sizes:
    """Bytes of a compiled library. `stack` is None where a frame is unbounded."""

    code: int
    constants: int
    stack: int | None


# For functions of the compiler's own, such as floating point on a processor without it, and of the C library:
# nobody tells their frames. An allowance each, more than any was seen to take on painted stacks.
_OWN_FUNCTIONS = 128
_LIBRARY = {"memcpy": 32, "memset": 32}

_CI_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \(([\w,]+)\)[^"]*?)?"')
_CI_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


def stack_bound(call_graphs: Sequence[Path], entry: str) -> int | None:
    """Bytes of stack below `entry`, from gcc's -fcallgraph-info=su; None where a frame is unbounded."""
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
    return _deepest(entry, frames, calls) if entry in frames else None


_FRAME = re.compile(r"stack frame size \((\d+)\) exceeds limit \(\d+\) in '(\w+)'")
_RETURN = 16  # bytes of a return address, and what aligns the frame behind it


def stack_bound_of_frames(warnings: str, entry: str, layers: Collection[str]) -> int | None:
    """Bytes of stack below `entry`, where frames are known and calls are not: it calls one of `layers` at a
    time, and those may call all other functions, one within the other."""
    frames = {name: int(size) + _RETURN for size, name in _FRAME.findall(warnings)}
    own = frames.pop(entry, _RETURN)
    layer = max((frames.pop(name, _RETURN) for name in layers), default=0)
    return own + layer + sum(frames.values()) + _OWN_FUNCTIONS


def _deepest(entry: str, frames: Mapping[str, int], calls: Mapping[str, set[str]]) -> int:
    """The largest sum of frames on a path; generated code has no recursion."""
    if entry not in frames:
        return _LIBRARY.get(entry, _OWN_FUNCTIONS)
    return frames[entry] + max((_deepest(c, frames, calls) for c in calls.get(entry, ())), default=0)

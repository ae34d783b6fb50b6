"""Compilers: finds one, and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from itertools import takewhile
from pathlib import Path

from edgekit.core import programs
from edgekit.core.distribution import install_command
from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import reason_of
from edgekit.core.target import Target

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
        except OSError as error:
            raise EdgeKitError("E0502", f"{self.name} did not run: {reason_of(error)}") from None
        except subprocess.TimeoutExpired:
            raise EdgeKitError("E0502", f"{self.name} did not end within {_SECONDS} s") from None
        if done.returncode:
            words = "\n".join(done.stderr.splitlines()[:20])
            # An #error says what is wrong; clang leaves that word out.
            is_said = re.search(r': error: (#error )?"', words)
            hint = "a fault of the generated code is ours: please report it"
            raise EdgeKitError("E0502", f"{self.name} failed:\n{words}", hint="" if is_said else hint)
        return done.stderr

    @property
    def stack_flags(self) -> tuple[str, ...]:
        """What makes it tell of the stack: gcc writes files, clang warns of every frame, and says
        from version 16 on how it is laid out."""
        if self.family == "gcc":
            return ("-fcallgraph-info=su",)
        return ("-Wframe-larger-than=0", "-Rpass-analysis=stack-frame-layout")


@cache
def _said(argv: tuple[str, ...], question: str) -> str:
    """What the compiler says of itself; empty where it does not run."""
    try:
        # Elsewhere: some leave files where they are asked.
        done = subprocess.run(
            [*argv, question],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tempfile.gettempdir(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _family(argv: tuple[str, ...]) -> str:
    """gcc or clang; empty where it does not run."""
    said = _said(argv, "--version")
    return "" if not said else "clang" if "clang" in said.lower() else "gcc"


def _compiles_for(target: Target, argv: tuple[str, ...]) -> bool:
    """Does it compile for the target's processor? An older gcc does not know each one that -mcpu names; one
    with -target does as it is told."""
    if "-target" in argv:
        return True
    if target.machine and not _said(argv, "-dumpmachine").startswith(target.machine):
        return False
    words = (*argv, *target.cflags)
    asks_for_processor = any(word.startswith("-m") for word in words)
    return not asks_for_processor or bool(_said((*words, "-E", "-x", "c"), os.devnull))


def find(target: Target) -> Compiler:
    """The first of the target's compilers that is installed."""
    for found in installed(target):
        return found
    comes_with_extra = any(name.split()[0] == "zig" for name in target.compilers)
    raise EdgeKitError(
        "E0501",
        f"no compiler for target {target.name}: tried {', '.join(target.compilers)}",
        hint=f"{install_command('toolchain')} brings one" if comes_with_extra else "put one of them on PATH",
    )


def installed(target: Target) -> Iterator[Compiler]:
    """The target's compilers that are installed."""
    for name in target.compilers:
        first, *rest = name.split()
        if first == "zig":
            argv = _zig(rest)
        else:
            path = programs.find(first)
            argv = (path, *rest) if path else ()
        if argv and (family := _family(argv)) and _compiles_for(target, argv):
            words = takewhile(lambda word: word[0] != "-", name.split())
            yield Compiler(" ".join(words), argv, family)


def _zig(rest: Sequence[str]) -> tuple[str, ...]:
    path = programs.find("zig") or _zig_of_package()
    return (path, *rest) if path else ()


def _zig_of_package() -> str | None:
    """The program in the package ziglang: `python -m ziglang` starts Python for each compilation first."""
    here = os.path.realpath(os.getcwd())  # never from the working folder, which may be a stranger's
    places = [path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != here]
    spec = PathFinder.find_spec("ziglang", places)
    return shutil.which("zig", path=os.path.dirname(spec.origin)) if spec and spec.origin else None


@dataclass(frozen=True)
class Sizes:
    """Bytes of a compiled library. `stack` is None where a frame is unbounded."""

    code: int
    constants: int
    stack: int | None

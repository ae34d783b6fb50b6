"""The JDK of this machine: the compiler of classes, and the headers of their functions in C."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from edgekit.codegen.compilation.publish import write
from edgekit.codegen.compilation.toolchain import Compiler
from edgekit.core import programs
from edgekit.core.errors import EdgeKitError

_RELEASE = 8  # of Java: Android's tools have taken its classes since 2017
_TIMEOUT = 60  # seconds


@dataclass(frozen=True)
class Jdk:
    """A JDK."""

    javac: Compiler
    include: Path  # has jni.h

    def classes(self, sources: Mapping[str, bytes]) -> dict[str, bytes]:
        """The class files of Java sources, by their paths."""
        with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
            folder = Path(scratch)
            write(dict(sources), folder)
            # Some versions warn of releases as old as this one.
            options = ["--release", str(_RELEASE), "-Xlint:-options", "-encoding", "UTF-8", "-g", "-d", "out"]
            self.javac.run([*options, *sources], folder)
            found = sorted((folder / "out").rglob("*.class"))
            return {path.relative_to(folder / "out").as_posix(): path.read_bytes() for path in found}


def find(instead: str) -> Jdk:
    """The JDK on PATH; `instead` is what a user without one can do."""
    path = programs.find("javac")
    include = _home(path) / "include" if path else Path()
    if not path or not (include / "jni.h").is_file():
        what = "the JDK of javac has no jni.h" if path else "no JDK: javac is not on PATH"
        raise EdgeKitError("E0501", what, hint=f"install a JDK of version 11 or later, or {instead}")
    return Jdk(Compiler("javac", (path,), "javac"), include)


@cache
def _home(javac: str) -> Path:
    """Where the JDK is: programs on PATH are links, or start the JDK that the system prefers.

    Asked once: the answer starts a JVM."""
    words = [javac, "-J-XshowSettings:properties", "-version"]
    folder = tempfile.gettempdir()
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return Path()
    home = re.search(r"^\s*java\.home = (.+)$", done.stdout + done.stderr, re.MULTILINE)
    return Path(home[1].strip()) if home else Path()

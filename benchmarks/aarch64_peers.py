"""LiteRT's build for 64-bit ARM, under the emulator: the instructions of one inference by XNNPACK.

The wheel comes from the package index that pip is set to; its shared library exports the C interface, which a
small program calls. Of the emulated processors one has no dot products, one has them, one has int8 matrices.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

from edgekit.codegen.compilation.elf import symbols

# The last release whose library exports the C interface of TensorFlow Lite.
RELEASE = "ai-edge-litert==1.4.0"
LIBRARY = "ai_edge_litert/libLiteRtRuntimeCApi.so"
# The processor for each of our targets: all that the target may use, and no more.
PROCESSORS = {"aarch64": "cortex-a72", "aarch64-dotprod": "cortex-a76", "aarch64-i8mm": "max"}
SYSROOT = Path("/usr/aarch64-linux-gnu")  # where Debian's cross compilers have their C library
_HERE = Path(__file__).parent
_PLUGIN = _HERE.parent / "runtime_c" / "bare" / "instructions.c"


def fetch(folder: Path) -> None:
    """Library, program and plugin, made ready in a folder."""
    platform = ["--platform", "manylinux_2_17_aarch64", "--only-binary=:all:", "--python-version", "3.11"]
    _call(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, *platform, RELEASE)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(LIBRARY, folder)
    _call("aarch64-linux-gnu-gcc", "-O2", "-no-pie", _HERE / "litert_once.c", "-ldl", "-o", folder / "run")
    _call("gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", _PLUGIN, "-o", folder / "plugin.so")


def instructions(folder: Path, target: str, model: Path) -> int:
    """Of one inference on the processor that has what one of our targets has."""
    at = symbols((folder / "run").read_bytes())
    plugin = f"{folder / 'plugin.so'},start={at['ek_begin']:#x},stop={at['ek_end']:#x}"
    emulator: list[str | Path] = [
        "qemu-aarch64",
        "-cpu",
        PROCESSORS[target],
        "-L",
        SYSROOT,
        "-plugin",
        plugin,
    ]
    said = _call(*emulator, folder / "run", folder / LIBRARY, model)
    found = re.search(r"instructions (\d+)", said)
    assert found, said
    return int(found[1])


def _call(*command: str | Path) -> str:
    """What a program says on standard error."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr

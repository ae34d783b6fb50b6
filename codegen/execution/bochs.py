"""Runs programs on a PC that Bochs emulates, with processors that this machine's is not.

The runner is `bochs` with the processor by the name that Bochs has for it. A program starts by
runtime_c/bare/pc.c. There is neither BIOS nor operating system: the last page of the program stands where the
BIOS would, and reads the rest from the disk.
"""

from __future__ import annotations

import re
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from edgekit.codegen.compilation import elf
from edgekit.core import programs
from edgekit.core.target import Target

BOCHS, STARTUP = "bochs", "pc"
# Memory for what switches the processor on, for the program, and for its data.
_ROM, _PROGRAM = 0xFFFFF000, 0x00200000
_BOARD = (f"{_ROM:#x} 4K", f"{_PROGRAM:#x} 126M", "0x08000000 128M")
_SECTOR, _CYLINDER = 512, 16 * 63
_REQUEST = "<III500s"  # struct request of pc.c
_ENDED = "Shutdown port: shutdown requested"
_CRASHED = 134  # as a program ends that is stopped

_SETTINGS = """\
config_interface: textconfig
display_library: rfb, options="timeout=0"
cpu: model={processor}, reset_on_triple_fault=0
memory: guest=256, host=256
romimage: file=rom.bin
pci: enabled=0
sound: driver=dummy
plugin_ctrl: speaker=0, serial=0, gameport=0
ata0-master: type=disk, path=disk.bin, mode=flat, cylinders=0, heads=16, spt=63
parport1: enabled=1, file=driver.out
log: bochs.log
panic: action=fatal
"""


def emulated(target: Target) -> Target:
    """The same target without an operating system, on a processor that has all it needs."""
    return replace(target, startup=STARTUP, board=_BOARD, cpu_flags=())


def why_not(runner: str) -> str:
    """Why Bochs cannot run a program here; empty where it can."""
    _, *processor = shlex.split(runner)
    return "" if set(processor) & _processors() else f"a Bochs that knows {' '.join(processor)}"


@cache
def _processors() -> frozenset[str]:
    try:
        said = subprocess.run(
            [programs.find(BOCHS) or BOCHS, "-help", "cpu"],
            cwd=tempfile.gettempdir(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(said.stdout.split()) | frozenset(said.stderr.split())


def run(
    runner: str, executable: Path, arguments: Sequence[str], data: bytes, seconds: float
) -> tuple[int, bytes, str]:
    """The exit code of a program, its output, and what Bochs says of its end."""
    folder = executable.parent
    rom, disk = _images(executable, arguments, data)
    (folder / "rom.bin").write_bytes(rom)
    (folder / "disk.bin").write_bytes(disk)
    (folder / "driver.out").write_bytes(b"")
    (folder / "bochsrc").write_text(_SETTINGS.format(processor=shlex.split(runner)[1]))
    # Where it is built with a debugger, that wants to be told to go on, and to end.
    done = subprocess.run(
        [programs.find(BOCHS) or BOCHS, "-q", "-f", "bochsrc"],
        cwd=folder,
        input=b"continue\nquit\n",
        capture_output=True,
        timeout=seconds,
        check=False,
    )
    said = done.stderr.decode(errors="replace")
    out = (folder / "driver.out").read_bytes()
    if _ENDED in said and out:
        return out[-1], out[:-1], ""
    last = re.search(r"Bochs is exiting with the following message:\n(.*)", said)
    return _CRASHED, out, last[1] if last else said


def _images(executable: Path, arguments: Sequence[str], data: bytes) -> tuple[bytes, bytes]:
    """What stands where the BIOS would, and the disk: a request, the program, and its input."""
    rom, program = b"", bytearray()
    for at, content in elf.segments(executable.read_bytes()):
        if at == _ROM:
            rom = content
        else:
            end = at - _PROGRAM + len(content)
            program += bytes(max(0, end - len(program)))
            program[end - len(content) : end] = content
    program += bytes(-len(program) % 64)
    size = _SECTOR + len(program) + len(data)
    words = b"".join(word.encode() + b"\0" for word in (executable.name, *arguments))
    request = struct.pack(_REQUEST, -(-size // _SECTOR), _PROGRAM + len(program), len(data), words)
    return rom.rjust(1 << 16, b"\0"), request + program + data + bytes(-size % (_SECTOR * _CYLINDER))

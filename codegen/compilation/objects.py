"""Object files of Linux, bare metal, Windows and macOS: how much of them is code, constants, variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from edgekit.codegen.compilation import elf

Part = tuple[Literal["code", "constants", "writable"], int]

# What debuggers, unwinders and linkers read, which no firmware keeps, and the name of gcc on Windows.
_NOT_OURS = (".eh_frame", ".ARM.exidx", ".ARM.extab", ".note", ".pdata", ".xdata", ".drectve", ".rdata$zzz")


def section_sizes(objects: Iterable[Path]) -> tuple[int, int, int] | None:
    """(code, read-only data, writable data) bytes of object files; None where one is of an unknown format."""
    sizes = {"code": 0, "constants": 0, "writable": 0}
    for path in objects:
        data = path.read_bytes()
        reader = next((read for start, read in _FORMATS.items() if data.startswith(start)), None)
        if reader is None:
            return None
        for kind, size in reader(data):
            sizes[kind] += size
    return sizes["code"], sizes["constants"], sizes["writable"]


def named_sections(objects: Iterable[Path]) -> dict[tuple[str, str], int]:
    """Bytes of the sections that hold one function ("text") or one constant ("rodata") each, by its name; of
    ELF files alone."""
    found: dict[tuple[str, str], int] = {}
    for path in objects:
        for section in elf.sections(path.read_bytes()):
            if named := re.fullmatch(r"\.(text|rodata)\.(?:unlikely\.)?(\w+)(?:\.[\w.]+)?", section.name):
                key = named[1], named[2]
                found[key] = found.get(key, 0) + section.size
    return found


def _elf(data: bytes) -> Iterator[Part]:
    for section in elf.sections(data):
        if section.name.startswith(_NOT_OURS) or not section.flags & 2:  # SHF_ALLOC
            continue
        if section.flags & 4:  # SHF_EXECINSTR
            yield "code", section.size
        else:
            yield "writable" if section.flags & 1 else "constants", section.size  # SHF_WRITE


def _coff(data: bytes) -> Iterator[Part]:
    """Of Windows: headers of 40 bytes behind the one of the file; long names are behind the symbols."""
    texts = _number(data, 8, 4) + 18 * _number(data, 12, 4)
    first = 20 + _number(data, 16, 2)
    for at in range(first, first + 40 * _number(data, 2, 2), 40):
        name, size, flags = data[at : at + 8], _number(data, at + 16, 4), _number(data, at + 36, 4)
        if name.startswith(b"/"):
            start = texts + int(name[1:].rstrip(b"\0"))
            name = data[start : data.index(b"\0", start)]
        if name.decode(errors="replace").startswith(_NOT_OURS):
            continue
        if flags & 0x2000A00:  # for the linker or for debuggers: information, removed, discardable
            continue
        if flags & 0x20:  # code
            yield "code", size
        else:
            yield "writable" if flags & 0x8000_0000 else "constants", size


def _mach(data: bytes) -> Iterator[Part]:
    """Of macOS and iOS: commands one behind the other, those of segments with headers of sections."""
    command = 32
    for _ in range(_number(data, 16, 4)):
        first, is_segment = command + 72, _number(data, command, 4) == 0x19
        for at in range(first, first + 80 * _number(data, command + 64, 4) * is_segment, 80):
            name, segment = (data[at + i : at + i + 16].rstrip(b"\0") for i in (0, 16))
            size, flags = _number(data, at + 40, 8), _number(data, at + 64, 4)
            if flags & 0x8000_0000:  # pure instructions
                yield "code", size
            elif segment == b"__TEXT" and name != b"__eh_frame":
                yield "constants", size
            elif segment == b"__DATA":  # constants with addresses, which the loader fills in, lie there too
                yield "constants" if name == b"__const" else "writable", size
        command += _number(data, command + 4, 4)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


# Files of Windows start with their processor: x86-64, AArch64.
_FORMATS: Mapping[bytes, Callable[[bytes], Iterator[Part]]] = {
    b"\x7fELF": _elf,
    b"\xcf\xfa\xed\xfe": _mach,
    b"\x64\x86": _coff,
    b"\x64\xaa": _coff,
}

"""Shared libraries for other systems, as wheels and NuGet packages bring them: by zig, run in emulators."""

import re
import struct
import subprocess
from pathlib import Path

import pytest
from support.language_packages import ran, small
from support.tools import require, require_module

from edgekit.codegen.compilation import build
from edgekit.codegen.packages import PackageRequest, _shared_library
from edgekit.codegen.verification.selftest import prepare

RUN = """\
#include <stdio.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) (void *)LoadLibraryA(path)
#define FIND(library, name) (void *)GetProcAddress((HMODULE)library, name)
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND dlsym
#endif
static _Alignas(64) unsigned char arena[1 << 16];
int main(int count, char **words)
{
    void *library = count == 2 ? OPEN(words[1]) : NULL;
    int (*test)(void *) = library ? (int (*)(void *))FIND(library, "digits_selftest") : NULL;
    return test ? test(arena) : 99;
}
"""
# What the first bytes say of the format and the processor.
FORMATS = {
    "aarch64": ("ELF", 183),
    "macos-aarch64": ("Mach-O", 0x0100000C),
    "macos-x86-64": ("Mach-O", 0x01000007),
    "windows-aarch64": ("PE", 0xAA64),
    "windows-x86-64": ("PE", 0x8664),
    "x86-64": ("ELF", 62),
}


def compiled(target: str, folder: Path) -> Path:
    """The shared library of a small network."""
    require_module("ziglang")
    program = small(target)
    test = prepare(program.graph)
    request = PackageRequest(program, "speed", "auto", False, test=test)
    data, suffix = _shared_library.compiled(request, build.generate(program, "speed", "c", test))
    path = folder / f"library{suffix}"
    path.write_bytes(data)
    return path


def format_of(data: bytes) -> tuple[str, int]:
    if data.startswith(b"\x7fELF"):
        return "ELF", struct.unpack_from("<H", data, 18)[0]
    if data.startswith(b"MZ"):
        (at,) = struct.unpack_from("<I", data, 0x3C)
        return "PE", struct.unpack_from("<H", data, at + 4)[0]
    magic, machine = struct.unpack_from("<II", data)
    return "Mach-O" if magic == 0xFEEDFACF else "unknown", machine


@pytest.mark.parametrize("target", FORMATS)
def test_a_library_is_for_its_system(target: str, tmp_path: Path) -> None:
    """And asks a system of Linux for no newer glibc than its wheel's tag says."""
    library = compiled(target, tmp_path)
    data = library.read_bytes()
    assert format_of(data) == FORMATS[target]
    assert b"digits_run" in data
    if library.suffix == ".dll":
        assert b".dll\0" not in data.replace(b"library.dll\0", b"")  # no C library
    if library.suffix == ".so":
        asked = re.findall(r"GLIBC_2\.(\d+)", ran("objdump", "-T", library, folder=tmp_path))
        assert max(map(int, asked), default=0) <= 17


def test_a_library_for_windows_passes_its_self_test(tmp_path: Path) -> None:
    library = compiled("windows-x86-64", tmp_path)
    (tmp_path / "run.c").write_text(RUN)
    ran(require("x86_64-w64-mingw32-gcc"), "run.c", "-o", "run.exe", folder=tmp_path)
    done = subprocess.run([require("wine"), "run.exe", library.name], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_library_for_arm_passes_its_self_test(tmp_path: Path) -> None:
    library = compiled("aarch64", tmp_path)
    (tmp_path / "run.c").write_text(RUN)
    ran(require("aarch64-linux-gnu-gcc"), "run.c", "-o", "run", "-ldl", folder=tmp_path)
    ran(require("qemu-aarch64"), "-L", "/usr/aarch64-linux-gnu", "run", f"./{library.name}", folder=tmp_path)

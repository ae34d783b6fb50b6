"""Sizes of object files of bare metal, Linux, Windows and macOS: one text, compiled for each."""

from pathlib import Path

import pytest
from support.tools import require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.objects import section_sizes
from edgekit.core import target as targets

TABLES = 4096 + 48 * 8  # numbers, and addresses, where these have 8 bytes
SOURCE = """
static const int numbers[1024] = {1, 2, 3};
const int *const addresses[48] = {numbers + 1};
int counters[16];
int changed[4] = {1};
int at(int i) { return numbers[i] + *addresses[i & 1] + counters[i & 15]++ + changed[i & 3]--; }
"""


@pytest.mark.parametrize(
    "name",
    [
        "aarch64",
        "aarch64-android",
        "aarch64-ios",
        "aarch64-ios-simulator",
        "macos-aarch64",
        "macos-x86-64",
        "riscv64",
        "windows-aarch64",
        "windows-x86-64",
    ],
)
def test_code_constants_and_variables_are_told_apart(name: str, tmp_path: Path) -> None:
    require_module("ziglang")
    target = targets.load(name)
    (tmp_path / "a.c").write_text(SOURCE)
    toolchain.find(target).run([*target.cflags, "-O1", "-g", "-c", "a.c", "-o", "a.o"], tmp_path)
    sizes = section_sizes([tmp_path / "a.o"])
    assert sizes is not None
    code, constants, writable = sizes
    assert 16 < code < 256
    assert constants == TABLES
    assert writable == 16 * 4 + 4 * 4
    assert section_sizes([tmp_path / "a.o"] * 2) == (2 * code, 2 * constants, 2 * writable)


def test_files_of_an_unknown_format_have_no_sizes(tmp_path: Path) -> None:
    (tmp_path / "a.o").write_bytes(b"strange")
    assert section_sizes([tmp_path / "a.o"]) is None

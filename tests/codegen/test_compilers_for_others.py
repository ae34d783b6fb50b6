"""A compiler on PATH that compiles for other processors than the target's is passed over."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import counting
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError

COMPILER = """\
#!/bin/sh
case "$*" in
    *--version) echo "gcc 12" ;;
    *-dumpmachine) echo {} ;;
    *cortex-m85*) echo "gcc: error: unrecognized -mcpu target: cortex-m85" >&2; exit 1 ;;
    *-E*) echo "# 0 \\"$*\\"" ;;
esac
"""


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **machines: str) -> None:
    for name, machine in machines.items():
        (folder / name).write_text(COMPILER.format(machine))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin")


@pytest.mark.parametrize("name", ["x86-64", "x86-64-avx2", "x86-64-avxvnni", "x86-64-avx512"])
def test_x86_64_on_another_machine(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = replace(targets.load(name), compilers=("cc", "gcc", "clang"))
    on_path(
        tmp_path, monkeypatch, cc="aarch64-linux-gnu", gcc="aarch64-linux-gnu", clang="x86_64-pc-linux-gnu"
    )
    assert toolchain.find(target).name == "clang"


def test_a_gcc_that_does_not_know_the_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    older = "arm-none-eabi-gcc -mcpu=cortex-m{} -mthumb"
    on_path(tmp_path, monkeypatch, **{"arm-none-eabi-gcc": "arm-none-eabi"})
    target = replace(targets.load("cortex-m85"), compilers=(older.format(85), older.format(55)))
    assert toolchain.find(target).argv[1] == "-mcpu=cortex-m55"
    with pytest.raises(EdgeKitError, match="no compiler for target cortex-m85"):
        toolchain.find(replace(target, compilers=(older.format(85),)))


def test_none_for_x86_64(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = replace(targets.load("x86-64-avx2"), compilers=("cc", "clang"))
    on_path(tmp_path, monkeypatch, cc="aarch64-linux-gnu", clang="arm64-apple-darwin24")
    with pytest.raises(EdgeKitError, match="no compiler for target x86-64-avx2: tried cc, clang"):
        toolchain.find(target)


def test_the_host_takes_what_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path(tmp_path, monkeypatch, cc="aarch64-linux-gnu")
    assert toolchain.find(targets.load("host")).argv == (str(tmp_path / "cc"),)


def test_instructions_of_the_host_are_those_of_its_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert counting.as_counted(targets.load("host")).runner == "qemu-aarch64 -cpu max"
    assert counting.as_counted(targets.load("x86-64-avx2")).runner == "qemu-x86_64 -cpu max"

"""The emulated PC: programs get arguments and input, give output and an exit code, and a crash is one."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support import x86
from support.tools import require

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import processor, runner
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

INPUT = bytes(range(256)) * 9

ECHO = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int twice = 2;
static unsigned char room[4096], zero[64];
int main(int argc, char **argv)
{
    size_t size = fread(room, 1, sizeof room, stdin);
    for (size_t i = 0; i < sizeof zero; i++)
        if (zero[i])
            return 1;
    for (size_t i = 0; i < size; i++)
        room[i] = (unsigned char)(room[i] * twice);
    fwrite(room, 1, size, stdout);
    return argc == 3 ? atoi(argv[1]) + atoi(argv[2]) : 2;
}
"""
# No linker puts the address itself into an instruction that pushes one from the table of addresses.
ADDRESS = """\
const int answer = 42;
int main(void)
{
    const int *at;
    __asm volatile("pushq answer@GOTPCREL(%%rip)\\n\\tpopq %0" : "=r"(at));
    return *at;
}
"""
ELSEWHERE = '__attribute__((section("fast"))) int number = 42; int main(void) { return number; }'
# Which Clang makes gathers of, where they may.
LOOKUP = """\
static int table[64], y[64];
static const unsigned char at[64] = {3};
int main(void)
{
    for (int i = 0; i < 64; i++)
        table[i] = 39 + i;
    for (int i = 0; i < 64; i++)
        y[i] = table[at[i]];
    return y[0];
}
"""
CRASH = "int main(void) { __builtin_trap(); }"


def emulated(compiler: str) -> Target:
    require("bochs")
    target = x86.load("x86-64-avx512", compiler)
    return runner.here(targets.with_runner(target, target.emulator))


def built(text: str, target: Target, folder: Path, level: str = "-O0") -> Path:
    (folder / "main.c").write_text(text)
    flags = [level, *target.cflags, *runner.compile_flags(target), "main.c", "-o", "main"]
    runner.link(target, toolchain.find(target), flags, folder)
    return folder / "main"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_gets_what_it_is_given(compiler: str, tmp_path: Path) -> None:
    target = emulated(compiler)
    done = runner.run(target, built(ECHO, target, tmp_path), ["40", "3"], INPUT)
    assert done == runner.FinishedProcess(43, bytes(2 * x % 256 for x in INPUT), "")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_program_finds_what_it_has_the_address_of(compiler: str, tmp_path: Path) -> None:
    target = emulated(compiler)
    assert runner.run(target, built(ADDRESS, target, tmp_path), []).code == 42


def test_compilers_make_no_gathers(tmp_path: Path) -> None:
    target = emulated("clang")
    program = built(LOOKUP, target, tmp_path, "-O3")
    assert runner.run(target, program, []).code == 42
    said = subprocess.run([require("objdump"), "-d", program], capture_output=True, text=True, check=True)
    assert not re.search(r"\bvp?gather", said.stdout)


def test_data_that_would_be_zeros_are_seen(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="main has data in section fast"):
        built(ELSEWHERE, emulated("gcc"), tmp_path)


def test_a_crash_is_told(tmp_path: Path) -> None:
    target = emulated("gcc")
    done = runner.run(target, built(CRASH, target, tmp_path), [])
    assert done.code == 134
    assert "exception" in done.words


def test_a_processor_that_bochs_does_not_know_is_named() -> None:
    require("bochs")
    target = replace(targets.load("x86-64-avx512"), cpu_flags=("no_such_flag",), emulator="bochs i286")
    assert runner.why_not_here(target).endswith(
        "a processor with no_such_flag, which this one lacks, or a Bochs that knows i286"
    )


AVX2 = """\
#include <immintrin.h>
#include <stdio.h>
int main(void)
{
    int y[8];
    const __m256i x = _mm256_set1_epi32(getchar());
    _mm256_storeu_si256((__m256i *)y, _mm256_add_epi32(x, x));
    return y[7];
}
"""


def test_avx2_runs_where_the_processor_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require("qemu-x86_64")
    monkeypatch.setenv(processor.VARIABLE, "x86-64")
    target = targets.load("x86-64-avx2")
    assert not runner.is_native(target)
    assert runner.runs_threads(target)
    program = built(AVX2, target, tmp_path)
    assert runner.run(runner.here(target), program, [], b"\x15").code == 42
    monkeypatch.setattr(runner, "_is_installed", lambda name: False)
    assert runner.why_not_here(target).endswith("which this one lacks, or qemu-x86_64")


def test_only_programs_for_this_processor_are_native() -> None:
    target = targets.load("x86-64-avx512")
    assert runner.is_native(replace(target, cpu_flags=()))
    assert not runner.is_native(replace(target, cpu_flags=("no_such_flag",)))
    assert not runner.is_native(targets.load("cortex-m4"))


def test_a_variable_hides_what_a_processor_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_flags", lambda: frozenset(("sse2", "avx2", "fma", "bmi2", "avx512f")))
    monkeypatch.delenv(processor.VARIABLE, raising=False)
    assert processor.flags() == {"sse2", "avx2", "fma", "bmi2", "avx512f"}
    monkeypatch.setenv(processor.VARIABLE, "avx2")
    assert processor.flags() == {"sse2", "avx2", "fma", "bmi2"}
    assert not runner.is_native(targets.load("x86-64-avx512"))
    monkeypatch.setenv(processor.VARIABLE, "x86-64")
    assert processor.flags() == {"sse2"}
    assert processor.native().name == "x86-64"
    monkeypatch.setenv(processor.VARIABLE, "avx3")
    with pytest.raises(EdgeKitError, match="did you mean avx2"):
        processor.flags()

"""The pools that come with libraries: threads under ThreadSanitizer and on Windows, two cores of boards."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import DIGITS
from support.generated import STRICT, compiled, written
from support.tools import ROOT, require, require_module

from edgekit import convert
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.target import Target

MAIN = """
#include <string.h>
#include "digits.h"
#include "edgekit/threads.h"

static float x[64], y[10], expected[10];
static unsigned char arena[DIGITS_ARENA_SIZE] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
static struct ek_threads threads;

int main(void)
{
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 17);
    digits_run(x, expected, arena);
    for (int count = 1; count <= 4; count++) {
        ek_threads_start(&threads, count);
        for (int i = 0; i < 50; i++) {
            memset(y, 0, sizeof y);
            digits_run_parallel(x, y, arena, &threads.pool);
            if (memcmp(y, expected, sizeof y) != 0)
                return 1;
        }
        ek_threads_stop(&threads);
    }
    return 0;
}
"""

BOTH_CORES = """
#include <string.h>
#include "digits.h"
#include "edgekit/POOL.h"

static float x[64], y[10], expected[10];
static unsigned char arena[DIGITS_ARENA_SIZE] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
static struct ek_POOL both;

int main(void)
{
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i % 17);
    digits_run(x, expected, arena);
    ek_POOL_start(&bothCORE);
    for (int i = 0; i < 50; i++) {
        memset(y, 0, sizeof y);
        memset(arena, i, sizeof arena); /* a part that no core takes is missed */
        digits_run_parallel(x, y, arena, &both.pool);
        if (memcmp(y, expected, sizeof y) != 0)
            return 1;
    }
    _exit(0); /* the other core waits for more */
}
"""
PROCESSORS = """
#define _GNU_SOURCE
#include <sched.h>
#include "edgekit/threads.h"

static struct ek_threads threads;

static int allowed(pthread_t thread)
{
    cpu_set_t set;
    pthread_getaffinity_np(thread, sizeof set, &set);
    return CPU_COUNT(&set);
}

int main(void)
{
    const int mine = allowed(pthread_self()), others = EK_THREADS_APART && mine > 1 ? mine - 1 : mine;
    if (ek_threads_start(&threads, 2) != 2)
        return 1;
    while (!EK_ATOMIC_GET(&threads.sleeping))
        sched_yield();
    if (allowed(threads.thread[0]) != others || allowed(pthread_self()) != mine)
        return 2;
    ek_threads_stop(&threads);
    return 0;
}
"""
SANITIZED = ("-std=c99", "-O1", "-fsanitize=thread", "-pthread", "-I.")


def parallel(target: Target, folder: Path, main: str = MAIN) -> Sequence[str]:
    """The sources of a library for four cores, and of a program that runs it with a pool."""
    program = compile_graph(convert(DIGITS / "digits.onnx"), replace(target, cores=4, part_macs=1))
    assert sum(bool(line.call.parts) for line in program.lines) > 3
    (folder / "main.c").write_text(main)
    return [*written([program], folder, "size"), "main.c"]


def check_races(folder: Path) -> None:
    require("setarch")  # ThreadSanitizer wants addresses that are not random
    command = ["setarch", "-R", str(folder / "threads")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("spins", [0, 2000])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_threads_race_for_nothing(compiler: str, spins: int, tmp_path: Path) -> None:
    flags = [*SANITIZED, f"-DEK_THREADS_SPINS={spins}"]
    compiled(tmp_path, compiler, *flags, *parallel(targets.load("host"), tmp_path), "-o", "threads")
    check_races(tmp_path)


@pytest.mark.parametrize("apart", [0, 1])
@pytest.mark.parametrize("processors", [1, os.cpu_count()])
def test_threads_keep_off_the_processor_that_starts_them(processors: int, apart: int, tmp_path: Path) -> None:
    require("taskset")
    flags = ["-std=c99", "-pthread", "-I.", f"-DEK_THREADS_APART={apart}", "-DEK_THREADS_SPINS=0"]
    parallel(targets.load("host"), tmp_path, PROCESSORS)
    compiled(tmp_path, "gcc", *flags, "main.c", "-o", "threads")
    some = ",".join(map(str, sorted(os.sched_getaffinity(0))[:processors]))
    done = subprocess.run(["taskset", "-c", some, tmp_path / "threads"], timeout=120)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("name", "pool", "core", "define"),
    [
        ("esp32-s3", "freertos", ", 1", "-DESP_PLATFORM"),
        ("esp32-p4", "freertos", ", 1", "-UESP_PLATFORM"),  # FreeRTOS without what ESP-IDF adds
        ("rp2040", "pico", "", "-DPICO_BOARD"),
        ("macos-aarch64", "gcd", ", QOS_CLASS_USER_INITIATED", "-DAPPLE"),
    ],
)
def test_pools_of_systems_race_for_nothing(
    name: str, pool: str, core: str, define: str, tmp_path: Path
) -> None:
    """Their interfaces are stand-ins by threads: no emulator has two cores of these boards, or macOS."""
    main = "#include <unistd.h>" + BOTH_CORES.replace("POOL", pool).replace("CORE", core)
    flags = [*SANITIZED, *STRICT, define, "-D_POSIX_C_SOURCE=200809L"]
    flags += ["-isystem", str(ROOT / "tests" / "support" / "board_apis")]
    sources = parallel(replace(targets.load(name), isa=("ref",)), tmp_path, main)
    compiled(tmp_path, "gcc", *flags, *sources, "-o", "threads", "-lm")  # fmaf is no instruction here
    check_races(tmp_path)


@pytest.mark.parametrize("spins", [0, 2000])
def test_threads_of_windows_give_the_same_bits(spins: int, tmp_path: Path) -> None:
    require("x86_64-w64-mingw32-gcc")
    require("wine")
    target = targets.load("windows-x86-64")
    flags = [*STRICT, "-O1", f"-DEK_THREADS_SPINS={spins}", "-I."]
    sources = parallel(target, tmp_path)
    compiled(tmp_path, "x86_64-w64-mingw32-gcc", *flags, *sources, "-o", "threads.exe")
    done = runner.run(target, tmp_path / "threads.exe", [], seconds=120)
    assert (done.code, done.out) == (0, b"")


def test_the_pool_of_macos_compiles_with_its_headers(tmp_path: Path) -> None:
    """zig has them; nothing here runs what it makes."""
    require_module("ziglang")
    target = targets.load("macos-aarch64")
    main = BOTH_CORES.replace("POOL", "gcd").replace("CORE", ", QOS_CLASS_USER_INITIATED")
    parallel(target, tmp_path, "#include <unistd.h>" + main)
    toolchain.find(target).run([*STRICT, "-O1", "-I.", "-c", "main.c", "-o", "main.o"], tmp_path)
    assert (tmp_path / "edgekit" / "threads.h").exists()

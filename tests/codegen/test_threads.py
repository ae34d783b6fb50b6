"""The pool of threads under ThreadSanitizer: parts of layers, by threads that sleep and threads that spin."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import DIGITS
from support.generated import compiled, written
from support.tools import require

from edgekit import convert
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets

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


@pytest.mark.parametrize("spins", [0, 2000])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_threads_race_for_nothing(compiler: str, spins: int, tmp_path: Path) -> None:
    require("setarch")  # ThreadSanitizer wants addresses that are not random
    target = replace(targets.load("host"), cores=4, part_macs=1)
    program = compile_graph(convert(DIGITS / "digits.onnx"), target)
    assert sum(bool(line.call.parts) for line in program.lines) > 3
    sources = written([program], tmp_path, "size")
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-O1", "-fsanitize=thread", "-pthread", f"-DEK_THREADS_SPINS={spins}", "-I."]
    compiled(tmp_path, compiler, *flags, *sources, "main.c", "-o", "threads")
    command = ["setarch", "-R", str(tmp_path / "threads")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")

"""`edgekit profile` reads logs of devices, whatever loggers put around lines, and refuses foreign ones."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.command_line import CommandLine
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, estimate, profile
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.core import target as targets
from edgekit.profiling.layer_log import parse, read

RUN = "conv 100\npool 20\ndense 30\n"
NAMES = ("conv", "pool", "dense")


def test_runs_are_told_apart_and_medians_taken() -> None:
    log = parse(RUN + "conv 110\npool 25\ndense 31\n" + "conv 300\npool 21\ndense 32\n", "log.txt", NAMES)
    assert [log.median(name) for name in NAMES] == [110, 21, 31]
    assert log.totals == (150, 166, 353)
    assert (log.dropped, log.unit) == (0, "")


def test_a_log_may_begin_and_end_within_runs() -> None:
    log = parse("dense 9999\n" + RUN + RUN + "conv 1\npool 1\n", "log.txt", NAMES)
    assert log.totals == (150, 150)
    assert log.dropped == 2


@pytest.mark.parametrize(
    "line",
    [
        "conv 100",
        "  conv:\t100  ",
        "conv = 100 us",
        "conv,100",
        "\x1b[0;32mI (512) model: conv                     100\x1b[0m\r",
        "[00:00:01.002] <inf> app: conv  100us",
        "2026-11-25 12:00:00 conv 100.0",
    ],
)
def test_what_loggers_put_around_a_line_is_ignored(line: str) -> None:
    text = f"ets Jul 29 2019 12:21:46\nheap: 1234 free\n\0\ufffd\n{line}\npool 20\ndense 30\n"
    log = parse(text, "log.txt", NAMES)
    assert log.runs == ({"conv": 100.0, "pool": 20.0, "dense": 30.0},)
    assert log.unit == ("us" if "us" in line else "")


def test_layers_of_loops_add_up_and_those_of_branches_may_be_missing() -> None:
    names, optional = ("head", "step", "other", "tail"), ("step", "other")
    text = "head 1\nstep 10\nother 5\nstep 11\nother 6\ntail 2\nhead 1\ntail 2\n"
    log = parse(text, "log.txt", names, optional)
    assert log.runs == ({"head": 1, "step": 21, "other": 11, "tail": 2}, {"head": 1, "tail": 2})
    first = parse("step 1\nstep 2\ntail 3\nstep 4\ntail 5\n", "log.txt", ("step", "tail"), ("step",))
    assert first.runs == ({"step": 3, "tail": 3}, {"step": 4, "tail": 5})


def test_without_a_model_lines_of_a_name_and_a_number_count() -> None:
    log = parse("boot: heap 1 free\nI (9) app: conv 100\nfc 20\nconv 102\nfc 20\n", "log.txt")
    assert log.names == ("conv", "fc")
    assert log.totals == (120, 122)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "E0401 log.txt has no line with the name of a layer and a number"),
        ("boot\nready\n", "E0401 log.txt has no line with the name"),
        ("conv 1OO\n", "E0401 line 1 of log.txt is damaged: conv 1OO"),
        ("conv 1\npool 1\ndense -5\n", "E0401 line 3 of log.txt is damaged: dense -5"),
        ("conv 10 20\n", "E0401 line 1 of log.txt is damaged"),
        ("conv " + "9" * 400 + "\n", "E0401 line 1 of log.txt is damaged"),
        ("conv 1\ndense 1\n", "E0401 log.txt has no complete run: the fullest one lacks pool"),
        ("a 1\nb 2\n", "E0108 log.txt is not of kws: it names a, b; that library has conv, pool, dense"),
        ("conv 1\nb 2\nc 3\n", "E0108 log.txt is not of kws: it names b, c; that library has"),
        ("conv 1 us\npool 1 us\ndense 1 ms\n", "E0401 log.txt mixes units: ms, us"),
    ],
)
def test_damaged_and_foreign_logs_are_refused(text: str, words: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        parse(text, "log.txt", NAMES, library="kws")
    assert str(caught.value).startswith(words)


def test_lines_without_end_are_no_layers() -> None:
    """Nor searched: two runs of spaces can be told apart in a million million ways."""
    long = "conv" + " " * 1_000_000 + "x\n"
    assert parse(long + RUN, "log.txt", NAMES).totals == (150,)
    assert parse(long + RUN, "log.txt").totals == (150,)


def test_any_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xff\x00\x9f" + RUN.encode())
    assert parse(read(path), "log.txt", NAMES).totals == (150,)
    path.write_text(RUN, encoding="utf-16")
    assert parse(read(path), "log.txt", NAMES).totals == (150,)


def test_the_log_of_a_run_stands_beside_the_estimate(cli: CommandLine) -> None:
    """What the hook of docs/cli.md would print, were each instruction two cycles, and one layer slow."""
    require_module("ziglang")
    found = cli.ok("estimate", "digits.ek", "-t", "stm32f407", "--json").json
    counts = [layer["instructions"] for layer in found["run"]["layers"]]
    cycles = [2 * count for count in counts]
    cycles[2] *= 4
    names = [layer["name"] for layer in found["layers"]]
    Path("log.txt").write_text(
        "".join(f"{name:<24} {n}\n" for name, n in zip(names, cycles, strict=True)) * 3, encoding="utf-8"
    )
    line = ("profile", "log.txt", "-m", "digits.ek", "-t", "stm32f407", "--report", "page.html")
    out = cli.ok(*line).out
    assert "3 runs" in out
    assert f"{found['instructions']:,} instructions" in out
    marked = [row.split()[1] for row in out.splitlines() if row.startswith("* ") and "_" in row]
    assert marked == [names[2]]
    told = cli.ok(*line, "--json").json
    assert [layer["measured"] for layer in told["layers"]] == cycles
    assert [layer["estimated"] for layer in told["layers"]] == counts
    assert told["milliseconds"] == pytest.approx(sum(cycles) / 168e3)
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Device, cycles: printed by the device, median of 3 runs in log.txt" in text
    assert f"{cycles[2]:,}" in text
    foreign = cli("profile", "log.txt", "-m", "digits.onnx", "-t", "host", "--unit", "furlongs")
    assert foreign.code == 2


def test_the_host_prints_its_layers(cli: CommandLine) -> None:
    """A library with a hook as docs/cli.md has it, compiled, run, and read."""
    import subprocess

    require("gcc")
    cli.ok("build", "digits.ek", "-o", "out", "--layer-hook", "--no-verify")
    Path("main.c").write_text(
        '#include <stdio.h>\n#include "digits.h"\n'
        "static const char *const names[DIGITS_LAYERS] = {DIGITS_LAYER_NAMES};\n"
        'void digits_layer_done(int32_t layer) { printf("%-24s %d\\n", names[layer], layer + 1); }\n'
        "static float x[DIGITS_X_SIZE], y[DIGITS_Y_SIZE];\n"
        "static double arena[DIGITS_ARENA_SIZE / sizeof(double) + 1];\n"
        "int main(void) { digits_run(x, y, arena); return 0; }\n"
    )
    sources = [str(path) for path in Path("out").glob("*.c") if "selftest" not in path.name]
    sources += [str(path) for path in Path("out/edgekit").rglob("*.c")]
    subprocess.run(["gcc", "-Iout", "main.c", *sources, "-o", "main"], check=True)
    Path("log.txt").write_bytes(subprocess.run(["./main"], capture_output=True, check=True).stdout)
    found = profile("log.txt", "digits.ek", unit="us")
    assert [layer.measured for layer in found.layers] == list(range(1, len(found.layers) + 1))
    assert found.milliseconds == pytest.approx(found.median / 1000)


# What firmware has: DWT's counter, for which SysTick stands in QEMU, and printf to a serial port.
BOARD = r"""
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "digits.h"
#define SYSTICK ((volatile uint32_t *)0xE000E010u) /* control, reload, value */
static struct counter { uint32_t CYCCNT; } *read_counter(void)
{
    static struct counter found;
    found.CYCCNT = 0xFFFFFFu - SYSTICK[2];
    return &found;
}
#define DWT read_counter()
static void printf(const char *format, ...)
{
    char line[64], *end = line + sizeof line;
    va_list arguments;
    va_start(arguments, format);
    const char *name = va_arg(arguments, const char *);
    unsigned long value = va_arg(arguments, unsigned long);
    va_end(arguments);
    for (*--end = '\n'; value; value /= 10)
        *--end = (char)('0' + value % 10);
    for (*--end = ' '; *name; name++)
        fwrite(name, 1, 1, stdout);
    fwrite(end, 1, (size_t)(line + sizeof line - end), stdout);
}
"""
MAIN = r"""
static float x[DIGITS_X_SIZE], y[DIGITS_Y_SIZE];
static double arena[DIGITS_ARENA_SIZE / sizeof(double) + 1];
int main(void)
{
    SYSTICK[1] = 0xFFFFFFu;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5; /* the processor's clock, no interrupt */
    while (!SYSTICK[2])
        ;
    for (int i = 0; i < 3; i++) {
        before = DWT->CYCCNT;
        digits_run(x, y, arena);
    }
    return 0;
}
"""
# An instruction takes 32 ns of the emulated time, and the board's clock 40 ns.
CLOCK = "-icount shift=5,sleep=off"
TICKS = 32 / 40


def test_a_board_prints_its_layers(cli: CommandLine) -> None:
    """The hook of docs/cli.md, word by word, on an emulated Cortex-M4. Its clock advances with instructions:
    ticks are what an estimate says, by another way."""
    require("qemu-system-arm")
    require_module("ziglang")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (hook,) = re.findall(r"^```c\n(static const char \*const names.*?)^```$", page, re.MULTILINE | re.DOTALL)
    cli.ok("build", "digits.ek", "-t", "cortex-m4", "-o", "out", "--layer-hook", "--no-verify")
    Path("out/main.c").write_text(BOARD + hook + MAIN)
    board = targets.load("cortex-m4")
    board = replace(board, runner=f"{board.runner} {CLOCK}")
    compiler, folder = toolchain.find(board), Path("out").resolve()
    sources = [str(path.relative_to(folder)) for path in folder.rglob("*.c") if "selftest" not in path.name]
    flags = ["-O2", "-std=c99", "-ffp-contract=off", *board.cflags, *runner.compile_flags(board)]
    compiler.run(
        [*flags, "-I.", *sources, "-o", "program", *runner.link_flags(board, compiler, folder)], folder
    )
    done = runner.run(board, folder / "program", [])
    assert done.code == 0
    Path("log.txt").write_bytes(done.out)
    found = profile("log.txt", "digits.ek", target="cortex-m4")
    run = estimate("digits.ek", target="cortex-m4").run
    assert run
    assert found.runs == 3
    assert found.median / TICKS == pytest.approx(run.total, rel=run.error)
    for layer, estimated in zip(found.layers, run.layers, strict=True):
        assert estimated.instructions
        assert layer.estimated == estimated.instructions
        assert layer.measured / TICKS == pytest.approx(estimated.instructions, rel=0.06), layer.name
    shown = cli.ok("profile", "log.txt", "-m", "digits.ek", "-t", "cortex-m4", "--report", "page.html").out
    assert "3 runs" in shown
    assert not re.search(r"^\* ", shown, re.MULTILINE)  # no layer is much slower than the others suggest
    assert "median of 3 runs in log.txt" in Path("page.html").read_text(encoding="utf-8")

"""The harness around generated C sees what sanitizers are there to see, and nothing in sound programs."""

import subprocess
from pathlib import Path

import pytest
from support import c_harness as harness
from support.generated import written
from support.nets import Net
from support.stateful import accumulator
from support.tools import require

from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ops.arithmetic import Add
from edgekit.core.types import DType

FLAGS = {
    "address": ("gcc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "memory": ("clang", "-fsanitize=memory", "-fno-sanitize-recover=all"),
}
# What is done to the C around a library of x + x, and which sanitizer ends the program.
SABOTAGE = {
    "an input too short": ("input(from, 12,", "input(from, 8,", "address"),
    "an output too short": ("p1 = room(12, 1)", "p1 = room(11, 1)", "address"),
    "an output that is not written": ("doubled_run(p0, p1, arena);", "", "memory"),
}


@pytest.fixture(scope="module")
def doubled() -> Program:
    net = Net(DType.S32)
    x = net.x(3)
    return compile_graph(net.done(net(Add(), x, x)).with_name("doubled"), target.load("host"))


def ended(program: Program, text: str, sanitizer: str, folder: Path) -> int:
    """The exit code of the program, compiled with this C around it."""
    compiler, *flags = FLAGS[sanitizer]
    names = written([program], folder, "speed")
    (folder / "harness.c").write_text(text)
    names = [name for name in names if "/" not in name]
    command = [
        require(compiler),
        "-std=gnu99",
        "-O1",
        "-I.",
        *flags,
        *names,
        "harness.c",
        "-o",
        "made",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./made", "0"], cwd=folder, capture_output=True).returncode


@pytest.mark.parametrize("sanitizer", FLAGS)
def test_sound_programs_pass(sanitizer: str, doubled: Program, tmp_path: Path) -> None:
    assert ended(doubled, harness.text([doubled]), sanitizer, tmp_path) == 0
    stream = compile_graph(accumulator().with_name("stream"), target.load("host"))
    assert ended(stream, harness.text([stream]), sanitizer, tmp_path) == 0


@pytest.mark.parametrize("what", SABOTAGE)
def test_faults_are_seen(what: str, doubled: Program, tmp_path: Path) -> None:
    before, after, sanitizer = SABOTAGE[what]
    text = harness.text([doubled])
    assert before in text
    assert ended(doubled, text.replace(before, after), sanitizer, tmp_path) != 0

"""Compilers that may not use the instructions of a kernel stop with a sentence of the library."""

import subprocess
from pathlib import Path

import pytest
from support.nets import Net
from support.tools import require

from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ops.dense import Dense
from edgekit.core.target import Optimize

M4 = ("-mcpu=cortex-m4", "-mthumb")


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ((*M4, "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), False),
        ((*M4, "-mfloat-abi=soft"), True),
        (("-mcpu=cortex-m3", "-mthumb"), True),
    ],
)
def test_floats_without_the_unit_are_refused_in_words(
    optimize: Optimize, options: tuple[str, ...], refused: bool, tmp_path: Path
) -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(4, 32), net.random(16, 32), net.random(16)))
    files = generate(compile_graph(graph, targets.load("cortex-m4")), optimize, "c")
    write(files, tmp_path)
    command = [require("arm-none-eabi-gcc"), *options, "-ffreestanding", "-std=c99", "-O2", "-I.", "-c"]
    done = [
        subprocess.run(
            [*command, name, "-o", "x.o"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        for name in sources(files)
    ]
    words = "".join(each.stderr for each in done)
    assert any(each.returncode for each in done) == refused
    assert ("this kernel needs floating point instructions: compile it" in words) == refused
    assert "selected FPU does not support" not in words

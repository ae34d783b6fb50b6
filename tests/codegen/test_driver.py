"""The driver around compiled code sees what that code does wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.node_suite import SANITIZE
from support.tools import require

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.types import Array

X = np.arange(6, dtype=np.float32)


def run_with(statement: str, folder: Path, *flags: str) -> Array:
    """y = -x in C, with a statement behind it. `before` is what y[3] was at the start."""
    require("cc")
    net = Net()
    program = compile_graph(net.done(net(Neg(), net.x(6), name="y")), targets.load("host"))
    files = render(program, "speed")
    head, run, body = files["net.c"].decode().rpartition("\n{\n")
    body = body.removesuffix("}\n")
    files["net.c"] = f"{head}{run}    const float before = y[3];\n{body}    {statement}\n}}\n".encode()
    write(files, folder)
    compiler = toolchain.find(targets.load("host"))
    driver = Driver([program], sources(files, "speed"), folder, compiler, ["-w", *flags], seconds=5)
    return driver.run(program, {"x": X})["y"]


def test_good_code_gives_its_outputs(tmp_path: Path) -> None:
    assert np.array_equal(run_with(";", tmp_path), -X)
    assert np.array_equal(run_with(";", tmp_path, *SANITIZE), -X)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("y[6] = 0;", "wrote outside"),
        ("y[-1] = 0;", "wrote outside"),
        ("((char *)arena)[NET_ARENA_SIZE] = 0;", "wrote outside"),
        ("((char *)arena)[-1] = 0;", "wrote outside"),
        ("((float *)x)[2] = 7;", "changed its inputs"),
        ("__builtin_trap();", "crashed"),
        ("for (volatile int i = 0; i < 1;) ;", "did not end in 5 s"),
    ],
)
def test_bad_code_is_named(statement: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=f"net {words}") as caught:
        run_with(statement, tmp_path)
    assert caught.value.code == "E0602"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("y[0] = x[6];", "AddressSanitizer"),
        ("y[0] = x[-2];", "AddressSanitizer"),
        ("volatile int i = 2147483647; i = i + 1;", "signed integer overflow"),
        ("volatile float f = 1e20f; y[0] = (float)(int)f;", "outside the range"),
        ("volatile int n = 40; y[0] = (float)(1 << n);", "shift exponent"),
    ],
)
def test_sanitizers_see_what_stays_inside(statement: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=words):
        run_with(statement, tmp_path, *SANITIZE)


def test_memory_that_nobody_has_written_is_not_a_number(tmp_path: Path) -> None:
    assert np.isnan(run_with("y[3] = before;", tmp_path)[3])

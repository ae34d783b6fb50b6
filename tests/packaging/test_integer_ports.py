"""Constants and functions of integer ports in C, C++ and Python: the integers of the simulator."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.generated import compiled
from support.integer_ports import CASES, PORTS, check, given, integers, limits, program
from support.language_packages import made, ran
from support.nets import Net
from support.tools import require

from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Quant, Type


def test_numbers_meet_every_case() -> None:
    for name in CASES:
        low, high = limits(name)
        assert {low, high, 0} <= set(integers(name).tolist())


# A program for each language: `{}` are lines for each port, made of CASE.
C = """\
#include "integers.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    static float numbers[100000];
    FILE *file = fopen("numbers", "rb");
    const size_t count = fread(numbers, sizeof(float), 100000, file);
    fclose(file);
{}
    return 0;
}
"""
C_CASE = """\
    FILE *integers_{c} = fopen("{c}.integers", "wb"), *reals_{c} = fopen("{c}.reals", "wb");
    for (size_t i = 0; i < count; i++) {{
        const {type} integer = {quantize}(numbers[i]);
        const float real = {dequantize}(integer);
        fwrite(&integer, sizeof integer, 1, integers_{c});
        fwrite(&real, sizeof real, 1, reals_{c});
    }}
    fclose(integers_{c});
    fclose(reals_{c});
    if ({scale} * (float)(7 - {zero}) != {dequantize}(7))
        return 1;
"""


def c_program(names: Callable[[str], dict[str, str]]) -> str:
    cases = (C_CASE.format(c=name, type=PORTS[name].dtype.c, **names(name)) for name in CASES)
    return C.replace("{}", "".join(cases))


@pytest.mark.parametrize(
    "options", [("gcc", "-std=c99", "-O2"), ("clang", "-std=c99", "-O0"), ("g++", "-std=c++11", "-x", "c++")]
)
def test_c(options: tuple[str, ...], tmp_path: Path) -> None:
    write(generate(program(), "speed"), tmp_path)
    given(tmp_path)
    words = {"quantize": "integers_{}_quantize", "dequantize": "integers_{}_dequantize"}
    upper = {"scale": "INTEGERS_{}_SCALE", "zero": "INTEGERS_{}_ZERO"}
    (tmp_path / "main.c").write_text(
        c_program(
            lambda c: (
                {k: w.format(c) for k, w in words.items()}
                | {k: w.format(c.upper()) for k, w in upper.items()}
            )
        )
    )
    strict = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
    compiled(tmp_path, *options, *strict, "-I.", "main.c", "-o", "main")
    ran(tmp_path / "main", folder=tmp_path)
    check(tmp_path)


def test_a_header_of_plain_integers_and_floats_has_none() -> None:
    net = Net()
    net.inputs += [net.input("a", Type(DType.S8, (3,))), net.input("b", Type(DType.F32, (3,)))]
    graph = net.done(*(net.one(Reshape((1, 3)), name) for name in net.inputs)).with_name("plain")
    files = generate(compile_graph(graph, targets.load("host")), "speed")
    assert "edgekit/integer_port.h" not in files
    assert b"_SCALE" not in files["plain.h"]
    assert b"quantize" not in files["plain.h"]


@pytest.mark.parametrize("ports", ["caller", "arena"])
def test_names_of_functions_are_no_other_names(ports: str, tmp_path: Path) -> None:
    """Inputs called like functions of the first, and a layer, too."""
    net = Net()
    quant = Quant((0.5,), (3,))
    names = ["x", "x_quantize", "x_dequantize", "run", "x_scale"]
    net.inputs += [net.input(name, Type(DType.S8, (3,), quant)) for name in names]
    graph = net.done(
        *(
            net.one(Reshape((1, 3)), name, name="x_quantize_1") if not i else net.one(Reshape((3, 1)), name)
            for i, name in enumerate(names)
        )
    )
    write(generate(compile_graph(graph.with_name("same"), targets.load("host"), ports), "speed"), tmp_path)
    compiled(tmp_path, "gcc", "-std=c99", "-I.", "-Wall", "-Wextra", "-Werror", "-c", "same.c")
    compiled(
        tmp_path, "g++", "-I.", "-Wall", "-Wextra", "-Werror", "-x", "c++", "-c", "same.h", "-o", "same.o"
    )


def test_cmake(tmp_path: Path) -> None:
    package = made("cmake", program(), tmp_path)
    given(package)
    (package / "main.cpp").write_text(
        c_program(
            lambda c: {
                word: f"integers::Model::{c}_{word}" for word in ("quantize", "dequantize", "scale", "zero")
            }
        ).replace("integers.h", "integers.hpp")
    )
    ran(
        require("g++"),
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Isrc",
        "main.cpp",
        "-o",
        "main",
        folder=package,
    )
    ran(package / "main", folder=package)
    check(package)


PYTHON = """\
import numpy as np, integers
numbers = np.fromfile("numbers", np.float32)
for name in {names}:
    quantize, dequantize = getattr(integers, f"{{name}}_quantize"), getattr(integers, f"{{name}}_dequantize")
    made = quantize(numbers)
    made.tofile(f"{{name}}.integers")
    dequantize(made).tofile(f"{{name}}.reals")
    scale, zero = getattr(integers, f"{{name.upper()}}_SCALE"), getattr(integers, f"{{name.upper()}}_ZERO")
    assert dequantize(7) == scale * np.float32(7 - zero)
    assert quantize(0) == quantize([[0]]) and quantize([[0]]).shape == (1, 1)
"""


def test_python(tmp_path: Path) -> None:
    package = made("python", program(), tmp_path)
    (wheel,) = package.glob("*.whl")
    ran(sys.executable, "-m", "zipfile", "-e", wheel, package / "site", folder=package)
    given(package)
    (package / "use.py").write_text(PYTHON.format(names=CASES))
    ran(sys.executable, "use.py", folder=package, PYTHONPATH=str(package / "site"))
    check(package)

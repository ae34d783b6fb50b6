"""Packages of languages for tests: three small networks, and runs that are compared with the simulator."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import object_cache
from support.nets import Net
from support.stateful import random_graph
from support.tools import ROOT

from edgekit.codegen import packages
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages import Content, PackageRequest
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array, DType, Type

# Names that mean something in some language, each an input of another type.
UNUSUAL = {
    "model": DType.F32,
    "self": DType.F64,
    "lambda": DType.F16,
    "type": DType.BF16,
    "fn": DType.U8,
    "func": DType.S16,
    "count": DType.U32,
    "arena": DType.S64,
    "_private": DType.BOOL,
}


# Names of classes that would end a string, start an expression, or be no ASCII, in some language.
CLASSES = (
    "zero",
    'it\'s "one"',
    "back\\slash \\n \\",
    "{three} ${three} $(three) \\(three) #{three}",
    "*/ /* // # -- ''",
    "%s %d %n ??/ ??=",
    "Größe, naïve",
    "日本 🦜👩‍🔬",
    "</script> `8` <!--",
    "\u202enine\u00a0 ",
)


# An application in C++ of an installed package.
USE_CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES CXX)
find_package(digits 1.0 REQUIRED)
add_executable(app app.cpp)
target_compile_features(app PRIVATE cxx_std_20)
target_link_libraries(app PRIVATE digits::digits)
"""


def small(target: str = "host", name: str = "digits") -> Program:
    """A network of two layers, which compiles fast."""
    net = Net()
    x = net(Dense(), net.x(1, 64), net.random(10, 64) / 8, net.random(10))
    return fit(net.done(net(Softmax(), x, name="y")).with_name(name), targets.load(target))


def several(name: str = "several", types: Mapping[str, DType] = UNUSUAL) -> Program:
    """A program with inputs and outputs of many types, whose names mean something in some language."""
    net = Net()
    inputs = [net.input(name, Type(dtype, (3,))) for name, dtype in types.items()]
    net.inputs += inputs
    graph = net.done(*(net.one(Reshape((1, 3)), name) for name in inputs)).with_name(name)
    return fit(graph, targets.load("host"))


def stream() -> Program:
    """A program with states."""
    return fit(random_graph(1).with_name("stream"), targets.load("host"))


# Outputs of types that some languages lack, whose largest is not that of their bits as integers.
RANKED = {"half": DType.F16, "brain": DType.BF16, "bytes": DType.U8, "wide": DType.U64}
_VALUES = {"half": [-2, -0.5, -65504], "brain": [-3, 0, 1.5], "bytes": [7, 200, 130], "wide": [1, 2, 2**63]}
_LARGEST = {"half": (1, -0.5), "brain": (2, 1.5), "bytes": (1, 200), "wide": (2, 2**63)}


def ranked() -> tuple[Program, Mapping[str, Array]]:
    """A program whose outputs are its inputs, and a sample for it."""
    program = several("ranked", RANKED)
    return program, {name: np.array(_VALUES[name]).astype(t.numpy) for name, t in RANKED.items()}


def check_ranked(said: str) -> None:
    """An example shows numbers, not bits."""
    rows = re.findall(r"^(\w+): (\d) is largest, (\S+)$", said, re.MULTILINE)
    assert [name for name, _, _ in rows] == [port.c for port in ranked()[0].outputs], said
    found: list[Any] = [(int(index), pytest.approx(float(value), rel=1e-5)) for _, index, value in rows]
    assert found == list(_LARGEST.values()), said


def made(
    kind: str,
    program: Program,
    folder: Path,
    test: SelfTest | None = None,
    classes: tuple[str, ...] = (),
    sample: Mapping[str, Array] | None = None,
) -> Path:
    """The folder of a package."""
    request = PackageRequest(program, "speed", "auto", False, test=test, content=Content(classes, sample))
    write(packages.make(kind, request).files, folder / kind)
    return folder / kind / program.name


def ran(*command: object, folder: Path, **environment: str) -> str:
    """What a command printed; its program may be a path."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": path, **object_cache.for_cmake(), **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def documented(language: str) -> str:
    """The commands of docs/apps.md for a language, as users type them."""
    page = (ROOT / "docs/apps.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {language}\n\n```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found, language
    return found[1]


def check_answer(said: str, test: SelfTest, classes: tuple[str, ...] = CLASSES) -> None:
    """What an example printed last is what the simulator finds in the first sample, with the name of its
    class."""
    (best,) = (values.argmax() for values in test.expected[0].values())
    last = said.rstrip("\n").split("\n")[-1]
    assert last.startswith(f"y: {best} is largest, "), said
    assert last.endswith(f" ({classes[best]})"), said


class Steps:
    """Runs of a program, twice the same ones: for a program with states a stream that starts anew.

    A test's program in the language reads `given` and writes as many bytes of outputs, which `check` compares
    with the simulator."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.samples = [simulate.random_inputs(program.graph, seed) for seed in range(3)]

    @property
    def given(self) -> bytes:
        """The inputs of each run, one behind the other."""
        names = [port.name for port in self.program.inputs]
        return b"".join(sample[name].tobytes() for sample in self.samples for name in names)

    def check(self, found: bytes) -> None:
        """The outputs of each run, one behind the other, and the same again."""
        half = len(found) // 2
        assert found[:half] == found[half:]
        rest = found[:half]
        for expected in simulate.run_each(self.program.graph, self.samples):
            for port in self.program.outputs:
                wanted = expected[port.name]
                made = np.frombuffer(rest[: wanted.nbytes], wanted.dtype).reshape(wanted.shape)
                rest = rest[wanted.nbytes :]
                if self.program.name == "digits":
                    np.testing.assert_allclose(made, wanted, atol=1e-5)
                else:
                    assert made.tobytes() == wanted.tobytes()
        assert not rest

"""The text of generated libraries: the same in every process, as reviewed, and for models of any name."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.generated import STRICT, compiled
from support.tools import ROOT

from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.arithmetic import Add
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

HOST = target.load("host")
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
KEYWORDS = ROOT / "examples" / "keywords" / "keywords.onnx"
# Words of C, of generated code and of headers; what ends comments, strings and lines; nothing, and too much.
NAMES = (
    *("int", "class", "typeof", "linux", "main", "uint8_t", "memcpy", "stdint", "math", "INFINITY", "assert"),
    *("ram", "arena", "x", "i", "byte", "run", "selftest", "weights", "add", "m_add", "ek", "ek_add_f32"),
    *("/* a */", "// b", "??/", "a\\", "%s", '"', "\n#error", "é", "", "1", "_", "../up", "n" * 300),
)
BOTH = pytest.mark.parametrize("optimize", ["size", "speed"])
# Prints what the files of a library hash to.
GENERATE = """
import sys
from edgekit import build
build(sys.argv[1], sys.argv[2], verify=False)
"""


def library(path: Path, optimize: Optimize) -> dict[str, str]:
    files = generate(compile_graph(simplify(convert(path)), HOST), optimize)
    return {name: data.decode() for name, data in files.items()}


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """The order of sets depends on a number that each process draws; none of it may be seen."""
    contents = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        command = [sys.executable, "-c", GENERATE, str(KEYWORDS), str(folder)]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True)
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        contents.append({str(path.relative_to(folder)): path.read_bytes() for path in paths})
    assert contents[0] == contents[1]
    assert len(contents[0]) > 10


@BOTH
def test_the_text_is_what_was_reviewed(optimize: Optimize, golden: Callable[[str, str], None]) -> None:
    files = library(DIGITS, optimize)
    golden(f"{optimize}/digits.c", files["digits.c"])
    golden("digits.h", files["digits.h"])
    golden(f"{optimize}/CMakeLists.txt", files["CMakeLists.txt"])


@BOTH
def test_no_file_tells_where_or_when_it_was_made(optimize: Optimize) -> None:
    files = library(DIGITS, optimize)
    assert json.loads(files["edgekit.manifest.json"])["source"]["file"] == "digits.onnx"
    moment = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
    for name, text in files.items():
        assert str(ROOT) not in text, name
        assert not moment.search(text), name


@pytest.mark.parametrize("compiler", ["gcc", "clang++"])
@BOTH
def test_a_model_may_name_its_parts_as_it_likes(optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    write(generate(compile_graph(named(NAMES), HOST), optimize), tmp_path)
    check(tmp_path, compiler)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_may_be_called_anything(name: str, tmp_path: Path) -> None:
    files = generate(compile_graph(named(["x"]).with_name(name), HOST), "speed")
    assert all(re.fullmatch(r"(edgekit/)?[A-Za-z0-9_.]+", path) for path in files)
    write(files, tmp_path)
    check(tmp_path, "g++")


def named(names: Sequence[str]) -> Graph:
    """An input, a layer, a constant and an output of each of these names."""
    b = Builder()
    inputs, outputs = [], []
    for i, name in enumerate(names):
        b.origin = name
        inputs.append(b.input(name, Type(DType.F32, (2,))))
        outputs.append(b.one(Add(), inputs[-1], b.const(np.full(2, i, np.float32), hint=name), name=name))
    return b.graph("m", inputs, outputs, Source(file=f"{names[-1]}.onnx", producer=names[0]))


def check(folder: Path, compiler: str) -> None:
    """Compile with the extensions that compilers have when nobody asks for a standard."""
    language = ("-x", "c++") if compiler.endswith("++") else ()
    names = sorted(path.name for path in folder.glob("*.c"))
    compiled(folder, compiler, *language, *STRICT, "-I.", "-fsyntax-only", *names)

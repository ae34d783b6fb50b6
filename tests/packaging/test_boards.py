"""Packages for boards compile by the rules of their build systems, and are right in an emulator."""

import doctest
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.board_packages import (
    RIGHT,
    STRICT,
    answers,
    arduino_library,
    arduino_sketch,
    ended,
    made,
    objects,
    self_testing,
    with_cmake,
)
from support.boards import load
from support.command_line import DIGITS as EXAMPLE
from support.command_line import CommandLine
from support.nets import Net
from support.npm_packages import DIGITS, small_digits
from support.stateful import accumulator, random_graph
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, build, convert, simulate
from edgekit import target as targets
from edgekit.codegen import packages, runner
from edgekit.codegen.fit import fit
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize
from edgekit.ir import DType, Graph, Type
from edgekit.ops.arithmetic import Neg
from edgekit.ops.reshape import Reshape

KINDS = ["arduino", "cmsis", "esp-idf", "platformio", "zephyr"]


def negated() -> Graph:
    net = Net()
    return net.done(net(Neg(), net.x(5))).with_name("negated")


@cache
def arm(name: str, model: Callable[[], Graph], optimize: Optimize = "speed") -> Program:
    """A model for a Cortex-M, whose packages are compiled by gcc as the SDKs do it."""
    return fit(model(), load(name, "arm-none-eabi-gcc"), optimize=optimize)


MODELS = [("cortex-m4", small_digits, "speed"), ("cortex-m0plus", accumulator, "size")]


@pytest.mark.parametrize(("target", "model", "optimize"), MODELS)
def test_arduino_runs_the_sketch(
    target: str, model: Callable[[], Graph], optimize: Optimize, tmp_path: Path
) -> None:
    """Beside a library of another model, which shares kernels with this one."""
    program = arm(target, model, optimize)
    package = made("arduino", program, tmp_path, optimize)
    neighbour = fit(model().with_name("neighbour"), program.target, optimize=optimize)
    other = made("arduino", neighbour, tmp_path, optimize)
    sketch = (package / "examples/Run/Run.ino").read_text()
    declared = '#include <neighbour.h>\nextern "C" int neighbour_selftest(void *arena);\n'
    called = "void loop()\n{\n    if (neighbour_selftest(arena))\n        return;\n"
    assert "void loop()\n{\n" in sketch
    (tmp_path / "Two.ino").write_text(declared + sketch.replace("void loop()\n{\n", called))
    parts = arduino_sketch(program, tmp_path / "Two.ino", [package, other], tmp_path)
    parts += [arduino_library(program, package, tmp_path / "one")]
    parts += [arduino_library(neighbour, other, tmp_path / "two")]
    done = ended(program, parts, tmp_path)
    printed = done.out.decode()
    assert done.code == 0
    assert f"{program.name} is right on this board" in printed
    assert " us\n" in printed
    zeros = {port.name: np.zeros(port.type.shape, port.type.dtype.numpy) for port in program.inputs}
    (expected,) = simulate.run(program.graph, zeros).values()
    (port,) = program.outputs
    assert answers(printed) == [(port.c, float(number)) for number in expected.reshape(-1)[:10]]


def unusual() -> dict[str, Program]:
    """Programs that look different: types and names of inputs, states, ports in the arena, nothing to do."""
    types = (
        DType.F32,
        DType.F64,
        DType.F16,
        DType.BF16,
        DType.U8,
        DType.S16,
        DType.U32,
        DType.S64,
        DType.BOOL,
    )
    names = ["start", "took", "i", "micros", "delay", "loop", "setup", "abs", "state"]
    several = Net()
    inputs = [several.input(name, Type(dtype, (3,))) for dtype, name in zip(types, names, strict=True)]
    several.inputs += inputs
    nothing = Net()
    graphs = {
        "several": several.done(*(several.one(Reshape((1, 3)), name) for name in inputs)).with_name(
            "several"
        ),
        "stream": random_graph(1).with_name("stream"),
        "negated": negated(),
        "nothing": nothing.done(nothing(Neg(), nothing.x(0))).with_name("nothing"),
    }
    target = load("cortex-m4", "arm-none-eabi-gcc")
    programs = {name: fit(graph, target) for name, graph in graphs.items()}
    return programs | {f"{n} in arena": fit(graphs[n], target, "arena") for n in ("several", "stream")}


def test_programs_that_use_unusual_models_compile(tmp_path: Path) -> None:
    for name, program in unusual().items():
        package = made("arduino", program, tmp_path / name)
        arduino_sketch(program, package / "examples/Run/Run.ino", [package], tmp_path)
        compile_example((package / "README.md").read_text(), package / "src", tmp_path)


def test_arduino_compiles_with_the_options_that_were_checked(tmp_path: Path) -> None:
    """gcc would otherwise fuse products and sums of floats, whose rounding is then another one."""
    program = arm("cortex-m4", lambda: convert(DIGITS))
    package = made("arduino", program, tmp_path)
    text = (package / "src/digits.c").read_text()
    flags = [f"-I{package / 'src'}", *runner.compile_flags(program.target)]

    def fused(text: str, *options: str) -> int:
        (package / "src/digits.c").write_text(text)
        (name,) = objects(program, [package / "src/digits.c"], [*flags, *options], tmp_path)
        code = subprocess.run(
            [require("arm-none-eabi-objdump"), "-d", name], cwd=tmp_path, capture_output=True, text=True
        )
        return len(re.findall(r"\tvfm[as]", code.stdout))

    plain = re.sub(r"^#pragma GCC optimize.*$", "", text, flags=re.MULTILINE)
    assert plain != text
    checked = fused(plain, "-std=c99", "-O3", "-ffp-contract=off")
    assert fused(text, "-std=gnu11", "-Os") == checked < fused(plain, "-std=gnu11", "-Os")


def test_another_processor_is_refused_in_words(tmp_path: Path) -> None:
    """By the compiler, which may not use instructions of the kernels."""
    program = arm("cortex-m4", small_digits)
    package = made("arduino", program, tmp_path)
    smaller = arm("cortex-m0plus", accumulator, "size")
    with pytest.raises(EdgeKitError, match="digits was made for target cortex-m4: its kernels need DSP"):
        objects(smaller, [package / "src/digits_processor.c"], [], tmp_path)


CORES = [name for name in targets.names() if name.startswith("cortex-m")]


@pytest.mark.parametrize("name", CORES)
def test_the_right_processor_is_known_to_each_compiler(name: str, tmp_path: Path) -> None:
    known = targets.load(name).compilers[
        : 1 if name == "cortex-m85" else None
    ]  # gcc 12 is older than that one
    for compiler in known:
        program = fit(small_digits(), load(name, compiler.split()[0]))
        asks = made("zephyr", program, tmp_path) / "digits_processor.c"
        assert "#error" in asks.read_text()
        objects(program, [asks], [], tmp_path)


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_platformio_builds_what_its_manifest_says(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("platformio", program, tmp_path, optimize)
    manifest = json.loads((package / "library.json").read_text())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert len(manifest["name"]) <= 50
    assert (package / "src" / manifest["headers"]).is_file()
    folder = package / "src"
    chosen = set(folder.rglob("*.c"))
    for word in manifest["build"]["srcFilter"][1:]:
        chosen -= set((folder / re.fullmatch(r"-<(.*)>", word)[1]).rglob("*"))  # type: ignore[index]
    flags = ["-Os", "-std=gnu11", *manifest["build"]["flags"], f"-I{folder}"]
    assert_right(program, sorted(chosen), flags, tmp_path)


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_cmsis_builds_what_its_layer_says(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("cmsis", program, tmp_path, optimize)
    layer = (package / "digits.clayer.yml").read_text()
    assert f"optimize: {optimize}" in layer
    options = re.findall(r"- C: \[(.*)\]", layer)[0].split(", ")
    files = [package / name for name in re.findall(r"- file: (\S+)", layer)]
    assert_right(program, files, ["-O2", *options, f"-I{package}"], tmp_path)


def assert_right(program: Program, files: list[Path], flags: list[str], folder: Path) -> None:
    """The self-test of what these sources are, with these flags, finds what it expects."""
    (folder / "main.c").write_text(self_testing(program))
    flags = [*flags, *runner.compile_flags(program.target)]
    assert ended(program, objects(program, [folder / "main.c", *files], flags, folder), folder).code == RIGHT


# What ESP-IDF and Zephyr promise of these functions, as far as packages use them.
ESP_IDF = """
function(idf_component_register)
  cmake_parse_arguments(own "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  if(own_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${own_UNPARSED_ARGUMENTS}")
  endif()
  add_compile_options(-Og)
  add_library(component STATIC ${own_SRCS})
  target_include_directories(component PUBLIC ${own_INCLUDE_DIRS})
  set(COMPONENT_LIB component PARENT_SCOPE)
endfunction()
"""
ZEPHYR = """
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE -Og)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC "")
  target_link_libraries(${name} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
  add_library(options INTERFACE)
  target_compile_options(options INTERFACE ${ARGN})
  target_link_libraries(${ZEPHYR_CURRENT_LIBRARY} PRIVATE options)
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
"""


@pytest.mark.parametrize(("model", "optimize"), [(small_digits, "speed"), (accumulator, "size")])
def test_esp_idf_builds_the_component(model: Callable[[], Graph], optimize: Optimize, tmp_path: Path) -> None:
    require("qemu-riscv32")
    require_module("ziglang")
    program = fit(model(), targets.load("esp32-c3"), optimize=optimize)
    package = made("esp-idf", program, tmp_path, optimize)
    assert "targets:\n  - esp32c3\n" in (package / "idf_component.yml").read_text()
    assert with_cmake(program, ESP_IDF, package, "component", tmp_path).code == RIGHT


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_zephyr_builds_the_module(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("zephyr", program, tmp_path, optimize)
    module = dict(re.findall(r"^ *(\w+): (\S+)$", (package / "zephyr/module.yml").read_text(), re.MULTILINE))
    options = re.findall(r"^config (\w+)$", (package / module["kconfig"]).read_text(), re.MULTILINE)
    assert options == ["EDGEKIT_DIGITS", "EDGEKIT_DIGITS_SELFTEST"]
    chosen = "".join(f"set(CONFIG_{option} y)\n" for option in options)
    done = with_cmake(program, chosen + ZEPHYR, package / module["cmake"], "edgekit_digits", tmp_path)
    assert done.code == RIGHT


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_says_what_is_known(kind: str, tmp_path: Path) -> None:
    """Numbers of this model, and C that compiles."""
    program = fit(small_digits(), targets.load("esp32-c3" if kind == "esp-idf" else "cortex-m4"))
    package = made(kind, program, tmp_path)
    text = (package / "README.md").read_text()
    for number in (program.arena.size, program.weight_bytes, program.working_bytes - program.arena.size):
        assert f"| {number:,} |" in text
    compile_example(text, next(package.rglob("digits.h")).parent, tmp_path)


def compile_example(page: str, headers: Path, folder: Path) -> None:
    """The C program in a README."""
    (text,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (folder / "used.c").write_text(text)
    command = [require("gcc"), "-std=c99", *STRICT, "-Wno-unused-variable", f"-I{headers}", "-c", "used.c"]
    subprocess.run(command, cwd=folder, check=True)


def test_packages_are_part_of_a_build(tmp_path: Path) -> None:
    """Several lie side by side, all of them in the manifest, and come out the same again."""
    require_module("ziglang")
    kinds = [kind for kind in KINDS if kind != "esp-idf"]
    reports = [
        build(negated(), tmp_path / name, target="cortex-m4", package=kinds, verify=False)
        for name in ("one", "two")
    ]
    one, two = (
        {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    listed = json.loads(one["edgekit.manifest.json"])["sha256"]
    assert set(listed) == set(one) - {"edgekit.manifest.json"}
    assert [made.kind for made in reports[0].packages] == kinds
    code = reports[0].code_bytes
    assert f"| {code:,} | flash | code, by zig cc -O3 |" in one["zephyr/negated/README.md"].decode()
    assert str(tmp_path).encode() not in b"".join(one.values())


REFUSED = [
    *((kind, target) for kind in KINDS for target in ("host", "wasm32", "x86-64-avx2", "aarch64")),
    ("esp-idf", "cortex-m4"),
    ("cmsis", "esp32-c3"),
    ("npm", "cortex-m4"),
]


@pytest.mark.parametrize(("kind", "target"), REFUSED)
def test_what_does_not_fit_is_refused(kind: str, target: str, tmp_path: Path) -> None:
    """Before anything is built or written."""
    told: list[str] = []
    with pytest.raises(EdgeKitError, match=rf"target {target}\b") as caught:
        build(negated(), tmp_path / "out", target=target, package=(kind,), tell=told.append)
    assert "--target" in caught.value.hint
    assert "planning" not in told
    assert not (tmp_path / "out").exists()


def test_the_page_shows_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    for name in ("digits.onnx", "calib.npz"):
        shutil.copy(EXAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/boards.md").read_text()
    (block,) = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for example in block.split("$ ")[1:]:
        line, _, expected = example.partition("\n")
        answer = CommandLine(capsys).ok(*shlex.split(line)[1:])
        found = answer.out + answer.err
        assert doctest.OutputChecker().check_output(f"...{expected}...", found, doctest.ELLIPSIS), found
    for kind, folder in re.findall(r"^\| `([a-z-]+)` \| `(out/\S+?)`", page, re.MULTILINE):
        assert folder == f"out/{kind}/digits"
        assert (tmp_path / folder).is_dir() == (kind in ("arduino", "zephyr"))


def test_every_kind_is_tested_and_described() -> None:
    assert packages.kinds() == sorted([*KINDS, "npm"])
    page = (ROOT / "docs/boards.md").read_text()
    assert sorted(re.findall(r"^\| `([a-z-]+)` \| `out/", page, re.MULTILINE)) == KINDS

"""What packages for boards hold: words, examples, numbers; and which there are for which target."""

import doctest
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.board_packages import STRICT, arduino_sketch, made
from support.boards import load
from support.command_line import DIGITS as EXAMPLE
from support.command_line import CommandLine
from support.nets import Net
from support.npm_packages import small_digits
from support.stateful import random_graph
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, build
from edgekit.codegen import packages
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages._language import languages
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Type

KINDS = ["arduino", "cmsis", "esp-idf", "platformio", "zephyr"]


def negated() -> Graph:
    net = Net()
    return net.done(net(Neg(), net.x(5))).with_name("negated")


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


@pytest.mark.parametrize(("name", "folder"), [("log", "log_"), ("esp_timer", "esp_timer_"), ("logs", "logs")])
def test_no_component_of_esp_idf_is_replaced(name: str, folder: str, tmp_path: Path) -> None:
    """A project's own one would be, by a folder of the same name; headers and functions keep the model's."""
    package = made("esp-idf", fit(negated().with_name(name), targets.load("esp32-c3")), tmp_path)
    assert package.name == folder
    assert (package / f"{name}.h").is_file()
    assert f"REQUIRES\n{folder})" in (package / "README.md").read_text()


REFUSED = [
    *((kind, target) for kind in KINDS for target in ("host", "wasm32", "x86-64-avx2", "aarch64")),
    ("esp-idf", "cortex-m4"),
    ("cmsis", "esp32-c3"),
    ("zephyr", "esp32-s3"),
    ("npm", "cortex-m4"),
]


@pytest.mark.parametrize(("kind", "target"), REFUSED)
def test_what_does_not_fit_is_refused(kind: str, target: str, tmp_path: Path) -> None:
    """Before anything is built or written."""
    told: list[str] = []
    with pytest.raises(EdgeKitError, match=rf"target {target}\b") as caught:
        build(negated(), tmp_path / "out", target=target, package=(kind,), progress=told.append)
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
    assert packages.kinds() == sorted([*KINDS, "npm", *languages()])
    page = (ROOT / "docs/boards.md").read_text()
    assert sorted(re.findall(r"^\| `([a-z-]+)` \| `out/", page, re.MULTILINE)) == KINDS

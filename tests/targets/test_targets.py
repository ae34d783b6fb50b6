"""Every target builds, and runs where there is an emulator: the same integers as in the simulator."""

import functools
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from support.tools import ROOT, require, require_module

from edgekit import api
from edgekit.codegen.compilation import toolchain, wasm
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import compile_objects, measure
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph

DIGITS = ROOT / "examples" / "digits"
NAMES = sorted(targets.names())


@functools.cache
def digits() -> Graph:
    """A network with convolutions, pools and a dense layer, in int8."""
    made, _ = api.quantize_model(DIGITS / "digits.onnx", DIGITS / "calib.npz", calibrate="minmax", io="int8")
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_target_gives_the_integers_of_the_simulator(name: str, tmp_path: Path) -> None:
    target = targets.load(name)
    require_module("ziglang")
    if target.runner == "wine":  # zig compiles a C library for that, which takes minutes
        require(target.compilers[0].split()[0])
    if target.runner == "wasmtime":
        require_module("wasmtime")
    elif target.runner not in ("", "native"):
        require(target.runner.split()[0])
    report = api.build(digits(), tmp_path / "out", target=target)
    if target.runner and not report.unverified:
        assert report.verification is not None
        assert report.verification.exact
    else:
        assert report.unverified
        assert report.compiler or target.core == "xtensa"  # whose compilers only their vendor has
    assert (tmp_path / "out" / "digits.c").is_file()


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_floats_on_a_microcontroller_are_those_of_the_simulator(optimize: str) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    found = api.verify(DIGITS / "digits.onnx", target="cortex-m4", optimize=optimize)  # type: ignore[arg-type]  # one of the two
    assert found.relative_error < 1e-5


def test_every_target_says_what_it_is() -> None:
    for name in NAMES:
        target = targets.load(name)
        assert target.description, name
        assert target.compilers, name
        assert target.isa[-1] == "ref", name


def test_a_board_is_a_processor_with_memory() -> None:
    board, processor = targets.load("nrf52840"), targets.load("cortex-m4")
    assert board.compilers == processor.compilers
    assert board.isa == processor.isa
    assert board.memory == {"flash": 1 << 20, "ram": 256 << 10}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('base = "cortex-m5"', "no base cortex-m5"),
        ('base = "mine"', "no base mine"),
        ('gpu = "vulkan"', "unknown gpu vulkan"),
        ('memory = { ram = "much" }', "much is not a size of ram"),
        ('memory = { ram = "128k" }', "128k is not a size of ram"),
        ("memory = { ram = -1 }", "-1 is not a size of ram"),
        ("memory = { ram = 1.5 }", "1.5 is not a size of ram"),
        ('memory = "128K"', "memory should be a dict"),
        ('base = ["host"]', "base should be a str"),
        ("cores = true", "cores should be a int"),
        ("ram_limit = -1", "ram_limit is -1"),
        ("isa = [1]", "isa should be a list of strings"),
        ('isa = ["../mine", "ref"]', "unknown instruction set ../mine"),
        ('isa = ["ref", "avx2"]', "isa ends with another set than ref"),
        ("isa = []", "isa ends with another set than ref"),
        ('startup = "../mine"', "unknown startup ../mine"),
        ('pool = "../mine"', "unknown pool ../mine"),
        ('base = "host"\nstartup = "../bare/linux"', "unknown startup ../bare/linux"),
        ('board = ["0x0 4M", "0x0 1K } SECTIONS {"]', "board is no list of two or three regions"),
        ('board = ["0x0 4M"]', "board is no list of two or three regions"),
        ("align = 3", "align is 3"),
        ("align = 0", "align is 0"),
        ("channels = 0", "channels is 0"),
        ("weight_growth = -1", "weight_growth is -1"),
        ("weight_growth = nan", "weight_growth is nan"),
        ("cycles_per_instruction = inf", "cycles_per_instruction is inf"),
        ("cycles_per_instruction = -1", "cycles_per_instruction is -1"),
    ],
)
def test_mistakes_in_target_files_are_named(text: str, words: str) -> None:
    with pytest.raises(EdgeKitError, match=words):
        targets.parse("mine", text)


@pytest.mark.parametrize("key", ["base", *(field.name for field in fields(targets.Target))])
def test_values_of_any_type_are_taken_or_refused(key: str) -> None:
    default = getattr(targets.Target("mine"), key, "")
    values = "'' 'x' -1 2 1000000000000000000000 1.5 nan inf true [] [''] [[]] [1] {} {a={}} 1979-05-27"
    for value in values.split():
        with suppress(EdgeKitError):
            found = getattr(targets.parse("mine", f"{key} = {value}"), key, default)
            assert type(found) is type(default)


def test_what_is_no_text_is_no_target_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_bytes(b"\xff")
    with pytest.raises(EdgeKitError, match="cannot read"):
        targets.load(str(tmp_path / "mine.toml"))


@pytest.mark.parametrize("name", ["cortex-m4", "aarch64"])
def test_instructions_are_counted_the_same_in_every_run(name: str) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    require("qemu-aarch64")
    first, second = (api.bench(digits(), target=name) for _ in range(2))
    assert first == second
    assert first.microseconds is None
    assert first.instructions_per_mac is not None
    assert 0.05 < first.instructions_per_mac < 30


def test_webassembly_is_timed_and_its_operations_are_counted() -> None:
    require_module("ziglang")
    require_module("wasmtime")
    first, second = (api.bench(digits(), target="wasm32-simd") for _ in range(2))
    assert first.instructions == second.instructions
    assert first.instructions_per_mac is not None
    assert 0.5 < first.instructions_per_mac < 30
    assert first.microseconds is not None


def test_sizes_of_webassembly_are_those_of_its_module(tmp_path: Path) -> None:
    require_module("ziglang")
    target = targets.load("wasm32")
    program, compiler = compile_graph(digits(), target), toolchain.find(target)
    files = generate(program, "size")
    write(files, tmp_path)
    objects = compile_objects(program, files, tmp_path, compiler, "size")
    module = wasm.link_library(program, objects, tmp_path, compiler).read_bytes()
    code, constants = wasm.sizes(module)
    assert code + constants == len(module)
    assert program.weight_bytes < constants < program.weight_bytes + 4096
    assert measure(program, objects, tmp_path, compiler) is not None


def test_a_runner_of_another_kind_of_program_is_refused() -> None:
    require_module("ziglang")
    with pytest.raises(EdgeKitError, match="node does not run programs of target host"):
        api.verify(digits(), target=targets.with_runner(targets.load("host"), "node"))


def test_time_is_taken_where_the_code_runs_natively() -> None:
    require("gcc")
    found = api.bench(digits())
    assert found.instructions is None
    assert found.microseconds is not None
    assert (found.fastest or 0) <= found.microseconds <= (found.slowest or 0)


def test_a_target_without_an_emulator_has_no_benchmark() -> None:
    with pytest.raises(EdgeKitError, match="compiled, not run"):
        api.bench(digits(), target="macos-aarch64")

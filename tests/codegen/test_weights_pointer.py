"""Weights that runs are given by a pointer: the simulator's numbers, and blobs that are not for a library."""

import ctypes
import struct
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.chains import random_chain
from support.generated import C99, STRICT, compiled, memory
from support.nets import Net
from support.node_suite import SANITIZE
from support.random_graphs import random_network
from support.stateful import random_graph, samples
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, build, convert, quantize_model
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing import weights_blob
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

HOST = target.load("host")
OK, MISALIGNED, UNKNOWN, OF_ANOTHER, CUT_OFF, DAMAGED = range(6)


def graphs() -> list[Graph]:
    made = []
    for seed in range(6):
        made.append(random_network(seed, steps=20).with_name(f"net{seed}"))
        made.append(random_chain(seed))
        made.append(simplify(random_graph(seed)))
    return made


@pytest.mark.parametrize(
    ("optimize", "ports", "cores"), [("speed", "caller", 1), ("size", "arena", 1), ("speed", "caller", 3)]
)
def test_results_are_those_of_the_simulator(
    optimize: Optimize, ports: Ports, cores: int, tmp_path: Path
) -> None:
    """States that start from different numbers are among them."""
    require("cc")
    on = replace(HOST, cores=cores)
    programs = {graph.name: compile_graph(graph, on, ports, by_pointer=True) for graph in graphs()}
    assert any(program.resets_by_weights for program in programs.values())
    driver, errors = compile_programs(list(programs.values()), tmp_path, optimize, SANITIZE)
    assert not errors, next(iter(errors.values()))
    for graph in graphs():
        steps = samples(graph, 3)
        found = list(driver.run_each(programs[graph.name], steps))
        for right, outputs in zip(simulate.run_each(graph, steps), found, strict=True):
            for name in graph.outputs:
                scale = np.abs(right[name]).max(initial=1e-3)
                assert np.allclose(outputs[name], right[name], rtol=0, atol=1e-4 * scale), graph.name


def floats(seed: int, outputs: int = 4) -> Graph:
    """Of weights that are whole eighths: sums of such numbers are exact, in whatever order they are added."""
    net, rng = Net(), np.random.default_rng(seed)
    w, b = (rng.integers(-24, 25, shape).astype(np.float32) / 8 for shape in ((outputs, 8), (outputs,)))
    y = net(Dense(), net.x(1, 8), w, b, name="y")
    return net.done(y).with_name("net")


class Library:
    """A library whose runs are given weights, in this process."""

    def __init__(self, graph: Graph, folder: Path) -> None:
        self.program = compile_graph(graph, HOST, by_pointer=True)
        files = generate(self.program, "speed")
        write(files, folder)
        names = [*library_sources(files), f"{self.program.name}_selftest.c"]
        compiled(folder, "gcc", *C99, *STRICT, "-O1", "-shared", "-fPIC", "-I.", *names, "-o", "library.so")
        self.code = ctypes.CDLL(str(folder / "library.so"))
        self.blob = (folder / f"{self.program.name}_weights.bin").read_bytes()

    def check(self, blob: bytes, shift: int = 0, size: int | None = None) -> int:
        """With the blob so many bytes behind an aligned address."""
        at = placed(blob, shift)
        return int(
            self.code.net_weights_check(
                at.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint32(len(blob) if size is None else size)
            )
        )

    def run(self, blob: bytes, x: Array) -> Array:
        y, arena = (
            np.zeros(self.program.outputs[0].type.size, np.float32),
            memory(max(self.program.arena.size, 1), 0),
        )
        arrays = (x, y, placed(blob), arena)
        self.code.net_run(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return y

    def self_test(self, blob: bytes) -> int:
        arrays = (placed(blob), memory(max(self.program.arena.size, 1), 0))
        return int(self.code.net_selftest(*(ctypes.c_void_p(array.ctypes.data) for array in arrays)))


def placed(blob: bytes, shift: int = 0) -> Array:
    room = memory(len(blob) + shift, 0)
    room[shift:] = np.frombuffer(blob, np.uint8)
    return room[shift:]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(floats(1), tmp_path_factory.mktemp("net"))


def test_its_own_weights_pass_wherever_they_end(library: Library) -> None:
    assert len(library.blob) == weights_blob.size(library.program)
    assert library.check(library.blob) == OK
    assert library.check(library.blob + b"\xff" * 100) == OK
    assert library.self_test(library.blob) == 0


def test_every_bit_counts(library: Library) -> None:
    for bit in range(8 * len(library.blob)):
        damaged = bytearray(library.blob)
        damaged[bit // 8] ^= 1 << bit % 8
        found = library.check(bytes(damaged))
        if bit >= 8 * weights_blob.CRC_AT:
            assert found == DAMAGED, bit
        assert found != OK, bit


def test_every_length_counts(library: Library) -> None:
    assert {library.check(library.blob, size=size) for size in range(len(library.blob))} == {CUT_OFF}


def test_addresses_are_aligned(library: Library) -> None:
    align = library.program.target.align
    found = {shift: library.check(library.blob, shift) for shift in range(1, align)}
    assert set(found.values()) == {MISALIGNED}
    assert library.code.net_weights_check(None, 1000) == MISALIGNED
    assert library.check(library.blob, align) == OK


def test_other_files_are_no_weights(library: Library) -> None:
    assert library.check(bytes(1000)) == UNKNOWN
    assert library.check(b"\x7fELF" * 100) == UNKNOWN
    newer = bytearray(library.blob)
    struct.pack_into("<I", newer, 4, weights_blob.FORMAT + 1)
    struct.pack_into("<I", newer, weights_blob.CRC_AT, weights_blob.checksum(newer))
    assert library.check(bytes(newer)) == UNKNOWN


def test_weights_of_other_networks_are_refused(library: Library) -> None:
    for other in (floats(1, outputs=5), floats(1, outputs=3), floats(1).with_name("other")):
        blob = weights_blob.blob(compile_graph(other, HOST, by_pointer=True))
        assert library.check(blob) in (OF_ANOTHER, CUT_OFF)
        assert library.check(blob + bytes(1000)) == OF_ANOTHER


def test_weights_that_were_trained_further_are_taken(library: Library) -> None:
    """In the same library, from one run to the next."""
    other = floats(2)
    blob = weights_blob.blob(compile_graph(other, HOST, by_pointer=True))
    assert library.check(blob) == OK
    x = np.arange(-4, 4, dtype=np.float32).reshape(1, 8) / 4
    for graph, weights in ((floats(1), library.blob), (other, blob), (floats(1), library.blob)):
        right = simulate.run(graph, {"x": x})["y"].reshape(-1)
        np.testing.assert_array_equal(library.run(weights, x), right)
    assert library.self_test(blob) == 2  # it is of the weights of the build


@pytest.fixture(scope="module")
def data() -> Mapping[str, Array]:
    with np.load(ROOT / "edgekit" / "digits.npz") as found:
        return {"x": found["x"][:32]}


def int8_digits(data: Mapping[str, Array], factor: float = 1) -> Graph:
    samples = {"x": data["x"] * np.float32(factor)}
    model = convert(ROOT / "edgekit" / "digits.onnx")
    return quantize_model(model, samples, calibrate="minmax", io="int8")[0]


def test_quantization_parameters_are_part_of_the_interface(data: Mapping[str, Array]) -> None:
    """Weights for other scales would be read as numbers that they are not."""
    programs = [compile_graph(int8_digits(data, factor), HOST, by_pointer=True) for factor in (1, 1, 1.5)]
    first, same, other = map(weights_blob.interface, programs)
    assert first == same != other
    port = programs[0].inputs[0]
    assert port.type.quant
    moved = replace(port, type=replace(port.type, quant=replace(port.type.quant, scale=(0.5,))))
    assert weights_blob.interface(replace(programs[0], inputs=(moved,))) != first


@pytest.mark.parametrize("name", ["cortex-m4", "riscv32", "aarch64-dotprod", "wasm32-simd"])
def test_builds_verify(name: str, data: Mapping[str, Array], tmp_path: Path) -> None:
    require_module("ziglang")
    graph = int8_digits(data)
    report = build(graph, tmp_path / "lib", target=name, weights="pointer", verify=True)
    assert report.verification
    assert report.verification.exact
    assert report.blob_bytes == (tmp_path / "lib/digits_weights.bin").stat().st_size > report.weight_bytes
    linked = build(graph, tmp_path / "linked", target=name, verify=False)
    assert report.constant_bytes is not None
    assert linked.constant_bytes is not None
    assert report.constant_bytes < linked.constant_bytes - report.weight_bytes // 2


def test_entries_share_the_blob(tmp_path: Path) -> None:
    require("cc")
    net, other = floats(1), floats(1, outputs=6)
    report = build(net, tmp_path / "lib", weights="pointer", entries={"wide": other}, verify=True)
    program_bytes = report.weight_bytes
    assert report.blob_bytes > program_bytes > 0
    assert not (tmp_path / "lib/net_wide_weights.bin").exists()
    assert (tmp_path / "lib/net_wide.h").read_text().count("net_weights_check") == 1


def test_packages_and_gpus_are_refused(tmp_path: Path) -> None:
    for name in ("python", "cmake"):
        with pytest.raises(EdgeKitError, match=f"package {name} has its weights inside, and its ex") as found:
            build(floats(1), tmp_path, weights="pointer", package=[name])
        assert "C files for any build system" in found.value.hint
    with pytest.raises(EdgeKitError, match="a library for target opencl has its weights inside"):
        build(floats(1), tmp_path, target="opencl", weights="pointer")


def test_inputs_may_be_called_weights(tmp_path: Path) -> None:
    net = Net()
    y = net(Dense(), net.x(1, 8, name="weights"), net.random(4, 8), net.random(4), name="weights_check")
    report = build(net.done(y).with_name("net"), tmp_path / "lib", weights="pointer", verify=True)
    assert report.verification

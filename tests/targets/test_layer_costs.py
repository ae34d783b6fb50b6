"""What each layer takes, and the function of a user's that is called behind each."""

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from support.tools import require, require_module

from edgekit import api
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize

_MAIN = """\
#include <stdio.h>
#include "digits.h"
static const char *const names[DIGITS_LAYERS] = {DIGITS_LAYER_NAMES};
static float x[DIGITS_X_SIZE], y[DIGITS_Y_SIZE];
static double arena[DIGITS_ARENA_SIZE / 8 + 1];
void digits_layer_done(int32_t layer)
{
    puts(names[layer]);
}
int main(void)
{
    digits_run(x, y, arena);
    return 0;
}
"""


def digits() -> Graph:
    return api.convert(Path(str(files("edgekit"))) / "digits.onnx")


@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_layers_are_those_of_the_library(target: str, tmp_path: Path) -> None:
    if target == "cortex-m4":
        require("qemu-system-arm")
    found = api.bench(digits(), target=target, layers=True)
    library = api.build(digits(), tmp_path, target=target, verify=False)
    assert [x.name for x in found.layers] == [x.name for x in library.layers]
    assert sum(x.macs for x in found.layers) == found.macs
    if target == "host":
        assert all(x.microseconds is not None and x.instructions is None for x in found.layers)
        assert sum(x.microseconds or 0.0 for x in found.layers) > 0
    else:
        counts = [x.instructions or 0 for x in found.layers]
        assert found.instructions is not None
        assert min(counts) > 0
        assert 0.99 * found.instructions < sum(counts) <= found.instructions


def test_layers_on_an_emulated_pc_are_counted_by_its_own_clock() -> None:
    require("bochs")
    target = targets.with_runner(targets.load("x86-64"), targets.load("x86-64-avx512").emulator)
    found = api.bench(digits(), target=target, layers=True)
    assert found.instructions is not None
    assert all(x.microseconds is None for x in found.layers)
    counts = [x.instructions or 0 for x in found.layers]
    assert min(counts) > 0
    assert sum(counts) == pytest.approx(found.instructions, rel=0.02)


def test_layers_are_measured_only_where_they_are_asked_for() -> None:
    assert api.bench(digits()).layers == ()


def test_layers_in_webassembly_are_counted_in_operations() -> None:
    require_module("wasmtime")
    found = api.bench(digits(), target="wasm32-simd", layers=True)
    assert found.instructions is not None
    assert all(x.microseconds is None for x in found.layers)
    counts = [x.instructions or 0 for x in found.layers]
    assert min(counts) > 0
    assert sum(counts) == pytest.approx(found.instructions, rel=0.02)


def test_what_has_no_clock_for_layers_says_so() -> None:
    with pytest.raises(EdgeKitError) as caught:
        api.bench(digits(), target="opencl", layers=True)
    assert caught.value.code == "E0503"
    assert "aarch64" in caught.value.hint


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_a_library_calls_the_users_function_behind_each_layer(optimize: Optimize, tmp_path: Path) -> None:
    require("gcc")
    found = api.build(digits(), tmp_path, optimize=optimize, layer_hook=True)
    assert found.verification, "its own function does nothing"
    (tmp_path / "main.c").write_text(_MAIN)
    sources = [name for name in found.files if name.endswith(".c") and "selftest" not in name]
    if optimize == "speed":
        sources = [name for name in sources if not name.startswith("edgekit/")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-O1"]
    subprocess.run(["gcc", *flags, *sources, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert said.split() == [layer.name for layer in found.layers]


def test_libraries_without_the_option_call_no_hook(tmp_path: Path) -> None:
    api.build(digits(), tmp_path, verify=False)
    assert not any("layer_done" in path.read_text() for path in tmp_path.glob("digits.[ch]"))

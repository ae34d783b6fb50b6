"""Code sizes without a compiler: what the tables say of libraries, beside what compilers make of these."""

from pathlib import Path

import numpy as np
import pytest
from support.tools import ROOT, require_module

from edgekit import Graph, build, convert, quantize_model
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import code_size
from edgekit.codegen.cost.code_size import ONCE, Uses
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize, Target
from edgekit.reports import library_page
from edgekit.reports.library_page import LibraryFigures


@pytest.fixture(scope="module", params=["digits", "keywords"])
def graph(request: pytest.FixtureRequest) -> Graph:
    return convert(ROOT / "examples" / request.param / f"{request.param}.onnx")


@pytest.fixture(scope="module")
def int8(graph: Graph) -> Graph:
    with np.load(ROOT / "examples" / graph.name / "calib.npz") as data:
        return quantize_model(graph, data["x"][:8], calibrate="minmax", io="int8")[0]


# Of each table, and of processors that take the table of another one.
@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize(
    "name",
    ["rp2040", "cortex-m3", "nrf52840", "stm32h743", "cortex-m55", "cortex-m85", "esp32-c3", "esp32-p4"],
)
def test_estimates_are_near_what_compilers_make(
    int8: Graph, name: str, optimize: Optimize, tmp_path: Path
) -> None:
    """Where this fails, kernels have changed: see benchmarks/code_sizes.py."""
    require_module("ziglang")
    found = build(int8, tmp_path / "out", target=name, verify=False, optimize=optimize)
    program = fit(int8, targets.load(name), optimize=optimize)
    about = code_size.estimated(program, render(program, optimize), optimize)
    assert about
    assert found.flash_bytes
    low, high = {"speed": (0.1, 0.7), "size": (0.1, 0.55)}[optimize]
    assert low < about.error < high
    made = found.flash_bytes - found.weight_bytes
    assert about.bytes == pytest.approx(made, rel=about.error)
    assert found.code_estimate is None


def test_floats_are_known_too(graph: Graph, tmp_path: Path) -> None:
    require_module("ziglang")
    found = build(graph, tmp_path / "out", target="cortex-m4", verify=False)
    program = compile_graph(graph, targets.load("cortex-m4"))
    about = code_size.estimated(program, render(program, "speed"), "speed")
    assert about
    assert found.code_bytes
    assert about.code == pytest.approx(found.code_bytes, rel=about.error)


def test_a_page_without_a_compiler_says_about(
    int8: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(target: Target) -> toolchain.Compiler:
        raise EdgeKitError("E0501", f"no compiler for target {target.name}")

    monkeypatch.setattr(toolchain, "find", missing)
    target = targets.load("nrf52840")
    found = build(int8, tmp_path / "out", target=target)
    about = found.code_estimate
    assert about
    page = library_page.render(LibraryFigures.of(found, target, "speed"))
    low, high = (round(about.bytes / (1 + sign * about.error), -1) for sign in (1, -1))
    assert f"weights {found.weight_bytes:,} + code about {round(about.bytes, -1):,}, " in page
    assert f", {low:,.0f} to {high:,.0f} for nine of ten networks: not compiled" in page
    assert low < about.bytes < high


def test_a_page_without_a_table_says_at_least(
    int8: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(target: Target) -> toolchain.Compiler:
        raise EdgeKitError("E0501", f"no compiler for target {target.name}")

    monkeypatch.setattr(toolchain, "find", missing)
    target = targets.load("esp32-s3")
    found = build(int8, tmp_path / "out", target=target)
    assert found.code_estimate is None
    page = library_page.render(LibraryFigures.of(found, target, "speed"))
    assert "at least " in page
    assert "weights alone, code is not known: not compiled" in page


@pytest.mark.parametrize("name", ["esp32", "x86-64"])
def test_nothing_is_guessed_for_other_kernels(graph: Graph, name: str) -> None:
    program = compile_graph(graph, targets.load(name))
    assert code_size.estimated(program, render(program, "speed"), "speed") is None


def test_functions_are_found_through_macros() -> None:
    text = b"""/* made() */
#define EK_DEFINE(type, walk) \\
    static void ek_##type##_rows(void) \\
    { \\
        walk ek_##type##_dots(); \\
    }
EK_DEFINE(f32, EK_WALK("", EK_STEP(1, 2)))
static void ek_f32_dots(void)
{
}
static void ek_never(void)
{
}
static void net_layer(void)
{
    ek_f32_rows(); /* ek_never() */
}
"""
    calls = code_size._calls([text.decode()])
    assert code_size._reached(calls, "net_layer") == {"ek_f32_rows", "ek_f32_dots"}


def test_the_nearest_kind_is_taken() -> None:
    known = {
        "run": [10, 2],
        "layers": {"ek_a__ref": {"often": [5, 1], "once": [3, 0]}},
        "functions": {"ek_f": {"ek_a__ref often": [100, 0], "often": [200, 0]}, "ek_g": {"often": [7, 0]}},
        "error": 0.25,
    }
    shared = {"ek_f": f"ek_a__ref {ONCE}", "ek_g": "ek_b once"}
    found = code_size.sum_of(Uses(("ek_a__ref",), (), shared, {}), known)
    assert (found.code, found.parameters, found.error) == (10 + 2 + 3 + 100 + 7, 0, 0.25)
    assert code_size.sum_of(Uses(("ek_c__ref",), (), {}, {}), known).unknown == ("ek_c__ref",)

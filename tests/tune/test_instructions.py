"""Instructions are counted layer by layer, and estimates are as good as they say."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS
from support.tools import require, require_module, require_shared

from benchmarks import decoder
from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import counting, instructions
from edgekit.codegen.cost.bench import compiled
from edgekit.codegen.cost.calibrations import calibrated, calibrations
from edgekit.codegen.cost.cost_features import work
from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize

CALIBRATED = calibrated()


@pytest.fixture(scope="module")
def small() -> Graph:
    """The digits in int8."""
    with np.load(DIGITS / "calib.npz") as file:
        return api.quantize_model(DIGITS / "digits.onnx", file["x"][:16], calibrate="minmax")[0]


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_layers_add_up_to_the_run(small: Graph, optimize: Optimize) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    program = compile_graph(small, targets.load("cortex-m4"))
    with tempfile.TemporaryDirectory() as folder:
        executable = compiled(program, Path(folder), toolchain.find(program.target), optimize)
        functions = counting.entered(program, optimize)
        found = counting.count(program.target, executable, functions)
        assert counting.count(program.target, executable).parts == ()
    assert len(found.parts) == len(program.lines)
    # What is not in a layer is the call of the run itself, with its arguments.
    assert 0 <= found.total - sum(found.parts) < 40
    heaviest = max(zip(found.parts, program.lines, strict=True), key=lambda pair: pair[0])[1]
    assert heaviest.macs == max(line.macs for line in program.lines)


@pytest.mark.parametrize("core", CALIBRATED)
def test_an_estimate_is_as_good_as_it_says(small: Graph, core: str) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    program = compile_graph(small, targets.load(core))
    found, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert found is not None
    assert not found.unknown
    assert 0 < found.error < 0.35
    assert abs(truth.total / found.total - 1) <= found.error


@pytest.mark.parametrize("name", ["small_unet", "small_vit"])
def test_layers_of_networks_of_16_bits_are_known(name: str, exports: Path) -> None:
    """Activations have 16 bits, and layers of int8 are between them."""
    require("qemu-system-arm")
    require_module("ziglang")
    require_module("torch")
    from support import networks

    made = networks.export(name, "torchscript", exports)
    graph = api.quantize_model(made, "random", calibrate="minmax", activations="int16")[0]
    program = compile_graph(graph, targets.load("cortex-m55"))
    found, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert found is not None
    assert not found.unknown
    assert found.error < 0.35
    each = zip(found.layers, truth.layers, strict=True)
    assert (
        sum(abs((a.instructions or 0) - (b.instructions or 0)) for a, b in each) < found.error * truth.total
    )


@pytest.mark.parametrize("format", ["int8", "int4"])
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m55"])
def test_a_token_of_a_decoder_is_estimated(core: str, format: str) -> None:
    """The last one that its caches hold: attention reads all rows."""
    require("qemu-system-arm")
    require_module("ziglang")
    graph, target = decoder.model(format), targets.load(core)
    found, truth = instructions.estimated(compile_graph(graph, target), "speed"), decoder.count(graph, target)
    assert found is not None
    assert set(found.unknown) == {f"ek_{name}__ref" for name in ("cast_s32_f32", "cos_f32", "sin_f32")}
    assert abs(found.total / truth[""] - 1) < 0.05


@pytest.mark.parametrize("core", CALIBRATED)
def test_calibrations_are_of_work_that_is_known(core: str) -> None:
    text = Path(work.__code__.co_filename).read_text(encoding="utf-8")
    done = {*re.findall(r'yield "(.+?)"', text), *(f"products by {block} outputs" for block in (16, 32, 64))}
    done |= {kind for variant in all_variants() for kind in variant.counts}
    known = calibrations(core, "speed")
    assert len(known) > 20
    for name, found in [*known.items(), *calibrations(core, "size").items()]:
        assert found.terms, name
        assert found.terms.keys() <= done, name
        assert min(found.terms.values()) > 0, name
        assert not found.shares or found.shares.keys() == found.terms.keys(), name


def test_time_says_where_it_comes_from() -> None:
    board = targets.load("stm32f407")
    assert board.pace is not None
    assert board.pace.in_words(1_680_000).startswith("15.9 ms at 168 MHz by Arm's timings")
    own = targets.parse("mine", 'base = "stm32f407"\ncycles_per_instruction = 2\n')
    assert own.pace is not None
    assert own.pace.in_words(1_680_000) == "20 ms at 168 MHz"
    assert targets.load("cortex-m4").pace is None  # it has no clock


def test_boards_know_what_their_processor_knows(small: Graph) -> None:
    board = targets.parse("mine", 'base = "stm32f407"\nclock = "168M"\ncycles_per_instruction = 1.5\n')
    found = instructions.estimated(compile_graph(small, board), "speed")
    assert found == instructions.estimated(compile_graph(small, targets.load("cortex-m4")), "speed")


@pytest.mark.parametrize(("core", "name"), [("cortex-m4", "voice int8"), ("cortex-m0plus", "random 2 f32")])
def test_counts_of_networks_without_a_part_in_the_calibration_are_inside_the_error(
    core: str, name: str
) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    from benchmarks.reliability.networks import networks

    (network,) = [network for network in networks() if network.name == name]
    program = compile_graph(network.graph(), targets.load(core))
    found, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert found is not None
    assert abs(truth.total / found.total - 1) <= found.error < 0.5


@pytest.mark.parametrize("core", CALIBRATED)
def test_errors_come_from_twenty_networks_at_least(core: str) -> None:
    found = instructions.held_out(core, "speed")
    assert found is not None
    assert found.networks >= 20
    assert found.factor >= 1
    assert found.terms.keys() <= {"calls", "inputs", "outputs", "products"}


def test_what_is_not_calibrated_is_named_and_widens_the_error(
    small: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_graph(small, targets.load("cortex-m4"))
    whole, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert whole is not None
    assert not whole.reasons
    dear = max(whole.layers, key=lambda layer: layer.instructions or 0)
    fewer = {name: one for name, one in calibrations("cortex-m4", "speed").items() if name != dear.kernel}
    monkeypatch.setattr(instructions, "calibrations", lambda core, optimize: fewer)
    found = instructions.estimated(program, "speed")
    assert found is not None
    assert found.unknown == (dear.kernel,)
    assert found.error > 2 * whole.error
    assert abs(truth.total / found.total - 1) <= found.error
    lost = sum(layer.kernel == dear.kernel for layer in whole.layers)
    are = "layer is" if lost == 1 else "layers are"
    assert found.reasons == (f"{lost} {are} not calibrated: ±{found.from_unknown:.1%}",)


def test_work_that_calibration_did_not_see_widens_the_error(
    small: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_graph(small, targets.load("cortex-m4"))
    whole = instructions.estimated(program, "speed")
    assert whole is not None
    known = dict(calibrations("cortex-m4", "speed"))
    dear = max(whole.layers, key=lambda layer: layer.instructions or 0).kernel
    known[dear] = replace(known[dear], shares=dict.fromkeys(known[dear].terms, (1.5, 2.0)))
    monkeypatch.setattr(instructions, "calibrations", lambda core, optimize: known)
    found = instructions.estimated(program, "speed")
    assert found is not None
    assert found.total == whole.total
    assert found.error == pytest.approx(whole.error - whole.from_extrapolated + found.from_extrapolated)
    assert found.from_extrapolated > 0
    assert found.reasons[0].endswith(f"outside of the calibrated range: ±{found.from_extrapolated:.1%}")


def test_without_calibration_and_emulator_nothing_is_known(small: Graph) -> None:
    program = compile_graph(small, targets.load("host"))
    assert instructions.estimated(program, "speed") is None
    with pytest.raises(EdgeKitError, match="cannot be counted"):
        instructions.counted(program, "speed")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kws_ref_model", "ad01_int8", "vww_96_int8", "pretrainedResnet_quant"])
def test_networks_of_others_are_estimated_within_their_error(name: str) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    graph = api.convert(require_shared("models/mlperf_tiny") / f"{name}.tflite")
    program = compile_graph(graph, targets.load("cortex-m4"))
    found, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert found is not None
    assert not found.unknown
    assert abs(truth.total / found.total - 1) <= found.error

"""`edgekit prune`: what users ask for, and what they are told."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.tools import require, require_module

from edgekit import api
from edgekit.core.errors import EdgeKitError, Exit


def test_a_share_of_the_multiplications(cli: CommandLine) -> None:
    found = json.loads(cli.ok("prune", "digits.onnx", "--macs", "50%", "--data", "calib.npz", "--json").out)
    pruning = found["pruning"]
    assert found["file"] == "digits_pruned.ek"
    assert pruning["macs"] <= 0.5 * pruning["macs_before"]
    assert pruning["criterion"] == "reconstruction"
    assert pruning["sqnr_db"] > 8
    graph = api.load("digits_pruned.ek")
    assert api.inspect(graph).macs == pruning["macs"]
    assert [str(graph.type(name)) for name in graph.outputs] == ["f32[1,10]"]


def test_without_data_weights_decide(cli: CommandLine) -> None:
    answer = cli.ok("prune", "digits.onnx", "--ratio", "0.25", "-o", "small.ek")
    assert "criterion  l2" in answer.out
    assert "quality" not in answer.out
    assert "without --data" in answer.err


def test_flash_is_what_the_library_takes(cli: CommandLine) -> None:
    require("gcc")
    cli.ok("prune", "digits.onnx", "--flash", "20K", "--data", "calib.npz", "-o", "small.ek")
    report = api.build("small.ek", "out", verify=False)
    assert report.flash_bytes is not None
    assert 0.9 * (20 << 10) < report.flash_bytes <= 20 << 10


def test_flash_may_be_that_of_int8(cli: CommandLine) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    where = ["--target", "cortex-m4", "--flash", "8K", "--as", "int8", "--data", "calib.npz"]
    cli.ok("prune", "digits.onnx", *where, "-o", "small.ek")
    cli.ok("quantize", "small.ek", "--data", "calib.npz", "-o", "small8.ek", "--calibrate", "minmax")
    report = api.build("small8.ek", "out", target="cortex-m4", verify=False)
    assert report.flash_bytes is not None
    assert report.flash_bytes <= 8 << 10


def test_blocks_in_the_tile_of_the_target(cli: CommandLine) -> None:
    where = ["--blocks", "60%", "--target", "cortex-m4", "--data", "calib.npz"]
    answer = cli.ok("prune", "digits.onnx", *where, "-o", "small.ek")
    assert re.search(r"blocks of +zero\n.* +60%", answer.out), answer.out
    cli.ok("quantize", "small.ek", "--data", "calib.npz", "-o", "small8.ek", "--calibrate", "minmax")
    kernels = [
        layer.kernel for layer in api.build("small8.ek", "out", target="cortex-m4", verify=False).layers
    ]
    assert any("blocks" in kernel for kernel in kernels), kernels


def test_a_budget_that_is_too_small(cli: CommandLine) -> None:
    require("gcc")
    answer = cli("prune", "digits.onnx", "--flash", "1K", "--data", "calib.npz", "-o", "small.ek")
    assert answer.code == Exit.GATE
    assert "E0605" in answer.err
    assert not Path("small.ek").exists()


@pytest.mark.parametrize(("target", "measured"), [("cortex-m4", "int8"), ("host", "float32")])
def test_the_smallest_library_is_found_and_can_be_asked_for(
    cli: CommandLine, target: str, measured: str
) -> None:
    """No share of the multiplications leads to a smaller one."""
    require("gcc")
    require_module("ziglang")
    where = ["--target", target, "--as", measured, "--data", "calib.npz", "--no-fit", "-o", "small.ek"]
    answer = cli("prune", "digits.onnx", "--flash", "2K", *where)
    assert answer.code == Exit.GATE
    (least,) = re.findall(r"hint: --flash (\d+) is the least", answer.err)
    cli.ok("prune", "digits.onnx", "--flash", least, *where)
    assert flash("small.ek", target, measured) == int(least)
    for share in ("2%", "3%", "5%", "9%", "15%"):
        cli.ok("prune", "digits.onnx", "--macs", share, *where)
        assert flash("small.ek", target, measured) >= int(least)


def flash(path: str, target: str, measured: str) -> int:
    """What the library takes, as `prune` measures it."""
    graph = api.load(path)
    if measured == "int8":
        data = {"x": np.load("calib.npz")["x"][:2]}
        graph, _ = api.quantize_model(graph, data, calibrate="minmax", strict_int8=True)
    return api.estimate(graph, target=target).flash_bytes


def test_channels_are_as_the_target_likes_them(cli: CommandLine) -> None:
    cli.ok("prune", "digits.onnx", "--macs", "60%", "--target", "cortex-m4", "-o", "small.ek")
    graph = api.load("small.ek")
    shapes = [
        value.type.shape for value in graph.values.values() if value.data is not None and value.type.rank == 4
    ]
    assert shapes
    assert all(shape[0] % 4 == 0 for shape in shapes)


def test_accuracy_is_a_gate(cli: CommandLine) -> None:
    graph = api.load("digits.ek")
    with np.load("calib.npz") as file:
        answers = api.run(graph, file["x"])["y"].argmax(axis=-1)
    np.save("y.npy", answers)
    given = ["prune", "digits.onnx", "--data", "calib.npz", "--labels", "y.npy", "-o", "small.ek"]
    assert "accuracy" in cli.ok(*given, "--macs", "90%", "--max-drop", "10%").out
    answer = cli(*given, "--macs", "10%", "--max-drop", "1%")
    assert answer.code == Exit.GATE
    assert "accuracy drops by" in answer.err
    assert Path("small.ek").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no pruning goal is given"),
        (["--ratio", "50%", "--macs", "50%"], "2 pruning goals are given"),
        (["--macs", "half"], "not a number"),
        (["--macs", "150%"], "not a share"),
        (["--blocks", "100%", "--target", "cortex-m4"], "not a share"),
        (["--blocks", "50%"], "--target, one of cortex-m33, cortex-m4"),
        (["--flash", "small"], "not a size"),
        (["--ratio", "50%", "--criterion", "bn"], "needs calibration data"),
        (["--ratio", "50%", "--max-drop", "1%"], "needs labels"),
    ],
)
def test_what_makes_no_sense(cli: CommandLine, words: list[str], said: str) -> None:
    answer = cli("prune", "digits.onnx", *words)
    assert answer.code == Exit.USAGE
    assert said in answer.err


def test_quantized_models_are_pruned_before(cli: CommandLine) -> None:
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "-o", "q.ek", "--calibrate", "minmax")
    answer = cli("prune", "q.ek", "--ratio", "50%")
    assert answer.code == Exit.UNSUPPORTED
    assert "prune the float model" in answer.err


def test_labels_belong_to_samples(folder: Path) -> None:
    graph = api.load(folder / "digits.ek")
    with pytest.raises(EdgeKitError, match="labels for"):
        api.prune(graph, "calib.npz", api.Pruning(ratio=0.5), labels=np.zeros(3, np.int64))


def test_an_estimate_is_what_a_build_says(cli: CommandLine) -> None:
    require("gcc")
    found = json.loads(cli.ok("estimate", "digits.onnx", "--ports", "arena", "--json").out)
    report = api.build("digits.onnx", "out", ports="arena", verify=False)
    assert found["flash_bytes"] == report.flash_bytes
    assert found["arena_bytes"] == report.arena_bytes
    assert found["stack_bytes"] == report.stack_bytes
    assert "MACs" in cli.ok("estimate", "digits.onnx").out


def test_an_estimate_says_what_share_of_a_board_is_taken(cli: CommandLine) -> None:
    require_module("ziglang")
    answer = cli.ok("estimate", "digits.onnx", "--target", "stm32f407")
    assert "of flash" in answer.out
    assert "% of 1,048,576 B" in answer.out

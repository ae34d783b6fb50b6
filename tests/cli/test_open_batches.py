"""A batch that a model file leaves open is 1, and the commands say so, with the option that binds it."""

import re
from pathlib import Path

import onnx
import pytest
from support.command_line import CommandLine
from support.exports import SAMPLES
from support.onnx_models import model, node, tensor

from edgekit import convert, inspection, load, save, settings
from edgekit.core.ir import OpenBatch

OPEN = {  # exports with an open batch, and what the file calls it
    "tf/net_f32.tflite": "",
    "tf/net_int8.tflite": "",
    "tf/net_keras_export.onnx": "unk__46",
    "jax/net_dyn.mlir": "",
    "torch/net_dynbatch.pt2": "s77",
}
FIXED = ("torch/net.onnx", "torch/net.pt2", "jax/net.mlir", "caffe/net.prototxt", "paddle/pir/net.json")


@pytest.mark.parametrize("name", OPEN)
def test_the_option_that_is_shown_binds_the_batch(name: str) -> None:
    graph = convert(SAMPLES / name)
    (x,) = graph.inputs
    assert graph.type(x).shape[0] == 1
    assert graph.source.open_batches == (OpenBatch(x, OPEN[name]),)
    note = inspection.open_batches(graph)
    assert note.startswith(f"the batch of {x} is open in the file, and 1 here: --")
    option, binding = re.findall(r"(--\w+) (\S+) binds it", note)[0]
    binding = re.sub(r"=N\b", "=2", binding)
    bound = (
        {"dims": settings.dims([binding])} if option == "--dim" else {"shapes": settings.shapes([binding])}
    )
    twice = convert(SAMPLES / name, **bound)
    assert twice.type(x).shape == (2, *graph.type(x).shape[1:])
    assert inspection.open_batches(twice) == ""


@pytest.mark.parametrize("name", FIXED)
def test_a_batch_that_the_file_fixes_is_no_news(name: str) -> None:
    assert inspection.open_batches(convert(SAMPLES / name)) == ""


def encoder(path: Path) -> Path:
    inputs = [tensor("ids", ["batch", 4]), tensor("mask", ["batch", 4]), tensor("scale", [4])]
    nodes = [node("Add", "ids mask", "sum"), node("Mul", "sum scale", "y")]
    onnx.save(model(nodes, inputs=inputs), path)
    return path


def test_inputs_of_one_batch_are_told_together(tmp_path: Path) -> None:
    path = encoder(tmp_path / "encoder.onnx")
    one = "--dim batch=N binds it"
    assert inspection.open_batches(convert(path)).startswith("the batch of ids, mask is open")
    assert inspection.open_batches(convert(path)).endswith(one)
    assert inspection.open_batches(convert(path, constants={"ids": 0.0})).startswith("the batch of mask is")
    assert inspection.open_batches(convert(path, dims={"batch": 1})) == ""
    assert inspection.open_batches(convert(path, shapes={"ids": (1, 4), "mask": (1, 4)})) == ""


def test_an_ek_file_keeps_what_was_open(tmp_path: Path) -> None:
    graph = convert(encoder(tmp_path / "encoder.onnx"))
    save(graph, tmp_path / "net.ek")
    assert load(tmp_path / "net.ek").source == graph.source


def test_convert_and_build_say_it_once(cli: CommandLine, folder: Path) -> None:
    note = "note: the batch of ids, mask is open in the file, and 1 here: --dim batch=N binds it"
    path = encoder(folder / "encoder.onnx")
    assert cli.ok("convert", path, "-o", "net.ek").err.count(note) == 1
    assert note not in cli.ok("build", "net.ek", "-o", "out", "--no-verify").err
    assert cli.ok("build", path, "-o", "out", "--no-verify").err.count(note) == 1
    assert note not in cli.ok("build", path, "-o", "out", "--no-verify", "--dim", "batch=1").err


def test_errors_say_that_a_batch_was_taken_as_one(cli: CommandLine, folder: Path) -> None:
    """What does not fit a batch of 1 may fit the one that the file was made for."""
    inputs = [tensor("frames", ["clips", 3]), tensor("weights", [4, 3])]
    nodes = [node("Transpose", "frames", "turned"), node("MatMul", "turned weights", "y")]
    onnx.save(model(nodes, inputs=inputs), folder / "net.onnx")
    answer = cli("convert", "net.onnx")
    assert "error: E0401" in answer.err
    assert (
        "hint: the batch of frames is open in the file, and was taken as 1: --dim clips=N binds it"
        in answer.err
    )
    cli.ok("convert", "net.onnx", "--dim", "clips=4")
    answer = cli("convert", "net.onnx", "--dim", "clips=5")
    assert "error: E0401" in answer.err
    assert "taken as 1" not in answer.err

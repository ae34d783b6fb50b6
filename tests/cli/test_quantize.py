"""`edgekit quantize` makes a smaller model, says what it costs, and refuses data that cannot be used."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.tools import require

import edgekit
from edgekit.core.types import DType

# Where it does not matter which ranges are found: the best ones take ten times as long.
QUICK = ("--calibrate", "minmax")


def test_quantize_makes_int8_that_c_computes_exactly(cli: CommandLine) -> None:
    require("gcc")
    answer = cli.ok("quantize", "digits.onnx", "--data", "calib.npz")
    assert "digits_int8.ek: digits, 6,500 B of weights" in answer.out
    assert cli.ok("verify", "digits_int8.ek", "--json").json["exact"]


def test_the_report_shows_every_layer(cli: CommandLine) -> None:
    found = cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "--json").json["quantization"]
    assert found["samples"] == 128
    assert found["sqnr_db"] > 35
    assert [layer["op"] for layer in found["layers"]].count("Conv2d") == 3
    assert all(layer["runs_in"] == "int8" and layer["scale"] > 0 for layer in found["layers"])
    assert all(layer["sqnr_db"] > 30 for layer in found["layers"])


def test_inputs_and_outputs_are_int8_on_request(cli: CommandLine) -> None:
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "--io", "int8", "-o", "whole.ek", *QUICK)
    graph = edgekit.load("whole.ek")
    assert {graph.type(name).dtype for name in (*graph.inputs, *graph.outputs)} == {DType.S8}


def test_a_folder_of_files_is_calibration_data(cli: CommandLine, folder: Path) -> None:
    (folder / "calib").mkdir()
    with np.load("calib.npz") as data:
        x = data["x"]
    np.save(folder / "calib" / "1.npy", x[:64])
    np.savez(folder / "calib" / "2.npz", x=x[64:])
    one = cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "-o", "one.ek", "--json", *QUICK).json
    two = cli.ok("quantize", "digits.onnx", "--data", "calib", "-o", "two.ek", "--json", *QUICK).json
    assert one["quantization"] == two["quantization"]
    assert Path("one.ek").read_bytes() == Path("two.ek").read_bytes()


def test_random_calibration_is_marked(cli: CommandLine) -> None:
    answer = cli.ok("quantize", "digits.onnx", "--data", "random", *QUICK)
    assert "warning: calibrated with random numbers" in answer.err


def test_data_that_leave_the_range_are_warned_about(cli: CommandLine, folder: Path) -> None:
    x = np.full((8, 1, 8, 8), 0.5, np.float32)
    x[1] = 3  # of the first two, the second one is held out
    np.save("loud.npy", x)
    assert "leave the range of the other half" in cli.ok("quantize", "digits.onnx", "--data", "loud.npy").err


def _write(name: str, array: np.ndarray) -> str:
    np.savez("bad.npz", **{name: array})
    return "bad.npz"


@pytest.mark.parametrize(
    ("name", "array", "code"),
    [
        ("z", np.zeros((4, 1, 8, 8), np.float32), "E0108"),
        ("x", np.zeros((4, 1, 9, 8), np.float32), "E0102"),
        ("x", np.zeros((4, 1, 8, 8), np.float64), "E0102"),
        ("x", np.full((4, 1, 8, 8), np.nan, np.float32), "E0408"),
        ("x", np.full((4, 1, 8, 8), np.inf, np.float32), "E0408"),
        ("x", np.zeros((0, 1, 8, 8), np.float32), "E0110"),
    ],
    ids=["name", "shape", "type", "nan", "infinite", "empty"],
)
def test_bad_calibration_data_are_refused(cli: CommandLine, name: str, array: np.ndarray, code: str) -> None:
    answer = cli("quantize", "digits.onnx", "--data", _write(name, array), "-o", "out.ek")
    assert f"error: {code}" in answer.err
    assert not Path("out.ek").exists()


def test_damaged_and_unsafe_calibration_files_are_refused(cli: CommandLine) -> None:
    Path("short.npz").write_bytes(Path("calib.npz").read_bytes()[:-100])
    np.save("pickled.npy", np.array([{}], object))
    Path("cat.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for name, code in (("short.npz", "E0401"), ("pickled.npy", "E0404"), ("cat.png", "E0401")):
        answer = cli("quantize", "digits.onnx", "--data", name, "-o", "out.ek")
        assert answer.code == 4
        assert f"error: {code} {name}" in answer.err
        assert "hint: " in answer.err
        assert not Path("out.ek").exists()


def test_few_samples_are_warned_about(cli: CommandLine) -> None:
    answer = cli.ok("quantize", "digits.onnx", "--data", "x.npz", *QUICK)
    assert "warning: 3 calibration samples are few" in answer.err


def test_without_calibration_data_the_error_says_what_to_give(cli: CommandLine) -> None:
    answer = cli("quantize", "digits.onnx")
    assert answer.code == 2
    assert "needs calibration data" in answer.err
    assert "x f32[1,1,8,8]" in answer.err


def test_an_empty_folder_and_a_quantized_model_are_refused(cli: CommandLine, folder: Path) -> None:
    (folder / "nothing").mkdir()
    assert "E0104" in cli("quantize", "digits.onnx", "--data", "nothing").err
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", *QUICK)
    assert "quantized already" in cli("quantize", "digits_int8.ek", "--data", "calib.npz").err


def test_layers_on_floats_in_a_quantized_model_are_warned_about(cli: CommandLine) -> None:
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "-o", "small.ek", *QUICK)
    assert "floats" not in cli.ok("convert", "small.ek", "-o", "again.ek").err
    cli.ok("quantize", "digits.onnx", "--data", "calib.npz", "--min-sqnr", "55", "-o", "mixed.ek")
    warning = cli.ok("convert", "mixed.ek", "-o", "again.ek").err
    assert "operators of this quantized model compute on floats: " in warning
    assert "Conv2d" in warning
    assert "floats" not in cli.ok("convert", "digits.onnx", "-o", "again.ek").err


def test_the_class_is_recorded_and_the_command_line_says_it(cli: CommandLine) -> None:
    words = ("quantize", "digits.onnx", "--data", "calib.npz", "--calibrate", "minmax")
    answer = cli.ok(*words, "-t", "stm32f407")
    assert "times as fast as floats, on cortex-m4" in answer.out
    assert edgekit.load("digits_int8.ek").source.machine == "cortex-m4"
    found = cli.ok(*words, "--json").json
    assert found["quantization"]["machine"] == "any"
    assert found["quantization"]["speedup"] > 0

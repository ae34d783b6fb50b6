"""--mean, --std and --raw: models that take what a sensor gives."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.tools import require

import edgekit
from edgekit.core.types import DType, Quant


def pixels(count: int = 64) -> np.ndarray:
    """The digits in 0 to 16, as they were scanned: the model takes them divided by 16."""
    with np.load("calib.npz") as data:
        return np.asarray(np.rint(data["x"][:count] * 16), np.uint8)


def test_convert_makes_a_model_of_bytes(cli: CommandLine) -> None:
    answer = cli.ok("convert", "digits.onnx", "--std", "16", "-o", "raw.ek")
    assert "input   x  u8[1,1,8,8]" in answer.out
    assert answer.err == ""
    np.save("pixels.npy", pixels(3))
    np.save("images.npy", pixels(3).astype(np.float32) / 16)
    raw, usual = (
        edgekit.run(f"{m}.ek", f"{d}.npy")["y"] for m, d in (("raw", "pixels"), ("digits", "images"))
    )
    np.testing.assert_allclose(raw, usual, rtol=0, atol=1e-5)


def test_a_mean_beside_a_border_of_zeros_is_noted(cli: CommandLine) -> None:
    answer = cli.ok("convert", "digits.onnx", "--mean", "3", "--std", "16", "-o", "raw.ek")
    assert "note: the mean of x stays an operator (Add): the first layer pads with zeros" in answer.err


def test_quantize_takes_pixels_to_the_device(cli: CommandLine) -> None:
    require("gcc")
    np.save("pixels.npy", pixels())
    line = ("quantize", "digits.onnx", "--data", "pixels.npy", "--mean", "x=3", "--std", "x=16")
    cli.ok(*line, "--io", "uint8", "-o", "net.ek")
    assert edgekit.load("net.ek").type("x").quant == Quant((1.0,), (0,))
    assert edgekit.load("net.ek").type("x").dtype is DType.U8
    assert cli.ok("verify", "net.ek", "--json").json["exact"]


def test_calibration_data_must_be_raw_then(cli: CommandLine) -> None:
    answer = cli("quantize", "digits.onnx", "--data", "calib.npz", "--std", "16")
    assert "error: E0102 input x is f32, the model takes u8[1,1,8,8]" in answer.err
    assert "save it as x.astype('uint8')" in answer.err


def test_the_type_of_raw_data_can_be_said(cli: CommandLine) -> None:
    cli.ok("convert", "digits.onnx", "--raw", "int16", "--std", "16", "-o", "raw.ek")
    assert edgekit.load("raw.ek").type("x").dtype is DType.S16


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--mean", "1,2,x", "--mean 1,2,x is no list of numbers"),
        ("--std", "", "--std  says nothing"),
        ("--std", "x=", "--std x= says nothing"),
        ("--std", "0", "normalize nothing"),
        ("--mean", "nan", "normalize nothing"),
        ("--mean", "1,2", "2 numbers for the channels of x"),
        ("--mean", "y=1", "digits has no input named y"),
        ("--raw", "float16", "unknown type of raw data: float16"),
    ],
)
def test_what_makes_no_sense_is_refused(cli: CommandLine, option: str, text: str, words: str) -> None:
    answer = cli("convert", "digits.onnx", option, text, "-o", "raw.ek")
    assert answer.code == 2
    assert words in answer.err
    assert not Path("raw.ek").exists()


def test_an_input_is_normalized_once(cli: CommandLine) -> None:
    answer = cli("convert", "digits.onnx", "--mean", "1", "--mean", "x=2", "-o", "raw.ek")
    assert answer.code == 2
    assert "error: E0103 mean of input x is there twice" in answer.err

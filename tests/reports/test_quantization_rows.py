"""The table of quantize: every row says something new, and of which samples it is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.tools import ROOT

from edgekit import Quantization, quantize_model
from edgekit.quantize import post_training
from edgekit.reports import results

EXAMPLES = ("digits", "keywords", "anomaly")


def quantized(name: str, count: int) -> Quantization:
    folder = ROOT / "examples" / name
    with np.load(folder / "calib.npz") as data:
        x = np.resize(data["x"], (count, *data["x"].shape[1:]))
    return quantize_model(folder / f"{name}.onnx", x, calibrate="minmax")[1]


@pytest.fixture(scope="module", params=EXAMPLES)
def found(request: pytest.FixtureRequest) -> Quantization:
    return quantized(request.param, 16)


@pytest.fixture(scope="module")
def digits() -> Quantization:
    return quantized("digits", 16)


def rows(found: Quantization) -> list[list[str]]:
    lines = results.quantization("net.ek", found)
    table = lines[lines.index("") + 2 :]
    return [line.split() for line in table[: table.index("") if "" in table else None]]


def test_every_row_says_something_new(found: Quantization) -> None:
    said = [tuple(row[2:]) for row in rows(found)]
    assert len(said) == len({*said}) >= 6


def test_layers_that_only_move_values_are_counted(found: Quantization) -> None:
    moves = len(found.layers) - len(rows(found))
    assert (moves > 0) == any(layer.op == "Reshape" for layer in found.layers)
    layers = "layer only moves" if moves == 1 else "layers only move"
    last = results.quantization("net.ek", found)[-1]
    assert (last == f"{moves} further {layers} what is in a row above") == (moves > 0)


def test_exact_floats_are_all_shown(digits: Quantization) -> None:
    """They have no scale, and all the same noise: none."""
    exact = [
        replace(layer, runs_in="float32", scale=None, zero=None, sqnr_db=math.inf) for layer in digits.layers
    ]
    assert len(rows(replace(digits, layers=tuple(exact)))) == len(exact)


def test_the_quality_is_of_the_samples_that_were_kept() -> None:
    found = quantized("digits", 160)
    assert (found.held_out, found.measured, found.layers_measured) == (80, 64, 64)
    lines = results.quantization("net.ek", found)
    assert "data     160 samples, 80 of them held out, 64 measured, --calibrate minmax" in lines


def test_an_output_has_one_figure_where_layers_are_measured_on_fewer_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = quantized("digits", 32)
    monkeypatch.setattr(post_training, "_MEMORY", 1)
    found = quantized("digits", 32)
    assert (found.measured, found.layers_measured) == (16, 2)
    ratios = {layer.name: layer.sqnr_db for layer in found.layers}
    assert ratios["linear"] == found.outputs["linear"] == whole.outputs["linear"]
    assert ratios["relu"] != next(layer.sqnr_db for layer in whole.layers if layer.name == "relu")
    lines = results.quantization("net.ek", found)
    assert lines[-1] == "SQNR of layers before the outputs is on 2 samples"

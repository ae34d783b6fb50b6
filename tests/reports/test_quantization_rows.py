"""The table of quantize: every row says something new."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support.tools import ROOT

from edgekit import Quantization, quantize_model
from edgekit.reports import results

DIGITS = ROOT / "examples" / "digits"


@pytest.fixture(scope="module")
def found() -> Quantization:
    with np.load(DIGITS / "calib.npz") as data:
        return quantize_model(DIGITS / "digits.onnx", data["x"][:16], calibrate="minmax")[1]


def rows(found: Quantization) -> list[str]:
    """Operators of the layers that are shown."""
    lines = results.quantization("net.ek", found)
    table = lines[lines.index("") + 2 :]
    return [line.split()[1] for line in table[: table.index("") if "" in table else None]]


def test_layers_that_only_move_values_are_counted(found: Quantization) -> None:
    moves = sum(layer.op == "Reshape" for layer in found.layers) - 1  # the first is that of the input
    assert moves > 0
    assert len(rows(found)) == len(found.layers) - moves
    layers = "layer only moves" if moves == 1 else "layers only move"
    assert results.quantization("net.ek", found)[-1] == f"{moves} further {layers} what is in a row above"


def test_exact_floats_are_all_shown(found: Quantization) -> None:
    """They have no scale, and all the same noise: none."""
    exact = [
        replace(layer, runs_in="float32", scale=None, zero=None, sqnr_db=math.inf) for layer in found.layers
    ]
    assert len(rows(replace(found, layers=tuple(exact)))) == len(exact)

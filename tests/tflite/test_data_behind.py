"""Files whose weights lie behind the tables: as large models have them, and those of ai-edge-quantizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model, with_data_behind
from tflite.litert import converted, litert

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError, Exit


def full_layer(rng: np.random.Generator) -> bytes:
    x = Tensor((2, 5), "int8", scale=[0.5], zero=[3])
    w = constant(rng.integers(-127, 128, (4, 5)), "int8", scale=[0.25], zero=[0])
    b = constant(rng.integers(-999, 999, 4), "int32", scale=[0.125], zero=[0])
    y = Tensor((2, 4), "int8", scale=[20.0], zero=[-2])
    return model(Operator("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", {"keepNumDims": False}))


def test_they_compute_what_litert_computes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    content = with_data_behind(full_layer(rng))
    x = rng.integers(-128, 128, (2, 5)).astype(np.int8)
    graph = converted(content, tmp_path, "net")
    (found,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    (expected,) = litert(content, [x])
    assert np.ptp(expected) > 9
    assert np.array_equal(found, expected)


def test_data_that_the_file_does_not_have_are_refused(tmp_path: Path) -> None:
    content = with_data_behind(full_layer(np.random.default_rng(0)))
    with pytest.raises(EdgeKitError, match="leads outside of it") as caught:
        converted(content[:-32], tmp_path, "net")
    assert caught.value.exit_code is Exit.MALFORMED

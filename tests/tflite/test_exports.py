"""Networks that TensorFlow exported: arithmetic on shapes folds, and the numbers are the recorded ones."""

from __future__ import annotations

import numpy as np
import pytest
from support.tools import require_shared

from edgekit.codegen.compilation.build import run
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate, target
from edgekit.core.passes.simplify import simplify

RECORDED = {"net_f32": "net_f32_io", "net_int8": "net_int8_io", "net_keras_export": "io"}


@pytest.mark.parametrize("name", RECORDED)
def test_exported_network_gives_its_recorded_results(name: str) -> None:
    folder = require_shared("frontends/samples/tf")
    recorded = np.load(folder / f"{RECORDED[name]}.npz")
    graph = convert(folder / f"{name}.tflite")
    assert {type(node.op).__name__ for node in graph.nodes} == {
        "Conv2d",
        "Pool2d",
        "Reshape",
        "Dense",
        "BitCast",
    } - ({"BitCast"} if name != "net_int8" else set())
    simple = simplify(graph)
    given = {graph.inputs[0]: recorded["x"]}
    (simulated,) = simulate.run(graph, given).values()
    (compiled,) = run(simple, target.load("host"), [given])[0].values()
    if name == "net_int8":
        assert np.array_equal(simulated, recorded["y"])
        assert np.array_equal(compiled, recorded["y"])
    else:
        np.testing.assert_allclose(simulated, recorded["y"], atol=1e-5)
        np.testing.assert_allclose(compiled, recorded["y"], atol=1e-5)

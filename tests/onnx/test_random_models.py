"""Models of one operator with random attributes, in the simulator as ONNX Runtime computes them."""

from collections.abc import Callable

import numpy as np
import pytest
from support import random_cases
from support.random_models import FAMILIES, SELECTIONS, Dice, RandomModel
from support.tools import require_module

from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import counted

_HUGE = 1e30
_MODELS = random_cases.same(20)  # of a family


def onnxruntime_says(model: RandomModel) -> list[Array] | None:
    """The results; None where ONNX Runtime refuses the model."""
    ort = require_module("onnxruntime")
    ort.set_default_logger_severity(4)
    faults = require_module("onnxruntime.capi.onnxruntime_pybind11_state")
    try:
        session = ort.InferenceSession(model.proto.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(None, model.inputs)  # type: ignore[no-any-return]
    except (
        faults.Fail,
        faults.InvalidArgument,
        faults.InvalidGraph,
        faults.NotImplemented,
        faults.RuntimeException,
    ):
        return None


def converted(model: RandomModel, constants: dict[str, Array]) -> Graph:
    """The graph; inputs that decide shapes join the constants."""
    while True:
        try:
            graph = simplify(convert(model.proto, constants=constants))
            verify(graph)
            return graph
        except EdgeKitError as error:
            if not error.inputs:
                raise
            constants = constants | {name: model.inputs[name] for name in error.inputs}


def held(y: Array) -> Array:
    """Where gates without bounds let states grow, rounding decides which of them are infinite."""
    return np.clip(y, -_HUGE, _HUGE) if y.dtype.kind == "f" else y


@pytest.mark.parametrize("family", [*FAMILIES, *SELECTIONS], ids=lambda f: f.__name__)
def test_operators_compute_what_onnxruntime_does(family: Callable[[Dice], RandomModel]) -> None:
    compared = 0
    for seed in _MODELS:
        dice = Dice(seed)
        model = family(dice)
        expected = onnxruntime_says(model)
        if expected is None:
            continue
        others = list(model.inputs)[1:]
        # Weights are mostly constants, sometimes inputs: different ways through the importer and the passes.
        graph = converted(model, {name: model.inputs[name] for name in others} if dice.coin() else {})
        found = simulate.run(graph, {name: model.inputs[name] for name in graph.inputs})
        for output, wanted in zip(model.proto.graph.output, expected, strict=True):
            y, what = counted(graph, found, output.name), f"{output.name} of {model.what}"
            assert (y.dtype, y.shape) == (wanted.dtype, wanted.shape), what
            np.testing.assert_allclose(held(y), held(wanted), rtol=1e-3, atol=1e-4, err_msg=what)
        compared += 1
    assert compared > len(_MODELS) // 2

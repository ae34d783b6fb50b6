"""--state: an input that is an output of the last run is kept by the library."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.command_line import CommandLine
from support.tools import require, require_module

from edgekit import convert
from edgekit.codegen.compilation.build import run
from edgekit.core import target
from edgekit.core.errors import EdgeKitError


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An LSTM of one step, whose two states the caller passes on."""
    rng = np.random.default_rng(3)
    given = [("x", (1, 1, 5)), ("h", (1, 1, 4)), ("c", (1, 1, 4))]
    made = [("y", (1, 1, 1, 4)), ("h_next", (1, 1, 4)), ("c_next", (1, 1, 4))]
    weights = {"w": (1, 16, 5), "r": (1, 16, 4), "b": (1, 32)}
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "b", "", "h", "c"], [name for name, _ in made], hidden_size=4
    )
    graph = helper.make_graph(
        [node],
        "net",
        *(
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ports]
            for ports in (given, made)
        ),
        [onnx.numpy_helper.from_array(rng.normal(size=s).astype(np.float32), n) for n, s in weights.items()],
    )
    path = tmp_path_factory.mktemp("recurrent") / "recurrent.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_steps_are_those_of_a_caller_who_passes_states_on(recurrent: Path) -> None:
    require("gcc")
    session = require_module("onnxruntime").InferenceSession(
        str(recurrent), providers=["CPUExecutionProvider"]
    )
    steps = np.random.default_rng(4).normal(size=(6, 1, 1, 5)).astype(np.float32)
    h, c = np.zeros((2, 1, 1, 4), np.float32)
    graph = convert(recurrent, states={"h": "h_next", "c": "c_next"})
    assert (graph.inputs, graph.outputs) == (("x",), ("y",))
    for x, found in zip(steps, run(graph, target.load("host"), [{"x": x} for x in steps]), strict=True):
        y, h, c = session.run(None, {"x": x, "h": h, "c": c})
        np.testing.assert_allclose(found["y"], y, rtol=0, atol=1e-6)


def test_the_command_line_names_pairs(recurrent: Path, cli: CommandLine) -> None:
    found = cli.ok("inspect", recurrent, "--state", "h=h_next", "--state", "c=c_next", "--json").json
    assert list(found["states"]) == ["h", "c"]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({"hh": "h_next"}, "the model has no input named hh, which --state names"),
        ({"h": "next"}, "the model has no output named next, which --state names"),
        ({"h": "y"}, "the input is f32[1,1,4], the output f32[1,1,1,4]; a state keeps its type"),
        ({"h": "h_next", "c": "h_next"}, "--state takes output h_next for several inputs"),
    ],
)
def test_what_does_not_fit_is_refused(recurrent: Path, states: dict[str, str], words: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(recurrent, states=states)
    assert caught.value.code == "E0103"
    assert words in str(caught.value)

"""Noise at the worst output is told on every path: other formats, gates, integer outputs, few high scores."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.command_line import CommandLine
from support.nets import Net

from edgekit import api
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Sub
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.logic import Less
from edgekit.core.ops.rank import ArgExtreme
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibration_warnings import one_sided_warnings
from edgekit.quantize.calibration.observe import Observer
from edgekit.quantize.measure import scores
from edgekit.quantize.settings import LEAST_WITH_ACCURACY

SIZE = 16
STRICT: dict[str, Any] = {"calibrate": "minmax", "strict_int8": True}
DATA = np.random.default_rng(4).normal(size=(24, 1, SIZE)).astype(np.float32)


def uneven(net: Net, x: str, outputs: int, name: str = "") -> str:
    """Two layers: between them channels that differ, the largest of which counts least."""
    spread = np.geomspace(1, 300, SIZE).astype(np.float32)
    hidden = net(Dense(), x, net.random(SIZE, SIZE) * spread[:, None], net.random(SIZE))
    return net(Dense(), hidden, net.random(outputs, SIZE) / spread, net.random(outputs), name=name)


def told(found: api.Quantization) -> list[str]:
    return [text for text in found.warnings if text.startswith("output ") and " dB on " in text]


def of_index(net: Net, y: str) -> Sequence[str]:
    return [net(ArgExtreme(1), net(Softmax(), y))]


def of_comparison(net: Net, y: str) -> Sequence[str]:
    return [net(Less(), y, np.float32(0))]


def of_several(net: Net, y: str) -> Sequence[str]:
    fine = net(Dense(), net.inputs[0], net.random(4, SIZE), net.random(4), name="fine")
    return [fine, y, net(Reduce("mean", (1,), keepdims=False), y)]


def of_one_number(net: Net, y: str) -> Sequence[str]:
    return [net(Reduce("sum", (0, 1), keepdims=False), y)]


@pytest.mark.parametrize("ends", [of_index, of_comparison, of_several, of_one_number])
def test_the_worst_output_is_told(ends: Callable[[Net, str], Sequence[str]]) -> None:
    net = Net()
    graph = net.done(*ends(net, uneven(net, net.x(1, SIZE), 4, "out")))
    _, found = api.quantize_model(graph, DATA, **STRICT)
    assert found.sqnr_db < LEAST_WITH_ACCURACY
    (text,) = told(found)
    assert "without --strict-int8" in text
    assert f"{found.sqnr_db:.1f} dB on held-out samples" in text


@pytest.mark.parametrize("ends", [of_index, of_comparison])
def test_layers_before_integer_outputs_get_better_formats_too(
    ends: Callable[[Net, str], Sequence[str]],
) -> None:
    net = Net()
    graph = net.done(*ends(net, uneven(net, net.x(1, SIZE), 4, "out")))
    assert scores(graph) == ["out"]
    _, found = api.quantize_model(graph, DATA, calibrate="minmax")
    assert found.mixed is not None
    assert not told(found)


def test_inputs_that_are_bound_to_constants_change_nothing(tmp_path: Path) -> None:
    net = Net()
    spread = np.geomspace(1, 300, SIZE).astype(np.float32)
    weights: dict[str, Array] = {
        "a": net.random(SIZE, SIZE) * spread,
        "b": net.random(SIZE, 4) / spread[:, None],
    }
    nodes = [
        helper.make_node("Mul", ["x", "gain"], ["scaled"]),
        helper.make_node("MatMul", ["scaled", "a"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "b"], ["y"]),
    ]
    inputs = [("x", [1, SIZE]), ("gain", [])]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        [numpy_helper.from_array(data, name) for name, data in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "net.onnx")
    model = api.convert(tmp_path / "net.onnx", constants={"gain": 2.0})
    _, found = api.quantize_model(model, DATA, **STRICT)
    assert len(told(found)) == 1


def steep(net: Net) -> Graph:
    """What is left of a difference of large numbers."""
    x = net.x(1, SIZE)
    same = net.random(SIZE, SIZE)
    many = net(Dense(), x, net.const(same * 500), net.random(SIZE))
    near = net(Dense(), x, net.const(same * 500 + net.random(SIZE, SIZE)), net.random(SIZE))
    return net.done(net(Sub(), many, near))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "int4", "activations": "float32"}, "--weights int8 rounds less"),
        ({"dtype": "int8", "activations": "dynamic"}, "--activations float32 rounds weights alone"),
        ({"dtype": "int8", "activations": "float32"}, "--group 16 has finer scales"),
        ({"dtype": "bf16", "activations": "bf16"}, "--activations float32 rounds weights alone to bf16"),
        ({"dtype": "bf16"}, "are the data typical?"),
        ({"weights": "int4"}, "--min-sqnr 25dB gives better formats"),
        ({"activations": "int16"}, "--min-sqnr 25dB gives better formats"),
    ],
)
def test_other_formats_are_judged_too(options: dict[str, Any], words: str) -> None:
    _, found = api.quantize_model(steep(Net()), DATA, calibrate="minmax", **options)
    assert found.sqnr_db < LEAST_WITH_ACCURACY
    (text,) = told(found)
    assert words in text


def test_without_data_nothing_is_claimed() -> None:
    _, found = api.quantize_model(steep(Net()), None, dtype="bf16")
    assert not told(found)


def test_a_gate_for_accuracy_alone_does_not_hide_noise(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    net = Net()
    api.save(net.done(uneven(net, net.x(1, SIZE), 4, "out")), "net.ek")
    np.save("x.npy", DATA)
    np.save("y.npy", np.zeros(len(DATA), np.int64))
    gate = ["--labels", "y.npy", "--max-drop", "100%"]
    done = CommandLine(capsys)("quantize", "net.ek", "--data", "x.npy", "--calibrate", "minmax", *gate)
    assert "gate      passed: accuracy" in done.out
    assert "warning: output out has " in done.err
    assert "dB on held-out samples: the gate asks for accuracy alone, --min-sqnr for less noise" in done.err


def test_one_sample_is_not_called_held_out() -> None:
    (text,) = told(api.quantize_model(steep(Net()), DATA[:1], weights="int4", calibrate="minmax")[1])
    assert "dB on these samples" in text


def rare(high: int, low: int) -> tuple[Graph, Array]:
    """A score that is high in few samples."""
    net = Net()
    x = net.x(1, SIZE)
    y = net(Dense(), x, np.full((1, SIZE), 1 / SIZE), np.full(1, -6.0), name="logit")
    data = np.random.default_rng(5).normal(size=(high + low, 1, SIZE)).astype(np.float32)
    data[:high] += 7
    return net.done(net(Sigmoid(), y, name="score")), np.random.default_rng(6).permutation(data)


def test_few_high_scores_leave_doubt() -> None:
    texts = {}
    for high in (2, 12):
        _, found = api.quantize_model(*rare(high, 24 - high), calibrate="minmax", target="cortex-m4")
        assert found.sqnr_db >= LEAST_WITH_ACCURACY
        texts[high] = [text for text in found.warnings if text.startswith("few samples decide")]
    assert "output score is, others may have less than 20 dB: more samples help" in texts[2][0]
    assert not texts[12]


@pytest.mark.parametrize(
    ("high", "low", "words"),
    [(0, 8, "at most 0.0"), (8, 0, "at least 0."), (4, 4, ""), (1, 7, "")],
)
def test_scores_on_one_side_are_told(high: int, low: int, words: str) -> None:
    graph, data = rare(high, low)
    observer = Observer(graph)
    for x in data:
        observer.add({"x": x})
    texts = list(one_sided_warnings(graph, observer.statistics))
    assert len(texts) == bool(words)
    missing = "high" if high == 0 else "low"
    assert not texts or (
        words in texts[0] and texts[0].endswith(f"add some for which it should be {missing}")
    )

"""Calibration data that cannot be used are refused, and data that are hardly typical are warned about."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net
from support.quantize_warnings import besides_speed

from edgekit import EdgeKitError, Graph, convert, quantize_model
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.transpose import Transpose

Arrays = dict[str, np.ndarray[Any, Any]]


def network() -> Graph:
    """An image and a vector -> a layer each -> their sum."""
    net = Net()
    image = net(Conv2d(), net.x(1, 4, 4, 3, name="image"), net.random(5, 4, 4, 3), net.random(5))
    vector = net(Dense(), net.x(1, 6, name="vector"), net.random(5, 6), net.random(5))
    return net.done(net(Add(), image, vector))


def data(count: int = 16) -> Arrays:
    random = np.random.default_rng(1)
    shapes = {"image": (count, 1, 4, 4, 3), "vector": (count, 1, 6)}
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def warnings(given: Arrays) -> tuple[str, ...]:
    """What is said of the data."""
    return besides_speed(quantize_model(network(), given, calibrate="minmax")[1])


def with_one(name: str, value: float) -> Arrays:
    given = data()
    given[name].reshape(-1)[7] = value
    return given


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"vector": None}, "E0101", "input vector is missing"),
        ({"sound": np.zeros(3, np.float32)}, "E0108", "net has no input named sound"),
        ({"image": np.zeros((16, 1, 4, 5, 3), np.float32)}, "E0102", r"input image is \[16,1,4,5,3\]"),
        ({"image": np.zeros((16, 1, 3, 4, 4), np.float32)}, "E0102", r"input image is \[16,1,3,4,4\]"),
        ({"image": np.zeros((0, 4), np.float32)}, "E0102", r"input image is \[0,4\]"),
        ({"image": np.zeros((), np.float32)}, "E0102", r"input image is \[\]"),
        ({"image": np.zeros((16, 1, 4, 4, 3))}, "E0102", "input image is f64"),
        ({"image": np.zeros((16, 1, 4, 4, 3), np.uint8)}, "E0102", "(?s)input image is u8.*--mean and --std"),
        ({"image": np.zeros((16, 1, 4, 4, 3), np.complex64)}, "E0102", "input image is complex64"),
        ({"image": np.full((16, 1, 4, 4, 3), "x")}, "E0102", "input image is <U1"),
        ({"image": np.full((16, 1, 4, 4, 3), None)}, "E0102", "input image is a ndarray that is no array"),
        ({"image": data(15)["image"]}, "E0108", r"number of samples \(image: 15, vector: 16\)"),
        (data(0), "E0110", "there is no calibration sample"),
        (with_one("image", np.nan), "E0408", "image holds NaN or infinity"),
        (with_one("vector", np.inf), "E0408", "vector holds NaN or infinity"),
        (with_one("vector", -np.inf), "E0408", "vector holds NaN or infinity"),
    ],
)
def test_data_that_cannot_be_used_are_refused(change: dict[str, Any], code: str, words: str) -> None:
    given = {name: array for name, array in (data() | change).items() if array is not None}
    with pytest.raises(EdgeKitError, match=words) as caught:
        quantize_model(network(), given)
    assert caught.value.code == code
    assert caught.value.hint or code == "E0108"


def test_every_wrong_input_is_named() -> None:
    with pytest.raises(EdgeKitError) as caught:
        quantize_model(network(), {name: array[..., :1] for name, array in data().items()})
    assert [error.message[:14] for error in (caught.value, *caught.value.also)] == [
        "input image is",
        "input vector i",
    ]


def test_numbers_that_overflow_on_the_way_are_refused() -> None:
    given = data()
    given["image"][:] = 3e38
    with pytest.raises(
        EdgeKitError, match=r"(?s)E0408 sample 0 makes .* infinite or NaN.*normalized as in training"
    ):
        quantize_model(network(), given)


def test_weights_that_hold_nan_are_named() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 6), np.full((5, 6), np.nan), net.random(5)))
    with pytest.raises(EdgeKitError, match=r"(?s)E0408 sample 0 makes .* holds NaN: train again"):
        quantize_model(graph, {"x": np.ones((8, 1, 6), np.float32)})


def test_a_model_is_quantized_once() -> None:
    made, _ = quantize_model(network(), data(), calibrate="minmax")
    with pytest.raises(EdgeKitError, match=r"(?s)E0103 net is quantized already.*quantize the float model"):
        quantize_model(made, data())


@pytest.mark.parametrize("op", [Cumulative("sum", 1), Transpose((1, 0))])
def test_a_model_without_integer_layers_is_refused(op: Any) -> None:
    net = Net()
    graph = net.done(net(op, net.x(1, 6)))
    with pytest.raises(
        EdgeKitError, match=rf"(?s)E0211 there is nothing to .*{type(op).__name__}.*--dtype bf16"
    ):
        quantize_model(graph, data()["vector"])


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=r"E0104 cannot read .*nowhere: No such file or directory"):
        quantize_model(network(), tmp_path / "nowhere")


# What is used, and warned about


def test_typical_data_are_not_doubted() -> None:
    assert warnings({name: np.repeat(array, 2, axis=0) for name, array in data(8).items()}) == ()


def test_few_samples_are_warned_about() -> None:
    assert any("7 calibration samples are few" in warning for warning in warnings(data(7)))
    assert any("1 calibration sample is few" in warning for warning in warnings(data(1)))


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_an_input_that_never_changes_is_warned_about(value: float) -> None:
    given = data()
    given["vector"][:] = value
    found = warnings(given)
    assert f"input vector is {value:g} everywhere in all samples: that says nothing of its range" in found


def test_raw_inputs_that_never_change_are_warned_about() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 6), net.random(5, 6), net.random(5)))
    _, found = quantize_model(convert(graph, std=255), np.full((16, 1, 6), 7, np.uint8))
    assert any("input x is 7 everywhere" in warning for warning in found.warnings)


def leaving(given: Arrays) -> list[str]:
    return [warning for warning in warnings(given) if "the range of the other half" in warning]


@pytest.mark.parametrize("half", [0, 1])  # the one that gives the first ranges, the one held out
def test_samples_far_beyond_the_range_of_the_others_are_warned_about(half: int) -> None:
    given = data()
    given["vector"][[0, 3, 5] if half == 0 else [1, 2, 4]] *= 255  # see `held_out`
    assert leaving(given)


def test_one_sample_on_another_scale_is_warned_about() -> None:
    given = data(64)
    given["image"][20] *= 255
    (found,) = leaving(given)
    assert "of its power: more samples help, unless some of these are on another scale" in found


@pytest.mark.parametrize("seed", range(8))
def test_chance_is_no_reason_for_a_warning(seed: int) -> None:
    """Of 32 samples after the same distribution one half always leaves the range of the other by a little."""
    random = np.random.default_rng(seed)
    assert not leaving({name: random.normal(size=x.shape).astype(np.float32) for name, x in data(32).items()})

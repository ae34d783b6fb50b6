"""Raw inputs: the normalization goes into the first layer, with right borders, in floats and in int8."""

from collections.abc import Sequence

import numpy as np
import pytest
from support.nets import Net, kinds
from support.quantize_warnings import besides_speed

from edgekit import EdgeKitError, api, convert
from edgekit.api.models import left_over
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Quant

MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
PIXELS = np.random.default_rng(1).integers(0, 256, (24, 1, 8, 8, 3)).astype(np.uint8)
ZERO_PADS, SAME_PADS, ODD_PADS = (0, 0, 0, 0), (1, 1, 1, 1), (0, 2, 1, 0)


def images(
    pads: tuple[int, int, int, int] = ZERO_PADS, groups: int = 1, channels_first: bool = False
) -> Graph:
    """An image -> convolution."""
    net = Net()
    x = net.x(*((1, 3, 8, 8) if channels_first else (1, 8, 8, 3)))
    x = net(Transpose((0, 2, 3, 1)), x) if channels_first else x
    op = Conv2d(pads=pads, groups=groups)
    return net.done(net(op, x, net.random(6, 3, 3, 3 // groups), net.random(6), name="y"))


def normalized(
    pixels: Array, mean: Sequence[float] = MEAN, std: Sequence[float] = STD, axis: int = -1
) -> Array:
    shape = [1] * pixels.ndim
    shape[axis] = len(mean)
    wide = (pixels.astype(np.float64) - np.reshape(mean, shape)) / np.reshape(std, shape)
    return np.asarray(wide, np.float32)


def assert_takes_pixels(before: Graph, after: Graph, pixels: Array, normal: Array) -> None:
    """Raw data are to the one graph what normalized data are to the other."""
    verify(after)
    for raw, real in zip(pixels, normal, strict=True):
        (found,) = simulate.run(after, {"x": raw}).values()
        (expected,) = simulate.run(before, {"x": real}).values()
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("channels_first", [False, True])
@pytest.mark.parametrize("pads", [ZERO_PADS, SAME_PADS, ODD_PADS])
def test_pixels_give_what_normalized_images_gave(
    pads: tuple[int, int, int, int], channels_first: bool, groups: int
) -> None:
    before = images(pads, groups, channels_first)
    after = convert(before, mean=MEAN, std=STD)
    pixels = PIXELS.transpose(0, 1, 4, 2, 3) if channels_first else PIXELS
    assert_takes_pixels(before, after, pixels, normalized(pixels, axis=2 if channels_first else -1))
    assert after.type("x").dtype is DType.U8
    assert not {"Mul", "Div", "Sub"} & set(kinds(after))
    assert ("Add" in kinds(after)) == any(pads)
    assert bool(left_over(after)) == any(pads)


def test_one_number_is_for_all_channels() -> None:
    before = images()
    after = convert(before, mean=127.5, std=127.5)
    assert kinds(after) == ["Cast", "Conv2d"]
    assert_takes_pixels(before, after, PIXELS, normalized(PIXELS, [127.5] * 3, [127.5] * 3))


@pytest.mark.parametrize("mean", [0.0, 33.0])
def test_a_flattened_image_goes_into_a_dense_layer(mean: float) -> None:
    net = Net()
    flat = net(Reshape((1, 192)), net.x(1, 8, 8, 3))
    before = net.done(net(Dense(), flat, net.random(4, 192), net.random(4)))
    after = convert(before, mean={"x": (mean, 2.0, 3.0)}, std=STD)
    assert kinds(after) == ["Reshape", "Cast", "Dense"]
    assert not left_over(after)
    assert_takes_pixels(before, after, PIXELS, normalized(PIXELS, (mean, 2, 3)))


@pytest.mark.parametrize(
    ("raw", "dtype"),
    [("int8", DType.S8), ("int16", DType.S16), ("uint16", DType.U16), ("float32", DType.F32)],
)
def test_raw_data_have_the_type_that_is_named(raw: str, dtype: DType) -> None:
    before = images()
    after = convert(before, std=128, raw=raw)
    assert after.type("x").dtype is dtype
    data = (PIXELS // 2).astype(dtype.numpy)
    assert_takes_pixels(before, after, data, normalized(data, [0] * 3, [128] * 3))


def test_bytes_need_no_normalization() -> None:
    after = convert(images(), raw="uint8")
    assert kinds(after) == ["Cast", "Conv2d"]


def test_a_layer_that_takes_nothing_over_is_told() -> None:
    net = Net()
    before = net.done(net(Cumulative("sum", 1), net.x(1, 6)))
    after = convert(before, mean=1, std=2)
    assert_takes_pixels(
        before,
        after,
        PIXELS[:, :, 0, :2].reshape(24, 1, 6),
        normalized(PIXELS[:, :, 0, :2].reshape(24, 1, 6), [1] * 6, [2] * 6),
    )
    (note,) = left_over(after)
    assert "normalization of x stays in operators of its own (Add and Mul): Cumulative cannot" in note
    made, found = api.quantize_model(after, {"x": PIXELS[:, :, 0, :2].reshape(24, 1, 6)})
    assert note in found.warnings
    verify(made)


def test_readers_of_both_branches_get_normalized_numbers() -> None:
    net = Net()
    x = net.x(1, 8, 8, 3)
    a, b = (net(Conv2d(), x, net.random(4, 3, 3, 3), net.random(4)) for _ in range(2))
    before = net.done(net(Add(), a, b))
    assert_takes_pixels(before, convert(before, mean=MEAN, std=STD), PIXELS, normalized(PIXELS))


def test_each_of_several_inputs_is_named() -> None:
    net = Net()
    a, b = (net(Conv2d(), net.x(1, 8, 8, 3, name=n), net.random(4, 3, 3, 3), net.random(4)) for n in "ab")
    graph = net.done(net(Add(), a, b))
    after = convert(graph, mean={"b": 5}, std={"b": 2})
    assert (after.type("a").dtype, after.type("b").dtype) == (DType.F32, DType.U8)
    with pytest.raises(
        EdgeKitError, match=r"(?s)E0103 net has 2 inputs: which one is raw.*name it, as in a="
    ):
        convert(graph, mean=5)
    with pytest.raises(EdgeKitError, match="E0108 net has no input named c"):
        convert(graph, mean={"c": 5})


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"mean": (1, 2)}, "2 numbers for the channels of x, which is .*: no dimensions fit"),
        ({"mean": (1,) * 8}, "8 numbers for the channels of x, which is .*: several dimensions fit"),
        ({"std": 0}, "mean 0, std 0 of input x normalize nothing"),
        ({"std": -1}, "normalize nothing"),
        ({"mean": float("nan")}, "normalize nothing"),
        ({"std": float("inf")}, "normalize nothing"),
        ({"std": ()}, "normalize nothing"),
        ({"raw": "float16"}, "unknown type of raw data: float16"),
    ],
)
def test_what_makes_no_sense_is_refused(wanted: dict[str, object], words: str) -> None:
    with pytest.raises(EdgeKitError, match=f"E0103 .*{words}"):
        convert(images(), **wanted)  # type: ignore[arg-type]  # wrong on purpose


def test_only_floats_can_be_normalized_and_only_once() -> None:
    raw = convert(images(), mean=MEAN, std=STD)
    with pytest.raises(EdgeKitError, match=r"(?s)input x is u8\[1,8,8,3\]: only floats.*raw data already"):
        convert(raw, mean=MEAN)
    made, _ = api.quantize_model(images(), normalized(PIXELS))
    with pytest.raises(EdgeKitError, match="quantized already"):
        convert(made, mean=MEAN)


# In int8


@pytest.mark.parametrize(
    ("pads", "mean", "border", "groups"),
    [
        (ZERO_PADS, MEAN, [], 1),
        (SAME_PADS, MEAN, ["Concat", "Concat"], 1),
        (SAME_PADS, MEAN, ["Concat", "Concat"], 3),
        ((0, 0, 1, 0), MEAN, ["Concat"], 1),
        (SAME_PADS, (127.5,) * 3, ["Pad"], 1),
        (SAME_PADS, (0.0,) * 3, [], 1),
    ],
)
def test_int8_takes_pixels_as_they_are(
    pads: tuple[int, int, int, int], mean: tuple[float, ...], border: list[str], groups: int
) -> None:
    before = images(pads, groups)
    raw = convert(before, mean=mean, std=STD)
    made, found = api.quantize_model(raw, PIXELS, calibrate="minmax", io="int8")
    verify(made)
    assert made.type("x").quant == Quant((1.0,), (-128,))
    assert kinds(made) == [*border, "Conv2d"]
    assert not besides_speed(found)
    normal = normalized(PIXELS, mean)
    _, usual = api.quantize_model(before, normal, calibrate="minmax")
    assert found.sqnr_db > usual.sqnr_db - 1
    y = made.type("y").quant
    assert y is not None
    for pixels, real in zip(PIXELS, normal, strict=True):
        (integers,) = simulate.run(made, {"x": (pixels.astype(np.int16) - 128).astype(np.int8)}).values()
        wanted = simulate.run(before, {"x": real})["y"]
        found_reals = y.scale[0] * (integers.astype(np.float64) - y.zero[0])
        # The border is right, too: nothing is off by more than rounding explains.
        np.testing.assert_allclose(found_reals, wanted, rtol=0, atol=4 * y.scale[0])


def test_calibration_data_are_raw_and_the_error_says_so() -> None:
    raw = convert(images(), mean=MEAN, std=STD)
    with pytest.raises(EdgeKitError, match=r"(?s)input x is f32, the model takes u8\[1,8,8,3\].*uint8"):
        api.quantize_model(raw, normalized(PIXELS))


def test_int8_of_raw_floats_has_the_right_border_too() -> None:
    raw = convert(images(SAME_PADS), mean=MEAN, std=STD, raw="float32")
    made, found = api.quantize_model(raw, PIXELS.astype(np.float32))
    verify(made)
    assert kinds(made) == ["Quantize", "Concat", "Concat", "Conv2d", "Dequantize"]
    assert found.sqnr_db > 30


def test_what_is_moved_before_is_moved_as_bytes() -> None:
    raw = convert(images(channels_first=True), mean=MEAN, std=STD)
    made, _ = api.quantize_model(raw, PIXELS.transpose(0, 1, 4, 2, 3), io="int8")
    verify(made)
    assert kinds(made) == ["Transpose", "Conv2d"]

"""What the node suite leaves out of the normalizations: mixed precisions, and operators of old opsets."""

import numpy as np
import pytest
from support.random_models import Dice, of

from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError

_SIZES = {"scale": 3, "bias": 3, "mean": 3, "var": 3}


def batch_norm(x: np.ndarray, parameters: dict[str, np.ndarray]) -> np.ndarray:
    """The formula in float64, over the second dimension of x."""
    shape = (-1, *(1,) * (x.ndim - 2))
    scale, bias, mean, var = (p.astype(np.float64).reshape(shape) for p in parameters.values())
    return (x.astype(np.float64) - mean) / np.sqrt(var + 1e-5) * scale + bias


@pytest.mark.parametrize(
    ("scale", "mean"), [(np.float16, np.float16), (np.float16, np.float32), (np.float32, np.float32)]
)
def test_parameters_of_batch_normalization_may_be_wider_than_its_input(scale: type, mean: type) -> None:
    dice = Dice(1)
    x = dice.normal(2, 3, 4).astype(np.float16)
    dtypes = {"scale": scale, "bias": scale, "mean": mean, "var": mean}
    parameters = {name: np.abs(dice.normal(n)).astype(dtypes[name]) for name, n in _SIZES.items()}
    model = of("BatchNormalization", {"x": x} | parameters, {}, opset=15)
    found = simulate.run(convert(model.proto), model.inputs)["y0"]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), batch_norm(x, parameters), atol=0.01)


def test_batch_normalization_was_once_per_activation() -> None:
    dice = Dice(2)
    x = dice.normal(5, 2, 3)
    parameters = {name: np.abs(dice.normal(2, 3)) for name in _SIZES}
    model = of("BatchNormalization", {"x": x} | parameters, {"spatial": 0}, opset=7)
    found = simulate.run(convert(model.proto), model.inputs)["y0"]
    scale, bias, mean, var = parameters.values()
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(var + 1e-5) * scale + bias, rtol=1e-4, atol=1e-4)


def test_batch_normalization_that_trained_in_old_opsets_is_refused() -> None:
    inputs = {"x": np.zeros((2, 3), np.float32)} | {
        name: np.ones(n, np.float32) for name, n in _SIZES.items()
    }
    with pytest.raises(EdgeKitError, match="E0205"):
        convert(of("BatchNormalization", inputs, {}, outputs=5, opset=9).proto)


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization_had_one_scale_a_group(opset: int) -> None:
    dice = Dice(3)
    x = dice.normal(2, 6, 4, 5)
    scale, bias = dice.normal(3 if opset == 18 else 6), dice.normal(3 if opset == 18 else 6)
    model = of("GroupNormalization", {"x": x, "scale": scale, "bias": bias}, {"num_groups": 3}, opset=opset)
    found = simulate.run(convert(model.proto), model.inputs)["y0"]
    groups = x.reshape(2, 3, -1)
    even = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    scale, bias = (np.repeat(p, 6 // p.size).reshape(6, 1, 1) for p in (scale, bias))
    np.testing.assert_allclose(found, even.reshape(x.shape) * scale + bias, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (0, 1, 2, 3)])
def test_mean_and_variance_are_those_of_what_hardly_varies(axes: tuple[int, ...]) -> None:
    """The mean of squares less the square of the mean, as the function in the specification has it, rounds to
    less than nothing, and its root is not a number."""
    x = 7 + Dice(4).normal(2, 3, 4, 5) * np.float32(2e-3)
    model = of("MeanVarianceNormalization", {"x": x}, {"axes": axes}, opset=13)
    found = simulate.run(convert(model.proto), model.inputs)["y0"]
    wide = x.astype(np.float64)
    wide -= wide.mean(axes, keepdims=True)
    expected = wide / (np.sqrt((wide**2).mean(axes, keepdims=True)) + 1e-9)
    np.testing.assert_allclose(found, expected, atol=2e-3)

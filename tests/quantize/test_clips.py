"""Clips after sums: what they cut off gets none of the integers, which then end where the clip does."""

import numpy as np
import pytest
from support.nets import Net, kinds

from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.types import Array, DType
from edgekit.quantize.calibration.observe import Range
from edgekit.quantize.calibration.scales import scales

SAMPLES = {"x": np.random.default_rng(1).normal(-3, 3, (60, 4, 16)).astype(np.float32)}
RANGES: dict[str, Range] = {"x": (-9.0, 9.0), "twice": (-18.0, 12.0), "y": (0.0, 6.0)}


def residual(hi: float | Array = np.inf, *, is_read: bool = False) -> Graph:
    """A sum that is mostly negative before a clip, and perhaps read elsewhere."""
    net = Net()
    x = net.x(4, 16)
    twice = net(Add(), x, net(Mul(), x, net.random(16)), name="twice")
    y = net(Clip(), twice, 0.0, hi, name="y")
    return net.done(y, net(Mul(), twice, 0.1, name="z")) if is_read else net.done(y)


def noise(graph: Graph, made: Graph, name: str) -> float:
    exact, found = (
        np.stack([simulate.run(side, {"x": x})[name] for x in SAMPLES["x"]]) for side in (graph, made)
    )
    return 10 * float(np.log10(np.square(exact).sum() / np.square(exact - found).sum()))


@pytest.mark.parametrize("hi", [6.0, np.inf])
def test_a_sum_has_the_scale_of_what_a_clip_leaves(hi: float) -> None:
    found = scales(residual(hi), RANGES)
    assert found["twice"] == found["y"] == scales(residual(hi), RANGES | {"twice": (0.0, 0.1)})["y"]
    assert found["y"].zero == (-128,)


def test_a_sum_that_is_read_elsewhere_keeps_its_range() -> None:
    found = scales(residual(is_read=True), RANGES | {"z": (-1.8, 1.2)})
    assert found["twice"] == found["y"]
    assert found["y"].scale[0] == pytest.approx(30 / 255)


@pytest.mark.parametrize("calibrate", ["auto", "minmax"])
def test_clips_that_stay_floats_leave_the_sum_its_own_range(calibrate: str) -> None:
    graph = residual(np.linspace(1, 6, 16, dtype=np.float32))
    assert scales(graph, RANGES)["twice"].scale[0] == pytest.approx(30 / 255)
    made, _ = api.quantize_model(graph, SAMPLES, calibrate=calibrate, strict_int8=True)
    assert noise(graph, made, "y") > 29.5


@pytest.mark.parametrize("hi", [6.0, np.inf])
def test_nothing_is_left_to_clip(hi: float) -> None:
    graph = residual(hi)
    made, report = api.quantize_model(graph, SAMPLES, calibrate="minmax", strict_int8=True)
    assert "Clip" not in kinds(made)
    assert noise(graph, made, "y") > 33.5  # 31.9 and 33.0 where the sum has integers for what is cut off
    by_name = {layer.name: layer for layer in report.layers}
    assert by_name["twice"].sqnr_db == by_name["y"].sqnr_db > 33.5
    assert by_name["y"].runs_in == "int8"


def test_the_integers_of_both_results_stay() -> None:
    graph = residual(is_read=True)
    made, _ = api.quantize_model(graph, SAMPLES, calibrate="minmax", strict_int8=True)
    assert "Clip" in kinds(made)
    assert min(noise(graph, made, name) for name in ("y", "z")) > 25


def test_integers_may_be_outputs() -> None:
    graph = residual()
    made, _ = api.quantize_model(graph, SAMPLES, calibrate="minmax", io="int8")
    assert made.outputs == graph.outputs
    assert made.type("y").dtype is DType.S8

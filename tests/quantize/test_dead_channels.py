"""Channels that integers leave nothing of are removed: the results are the same to the bit."""

from pathlib import Path

import numpy as np
import pytest
from support.nets import Net

from edgekit import api
from edgekit.core import format_costs, simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.quantize import post_training

_FAINT = 5  # channels of 16, beside which the others are large
SAMPLES = np.random.default_rng(3).normal(size=(16, 1, 8)).astype(np.float32)


def network(faint: float) -> Graph:
    """Two layers; some channels between them are as faint."""
    net = Net()
    w, v = net.random(16, 8), net.random(4, 16)
    w[:_FAINT] *= faint
    bias = np.zeros(16, np.float32)
    between = net(Dense(0.0, np.inf), net.x(1, 8), w, bias, name="between")
    return net.done(net(Dense(), between, v, np.zeros(4, np.float32), name="y"))


def quantized(graph: Graph) -> tuple[Graph, api.Quantization]:
    return api.quantize_model(graph, SAMPLES, calibrate="minmax")


def test_channels_below_half_a_step_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, found = quantized(network(faint=1e-4))
    assert made.type("between").shape == (1, 16 - _FAINT)
    assert found.removed
    assert (found.removed.channels, found.removed.macs) == (_FAINT, _FAINT * 8 + _FAINT * 4)
    assert found.bytes_after < found.bytes_before / 4
    monkeypatch.setattr(post_training, "dead_channels", lambda graph: graph)
    whole, plain = quantized(network(faint=1e-4))
    assert plain.removed is None
    for sample in SAMPLES:
        (y,), (z,) = (simulate.run(graph, {"x": sample}).values() for graph in (made, whole))
        assert np.array_equal(y, z)


def test_the_float_model_that_time_is_compared_with_has_them(tmp_path: Path) -> None:
    """Also where it is read from a file."""
    made, _ = quantized(network(faint=1e-4))
    assert made.source.float_macs == 16 * 8 + 4 * 16
    api.save(made, tmp_path / "net.ek")
    again = api.convert(tmp_path / "net.ek")
    assert again.source == made.source
    costs = format_costs.of(target.load("cortex-m4"))
    alone = costs.float_run(again) / costs.run(again)
    assert costs.speedup(again) == pytest.approx(alone * 192 / (192 - 60))


def test_nothing_is_said_where_all_channels_count() -> None:
    made, found = quantized(network(faint=1.0))
    assert found.removed is None
    assert made.source.float_macs == 0

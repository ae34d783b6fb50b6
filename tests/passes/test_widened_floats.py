"""16-bit floats become float32, apart from ports."""

import numpy as np
import pytest
from support.nets import Net, kinds

from edgekit.api import quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes import verify
from edgekit.core.passes.widened_floats import widened_floats
from edgekit.core.types import Array, DType
from edgekit.quantize.measure import sqnr


def network(dtype: DType) -> Graph:
    """Two layers, a cast to float32 and back, an output in the middle."""
    net = Net(dtype)
    hidden = net(Dense(lo=0.0), net.x(1, 16), net.random(24, 16), net.random(24))
    wide = net.one(Cast(DType.F32), hidden)
    y = net(Dense(), net.one(Cast(dtype), wide), net.random(8, 24), net.random(8))
    total = net.one(Reduce("sum", (1,), narrow=dtype is DType.BF16), y)
    return net.done(y, hidden, total)


def samples(count: int, dtype: DType, seed: int = 0) -> list[dict[str, Array]]:
    random = np.random.default_rng(seed)
    return [{"x": random.normal(size=(1, 16)).astype(dtype.numpy)} for _ in range(count)]


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_only_ports_stay_narrow(dtype: DType) -> None:
    graph = network(dtype)
    wide = widened_floats(graph)
    verify(wide)
    assert (wide.inputs, wide.outputs) == (graph.inputs, graph.outputs)
    assert all(wide.type(name) == graph.type(name) for name in (*wide.inputs, *wide.outputs))
    narrow = {name for name, value in wide.values.items() if value.type.dtype is dtype}
    assert narrow == {*wide.inputs, *wide.outputs}
    assert kinds(wide) == ["Cast", "Dense", "Dense", "Reduce", "Cast", "Cast", "Cast"]
    for sample in samples(4, dtype):
        before, after = (simulate.run(one, sample) for one in (graph, wide))
        for name in graph.outputs:
            exact, found = (values[name].astype(np.float64) for values in (before, after))
            np.testing.assert_allclose(
                found, exact, atol=np.abs(exact).max() * (0.003 if dtype is DType.F16 else 0.03)
            )
    assert widened_floats(wide) is wide


def test_float32_stays() -> None:
    graph = network(DType.F32)
    assert widened_floats(graph) is graph


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_networks_of_16_bit_floats_are_quantized(dtype: DType) -> None:
    graph = network(dtype)
    data = np.stack([sample["x"] for sample in samples(32, dtype)])
    made, report = quantize_model(graph, data, calibrate="minmax")
    assert made.type("x") == graph.type("x")
    assert {layer.runs_in for layer in report.layers if layer.op == "Dense"} == {"int8"}
    fresh = samples(50, dtype, seed=9)
    (name, *_) = graph.outputs
    exact, found = ([simulate.run(one, s)[name].astype(np.float64) for s in fresh] for one in (graph, made))
    assert sqnr(exact, found) > 30

"""Monte Carlo arithmetic explains what the simulator is off by, for every operator, and little more."""

import importlib
import pkgutil

import numpy as np
import pytest
from ops import cases
from support.nets import Net
from support.op_cases import Case, as_graph
from support.stateful import accumulator

from edgekit.codegen.verification.rounding_error import RoundingError, has_floats, local_largest, ulp
from edgekit.core import simulate
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.rounding import Floor
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType

FAMILIES = [module.name for module in pkgutil.iter_modules(cases.__path__)]
_EVERY = 4  # cases of a family that are taken: one in so many


@pytest.mark.parametrize("family", FAMILIES)
def test_the_simulator_is_within_what_is_explained(family: str) -> None:
    """In float32, that is, against the exact results; of values that float32 can hold."""
    found: tuple[Case, ...] = importlib.import_module(f"ops.cases.{family}").CASES
    for case in found[::_EVERY]:
        graph, inputs, _ = as_graph([case])
        results = simulate.run(graph, inputs)
        errors = RoundingError(graph, [inputs])
        for name, result in results.items():
            known = errors.explain(0, name, thorough=True)
            y = result.astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(y - known.exact) <= known.limit
            near |= (y == known.exact) | np.isnan(known.exact) | np.isinf(y)
            # Cubic weights are sums of several terms that cancel, within the operator.
            most = 0.05 if "cubic" in str(case) else 0.0
            assert (~near).sum() <= most * near.size, str(case)


def test_what_is_exact_has_no_noise() -> None:
    """Whole numbers, copies and masks: a floor of one does not fall."""
    net = Net(seed=1)
    x = net.x(1, 40)
    whole = net(Floor(), net(Mul(), net(Add(), net(Floor(), net(Mul(), x, 8.0)), 3.0), 5.0))
    graph = net.done(net(Reduce("sum", (1,)), whole))
    inputs = simulate.random_inputs(graph, 0)
    known = RoundingError(graph, [inputs]).explain(0, graph.outputs[0], thorough=True)
    assert known.limit.max() <= 2 * ulp(known.exact, DType.F32).max()


def test_limits_follow_the_type_that_is_stored() -> None:
    limits = []
    for dtype in (DType.F64, DType.F32, DType.F16, DType.BF16):
        net = Net(dtype, seed=2)
        y = net(Dense(), net.x(4, 32), net.random(8, 32), net.random(8))
        graph = net.done(net.one(Cast(DType.F64), y) if dtype is not DType.F64 else y)
        known = RoundingError(graph, [simulate.random_inputs(graph, 0)]).explain(0, graph.outputs[0])
        limits.append(known.limit.max() / np.abs(known.exact).max())
    assert limits[0] < 1e-14 < limits[1] < 1e-5 < 1e-4 < limits[2] < 4e-3 < limits[3] < 0.2


def test_limits_grow_where_sums_cancel_and_not_behind_a_softmax() -> None:
    net = Net(seed=3)
    x = net.x(2, 64)
    large = net(Dense(), x, net.random(16, 64) * np.float32(1e4), net.random(16))
    close = net(Sub(), large, net(Mul(), large, np.float32(1 - 2**-14)))
    graph = net.done(large, close, net(Softmax(), large))
    errors = RoundingError(graph, [simulate.random_inputs(graph, 0)])
    known = [errors.explain(0, name) for name in graph.outputs]
    relative = [k.limit.max() / np.abs(k.exact).max() for k in known]
    assert relative[0] < 1e-5 < 1e-3 < relative[1]
    assert known[2].limit.max() < 1e-6  # one class is certain


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_begin_with_a_large_bias_lose_digits(seed: int) -> None:
    """Kernels add to the bias, one by one or in vectors: partial sums are as large as it is."""
    net = Net(seed=seed)
    w = net.random(1, 64)
    graph = net.done(net(Dense(), net.x(1, 64), w, np.array([1000.3], np.float32)))
    inputs = simulate.random_inputs(graph, seed)
    known = RoundingError(graph, [inputs]).explain(0, graph.outputs[0], thorough=True)
    total = np.float32(1000.3)
    for a, b in zip(inputs[graph.inputs[0]][0], w[0], strict=True):
        total += a * b
    assert abs(float(total) - known.exact.item()) <= known.limit.item()
    assert known.limit.item() < 30 * np.spacing(np.float32(1000))


def test_a_slice_tells_of_its_own_errors() -> None:
    sizes = np.ones((1, 40, 6))
    sizes[..., :2] = 500
    np.testing.assert_array_equal(local_largest(sizes)[0, 0], [500, 500, 1, 1, 1, 1])
    np.testing.assert_array_equal(local_largest(np.array([[1.0, 5.0, 2.0]])), [[5, 5, 5]])
    assert local_largest(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [DType.F16, DType.F32, DType.F64])
def test_units_in_the_last_place_are_those_of_numpy(dtype: DType) -> None:
    values = np.array([0.0, 1.0, 1.5, 2.0, 300.0, -0.3, 6e4]).astype(dtype.numpy)
    right = np.abs(np.spacing(values)).astype(np.float64)
    right[0] = ulp(np.zeros(1), dtype)[0]  # of the smallest normal number
    np.testing.assert_array_equal(ulp(values, dtype), right)


def test_streams_are_followed_step_by_step() -> None:
    graph = accumulator()
    steps = [simulate.random_inputs(graph, seed) for seed in range(6)]
    right = list(simulate.run_each(graph, steps))
    errors = RoundingError(graph, steps)
    for i in (5, 2):
        known = errors.explain(i, graph.outputs[0])
        np.testing.assert_allclose(known.exact, right[i][graph.outputs[0]], atol=1e-5)
    assert errors.explain(5, graph.outputs[0]).limit.max() < 1e-4


def test_integers_alone_are_never_rounded() -> None:
    net = Net(DType.S32)
    assert not has_floats(net.done(net(Mul(), net.x(3), 5)))
    net = Net()
    assert has_floats(net.done(net(Mul(), net.x(3), 5.0)))

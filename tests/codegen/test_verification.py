"""Verification says what it compared, follows the conditioning of a network, and still sees what is wrong."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.encoders import encoder
from support.nets import Net
from support.planted import compiled_as
from support.tools import require

from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Port, compile_graph
from edgekit.codegen.verification import verify as verification
from edgekit.codegen.verification.difference import difference
from edgekit.codegen.verification.output_coverage import VaryingElements, drawn, shares
from edgekit.codegen.verification.rounding_error import RoundingError
from edgekit.codegen.verification.selftest import prepare
from edgekit.codegen.verification.verify import compare, tight, verify
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Log, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sqrt, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.rank import ArgExtreme
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import Array, DType, Type, Value
from edgekit.reports import results

HOST = target.load("host")


def chaotic() -> Graph:
    """Twenty layers, each of which makes small differences larger."""
    net = Net(seed=1)
    x = net.x(1, 32)
    for _ in range(20):
        x = net(Tanh(), net(Dense(), x, net.random(32, 32) * np.float32(0.6), net.random(32)))
    return net.done(x)


def cancelling() -> Graph:
    """A small difference of sums of large weights."""
    net = Net(seed=2)
    x = net.x(1, 5, 5, 8)
    weights, layer = net.random(8, 3, 3, 8) * np.float32(1e4), Conv2d((1, 1), (1, 1, 1, 1))
    large = net(layer, x, weights, net.random(8))
    return net.done(net(Sub(), large, net(layer, x, weights * np.float32(1 + 2**-14), net.random(8))))


def rows(n: int) -> Graph:
    net = Net(seed=3)
    return net.done(net(Dense(), net.x(n, 100), net.random(100, 100), net.random(100)))


def plain() -> Graph:
    """A convolution and a dense layer, well conditioned."""
    net = Net(seed=3)
    x = net(Conv2d((1, 1), (1, 1, 1, 1), lo=0.0), net.x(1, 5, 5, 3), net.random(8, 3, 3, 3), net.random(8))
    return net.done(net(Dense(), x, net.random(6, 8), net.random(6)))


def changed(graph: Graph, layer: int, factor: float, size: int = 1) -> Graph:
    """The graph with the first weights of a layer times a factor."""
    node = [node for node in graph.nodes if isinstance(node.op, Conv2d | Dense)][layer]
    data = graph.data(node.inputs[1])
    assert data is not None
    other = data.copy()
    other.reshape(-1)[:size] *= data.dtype.type(factor)
    return replace(graph, values={**graph.values, node.inputs[1]: Value(graph.type(node.inputs[1]), other)})


def test_ill_conditioned_networks_are_verified_and_rounding_is_named() -> None:
    require("gcc")
    for graph in (chaotic(), cancelling()):
        found = api.verify(graph)
        assert found.relative_error > 1e-4  # which was an error once, whatever the network
        assert found.explained is not None
        assert found.max_error < found.explained
        assert found.compared == 1


def test_an_output_of_one_number_is_compared() -> None:
    """A probability has no range within a sample that a tolerance could be a share of."""
    require("gcc")
    net = Net(seed=1)
    x = net.x(1, 32)
    for _ in range(9):
        x = net(Tanh(), net(Dense(), x, net.random(32, 32) * np.float32(0.6), net.random(32)))
    graph = net.done(net(Sigmoid(), net(Dense(), x, net.random(1, 32), net.random(1))))
    found = api.verify(graph)
    assert found.explained is not None  # by more than a few units in the last place
    assert found.compared == 1


@pytest.mark.parametrize("make", [chaotic, cancelling, plain])
def test_one_wrong_weight_is_seen(make: object) -> None:
    graph = make()  # type: ignore[operator]
    with (
        pytest.raises(
            EdgeKitError, match=r"by [\d.e+-]+ in output \w+, where rounding explains [\d.e+-]+"
        ) as e,
        compiled_as(changed(graph, 0, 1.5), graph),
    ):
        pass
    assert e.value.code == "E0601"


def test_a_wrong_kernel_is_seen() -> None:
    """One that leaves out the last input of each sum."""
    with (
        pytest.raises(EdgeKitError, match="where rounding explains") as error,
        compiled_as(plain(), plain(), (b"i < p->inputs", b"i + 1 < p->inputs")),
    ):
        pass
    assert error.value.code == "E0601"


def test_a_run_without_an_end_is_an_error_after_a_time_that_follows_from_its_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verification, "_START_SECONDS", 1)
    with (
        pytest.raises(EdgeKitError, match=r"net did not end in 1\.\d+ s") as error,
        compiled_as(plain(), plain(), (b"i < p->inputs; i++", b"i < p->inputs; i += p->inputs == 0")),
    ):
        pass
    assert error.value.code == "E0602"
    small, large = (verification.sample_seconds(compile_graph(rows(n), HOST)) for n in (1, 1000))
    assert large > 100 * small > 0


def test_an_error_of_a_thousandth_of_small_values_beside_large_ones_is_seen() -> None:
    """Coordinates of hundreds and probabilities in one output: an error in these is no rounding of those."""
    net = Net(seed=5)
    x = net.x(1, 40, 8)
    boxes = net(Mul(), net(Dense(), x, net.random(4, 8), net.random(4)), 600.0)
    scores = net(Sigmoid(), net(Dense(), x, net.random(4, 8), net.random(4)))
    graph = net.done(net(Concat(2), boxes, scores))
    (inputs,) = (simulate.random_inputs(graph, 0),)
    (y,) = simulate.run(graph, inputs).values()
    limit = RoundingError(graph, [inputs]).explain(0, graph.outputs[0], thorough=True).limit
    assert limit[..., 4:].max() < 1e-5 < limit[..., :4].max()
    assert tight(DType.F32, y)[..., 4:].max() < 1e-5
    assert np.abs(y[..., :4]).max() * 1e-4 > 1e-2  # what one tolerance of the largest would let pass


def halves() -> Graph:
    """Coordinates of up to 512, computed in float16 and given as float32, as for GPUs."""
    net = Net(DType.F16, seed=6)
    x = net.x(1, 64, 16)
    y = net(Mul(), net(Sigmoid(), net(Dense(), x, net.random(4, 16), net.random(4))), 512.0)
    return net.done(net.one(Cast(DType.F32), y))


class _Recorded:
    """Stands for compiled code: gives these outputs."""

    def __init__(self, outputs: list[dict[str, Array]], folder: Path) -> None:
        self.outputs = outputs
        self.executable = folder / "driver"

    def run_each(self, _: object, samples: tuple[object, ...]) -> Iterator[dict[str, Array]]:
        yield from self.outputs[: len(samples)]

    def among_extremes(self) -> "_Recorded":
        return self


@pytest.mark.parametrize(("units", "is_right"), [(1, True), (30, False)])
def test_float16_may_be_off_by_its_last_place(
    units: int, is_right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is 0.25 between 256 and 512, and sums in another order round so."""
    from edgekit.codegen.verification import verify as module

    monkeypatch.setattr(module, "_self_test", lambda *_: None)
    graph = halves()
    program = fit(graph, HOST, "caller", optimize="size")
    samples = drawn(graph, 3)  # of which none saturates
    (name,) = graph.outputs
    rng = np.random.default_rng(0)
    found = []
    for outputs in samples.outputs:
        y = outputs[name].astype(np.float16)
        moved = (y.view(np.int16) + units * rng.integers(0, 2, y.shape)).astype(np.int16)
        found.append({name: moved.view(np.float16).astype(np.float32)})
    assert max(np.abs(f[name] - s[name]).max() for f, s in zip(found, samples.outputs, strict=True)) >= 0.25
    driver: Driver = _Recorded(found, tmp_path)  # type: ignore[assignment]  # as far as it is asked
    compiler = toolchain.Compiler("none", (), "gcc")
    if is_right:
        assert verify(program, driver, compiler, [], samples).explained
    else:
        with pytest.raises(EdgeKitError, match="E0601"):
            verify(program, driver, compiler, [], samples)


def test_a_class_that_rounding_decides_may_differ_and_no_other() -> None:
    """Of two equal scores either is the largest; integers without such doubt are exact."""
    net = Net(seed=7)
    x = net.x(1, 30)
    w = net.random(1, 30)
    scores = net(Dense(), x, np.concatenate([w, w[:, ::-1]]), np.zeros(2, np.float32))
    graph = net.done(net.one(ArgExtreme(1, True, False), scores))
    even = np.ones((1, 30), np.float32) * np.float32(0.1)
    clear = (np.sign(w) + np.float32(0.5)).astype(np.float32)
    clear[:, 15:] = 0
    errors = RoundingError(graph, [{"x": even}, {"x": clear}])
    assert errors.explain(0, graph.outputs[0], thorough=True).limit.max() == 1
    assert errors.explain(1, graph.outputs[0], thorough=True).limit.max() == 0


def times(factor: int) -> Graph:
    net = Net(DType.S32)
    return net.done(net(Mul(), net.x(1, 9), factor))


def test_integers_are_compared_exactly() -> None:
    graph, other = times(3), times(4)
    assert api.verify(graph).exact
    with (
        pytest.raises(EdgeKitError, match=r"differs from the simulator by \d+ in output mul_\d+  ") as error,
        compiled_as(other, graph),
    ):
        pass
    assert "rounding" not in error.value.message


# What was compared


def test_values_that_are_not_finite_or_never_change_are_no_evidence() -> None:
    meter = VaryingElements()
    for k in range(3):
        meter.add(np.array([k, 1.0, np.nan, np.inf, k if k < 2 else np.nan]))
    assert meter.share == pytest.approx((3 + 2) / 15)
    single = VaryingElements()
    single.add(np.array([1.0, 2.0, np.nan]))
    assert single.share == pytest.approx(2 / 3)
    constant = VaryingElements()
    constant.add(np.ones(5))
    assert constant.share == 0
    rounded = VaryingElements()
    for tail in (0, 1e-7):
        rounded.add(np.ones(5) - tail)
    assert rounded.share == 0


def test_large_integers_are_compared_as_integers() -> None:
    """In floats, 2^60 + 1 is 2^60."""
    right = np.array([2**60, -(2**62), 0, -(2**63)])
    found = right + np.array([1, -1, 0, 0])
    assert compare(found, right) == (1.0, 2.0**63, False)
    assert difference(np.array([-(2**63)]), np.array([2**63 - 1])).item() == 2.0**64
    meter = VaryingElements()
    meter.add(right)
    meter.add(found)
    assert meter.share == 0.5


def test_a_kernel_that_loses_a_unit_of_a_large_integer_is_seen() -> None:
    """Integers beside floats, which make that rounding errors are asked for."""
    net = Net()
    x = net.input("x", Type(DType.S64, (1, 4)))
    net.inputs.append(x)
    graph = net.done(net.one(Add(), x, net.const(np.int64(2**60))), net.one(Cast(DType.F32), x))
    inputs = {"x": np.array([[1, 2, 3, 4]])}
    (y, _) = graph.outputs
    meter = verification._OutputErrorMeter(Port(y, "y", graph.type(y)), RoundingError(graph, [inputs]))
    right = simulate.run(graph, inputs)[y]
    assert meter.add(0, right, right, "") is None
    fault = meter.add(0, right + np.array([0, 1, 0, 0]), right, "")
    assert fault is not None
    assert "by 1 in output" in str(fault)


def test_nan_in_an_output_is_told(tmp_path: Path) -> None:
    """Of six roots two are of what is below 0 in each sample."""
    require("gcc")
    net = Net()
    offset = np.array([-100, 100, 100, -100, 100, 100], np.float32)
    graph = net.done(net(Sqrt(), net(Sub(), net(Tanh(), net.x(1, 6)), -offset)))
    found = api.verify(graph)
    assert found.nans == f"12 of 36 values of output {graph.outputs[0]} are NaN"
    assert results.verification(found)[0].split("; ")[1] == found.nans
    built = api.build(graph, tmp_path / "out")
    assert built.verification == found
    assert found.nans in "\n".join(results.build(built, verbose=False))


def test_a_constant_output_is_called_so() -> None:
    require("gcc")
    net = Net()
    graph = net.done(net(Clip(), net.x(1, 6), 1e9, 2e9))
    with pytest.raises(EdgeKitError, match=r"output .* is constant(.|\n)*--data"):
        api.verify(graph)


def test_inputs_are_tried_until_outputs_are_finite() -> None:
    net = Net()
    graph = net.done(net(Log(), net(Sub(), net.x(1, 50), 0.25)))
    assert shares([simulate.run(graph, simulate.random_inputs(graph, 0))]) != {graph.outputs[0]: 1.0}
    assert drawn(graph, 3).share == 1
    found = api.verify(graph)
    assert found.compared == 1


def nothing_to_see() -> Graph:
    """The root of what is always negative, beside an output that is fine."""
    net = Net()
    x = net.x(1, 9)
    return net.done(net(Tanh(), x), net(Sqrt(), net(Sub(), net(Tanh(), x), 2.0)))


def test_nothing_is_called_verified_where_nothing_was_compared(tmp_path: Path) -> None:
    require("gcc")
    graph = nothing_to_see()
    report = api.build(graph, tmp_path / "net", optimize="size")
    assert report.verification is None
    name = graph.outputs[1]
    assert f"too little was compared: 0.0% of the values of output {name} are finite" in report.unverified
    assert (tmp_path / "net" / "net.c").exists()
    for verb in (lambda: api.verify(graph), lambda: api.build(graph, tmp_path / "other", verify=True)):
        with pytest.raises(EdgeKitError, match="E0607 too little was compared") as error:
            verb()
        assert "--data takes typical inputs" in error.value.hint
        assert "(x f32[1,9])" in error.value.hint
        assert error.value.exit_code == 1
    assert not (tmp_path / "other").exists()


def detector(key: Array) -> Graph:
    """Silent for whatever is not near its key, as a wake word is for noise."""
    net = Net()
    away = net(Sub(), net.x(*key.shape), key)
    far = net(Reduce("sum", (1,)), net(Mul(), away, away))
    return net.done(net(Clip(), net(Sub(), 1.0, far), 0.0, np.inf))


def test_typical_inputs_compare_what_random_ones_leave_silent(tmp_path: Path) -> None:
    """They are the way out that the note of a build names."""
    require("gcc")
    random = np.random.default_rng(0)
    key = random.uniform(2, 3, (1, 64)).astype(np.float32)
    graph = detector(key)
    report = api.build(graph, tmp_path / "noise")
    assert (
        "--data takes typical inputs, an .npz, an .npy or a folder of them (x f32[1,64])" in report.unverified
    )
    words = key + random.normal(0, 0.05, (4, 1, 64)).astype(np.float32)
    found = api.build(graph, tmp_path / "words", samples=words, verify=True).verification
    assert found
    assert (found.samples, found.compared) == (10, 1.0)


def test_an_output_that_no_input_reaches_is_not_missed() -> None:
    require("gcc")
    net = Net()
    graph = net.done(net(Tanh(), net.x(1, 9)))
    graph = replace(
        graph,
        outputs=(*graph.outputs, "fixed"),
        values={**graph.values, "fixed": Value(Type(DType.F32, (2,)), np.ones(2, np.float32))},
    )
    assert not api.verify(api.convert(graph), optimize="size").shortfall


def test_a_transformer_is_compared_whole() -> None:
    require("gcc")
    found = api.verify(encoder(), optimize="size")
    assert found.compared > 0.9
    assert all(np.isfinite(o.max_error) for o in found.outputs)


def test_the_samples_of_a_self_test_are_plausible_too() -> None:
    test = prepare(encoder())
    assert all(np.isfinite(y).all() for outputs in test.expected for y in outputs.values())
    assert len({sample["ids"].tobytes() for sample in test.samples}) == len(test.samples)

"""Lines of floats instead of requantization rules: equal for every sum, or not taken."""

from dataclasses import replace

import numpy as np
import pytest
from support.integer_bench import Bench, Seeded

from edgekit.codegen.lowering.float_requant import LINE, line, proven
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.lowering.tfl_add import as_affine
from edgekit.core import fixed
from edgekit.core import target as targets
from edgekit.core.ops import Arg, Call
from edgekit.core.ops._integer_maps import sum_calls
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Quant


def dense(rounding: str, seed: int, zero: int = -128, outputs: int = 8, target: str = "host") -> Call:
    """A fully connected layer with small scales, as they are in networks."""
    bench = Bench(Seeded(seed))
    bench.rounding = rounding
    x = bench.input(1, 64)
    w, bias = bench.weights(DType.S8, outputs, 64)
    op = Dense(0.0 if zero == -128 else -np.inf)
    bench.result(op, x, w, bias, quant=Quant((2.0 ** (seed % 5 - 2),), (zero,), None, rounding))
    graph = bench.graph()
    (call,) = (step for layer in lower(graph, targets.load(target)) for step in layer.steps)
    assert isinstance(call, Call)
    return call


def reachable(call: Call, count: int = 40000) -> Array:
    """Sums of each output between the least and the largest there can be, the ends among them."""
    w, b = call.args[1].value.data, call.args[2].value.data
    assert w is not None
    assert b is not None
    wide = w.reshape(len(w), -1).astype(np.int64)
    least = b + np.where(wide > 0, -128 * wide, 127 * wide).sum(axis=1)
    most = b + np.where(wide > 0, 127 * wide, -128 * wide).sum(axis=1)
    return np.rint(np.linspace(least, most, count)).astype(np.int64)


def by_rule(call: Call, sums: Array) -> Array:
    m, e = (call.args[i].value.data for i in (3, 4))
    assert m is not None
    assert e is not None
    m, e = m.astype(np.int64), e.astype(np.int64)
    if call.rule == "tfl":
        y = fixed.mbqm(sums, m, e)
    elif call.rule == "once":
        y = fixed.mbqm_once(sums, m, e)
    else:
        y = (sums * m + (np.int64(1) << (e - 1))) >> e
    zero, low, high = (call.params[name] for name in ("zero", "lo", "hi"))
    result: Array = (zero + y).clip(low, high)
    return result


def by_line(call: Call, sums: Array, moved: Array) -> Array:
    scale, offset = (call.args[i].value.data for i in (3, 4))
    assert scale is not None
    assert offset is not None
    single = (sums - moved).astype(np.float32).astype(np.float64)
    offset = np.copysign(offset.astype(np.float64), single) if call.rule == "line_away" else offset
    y = np.rint((single * scale.astype(np.float64) + offset).astype(np.float32)).astype(np.int64)
    zero, low, high = (call.params[name] for name in ("zero", "lo", "hi"))
    result: Array = (zero + y).clip(low, high)
    return result


@pytest.mark.parametrize("zero", [-128, 3])
@pytest.mark.parametrize("rounding", ["E", "tfl", "tflm"])
def test_lines_are_equal_to_their_rules(rounding: str, zero: int) -> None:
    found = 0
    for seed in range(12):
        call = dense(rounding, seed, zero)
        made = proven(call)
        if made is None:
            continue
        found += 1
        before, after = call.args[2].value.data, made.args[2].value.data
        assert before is not None
        assert after is not None
        sums = reachable(call)
        moved = before.astype(np.int64) - after
        np.testing.assert_array_equal(by_line(made, sums, moved), by_rule(call, sums))
    assert found >= 6


def test_no_line_is_taken_that_differs_in_one_sum() -> None:
    """A rule that takes one step a sum later has other lines, or none."""
    call = next(c for c in (dense("tfl", seed) for seed in range(12)) if line(c))
    m = call.args[3].value.data
    assert m is not None
    args = list(call.args)
    args[3] = Arg("m", replace(args[3].value, data=m + (1 << 20)))
    changed = replace(call, args=tuple(args))
    first, second = line(call), line(changed)
    assert first is not None
    assert second is None or not np.array_equal(first.scale, second.scale)


@pytest.mark.parametrize("rounding", ["E", "tfl"])
def test_sums_are_moved_to_where_floats_are_finest(rounding: str) -> None:
    """With results of one sign, more is proven than with those of both."""
    found = {zero: [line(dense(rounding, seed, zero)) for seed in range(4)] for zero in (-128, 3)}
    assert sum(made is not None for made in found[-128]) > sum(made is not None for made in found[3])


@pytest.mark.parametrize("exponent", [7, 8, 9, 10])
def test_results_that_leave_30_bits_are_left_to_the_rule(exponent: int) -> None:
    """Beyond, a float may not fit into an integer of 32 bits together with the zero point."""
    call = dense("tfl", 1)
    args, channels = list(call.args), call.args[3].value.type.size
    for at, data in ((3, np.full(channels, 2**30, np.int32)), (4, np.full(channels, exponent, np.int8))):
        args[at] = Arg(args[at].name, replace(args[at].value, data=data))
    reach = np.abs(reachable(call, 2)).max() + 2**22  # by which sums may be moved
    assert (line(replace(call, args=tuple(args))) is not None) == (reach * 2.0 ** (exponent - 1) < 2**30)


def test_targets_without_kernels_for_lines_keep_the_rule() -> None:
    assert dense("tfl", 3).rule in ("tfl", "once")


@pytest.mark.parametrize("rounding", ["E", "tfl", "tflm"])
def test_targets_with_kernels_for_lines_take_what_is_proven(rounding: str) -> None:
    rules = [dense(rounding, seed, target="x86-64-avx2").rule for seed in range(4)]
    taken = [line(dense(rounding, seed)) is not None for seed in range(4)]
    assert any(taken)
    assert [rule == LINE for rule in rules] == taken


def test_sums_by_tflites_rule_become_products() -> None:
    found = 0
    for seed in range(20):
        bench = Bench(Seeded(seed))
        bench.rounding = "tfl"
        ins = [Arg(name, bench.builder.values[name]) for name in (bench.input(2, 5), bench.input(2, 5))]
        result = replace(ins[0].value, type=replace(ins[0].type, quant=bench.quant(-3, 1)))
        (call,) = sum_calls(ins, Arg("y", result), 1)
        made = as_affine(call)
        if made is None:
            continue
        found += 1
        p = {name: int(made.params[name]) for name in ("first", "second", "constant", "shift", "lo", "hi")}  # type: ignore[arg-type]
        a, b = np.arange(-128, 128)[:, None], np.arange(-128, 128)[None, :]
        y = (p["first"] * a + p["second"] * b + p["constant"]) >> p["shift"]
        q = {name: int(call.params[name]) for name in call.params if name not in ("n", "sa", "sb")}  # type: ignore[arg-type]
        parts = [
            fixed.mbqm((x - q[f"{c}_zero"]) << 20, q[f"{c}_multiplier"], q[f"{c}_exponent"])
            for x, c in ((a, "a"), (b, "b"))
        ]
        wanted = q["zero"] + fixed.mbqm(parts[0] + parts[1], q["multiplier"], q["exponent"])
        np.testing.assert_array_equal(y.clip(p["lo"], p["hi"]), wanted.clip(q["lo"], q["hi"]))
    assert found >= 5

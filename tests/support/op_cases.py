"""Operators under test: a case is an operator and its operands; a family of cases becomes one model in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from support.generated import written
from support.kernel_records import expecting

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import FLAGS, Driver
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op, without_elements
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType, Quant, Type, Value, finfo, type_of


@dataclass(frozen=True, eq=False)
class Case:
    """`ulps`: how far C may be from the simulator, in units of the last place of each result, or of the
    largest result where errors cancel (`summed`). `constant`: operands that the generated code knows."""

    op: Op
    operands: tuple[Array, ...]
    ulps: float = 0
    summed: bool = False
    constant: tuple[int, ...] = ()
    quants: tuple[Quant | None, ...] = ()  # what integers stand for: of each operand
    result: Quant | Sequence[Quant] | None = None  # of all results, or of each
    largest: float = 0  # what errors that cancel come from, at least

    @cached_property
    def types(self) -> list[Type]:
        """The types of the operands."""
        plain = [type_of(x) for x in self.operands]
        return [replace(t, quant=q) for t, q in zip(plain, self.quants or (None,) * len(plain), strict=True)]

    @cached_property
    def results(self) -> tuple[Array, ...]:
        """What the operator means, computed once for all targets."""
        found = self.op.infer(*self.types)
        if nothing := without_elements(found):
            return nothing
        if not self.quants and self.result is None:
            return self.op.eval(*self.operands)
        quants = self.result if isinstance(self.result, Sequence) else [self.result] * len(found)
        results = [replace(t, quant=q) for t, q in zip(found, quants, strict=True)]
        return self.op.integer(self.operands, self.types, results)

    def __str__(self) -> str:
        return f"{self.op} of {', '.join(str(type_of(x)) for x in self.operands)}"


def case(
    op: Op,
    *operands: Any,
    ulps: float = 0,
    summed: bool = False,
    constant: Sequence[int] = (),
    quants: Sequence[Quant | None] = (),
    result: Quant | Sequence[Quant] | None = None,
) -> Case:
    """What is not an array is a number of the first operand's type."""
    first = operands[0]
    arrays = (x if isinstance(x, np.ndarray) else np.array(x, first.dtype) for x in operands)
    return Case(op, tuple(arrays), ulps, summed, tuple(constant), tuple(quants), result)


def normal(dtype: DType, *shape: int, scale: float = 1.0) -> Array:
    """Normal numbers, the same in every run."""
    rng = np.random.default_rng([len(shape), *shape])
    return np.asarray(rng.standard_normal(shape) * scale).astype(dtype.numpy)


def uniform(dtype: DType, low: float, high: float, *shape: int) -> Array:
    rng = np.random.default_rng([len(shape), *shape])
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype.numpy)


def whole(dtype: DType, *shape: int, low: int | None = None, high: int | None = None) -> Array:
    """Whole numbers over the range of a type, or part of it; the ends are among them."""
    info = (0, 1) if dtype is DType.BOOL else limits(dtype)
    low, high = info[0] if low is None else low, info[1] if high is None else high
    rng = np.random.default_rng([len(shape), *shape])
    numbers = [low + int(u * (high - low + 1)) for u in rng.random(int(np.prod(shape)))]
    numbers[:2] = [low, high][: len(numbers)]
    # Python's integers, since nothing else holds those of all types.
    return np.array(numbers, object).astype(dtype.numpy).reshape(shape)


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    return (
        (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1) if dtype.is_signed else (0, (1 << dtype.bits) - 1)
    )


def special(dtype: DType) -> Array:
    """Floats with their corners: zeros, infinities, NaN, ties, the largest and the smallest."""
    info = finfo(dtype.numpy)
    corners = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        0.5,
        1.5,
        2.5,
        -0.5,
        -2.5,
        1.0,
        -1.0,
        3.0,
        -3.0,
        0.1,
        100.7,
    ]
    tiny = [float(x) for x in (info.max, -info.max, info.smallest_normal, info.smallest_subnormal)]
    with np.errstate(all="ignore"):
        return np.array([*corners, *tiny]).astype(dtype.numpy)


@expecting
def expected(c: Case) -> tuple[Array, ...]:
    return c.results


def as_graph(
    cases: Sequence[Case], name: str = "cases"
) -> tuple[Graph, dict[str, Array], list[tuple[str, ...]]]:
    """One model in which each case is a node; its inputs, and the outputs of each case."""
    builder = Builder()
    inputs: dict[str, Array] = {}
    outputs: list[tuple[str, ...]] = []
    for i, c in enumerate(cases):
        names = []
        for k, x in enumerate(c.operands):
            if k in c.constant and c.types[k].quant is not None:
                names.append(builder.fresh("c"))
                builder.values[names[-1]] = Value(c.types[k], x)
            elif k in c.constant:
                names.append(builder.const(x))
            else:
                names.append(builder.input(f"x{i}_{k}", c.types[k]))
                inputs[names[-1]] = x
        outputs.append(builder.add(c.op, *names, names=[f"y{i}_{k}" for k in range(9)], quant=c.result))
    return builder.graph(name, list(inputs), [y for names in outputs for y in names]), inputs, outputs


def run_in_c(
    cases: Sequence[Case], folder: Path, optimize: Optimize, flags: Sequence[str]
) -> list[list[Array]]:
    """The results of each case from one compiled model. At `size`, one source includes all kernels."""
    graph, inputs, outputs = as_graph(cases)
    results = run_graph_in_c(graph, inputs, folder, optimize, flags)
    return [[results[name] for name in names] for names in outputs]


def run_graph_in_c(
    graph: Graph, inputs: dict[str, Array], folder: Path, optimize: Optimize, flags: Sequence[str]
) -> dict[str, Array]:
    """The outputs of a graph as it is: nothing is simplified."""
    program = compile_graph(graph, targets.load("host"))
    compiler = toolchain.find(targets.load("host"))
    names = written([program], folder, optimize)
    compiler.run([*FLAGS, *flags, "-c", *names], folder)
    objects = [f"{Path(name).stem}.o" for name in names]
    links = [flag for flag in flags if flag.startswith(("-fsanitize", "-D"))]
    return Driver([program], objects, folder, compiler, links).run(program, inputs)


def assert_close(found: Array, wanted: Array, c: Case) -> None:
    """Equal, NaN to NaN, up to the error that the case admits."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if not DType.of(wanted.dtype).is_float or c.ulps == 0:
        same = (found == wanted) | ((found != found) & (wanted != wanted))
        assert np.all(same), f"{c}: {found[~same][:8]} instead of {wanted[~same][:8]}"
        return
    wide, exact = found.astype(np.float64), wanted.astype(np.float64)
    info = finfo(wanted.dtype)
    finite = np.isfinite(exact)
    assert np.array_equal(wide[~finite], exact[~finite], equal_nan=True)
    size = np.abs(exact[finite])
    unit = np.maximum(size.max(initial=c.largest) if c.summed else size, float(info.smallest_normal)) * float(
        info.eps
    )
    off = np.abs(wide[finite] - exact[finite]) / unit
    assert np.all(off <= c.ulps), (
        f"{c}: {off.max():.3g} ulps, "
        f"{wide[finite][off > c.ulps][:8]} instead of {exact[finite][off > c.ulps][:8]}"
    )

"""Rounding error of a graph's outputs, measured by Monte Carlo arithmetic: a run in float64, and noisy runs.

The run in float64 keeps all digits. A noisy run rounds each result to the type in which it is stored, after
a random error of up to half a unit in the last place; an error of sums of n terms grows with n, as that of
adding one by one does. How far noisy runs are from the exact one is what rounding alone explains, whatever
the order of operations: little where a network is well conditioned, much where sums cancel, where weights are
large, or where a comparison is close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from edgekit.codegen.verification.difference import difference
from edgekit.core import simulate
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops._map import Map
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.while_loop import While
from edgekit.core.types import Array, DType, finfo

# How many times the largest error of noisy runs an implementation may be off: kernels add up one by one or in
# vectors, with and without fused products, and approximate functions within a few units in the last place.
MARGIN = 4.0
_ULPS = 2  # of the stored value, beside that
_FEW_RUNS, _MAX_RUNS = 2, 8
_SLICE = 16  # elements that tell how large errors are around one of them
_CHAINED = 4  # roundings in a row within operators such as normalizations and interpolations
_SEED = 17


@dataclass(frozen=True)
class Explained:
    """One output of one sample: what it is without rounding, and how far from that rounding may lead."""

    exact: Array
    limit: Array


class RoundingError:
    """Measures what rounding does to the outputs, sample by sample, when it is asked for. Where the graph has
    states, the samples are the steps of one stream."""

    def __init__(self, graph: Graph, samples: Sequence[Mapping[str, Array]]) -> None:
        self.graph = graph
        self._runs = [_Run(graph, samples, number) for number in range(1 + _MAX_RUNS)]

    def explain(self, i: int, name: str, *, thorough: bool = False) -> Explained:
        """What rounding explains of an output of sample `i`. `thorough` takes more noisy runs."""
        count = _MAX_RUNS if thorough else _FEW_RUNS
        dtype = self.graph.type(name).dtype
        exact, *noisy = (run.outputs(i)[name] for run in self._runs[: 1 + count])
        off = np.max([difference(values, exact) for values in noisy], axis=0)
        if not dtype.is_float:  # of a whole number, only what was seen to change may change
            return Explained(exact if exact.dtype.kind in "iu" else exact.astype(np.float64), off)
        exact = exact.astype(np.float64)
        around = local_largest(np.where(np.isfinite(off), off, 0.0))
        return Explained(exact, MARGIN * np.maximum(off, around) + _ULPS * ulp(exact, dtype))


def has_floats(graph: Graph) -> bool:
    """Is anything computed in floats? Integers alone are never rounded differently."""
    names = {name for node in graph.nodes for name in (*node.inputs, *node.outputs)}
    return any(graph.type(name).dtype.is_float for name in names)


def local_largest(sizes: Array) -> Array:
    """For each element the largest of a slice that it lies in, along the dimension where that is least: an
    output may hold coordinates of hundreds beside probabilities. Slices of few elements would say little."""
    result = np.full(sizes.shape, sizes.max(initial=0.0))
    for axis, length in enumerate(sizes.shape):
        if 1 < length <= sizes.size // _SLICE:
            others = tuple(a for a in range(sizes.ndim) if a != axis)
            result = np.minimum(result, sizes.max(axis=others, keepdims=True))
    return result


def ulp(values: Array, dtype: DType) -> Array:
    """The distance to the next number of a type of floats."""
    epsilon, least_exponent = _precision(dtype)
    exponents = np.frexp(np.where(np.isfinite(values), values, 0.0))[1] - 1
    result: Array = np.ldexp(epsilon, np.maximum(exponents, least_exponent))
    return result


@cache
def _precision(dtype: DType) -> tuple[float, int]:
    """The distance from 1 to the next number, and the least exponent."""
    info = finfo(dtype.numpy)
    return float(info.eps), int(info.minexp)


class _Run:
    """The outputs of samples, exact (number 0) or with noise."""

    def __init__(self, graph: Graph, samples: Sequence[Mapping[str, Array]], number: int) -> None:
        self.graph = graph
        self.samples = samples
        self.rng = np.random.default_rng((_SEED, number)) if number else None
        self.states: dict[str, Array] = {state.input: state.start for state in graph.states}
        self.known: dict[int, dict[str, Array]] = {}

    def outputs(self, i: int) -> Mapping[str, Array]:
        for k in range(len(self.known), i + 1) if self.graph.states else [i]:
            if k not in self.known:
                self.known[k] = self._step(self.samples[k])
        return self.known[i]

    @np.errstate(all="ignore")  # rounding overflows, and NaN may be signaling
    def _step(self, sample: Mapping[str, Array]) -> dict[str, Array]:
        graph = self.graph
        last = {name: node for node in graph.nodes for name in node.inputs}
        values = {name: _wide(sample[name]) for name in graph.inputs}
        values |= {name: _wide(array) for name, array in self.states.items()}
        kept = {*graph.exits}
        for node in graph.nodes:
            for name in node.inputs:
                data = graph.data(name)
                if data is not None and name not in values:
                    values[name] = _wide(data)
            values |= self._results(node, values)
            for name in node.inputs:
                if last[name] is node and name not in kept:
                    values.pop(name, None)
        for name in graph.exits:
            data = graph.data(name)
            if data is not None:
                values[name] = data
        self.states = {state.input: values[state.output] for state in graph.states}
        return {name: values[name] for name in graph.outputs}

    def _results(self, node: Node, values: Mapping[str, Array]) -> dict[str, Array]:
        """What a node makes of these values."""
        graph = self.graph
        given = {name: values[name] for name in node.inputs}
        if isinstance(node.op, While):
            return self._loop(node, node.op, given)
        if self.rng is not None and not node.op.is_data_movement and not isinstance(node.op, Map):
            given |= self._noisy_operands(node, given)
        if isinstance(node.op, BitCast):  # the bits are those of the type that is stored
            given = {name: array.astype(graph.type(name).dtype.numpy) for name, array in given.items()}
        results = simulate.compute(graph, node, given)
        return {name: self._stored(array, graph.type(name).dtype) for name, array in results.items()}

    def _loop(self, node: Node, op: While, values: Mapping[str, Array]) -> dict[str, Array]:
        """The same of each iteration."""
        body = _Run(op.graph, (), 0)
        body.rng = self.rng
        carried = [values[name] for name in node.inputs[: op.carried]]
        staying = {
            inner: values[name]
            for inner, name in zip(op.inputs[op.carried :], node.inputs[op.carried :], strict=True)
        }
        for _ in range(op.limit):
            if not carried[0].item():
                break
            inside = {**staying, **dict(zip(op.inputs, carried, strict=False))}
            for step in op.graph.nodes:
                inside |= body._results(step, inside)
            carried = [inside[name] for name in op.outputs]
        return dict(zip(node.outputs, carried, strict=True))

    def _noisy_operands(self, node: Node, values: Mapping[str, Array]) -> dict[str, Array]:
        """Operands with errors that stand for those within an operator of many operations: of the products of
        a sum one factor is enough, the one of fewest elements."""
        graph = self.graph
        names = [name for name in dict.fromkeys(node.inputs) if graph.type(name).dtype.is_float]
        types = [graph.type(name) for name in node.inputs]
        macs, size = node.op.macs(*types), sum(graph.type(name).size for name in node.outputs)
        if not names or not size:
            return {}
        terms = max(macs, *(graph.type(name).size for name in names)) / size
        unit = 2.0**-53 if graph.type(names[0]).dtype is DType.F64 else 2.0**-24
        if macs:
            if all(_are_whole(values[name]).all() for name in names):
                return {}  # so are products and sums
            factors = [name for name in names if name in node.inputs[:2]] or names
            # The bias is a term, too: where it is large, so are the partial sums, and what they lose.
            bias = [name for name in names if name in node.inputs[2:]] if isinstance(node.op, Linear) else []
            names = [min(factors, key=lambda name: graph.type(name).size), *bias]
        error = unit * max(1.0 if macs else _CHAINED, float(np.sqrt(terms / 2)))
        return {name: self._scattered(values[name], error, keep=not macs) for name in names}

    def _scattered(self, array: Array, error: float, *, keep: bool) -> Array:
        """With a random relative error; `keep` leaves whole numbers, which may be places, as they are."""
        assert self.rng is not None
        noisy = array * (1 + error * self.rng.uniform(-1, 1, array.shape))
        return np.where(_are_whole(array), array, noisy) if keep else noisy

    def _stored(self, array: Array, dtype: DType) -> Array:
        """A result as it is kept: exactly, or rounded wrongly by up to a unit where it has to be rounded."""
        if not dtype.is_float:
            return array.astype(dtype.numpy, copy=False)
        wide = _wide(array)
        if self.rng is None or dtype.bytes == 1:
            return wide
        noise = ulp(wide, dtype) * self.rng.uniform(-0.5, 0.5, wide.shape)
        if dtype is DType.F64:
            return wide + noise
        narrow = wide.astype(dtype.numpy).astype(np.float64)
        rounded = (wide + noise).astype(dtype.numpy).astype(np.float64)
        return np.where((narrow == wide) | np.isnan(wide), wide, rounded)


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if DType.of(array.dtype).is_float else array


def _are_whole(array: Array) -> Array:
    same: Array = np.rint(array) == array
    return same

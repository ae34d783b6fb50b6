"""The simulator: evaluates a graph in numpy, node by node; the C code must compute the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from edgekit.core import limits
from edgekit.core.builder import check_result
from edgekit.core.errors import EdgeKitError
from edgekit.core.input_ranges import input_ranges
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import without_elements
from edgekit.core.types import Array, Type

_SILENT = partial(np.errstate, all="ignore")  # floats overflow in C without a word, too


def run(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs for these inputs; states are what they are at the start."""
    values = run_all(graph, inputs)
    return {name: values[name] for name in graph.outputs}


def check_work(graph: Graph) -> None:
    """Refuse a graph of which one run takes too long: what runs it begins with this."""
    held = sum(data.nbytes for _, data in graph.constants())
    limit, needed = limits.FREE_RUN_WORK + limits.RUN_WORK_PER_BYTE * held, graph.work
    if limits.allows(limit, needed):
        return
    node = max(graph.nodes, key=graph.work_of)
    message = f"a run takes {limits.billions(needed)}, more than {limits.billions(limit)}"
    where = f"node {node.origin}, {type(node.op).__name__}: {limits.billions(graph.work_of(node))}"
    limits.refuse_beyond(limit, needed, message, where, "it would take hours")


class Session:
    """A graph with its states, which last from run to run: one stream."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.states: dict[str, Array] = {}
        self.reset()

    def reset(self) -> None:
        """Back to the start."""
        self.states = {state.input: state.start for state in self.graph.states}

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the next step."""
        values = self.run_all(inputs)
        return {name: values[name] for name in self.graph.outputs}

    def run_all(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Every value of the next step."""
        values = run_all(self.graph, inputs, self.states)
        self.states = {state.input: values[state.output] for state in self.graph.states}
        return values


def run_each(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Iterator[dict[str, Array]]:
    """The outputs for each sample; where the graph has states, the samples are the steps of one stream."""
    check_work(graph)
    session = Session(graph)
    for sample in samples:
        yield session.run(sample)


def run_all(
    graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """Every value of the graph for these inputs, and these states instead of those at the start."""
    values = dict(graph.constants())
    for name in graph.inputs:
        values[name] = check_input(name, graph.type(name), inputs)
    values |= {state.input: state.start for state in graph.states} if states is None else states
    with _SILENT():
        for node in graph.nodes:
            for name, result in _computed(graph, node, values).items():
                check_result(node.op, graph.type(name), result)
                values[name] = result
    return values


def compute(graph: Graph, node: Node, values: Mapping[str, Array]) -> dict[str, Array]:
    """What a node makes of these values."""
    with _SILENT():
        return _computed(graph, node, values)


def _computed(graph: Graph, node: Node, values: Mapping[str, Array]) -> dict[str, Array]:
    args = [values[name] for name in node.inputs]
    ins, outs = [graph.type(name) for name in node.inputs], [graph.type(name) for name in node.outputs]
    is_quantized = any(t.quant is not None for t in (*ins, *outs))
    evaluate = node.op.in_c if graph.quantizes else node.op.eval
    nothing = without_elements(outs)
    results = nothing or (node.op.integer(args, ins, outs) if is_quantized else evaluate(*args))
    return dict(zip(node.outputs, results, strict=True))


def check_input(name: str, type: Type, inputs: Mapping[str, Array]) -> Array:
    """The input `name`, or an error that says what was expected."""
    if name not in inputs:
        given = ", ".join(inputs) or "nothing"
        raise EdgeKitError("E0101", f"input {name} is missing", f"given: {given}", f"{name} is {type}")
    array = np.asarray(inputs[name])
    if array.shape != type.shape or array.dtype != type.dtype.numpy:
        found = f"{array.dtype}[{','.join(map(str, array.shape))}]"
        raise EdgeKitError("E0102", f"input {name} is {found}, the model takes {type}")
    return array


def random_inputs(graph: Graph, seed: int, choice: int = 0) -> dict[str, Array]:
    """Seeded inputs of the right types that the model may meet: normal floats, indices within their table,
    masks of 0 and 1. `choice` takes other ranges where the graph says nothing: see input_ranges.py."""
    rng = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for name, span in input_ranges(graph, choice).items():
        t = graph.type(name)
        drawn: Array
        if not t.dtype.is_float:
            drawn = rng.integers(int(span.low), int(span.high), t.shape, dtype=np.int64, endpoint=True)
            if span.is_mask and t.size:
                drawn[(..., 0) if t.rank else ()] = 1
        elif choice == 0:
            drawn = rng.standard_normal(t.shape)
        else:
            drawn = rng.uniform(span.low, span.high, t.shape)
        result[name] = np.asarray(drawn).astype(t.dtype.numpy)
    return result

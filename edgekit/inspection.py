"""What is in a model: inputs, outputs, layers, parameters, multiply-accumulates, operators, memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from shlex import quote

import numpy as np

from edgekit.codegen.program import compile_graph
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, OpenBatch, RemovedWork, Source
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.target import Target
from edgekit.core.types import Type

_MAX_SHOWN = 3  # inputs in one sentence
_MAX_NAMES = 10  # of classes


@dataclass(frozen=True)
class LayerSummary:
    """One operator of the graph."""

    name: str  # of its first result
    origin: str  # the layer of the source model
    op: str
    output: Type
    parameters: int  # elements of the constants that it reads
    macs: int


@dataclass(frozen=True)
class Arena:
    """Working memory of the library for a target."""

    target: str
    bytes: int
    lower_bound: int  # no plan for this order of layers needs less
    compared: int = 0  # pairs of buffers that a search compared until its budget ended it
    order_runs: int = 0  # layers that a search ran in other orders until its budget ended it


@dataclass(frozen=True)
class Inspection:
    """What is known of a graph before anything is generated."""

    name: str
    source: Source
    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]
    states: Mapping[str, Type]  # what lasts from run to run
    layers: tuple[LayerSummary, ...]
    operators: Mapping[str, int]  # how often each is used
    parameters: int
    weight_bytes: int
    macs: int
    arena: Arena | None  # None: this target has no kernel for an operator, see `missing`
    missing: str = ""
    removed: RemovedWork | None = None  # dead channels, when the model was read


def inspect(graph: Graph, target: Target) -> Inspection:
    """Look at a graph; the arena is exact for this target."""
    layers = tuple(_layers(graph))
    constants = [data for _, data in graph.constants()]
    arena, missing = None, ""
    try:
        program = compile_graph(graph, target)
        plan, compared = program.arena, 0 if program.arena.optimal else program.arena.compared
        arena = Arena(target.name, plan.size, plan.lower_bound, compared, program.order_runs)
    except EdgeKitError as error:
        missing = error.message
    return Inspection(
        name=graph.name,
        source=graph.source,
        inputs={name: graph.type(name) for name in graph.inputs},
        outputs={name: graph.type(name) for name in graph.outputs},
        states={state.input: state.initial.type for state in graph.states},
        layers=layers,
        operators=dict(Counter(sorted(layer.op for layer in layers)).most_common()),
        parameters=sum(data.size for data in constants),
        weight_bytes=sum(data.nbytes for data in constants),
        macs=sum(layer.macs for layer in layers),
        arena=arena,
        missing=missing,
        removed=graph.source.removed,
    )


def float_layers(graph: Graph) -> str:
    """Which operators of a quantized model compute on floats, as a sentence; empty where none do, and for a
    model of floats."""
    if not any(value.type.quant for value in graph.values.values()):
        return ""
    floats = Counter(
        type(node.op).__name__
        for node in graph.nodes
        if not isinstance(node.op, Quantize | Dequantize | Cast)
        and any(graph.type(name).dtype.is_float for name in node.outputs)
    )
    names = ", ".join(sorted(floats))
    return f"{floats.total()} operators of this quantized model compute on floats: {names}" if floats else ""


def open_batches(graph: Graph) -> str:
    """Which batches the model file leaves open, so that they are 1, and what binds them, as a sentence."""
    found = [batch for batch in graph.source.open_batches if batch.input in graph.inputs]
    if not found:
        return ""
    options = dict.fromkeys(_binding(graph, batch) for batch in found)
    names = ", ".join(batch.input for batch in found[:_MAX_SHOWN]) + ", ..." * (len(found) > _MAX_SHOWN)
    return f"the batch of {names} is open in the file, and 1 here: {' '.join(options)} binds it"


def one_sided(graph: Graph) -> str:
    """Which choices between branches only one branch has valid shapes for, as a sentence."""
    found = graph.source.one_sided
    if not found:
        return ""
    nodes = ", ".join(branch.node for branch in found[:_MAX_SHOWN]) + ", ..." * (len(found) > _MAX_SHOWN)
    options = dict.fromkeys(f"--const {quote(f'{b.input}=N')}" for b in found if b.input in graph.inputs)
    choose = f": {' '.join(options)} says which is meant" if options else ""
    return f"only one branch of {nodes} has valid shapes, and is always taken{choose}"


def counted_rows(graph: Graph) -> str:
    """Which outputs have room for more rows than there may be, as a sentence."""
    found = [rows for rows in graph.source.counted_rows if rows.output in graph.outputs]
    if not found:
        return ""
    shown = [f"{rows.output} ({graph.type(rows.output).shape[rows.axis]})" for rows in found[:_MAX_SHOWN]]
    names = ", ".join(shown) + ", ..." * (len(found) > _MAX_SHOWN)
    counts = ", ".join(dict.fromkeys(rows.count for rows in found))
    return f"there is room for a fixed number of rows in {names}: {counts} says how many count, others are 0"


def class_names(graph: Graph) -> str:
    """Which outputs are numbers of classes whose names the model file has, as a sentence."""
    found = [named for named in graph.source.class_names if named.output in graph.outputs]
    listed = []
    for named in found[:_MAX_SHOWN]:
        names = ", ".join(f"{i} {name}" for i, name in enumerate(named.names[:_MAX_NAMES]))
        listed.append(f"{named.output} ({names}{', ...' * (len(named.names) > _MAX_NAMES)})")
    more = ", ..." * (len(found) > _MAX_SHOWN)
    return f"text became the number of a class in {', '.join(listed)}{more}" if found else ""


def _binding(graph: Graph, batch: OpenBatch) -> str:
    """The option that binds a batch."""
    if batch.dimension:
        return f"--dim {quote(f'{batch.dimension}=N')}"
    sizes = ",".join(["N", *map(str, graph.type(batch.input).shape[1:])])
    return f"--shape {quote(f'{batch.input}={sizes}')}"


def broken_weights(graph: Graph) -> str:
    """Which constants hold NaN, as a sentence; empty where none do."""
    broken = [name for name, data in graph.constants() if data.dtype.kind == "f" and np.isnan(data).any()]
    return (
        f"NaN is among the weights, in {', '.join(broken[:3]):.60}: did training diverge?" if broken else ""
    )


def _layers(graph: Graph) -> list[LayerSummary]:
    layers = []
    for node in graph.nodes:
        types = [graph.type(name) for name in node.inputs]
        constants = {name for name in node.inputs if graph.data(name) is not None}
        layers.append(
            LayerSummary(
                name=node.outputs[0],
                origin=node.origin,
                op=type(node.op).__name__,
                output=graph.type(node.outputs[0]),
                parameters=sum(graph.type(name).size for name in constants),
                macs=node.op.macs(*types),
            )
        )
    return layers

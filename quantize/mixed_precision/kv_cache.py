"""int8 K/V caches of decoders: each row of keys and values has a scale, which the run that writes it chooses.

A cache that attention reads becomes two states, of integers and of scales. No data are needed.
"""

from __future__ import annotations

from dataclasses import replace

from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node, State
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.dynamic_rows import QuantizeRows
from edgekit.core.ops.quantized_attention import MAX_SIZE, QuantizedCachedAttention
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.passes import drop_dead
from edgekit.core.types import DType, Value, type_of
from edgekit.quantize.integers.int8 import Quantized

Caches = dict[str, State]  # by the name of what a run leaves


def with_int8_caches(made: Quantized) -> Quantized:
    """The same graph with caches of int8."""
    graph = made.graph
    caches = _caches(graph)
    if not caches:
        raise EdgeKitError(
            "E0211",
            f"{graph.name} has no caches of keys and values",
            hint="caches are states that CachedAttention reads, without caps and biases of scores: see "
            "`edgekit inspect`; leave --kv-cache out",
        )
    after = _rewritten(graph, caches)
    names = {name: own for name, own in made.names.items() if after.values.get(own) == graph.values[own]}
    changed = {n.outputs[0] for n in graph.nodes if _reads(n, caches) or n.outputs[0] in caches}
    formats = {name: "int8" if name in changed else format for name, format in made.formats.items()}
    return Quantized(after, names, formats)


def _caches(graph: Graph) -> Caches:
    """Float caches that attention alone reads, together with another one of these."""
    found = {state.output: state for state in graph.states if _is_cache(graph, state)}
    while True:
        readers = [node for node in graph.nodes if isinstance(node.op, CachedAttention)]
        alone = {x for node in readers for x in node.inputs[1:3] if not found.keys() >= {*node.inputs[1:3]}}
        if not alone & found.keys():
            return found
        found = {name: state for name, state in found.items() if name not in alone}


def _is_cache(graph: Graph, state: State) -> bool:
    """Are rows written into it, and then read by attention, and by nothing else?"""
    writer = graph.producer(state.output)
    if writer is None or writer.op != Scatter(2) or writer.inputs[0] != state.input:
        return False
    cache, index, rows = (graph.type(name) for name in writer.inputs)
    readers = graph.users(state.output)
    return (
        cache.dtype is DType.F32
        and cache.rank == 4
        and index.shape[3] == 1
        and rows.shape[3] == cache.shape[3] <= MAX_SIZE
        and graph.users(state.input) == [writer]
        and state.output not in graph.outputs
        and bool(readers)
        and all(
            isinstance(node.op, CachedAttention)
            and not node.op.cap
            and len(node.inputs) == 4
            and state.output not in (node.inputs[0], node.inputs[3])
            for node in readers
        )
    )


def _reads(node: Node, caches: Caches) -> bool:
    return isinstance(node.op, CachedAttention) and node.inputs[1] in caches


def _rewritten(graph: Graph, caches: Caches) -> Graph:
    b = Builder(graph.values, nodes=len(graph.nodes))
    written: dict[str, tuple[str, ...]] = {}  # integers and scales
    states: list[State] = []
    for state in graph.states:
        if state.output in caches:
            states += _states(b, state)
            written[state.output] = tuple(part.output for part in states[-2:])
        else:
            states.append(state)
    inputs = {state.output: state.input for state in states}
    for node in graph.nodes:
        b.origin = node.origin
        if node.outputs[0] in caches:
            _, index, rows = node.inputs
            integers, scales = b.add(QuantizeRows(), rows)
            scales = b.one(Reshape((*b.type(scales).shape, 1)), scales)
            for name, new in zip(written[node.outputs[0]], (integers, scales), strict=True):
                b.nodes.append(replace(node, inputs=(inputs[name], index, new), outputs=(name,)))
        elif _reads(node, caches):
            assert isinstance(node.op, CachedAttention), "it reads a cache"
            q, k, v, at = node.inputs
            op = QuantizedCachedAttention(node.op.scale, node.op.window)
            operands = (*b.add(QuantizeRows(), q), *written[k], *written[v], at)
            b.nodes.append(replace(node, op=op, inputs=operands))
        else:
            b.nodes.append(node)
    return drop_dead(replace(graph, nodes=tuple(b.nodes), values=b.values, states=tuple(states)))


def _states(b: Builder, state: State) -> list[State]:
    """Integers, which keep the name of the input, and scales."""
    integers, scales = QuantizeRows().eval(state.start)
    found = []
    for name, start in ((state.input, integers), (b.fresh(f"{state.input}_scale"), scales[..., None])):
        initial = Value(type_of(start), start)
        output = b.fresh(f"{name}_written")
        b.values |= {name: Value(initial.type), output: Value(initial.type)}
        found.append(State(name, output, initial))
    return found

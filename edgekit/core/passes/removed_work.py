"""What the removal of dead channels saves, layer by layer: noted in the source of a graph, for reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edgekit.core.ir import Graph, Node, RemovedChannels, RemovedWork
from edgekit.core.ops._linear import Linear
from edgekit.core.value_ranges import channels


def with_removed_work(graph: Graph, smaller: Graph) -> Graph:
    """The smaller graph with a note of what it lacks, beside what earlier sweeps removed."""
    earlier = graph.source.removed
    found = {layer.name: layer for layer in earlier.layers} if earlier else {}
    for gone in _differences(graph, smaller):
        before = found.get(gone.name)
        found[gone.name] = gone if before is None else _sum(before, gone)
    macs_before = earlier.macs_before if earlier else sum(_macs(graph, node) for node in graph.nodes)
    removed = RemovedWork(tuple(found.values()), macs_before)
    return replace(smaller, source=replace(smaller.source, removed=removed))


def _differences(graph: Graph, smaller: Graph) -> Iterator[RemovedChannels]:
    """The nodes that have less work, or are gone."""
    after = {node.outputs[0]: node for node in smaller.nodes}
    bytes_before, bytes_after = _constant_bytes(graph), _constant_bytes(smaller)
    for node in graph.nodes:
        name, left = node.outputs[0], after.get(node.outputs[0])
        cells = channels(graph.type(name)) if isinstance(node.op, Linear) else 0
        cells_left = channels(smaller.type(name)) if cells and left else 0
        macs = _macs(graph, node) - (_macs(smaller, left) if left else 0)
        bytes = bytes_before[name] - bytes_after.get(name, 0)
        if cells != cells_left or macs or bytes:
            yield RemovedChannels(name, node.origin, cells - cells_left, cells, macs, bytes)


def _sum(earlier: RemovedChannels, gone: RemovedChannels) -> RemovedChannels:
    return replace(
        earlier,
        channels=earlier.channels + gone.channels,
        macs=earlier.macs + gone.macs,
        bytes=earlier.bytes + gone.bytes,
    )


def _macs(graph: Graph, node: Node) -> int:
    return node.op.macs(*map(graph.type, node.inputs))


def _constant_bytes(graph: Graph) -> dict[str, int]:
    """The bytes of the constants that each node is the first to read."""
    found: dict[str, int] = {}
    seen: set[str] = set()
    for node in graph.nodes:
        constants = {name: data for name in node.inputs if (data := graph.data(name)) is not None}
        found[node.outputs[0]] = sum(data.nbytes for name, data in constants.items() if name not in seen)
        seen |= constants.keys()
    return found

"""Views beside loops over rows: whole tensors by other names, and the last rows of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from edgekit.codegen.lowering.regions import reads
from edgekit.codegen.memory.sharing import LoweredLayer, operands
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call, Step, View
from edgekit.core.types import Value


def without_renaming(graph: Graph, layers: Sequence[LoweredLayer]) -> list[LoweredLayer]:
    """The layers, in which a view that only has other dimensions is read by the name of what it views. Views
    that nothing reads any more are gone: layers on both sides can share a loop."""
    names: dict[str, str] = {}
    for layer in layers:
        for step in layer.steps:
            if isinstance(step, View) and _is_renaming(step) and not layer.guards:
                names[step.result.name] = names.get(step.arg.name, step.arg.name)
    found = []
    for layer in layers:
        steps = tuple(_renamed(step, names) for step in layer.steps)
        asked = layer.asked and replace(layer.asked, args=_sources(layer.asked.args, names))
        found.append(replace(layer, steps=steps, asked=asked))
    still_read = {*graph.exits}
    kept = []
    for layer in reversed(found):
        made = {arg.name for step in layer.steps for arg in operands(step)[1]}
        if not (made <= names.keys() and made.isdisjoint(still_read) and made):
            still_read.update(reads(layer))
            kept.append(layer)
    return kept[::-1]


def in_row_order(layers: Sequence[LoweredLayer]) -> list[LoweredLayer]:
    """The layers, in an order in which a layer stands directly behind the one whose result it reads, where
    those in between can go first: they can share a loop."""
    found = list(layers)
    for i in range(len(found)):
        at = i
        while at > 0 and at + 1 < len(found) and _may_go_first(*found[at - 1 : at + 2]):
            found[at - 1], found[at] = found[at], found[at - 1]
            at -= 1
    return found


def _may_go_first(before: LoweredLayer, layer: LoweredLayer, after: LoweredLayer) -> bool:
    """May a layer be computed before the one in front of it, which makes what the one behind it reads?"""
    for each in (before, layer):
        if each.guards or not each.steps or not all(isinstance(step, Call) for step in each.steps):
            return False
    made = {arg.name for step in before.steps for arg in operands(step)[1]}
    return not made.isdisjoint(reads(after)) and made.isdisjoint(reads(layer))


def last_rows(graph: Graph, layers: Sequence[LoweredLayer]) -> Mapping[str, int]:
    """Bytes of results of which nothing is read but these last ones."""
    found: dict[str, int] = {}
    whole = {*graph.exits}
    for layer in layers:
        for step in layer.steps:
            if isinstance(step, View) and 0 < step.offset == step.arg.type.bytes - step.result.type.bytes:
                found[step.arg.name] = max(step.result.type.bytes, found.get(step.arg.name, 0))
            else:
                whole.update(arg.name for arg in operands(step)[0])
    return {name: bytes for name, bytes in found.items() if name not in whole}


def with_rings_viewed(layers: Sequence[LoweredLayer]) -> Iterator[LoweredLayer]:
    """The layers, whose views find the last rows of a result in its ring."""
    rings: dict[str, tuple[Arg, int]] = {}
    for layer in layers:
        if layer.rows:
            blocks, call = layer.rows.blocks, layer.steps[0]
            ring = operands(call)[1][0]
            row = layer.rows.whole.args[-layer.rows.whole.results].type.bytes // blocks.layer.height
            end = (blocks.start + blocks.count * blocks.rows) * row
            rings[ring.name] = ring, end - ring.type.bytes
        yield replace(layer, steps=tuple(_viewed(step, rings) for step in layer.steps))


def _is_renaming(step: View) -> bool:
    return step.offset == 0 and step.arg.type.bytes == step.result.type.bytes and step.arg.value.data is None


def _renamed(step: Step, names: Mapping[str, str]) -> Step:
    if isinstance(step, View):
        return replace(step, arg=_sources([step.arg], names)[0])
    return replace(step, args=_sources(step.args, names)) if isinstance(step, Call) else step


def _sources(args: Sequence[Arg], names: Mapping[str, str]) -> tuple[Arg, ...]:
    return tuple(
        Arg(names[arg.name], Value(arg.type), arg.note) if arg.name in names else arg for arg in args
    )


def _viewed(step: Step, rings: Mapping[str, tuple[Arg, int]]) -> Step:
    """A view of a result, which a ring may hold the end of by now."""
    if not isinstance(step, View) or step.arg.name not in rings:
        return step
    ring, before = rings[step.arg.name]
    is_whole = ring.type.bytes == step.arg.type.bytes
    return step if is_whole else replace(step, arg=ring, offset=step.offset - before)

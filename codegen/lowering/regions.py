"""Guards layers, and orders them: those of one branch side by side, so that they become one if with an else.

A region holds the layers of one condition, first those of its true side. To the scheduler it is one task;
within a side, regions of inner branches are tasks in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import accumulate, groupby

from edgekit.codegen.lowering.branches import Choice, Guard, Loop, branches
from edgekit.codegen.memory.schedule import Task
from edgekit.codegen.memory.sharing import LoweredLayer, Sharing, operands
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call, Join
from edgekit.core.ops.expand import Expand

# Given groups of layers in topological order, each of which stays together: their best order.
Order = Callable[[Sequence[Sequence[LoweredLayer]]], Sequence[int]]


def guarded(graph: Graph, layers: Sequence[LoweredLayer]) -> tuple[LoweredLayer, ...]:
    """The layers with their guards. Each choice becomes two layers: the result is the one or the other."""
    found = branches(graph)
    if not found.choices:
        return tuple(layers)
    result: list[LoweredLayer] = []
    for layer in layers:
        uses = [found.guards[name] for name in layer.node.outputs if name in found.guards]
        if not uses:
            continue
        shared = frozenset(uses[0]).intersection(*uses)
        guards = tuple(guard for guard in uses[0] if guard in shared)
        if choice := found.choices.get(layer.node.outputs[0]):
            result += _sides(graph, choice, layer, guards)
        else:
            result.append(replace(layer, guards=guards))
    return tuple(result)


def _sides(
    graph: Graph, choice: Choice, layer: LoweredLayer, outer: tuple[Guard, ...]
) -> Iterator[LoweredLayer]:
    """The result of a choice: copied from either side, if that cannot be computed in its place."""
    y = Arg(layer.node.outputs[0], graph.values[layer.node.outputs[0]])
    for side in (True, False):
        guard, x = choice.guard(side), Arg(choice.side(side), graph.values[choice.side(side)])
        if guard.other() not in outer:
            guards = outer if guard in outer else (*outer, guard)
            is_whole = x.type.size == y.type.size
            steps = [Join(y, (x,))] if is_whole else Expand(y.type.shape).lower((x,), (y,))
            yield LoweredLayer(layer.node, tuple(steps), guards)


def ordered(layers: Sequence[LoweredLayer], order: Order, depth: int = 0) -> list[LoweredLayer]:
    """The layers of the side of a branch, or of the graph, behind `depth` guards that they have in common."""
    groups = [[*_region(run, order, depth)] if key else run for key, run in _runs(layers, depth)]
    return [layer for i in order(groups) for layer in groups[i]]


def _region(layers: Sequence[LoweredLayer], order: Order, depth: int) -> Iterator[LoweredLayer]:
    guard = layers[0].guards[depth]
    if isinstance(guard, Loop):
        yield from ordered([x for x in layers if x.node.outputs[0] not in guard.results], order, depth + 1)
        yield from (layer for layer in layers if layer.node.outputs[0] in guard.results)
        return
    for side in (Guard(guard.condition, True), Guard(guard.condition, False)):
        within = [layer for layer in layers if layer.guards[depth] == side]
        if within:
            yield from ordered(within, order, depth + 1)


def _runs(layers: Sequence[LoweredLayer], depth: int) -> list[tuple[str, list[LoweredLayer]]]:
    """The layers in a topological order in which those of one condition come together as far as possible,
    each run with its condition; other layers are runs of one, without."""
    items = [[*halves] for _, halves in groupby(layers, key=lambda layer: _together(layer, depth))]
    keys = [_condition(item[0], depth) for item in items]
    needs = _needs(items)
    readers: list[list[int]] = [[] for _ in items]
    for i, those in enumerate(needs):
        for j in those:
            readers[j].append(i)
    left = [len(those) for those in needs]
    ready: dict[str, list[int]] = {key: [] for key in keys}
    for i, count in enumerate(left):
        if not count:
            ready[keys[i]].append(i)
    for heap in ready.values():
        heapify(heap)
    runs: list[tuple[str, list[LoweredLayer]]] = []
    now = ""
    for _ in items:
        # What is not guarded comes before a region starts: it may be what the region waits for.
        if not ready.get(now):
            now = "" if ready.get("") else min((heap[0], key) for key, heap in ready.items() if heap)[1]
        i = heappop(ready[now])
        if now and runs and runs[-1][0] == now:
            runs[-1][1].extend(items[i])
        else:
            runs.append((now, items[i]))
        for j in readers[i]:
            left[j] -= 1
            if not left[j]:
                heappush(ready[keys[j]], j)
    return runs


def _together(layer: LoweredLayer, depth: int) -> object:
    """What the layers have in common that nothing may come between: both sides of a choice, or a loop."""
    guard = layer.guards[depth] if depth < len(layer.guards) else None
    return guard if isinstance(guard, Loop) else layer.node.outputs


def _condition(layer: LoweredLayer, depth: int) -> str:
    return layer.guards[depth].condition if depth < len(layer.guards) else ""


def _needs(items: Sequence[Sequence[LoweredLayer]]) -> list[set[int]]:
    """The items that each one reads from, or whose result decides whether it runs."""
    maker: dict[str, int] = {}
    for i, item in enumerate(items):
        for layer in item:
            maker |= {arg.name: i for step in layer.steps for arg in operands(step)[1]}
    found = []
    for i, item in enumerate(items):
        names = {name for layer in item for name in reads(layer)}
        found.append({maker[name] for name in names if name in maker} - {i})
    return found


def reads(layer: LoweredLayer) -> list[str]:
    """What the steps of a layer read, and the conditions that decide whether they run."""
    names = [arg.name for step in layer.steps for arg in operands(step)[0]]
    return [*names, *(guard.condition for guard in layer.guards)]


def region_task(
    group: Sequence[LoweredLayer], sharing: Sharing, readers: Mapping[str, int], exits: Collection[str]
) -> Task:
    """What the scheduler must know of a region: what it takes inside is working memory. `readers` counts all
    that read a tensor, here or elsewhere."""
    made = {arg.name for layer in group for step in layer.steps for arg in operands(step)[1]}
    inside = Counter(name for layer in group for name in reads(layer))
    inputs = [name for name in inside if name not in made]
    outputs = sorted(name for name in made if name in exits or readers[name] > inside[name])
    return Task(tuple(inputs), tuple(outputs), _peak(group, {*inputs, *outputs}, sharing))


def _peak(group: Sequence[LoweredLayer], outside: Collection[str], sharing: Sharing) -> int:
    """The most bytes that are live at once, without those outside of the group."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    scratch = [0] * len(group)
    for i, layer in enumerate(group):
        for step in layer.steps:
            scratch[i] = max(scratch[i], step.scratch if isinstance(step, Call) else 0)
            for arg in (*operands(step)[0], *operands(step)[1]):
                root, _ = sharing.root(arg.name)
                if sharing.is_free(root):
                    first.setdefault(root, i)
                    last[root] = i
    for name in outside:
        first.pop(sharing.root(name)[0], None)
    changes = [0] * (len(group) + 1)
    for root, i in first.items():
        changes[i] += sharing.size[root]
        changes[last[root] + 1] -= sharing.size[root]
    lives = accumulate(changes[:-1])
    return max((live + own for live, own in zip(lives, scratch, strict=True)), default=0)

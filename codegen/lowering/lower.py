"""Graph -> kernel calls: asks operators for them, fits them to the target's kernels, drops what is dead.

Rules rewrite a call (call_rules.py); then its kernel is selected, and it gets what that kernel wants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.pack import blocks, is_tiled
from edgekit.codegen.kernels.sources import Kernel, instance_of, variant_of
from edgekit.codegen.lowering.call_rules import rewritten
from edgekit.codegen.lowering.dense_over_heads import over_heads
from edgekit.codegen.lowering.empty import steps_of
from edgekit.codegen.lowering.fuse import TargetKernels, fuse_sums
from edgekit.codegen.lowering.half_in_float32 import in_float32
from edgekit.codegen.lowering.loops import body_of, inlined
from edgekit.codegen.lowering.regions import guarded, ordered, reads, region_task
from edgekit.codegen.lowering.rotary_and_swiglu import fuse_idioms
from edgekit.codegen.lowering.splits import in_parts
from edgekit.codegen.lowering.tied_weights import with_tied_tables
from edgekit.codegen.lowering.transposed_conv import as_convolution
from edgekit.codegen.memory.inplace import distance, is_by_channel
from edgekit.codegen.memory.schedule import Task, search
from edgekit.codegen.memory.sharing import LoweredLayer, Ports, Sharing, operands
from edgekit.codegen.planned_once import once
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Step
from edgekit.core.ops._copy import copy
from edgekit.core.ops._strided import contiguous
from edgekit.core.ops.while_loop import While
from edgekit.core.target import Target
from edgekit.core.types import Value

WeightLimits = Mapping[str, int]  # bytes that the weights of a layer may take, by its first result
NO_LIMITS: WeightLimits = MappingProxyType({})


@dataclass(frozen=True)
class Lowered:
    """Layers in their order."""

    layers: tuple[LoweredLayer, ...]
    order_runs: int  # of layers that the search tried before its budget ended it; 0: no order needs less
    values: Mapping[str, Value] = field(default_factory=dict)  # of the bodies of loops


def lower(
    graph: Graph, target: Target, ports: Ports = "caller", limits: WeightLimits = NO_LIMITS
) -> tuple[LoweredLayer, ...]:
    """The layers that `lowered` returns."""
    return lowered(graph, target, ports, limits).layers


def lowered(
    graph: Graph,
    target: Target,
    ports: Ports = "caller",
    limits: WeightLimits = NO_LIMITS,
    beside: Sequence[Call] = (),
) -> Lowered:
    """The layers in the order of execution that needs the least memory. Weights have the limits that are
    given for a layer's first result. Calls `beside` them are those of other entries."""
    values: dict[str, Value] = {}
    layers = _layers(graph, target, limits, values, beside)
    whole = replace(graph, values={**graph.values, **values})
    return replace(in_best_order(whole, layers, ports), values=values)


def _layers(
    graph: Graph,
    target: Target,
    limits: WeightLimits,
    values: dict[str, Value],
    beside: Sequence[Call],
) -> list[LoweredLayer]:
    """The layers, with those of the bodies of loops, whose tensors are added to `values`."""
    layers = []
    found = [
        over_heads(as_convolution(layer_of(graph, node), graph, target), graph, target)
        for node in graph.nodes
    ]
    for layer in fuse_sums(graph, fuse_idioms(graph, found), TargetKernels(target)):
        if isinstance(layer.node.op, While):
            layers.append(layer)
            continue
        steps: list[Step] = []
        asked: list[Call] = []
        for step in layer.steps:
            if isinstance(step, Call):
                made = _fitted_calls(step, limits.get(layer.node.outputs[0]), graph, target)
                asked += made.asked
                steps += made.fitted
            else:
                steps.append(step)
        only = asked[0] if len(asked) == len(steps) == 1 else None
        layers.append(LoweredLayer(layer.node, tuple(steps), asked=only))
    live = drop_dead(graph, layers)
    result: list[LoweredLayer] = []
    for layer in guarded(graph, with_tied_tables(live, target, beside)):
        if isinstance(layer.node.op, While):
            body, more = body_of(layer.node, layer.node.op, graph)
            values |= more
            result += inlined(layer, layer.node.op, body, _layers(body, target, limits, values, beside))
        else:
            result.append(layer)
    return result


@dataclass(frozen=True)
class _Fitted:
    """A call by the rules, and as its kernel wants it."""

    asked: Sequence[Call]
    fitted: Sequence[Call]


def _fitted_calls(step: Call, limit: int | None, graph: Graph, target: Target) -> _Fitted:
    def made() -> _Fitted:
        limited = step if limit is None else replace(step, facts={**step.facts, WEIGHT_LIMIT: limit})
        asked = in_float32(rewritten(limited, graph, target), target)
        return _Fitted(asked, [call for one in asked for call in fitted(one, target)])

    # A convolution may read what a transposition reads.
    maker = graph.producer(step.args[0].name) if "step_c" in step.params else None
    sources = [graph.values[name] for name in maker.inputs] if maker else []
    return once("calls", (step, target, maker, *sources), made, limit)


def layer_of(graph: Graph, node: Node) -> LoweredLayer:
    """The calls of a node, as its operator says."""
    ins = [Arg(name, graph.values[name]) for name in node.inputs]
    outs = [Arg(name, graph.values[name]) for name in node.outputs]
    values = [arg.value for arg in (*ins, *outs)]
    return once("layer", (node, *values), lambda: LoweredLayer(node, tuple(steps_of(node.op, ins, outs))))


def in_best_order(graph: Graph, layers: Sequence[LoweredLayer], ports: Ports) -> Lowered:
    """The layers in the order with the lowest peak of live bytes. Tensors share memory here as they will when
    they are placed; what the caller has, states and constants are not ours."""
    sharing = Sharing(graph, layers, ports)
    readers = Counter(name for layer in layers for name in reads(layer))
    exits = {*graph.exits}
    runs = 0

    def order(groups: Sequence[Sequence[LoweredLayer]]) -> Sequence[int]:
        nonlocal runs
        inside = Counter(name for group in groups for layer in group for name in reads(layer))
        lasting = {name for name in exits if not sharing.is_output(name)}
        lasting |= {name for name, count in inside.items() if readers[name] > count}
        tasks = [
            _task(group[0], sharing) if len(group) == 1 else region_task(group, sharing, readers, exits)
            for group in groups
        ]
        names = {name for task in tasks for name in (*task.inputs, *task.outputs)}
        lasting |= {name for task in tasks for name in task.outputs if readers[name] > inside[name]}
        roots = {name: sharing.root(name)[0] for name in sorted(names)}
        # What no step writes is empty, and takes no memory.
        sizes = {root: sharing.size.get(root, 0) for root in roots.values() if sharing.is_free(root)}
        within = {name: root for name, root in roots.items() if name != root}
        found = search(tasks, sizes, lasting, within=within)
        runs += found.runs if found.stopped else 0
        return found.sequence

    return Lowered(tuple(ordered(layers, order)), runs)


def _task(layer: LoweredLayer, sharing: Sharing) -> Task:
    """What the scheduler must know of a layer."""
    results = layer.node.outputs
    read = dict.fromkeys(guard.condition for guard in layer.guards)
    scratch = inner = 0
    for step in layer.steps:
        ins, outs = operands(step)
        read |= dict.fromkeys(arg.name for arg in ins)
        scratch = max(scratch, step.scratch if isinstance(step, Call) else 0)
        inner += sum(arg.type.bytes for arg in outs if arg.name not in results)
    made = {arg.name for step in layer.steps for arg in operands(step)[1]}
    inputs = tuple(name for name in read if name not in made)
    over: list[tuple[int, int, int]] = []
    match layer.steps:
        case [Call() as call]:
            taken = (call.args[i].name for i in sharing.could_take_over(call))
            over += [(0, inputs.index(name), 0) for name in taken]
            if call.overlap is not None:
                (_, start), (_, at) = (sharing.root(call.args[i].name) for i in (0, -1))
                over.append((0, inputs.index(call.args[0].name), max(0, call.overlap + at - start)))
    return Task(inputs, results, scratch + inner, tuple(over))


def fitted(call: Call, target: Target) -> list[Call]:
    """The call as the kernel that is selected for it wants it: with working memory, what is folded into a
    bias, and how far its result may reach over its input; behind the copies that it needs."""
    variant = variant_of(call, target)
    kernel = instance_of(variant, call, target)
    order = variant.order_of(call)
    call = replace(
        call,
        file=variant.file,
        overlap=distance(order, call),
        inplace=() if variant.apart else (0,) if is_by_channel(order, call) else call.inplace,
        scratch=variant.scratch.of(call) if variant.scratch else call.scratch,
    )
    copies, call = _pack_computed_weights(_folded(call, kernel, variant), kernel)
    return [*copies, in_parts(call, variant, kernel, target) if target.cores > 1 else call]


def _folded(call: Call, kernel: Kernel, variant: Variant) -> Call:
    """The call with biases that hold what its kernel adds for each weight."""
    names = [p.name for p in kernel.pointers]
    args = list(call.args)
    for operand, (factor, weights) in variant.fold.items():
        bias, w = args[names.index(operand)], args[names.index(weights)].value.data
        assert w is not None, f"{weights} is folded, and not constant"
        assert bias.value.data is not None, f"{operand} is folded into, and not constant"
        sums = w.astype(np.int64).reshape(len(w), -1).sum(axis=1)
        data = (bias.value.data.astype(np.int64) + factor * sums).astype(np.int32)
        args[names.index(operand)] = Arg(f"{bias.name}{factor:+}", Value(bias.type, data))
    return replace(call, args=tuple(args)) if variant.fold else call


def _pack_computed_weights(call: Call, kernel: Kernel) -> tuple[list[Call], Call]:
    """Weights that are computed, not constant, are brought into the kernel's layout by copies at run time."""
    copies: list[Call] = []
    args = list(call.args)
    for operand, tag in kernel.pack.items():
        if is_tiled(tag):
            continue  # only of constants
        i = [p.name for p in kernel.pointers].index(operand)
        weights = args[i]
        if weights.value.data is not None:
            continue
        packed = Arg(f"{weights.name}#{tag}", Value(weights.type))
        for b in blocks(tag, weights.type.shape, call.groups):
            copies += copy(weights, packed, b.shape, b.strides, contiguous(b.shape), b.start, b.at)
        args[i] = packed
    return copies, replace(call, args=tuple(args)) if copies else call


def drop_dead(graph: Graph, layers: Sequence[LoweredLayer]) -> tuple[LoweredLayer, ...]:
    """Drop layers whose results are not read any more."""
    live = set(graph.exits)
    kept: list[LoweredLayer] = []
    for layer in reversed(layers):
        if any(name in live for name in layer.node.outputs):
            kept.append(layer)
            live.update(arg.name for step in layer.steps for arg in operands(step)[0])
    return tuple(reversed(kept))

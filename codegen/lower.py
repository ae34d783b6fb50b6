"""Graph -> kernel calls: asks operators for them, fits them to the target's kernels, drops what is dead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgekit.codegen.kernels import Kernel, instantiate
from edgekit.codegen.pack import blocks
from edgekit.codegen.schedule import Task, order
from edgekit.ir import Graph, Node, Value
from edgekit.ops import Arg, Call, Join, Step, View
from edgekit.ops._copy import copy
from edgekit.ops._strided import contiguous
from edgekit.ops.transpose import Transpose
from edgekit.target import Target

# Reading channels-first data with strides beats a copy only while a pixel is few cache lines.
_MAX_STRIDED_CHANNELS = 16


@dataclass(frozen=True)
class Layer:
    """The calls of one node of the graph."""

    node: Node
    steps: tuple[Step, ...]


def lower(graph: Graph, target: Target) -> tuple[Layer, ...]:
    """The layers in the order of execution that needs the least memory."""
    layers = []
    for node in graph.nodes:
        ins = [Arg(name, graph.values[name]) for name in node.inputs]
        outs = [Arg(name, graph.values[name]) for name in node.outputs]
        steps: list[Step] = []
        for step in node.op.lower(ins, outs):
            if isinstance(step, Call):
                call = _absorb_transpose(step, graph)
                packing, call = _pack_computed_weights(call, instantiate(call, target))
                steps += [*packing, call]
            else:
                steps.append(step)
        layers.append(Layer(node, tuple(steps)))
    return _in_best_order(graph, _drop_dead(graph, layers))


def _in_best_order(graph: Graph, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """The layers in the order with the lowest peak of live bytes. Inputs, outputs, constants are not ours."""
    ours = {name for layer in layers for name in layer.node.outputs} - set(graph.outputs)
    sizes = {name: graph.type(name).bytes for name in ours}
    tasks = []
    for layer in layers:
        reads = tuple(dict.fromkeys(arg.name for step in layer.steps for arg in operands(step)[0]))
        scratch = max((step.scratch for step in layer.steps if isinstance(step, Call)), default=0)
        inplace: tuple[tuple[int, int], ...] = ()
        match layer.steps:
            case [View(arg=arg)]:
                inplace = ((0, reads.index(arg.name)),)
            case [Call() as call]:
                inplace = tuple((0, reads.index(call.args[i].name)) for i in call.inplace)
        tasks.append(Task(reads, layer.node.outputs, scratch, inplace))
    return tuple(layers[i] for i in order(tasks, sizes, frozenset(graph.outputs)))


def operands(step: Step) -> tuple[tuple[Arg, ...], tuple[Arg, ...]]:
    """What a step reads, and what it writes."""
    if isinstance(step, View):
        return (step.arg,), (step.result,)
    if isinstance(step, Join):
        return step.args, (step.result,)
    return step.args[: -step.results], step.args[-step.results :]


def _absorb_transpose(call: Call, graph: Graph) -> Call:
    """A convolution over a transposed image reads the image as it is, with strides."""
    if "step_c" not in call.params:
        return call
    x = call.args[0]
    producer = graph.producer(x.name)
    if producer is None or not isinstance(producer.op, Transpose) or producer.op.perm != (0, 2, 3, 1):
        return call
    _, height, width, channels = x.type.shape
    if channels > _MAX_STRIDED_CHANNELS:
        return call
    source = Arg(producer.inputs[0], graph.values[producer.inputs[0]])
    steps = {"step_h": width, "step_w": 1, "step_c": height * width}
    return replace(call, args=(source, *call.args[1:]), params={**call.params, **steps})


def _pack_computed_weights(call: Call, kernel: Kernel) -> tuple[list[Call], Call]:
    """Weights that are computed, not constant, are brought into the kernel's layout by copies at run time."""
    copies: list[Call] = []
    args = list(call.args)
    for operand, tag in kernel.pack.items():
        i = [p.name for p in kernel.pointers].index(operand)
        weights = args[i]
        if weights.value.data is not None:
            continue
        packed = Arg(f"{weights.name}#{tag}", Value(weights.type))
        groups = int(call.params.get("groups", 1))  # type: ignore[arg-type]  # a scalar
        for b in blocks(tag, weights.type.shape, groups):
            copies += copy(weights, packed, b.shape, b.strides, contiguous(b.shape), b.start, b.at)
        args[i] = packed
    return copies, replace(call, args=tuple(args)) if copies else call


def _drop_dead(graph: Graph, layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Drop layers whose results nobody reads any more."""
    live = set(graph.outputs)
    kept: list[Layer] = []
    for layer in reversed(layers):
        if any(name in live for name in layer.node.outputs):
            kept.append(layer)
            live.update(arg.name for step in layer.steps for arg in operands(step)[0])
    return tuple(reversed(kept))

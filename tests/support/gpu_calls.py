"""Kernel calls on GPUs, as tests run and check them: each tensor in a buffer of its own."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from support.opencl import arguments

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, UnsupportedError, use_of
from edgekit.codegen.gpu.wgsl import module
from edgekit.codegen.lowering.lower import layer_of
from edgekit.codegen.printing.literal import restored, stored
from edgekit.core import simulate
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Join, Step, View
from edgekit.core.types import Array, DType, Type

TOLERANCE = 1e-5  # of reals, of the largest that there are
# Of those that are stored in 16 bits, which may be rounded to the next one.
NARROW = {DType.F16: 2.0**-10, DType.BF16: 2.0**-7}
LARGEST = np.finfo(np.float32).max  # languages do without infinite constants


class Device(Protocol):
    """Something that runs kernels, on buffers that hold what was written afterwards."""

    def compute(self, uses: Sequence[GpuCall], buffers: Sequence[Sequence[Array]]) -> None: ...


@dataclass
class Computed:
    """What a device made of a graph: tensors by name, and the nodes that it has no kernels for."""

    tensors: dict[str, Array]  # their bytes
    refused: dict[str, str] = field(default_factory=dict)  # results -> what is lacking
    done: set[str] = field(default_factory=set)

    def result(self, name: str, type: Type) -> Array:
        like = stored(np.empty(0, type.dtype.numpy)).dtype
        flat = np.frombuffer(self.tensors[name].tobytes()[: type.bytes], like)
        return restored(flat, type.dtype).reshape(type.shape)


def compute(device: Device, graph: Graph, inputs: Mapping[str, Array]) -> Computed:
    """Every node of a graph. All that can be computed at a time is compiled together."""
    found = Computed({name: _bytes(data) for name, data in inputs.items()})
    pending = [(node, list(_steps(graph, node))) for node in graph.nodes]
    for node, steps in pending:
        if not steps:  # its results have no elements
            found.tensors |= {name: np.zeros(0, np.uint8) for name in node.outputs}
            found.done |= {*node.outputs}
    pending = [(node, steps) for node, steps in pending if steps]
    while pending:
        ready = [(n, steps) for n, steps in pending if all(_is_known(graph, i, found) for i in n.inputs)]
        uses, buffers, calls = [], [], []
        for node, steps in ready:
            match steps.pop(0):
                case Call() as call:
                    try:
                        uses.append(use_of(call))
                    except UnsupportedError as lacking:
                        found.refused |= dict.fromkeys(node.outputs, str(lacking))
                        steps.clear()
                        continue
                    calls.append(call)
                    buffers.append(_buffers(uses[-1], call, found.tensors))
                case View(result, arg, offset):
                    whole = _tensor(arg, found.tensors)
                    found.tensors[result.name] = whole[offset : offset + result.type.bytes]
                case Join(result, args):
                    parts = [_tensor(arg, found.tensors)[: arg.type.bytes] for arg in args]
                    found.tensors[result.name] = np.concatenate(parts)
        device.compute(uses, buffers)
        for use, given, call in zip(uses, buffers, calls, strict=True):
            for buffer, i, raw in zip(use.kernel.buffers, use.operands, given, strict=True):
                if buffer.writes:
                    found.tensors[call.args[i].name] = raw
        found.done |= {name for node, steps in ready if not steps for name in node.outputs}
        lost = set(found.refused)
        for node, steps in pending:
            if lost & set(node.inputs):
                found.refused |= dict.fromkeys(node.outputs, "what it reads is lacking")
                steps.clear()
        pending = [(node, steps) for node, steps in pending if steps]
    return found


def assert_computes(
    device: Device, graph: Graph, inputs: dict[str, Array], ulps: Mapping[str, float] | None = None
) -> set[str]:
    """Everything that there are kernels for is right; what there are none for. `ulps`: how far results may be
    off where that is more than usual."""
    found = compute(device, graph, inputs)
    for name, right in simulate.run(graph, inputs).items():
        if name in found.refused:
            continue
        result, node = found.result(name, graph.type(name)), graph.producer(name)
        if graph.type(name).dtype.is_float:
            unit = NARROW.get(graph.type(name).dtype)
            right, result = (x.astype(np.float32).clip(-LARGEST, LARGEST) for x in (right, result))
            size = np.abs(right[np.abs(right) < LARGEST]).max(initial=1e-30)
            off = max(unit or TOLERANCE, (ulps or {}).get(name, 0) * (unit or 2.0**-23))
            assert np.allclose(result, right, rtol=off, atol=off * size, equal_nan=True), node
        else:
            assert np.array_equal(result, right), node
    return set(found.refused)


def assert_same_bits(device: Device, graph: Graph, inputs: dict[str, Array]) -> None:
    """Every node has a kernel, and all results are those of the simulator to the bit, floats as well."""
    found = compute(device, graph, inputs)
    assert not found.refused
    for name, right in simulate.run(graph, inputs).items():
        result = found.result(name, graph.type(name))
        assert np.ascontiguousarray(right).tobytes() == np.ascontiguousarray(result).tobytes(), (
            graph.producer(name),
            right,
            result,
        )


def kernels_of(graph: Graph) -> dict[str, GpuKernel]:
    """The kernels of all calls that have one, by name."""
    found: dict[str, GpuKernel] = {}
    for node in graph.nodes:
        for step in _steps(graph, node):
            if isinstance(step, Call):
                with suppress(UnsupportedError):
                    kernel = use_of(step).kernel
                    other = found.setdefault(kernel.name, kernel)
                    assert other is kernel or module(other) == module(kernel), f"two kernels {kernel.name}"
    return found


def _is_known(graph: Graph, name: str, found: Computed) -> bool:
    return name in found.done or graph.producer(name) is None


def _steps(graph: Graph, node: Node) -> Sequence[Step]:
    return layer_of(graph, node).steps


def _tensor(arg: Arg, tensors: dict[str, Array]) -> Array:
    """The bytes of an operand; what is not computed yet is a filler."""
    if arg.value.data is not None:
        return _bytes(arg.value.data)
    return tensors.setdefault(arg.name, np.full(max(arg.type.bytes, 1), 0x55, np.uint8))


def _buffers(use: GpuCall, call: Call, tensors: dict[str, Array]) -> list[Array]:
    if use.updates is not None:
        tensors[call.args[-1].name] = _tensor(call.args[use.updates], tensors).copy()
    operands = {i: _tensor(call.args[i], tensors) for i in use.operands if i != CONSTANTS}
    return arguments(use, operands)


def _bytes(data: Array) -> Array:
    return np.frombuffer(np.ascontiguousarray(stored(data)).tobytes(), np.uint8)

"""Runs whole plans in tests, on any device: memory as a host would lay it out."""

from collections.abc import Mapping

import numpy as np
from support.gpu_calls import Device

from edgekit.codegen.gpu.memory import Span
from edgekit.codegen.gpu.plan import GpuPlan
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall
from edgekit.codegen.printing.literal import restored, stored
from edgekit.core.types import Array


def run(
    device: Device, plan: GpuPlan, inputs: Mapping[str, Array], states: Array | None = None
) -> dict[str, Array]:
    """The outputs of a model; kernels see copies, and only what they write is kept. `states` are those of a
    stream, which the run changes."""
    assert not plan.segments, "all of it is on the device"
    graph = plan.graph
    memory = {("input", i): _raw(inputs[name]) for i, name in enumerate(graph.inputs)}
    memory |= {("output", i): _rubbish(graph.type(n).bytes) for i, n in enumerate(graph.outputs)}
    memory["arena", 0] = _rubbish(plan.arena_bytes)
    memory["weights", 0] = np.frombuffer(plan.weights, np.uint8)
    if states is not None:
        memory["states", 0] = states
    for d in plan.dispatches:
        given = [_part(memory, span).copy() for span in d.spans]
        use = GpuCall(d.kernel, tuple(CONSTANTS for _ in d.spans), d.values, d.groups)
        device.compute([use], [given])
        for buffer, span, array in zip(d.kernel.buffers, d.spans, given, strict=True):
            if buffer.writes:
                memory[span.where, span.number][span.offset : span.offset + span.size] = array
    results = {}
    for i, name in enumerate(graph.outputs):
        type = graph.type(name)
        like = stored(np.empty(0, type.dtype.numpy)).dtype
        flat = np.frombuffer(memory["output", i].tobytes()[: type.bytes], like)
        results[name] = restored(flat, type.dtype).reshape(type.shape)
    return results


def stream(plan: GpuPlan) -> Array:
    """The states of a stream that begins."""
    memory = _rubbish(plan.state_bytes)
    for state in plan.graph.states:
        raw = _raw(state.start)
        memory[plan.states[state.input] :][: raw.size] = raw
    return memory


def _part(memory: Mapping[tuple[str, int], Array], span: Span) -> Array:
    part = memory[span.where, span.number][span.offset : span.offset + span.size]
    assert part.size == span.size, "a span leaves its memory"
    return part


def _raw(array: Array) -> Array:
    raw = np.ascontiguousarray(stored(array)).tobytes()
    return np.frombuffer(raw + b"\xa5" * (-len(raw) % 4), np.uint8).copy()


def _rubbish(size: int) -> Array:
    return np.full(size + -size % 4, 0x5A, np.uint8)

"""What pages are told of a plan."""

import json
from dataclasses import replace

import pytest
from support.op_cases import normal
from support.streams import recurrent, ring

from edgekit.codegen.gpu.memory import ALIGN
from edgekit.codegen.gpu.plan import GpuPlan, plan, plans
from edgekit.codegen.gpu.web import Web
from edgekit.core.builder import Builder
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.types import DType, Type


def scaled() -> GpuPlan:
    """One layer, with weights, on several outputs."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (100,)))
    outputs = [b.one(Mul(), x, b.const(normal(DType.F32, 100))) for _ in range(2)]
    return plan(b.graph("scaled", [x], outputs))


def test_pieces_can_be_bound_and_are_inside() -> None:
    web = Web((scaled(),))
    room = (web.memory_bytes, web.weight_bytes)
    for row in web.dispatches:
        _, _, _, pieces = json.loads(row["row"])
        for buffer, start, size in pieces:
            assert start % ALIGN == 0
            assert start + size <= room[buffer]
    (entry,) = web.entries
    assert entry.outputs[0] >= entry.inputs[0] + 400
    assert entry.outputs[1] >= entry.outputs[0] + 400
    assert len(web.pipelines) == 1


@pytest.mark.parametrize("groups", [1, 65535, 65536, 131071, 70001 * 997])
def test_many_groups_go_in_two_directions(groups: int) -> None:
    planned = scaled()
    many = replace(planned, dispatches=(replace(planned.dispatches[0], groups=groups),))
    ((_, x, y, _),) = (json.loads(row["row"]) for row in Web((many,)).dispatches)
    assert x <= 65535
    assert y <= 65535
    assert groups <= x * y < groups + y


def test_streams_begin_with_what_is_not_zero() -> None:
    """Behind the weights of the file."""
    recurrent_plan, ring_plan = plan(recurrent()), plan(ring())
    assert json.loads(Web((recurrent_plan,)).starts) == []
    web = Web((ring_plan,))
    ((at, start, size),) = json.loads(web.starts)
    (state,) = ring_plan.graph.states
    assert (start, size) == (ring_plan.states[state.input], state.initial.type.bytes)
    assert web.weights[at : at + size] == state.start.tobytes()
    assert at + size == web.weight_bytes
    assert web.largest_buffer >= web.state_bytes >= size


def test_entries_share_memory_and_kernels() -> None:
    planned = plans([recurrent(), recurrent(frames=4)])
    web = Web(planned)
    main, frames = web.entries
    assert (main.first, main.end, frames.first) == (0, frames.first, main.end)
    assert frames.end == len(web.dispatches)
    assert web.memory_bytes == max(main.memory_bytes, frames.memory_bytes)
    assert main.inputs == frames.inputs
    assert len(web.modules) == len({d.kernel.name for p in planned for d in p.dispatches})

"""What pages are told of a plan."""

import json
from dataclasses import replace

import pytest
from support.op_cases import normal

from edgekit.codegen.gpu.memory import ALIGN
from edgekit.codegen.gpu.plan import GpuPlan, plan
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
    web = Web(scaled())
    room = (web.memory_bytes, web.weight_bytes)
    for row in web.dispatches:
        _, _, _, pieces = json.loads(row["row"])
        for is_weights, start, size in pieces:
            assert start % ALIGN == 0
            assert start + size <= room[is_weights]
    assert web.outputs[0] >= web.inputs[0] + 400
    assert web.outputs[1] >= web.outputs[0] + 400
    assert len(web.pipelines) == 1


@pytest.mark.parametrize("groups", [1, 65535, 65536, 131071, 70001 * 997])
def test_many_groups_go_in_two_directions(groups: int) -> None:
    planned = scaled()
    many = replace(planned.dispatches[0], groups=groups)
    ((_, x, y, _),) = (json.loads(row["row"]) for row in Web(replace(planned, dispatches=(many,))).dispatches)
    assert x <= 65535
    assert y <= 65535
    assert groups <= x * y < groups + y

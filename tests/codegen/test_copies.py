"""Tensors that are copied to another place, where the arena shrinks much by that."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.node_suite import SANITIZE
from support.tools import require

from edgekit.codegen.memory import copies
from edgekit.codegen.memory import planner as planning
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.codegen.memory.sharing import Sharing
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.simulate import random_inputs, run
from edgekit.onnx_backend import compile_programs


def chain(channels: int, further: int = 0) -> Program:
    """The first result starts a little before its input, at the foot of the arena, and becomes another there;
    the next has twice as many bytes, and starts as far before that. Smaller layers follow."""
    made = Chain(0, (1, 48, 48, 3))
    made.layer(Conv2d((2, 2), (0, 0, 1, 1)), channels, 3, 3, 3)
    made.add(Sigmoid())
    made.layer(Conv2d(), 2 * channels, 1, 1, channels)
    made.add(Pool2d("mean", (4, 4), (4, 4)))
    for _ in range(further):
        made.layer(Conv2d((1, 1), (1, 1, 1, 1)), 2 * channels, 3, 3, 2 * channels)
    return compile_graph(made.done("chain"), target.load("host"), "arena")


def test_a_tensor_is_copied_where_the_arena_shrinks_much_by_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require("cc")
    program = chain(8)
    assert [line.kernel.name for line in program.lines].count("copy_s8") == 1
    inputs = random_inputs(program.graph, seed=1)
    driver, _ = compile_programs([program], tmp_path, "speed", SANITIZE)
    (found,), (expected,) = driver.run(program, inputs).values(), run(program.graph, inputs).values()
    assert np.array_equal(found, expected)
    monkeypatch.setattr(planning, "with_moves", lambda calls, sharing, align: (calls, None))
    assert program.arena.size < 0.9 * chain(8).arena.size


@pytest.mark.parametrize("channels", [2, 24])
def test_no_tensor_is_copied_for_little(channels: int) -> None:
    assert "copy_s8" not in [line.kernel.name for line in chain(channels).lines]


def test_moves_are_tried_only_at_the_steps_that_need_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """At others they cannot help: to try all finds the same."""
    tried: list[int] = []
    moved = copies._moved

    def counted(calls: Sequence[Scheduled], step: int, sharing: Sharing) -> list[Scheduled]:
        tried.append(step)
        return moved(calls, step, sharing)

    monkeypatch.setattr(copies, "_moved", counted)
    program, few = chain(8, further=4), len(tried)
    monkeypatch.setattr(copies, "_tight_steps", lambda *_: (0, len(program.lines)))
    assert chain(8, further=4).arena.offsets == program.arena.offsets
    assert len(tried) - few > few + 2

"""Bodies of loops come out of files, too: what contradicts itself is refused, and the rest comes back."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ops.cases.while_loop import COUNTED
from support.nets import Net

from edgekit.converters.semantics.while_loop import while_loop
from edgekit.converters.tensor import Tensor
from edgekit.core import ek_file
from edgekit.core.builder import Builder
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.logic import Less
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.while_loop import MAX_LIMIT, While
from edgekit.core.simulate import run
from edgekit.core.types import DType, Quant, Type, Value

TYPES = [COUNTED.types[name] for name in COUNTED.inputs]


def test_files_keep_loops(tmp_path: Path) -> None:
    builder = Builder()
    inputs = [builder.input(name, type) for name, type in zip(COUNTED.inputs, TYPES, strict=True)]
    graph = builder.graph("net", inputs, builder.add(COUNTED, *inputs))
    ek_file.save(graph, tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek") == graph


@pytest.mark.parametrize(
    ("op", "words"),
    [
        (replace(COUNTED, limit=-1), "is no limit"),
        (replace(COUNTED, limit=MAX_LIMIT + 1), "is no limit"),
        (replace(COUNTED, nodes=COUNTED.nodes[1:]), "is read before it is computed"),
        (replace(COUNTED, nodes=(*COUNTED.nodes, COUNTED.nodes[0])), "is computed twice"),
        (replace(COUNTED, outputs=("on", "z", "j")), "i is s32.*, and f32.* next"),
        (replace(COUNTED, outputs=("on", "j", "lost")), "lost is never computed"),
        (replace(COUNTED, outputs=()), "takes 6 operands"),
        (replace(COUNTED, inputs=COUNTED.inputs[::-1]), "operand x is"),
        (replace(COUNTED, values=COUNTED.values[:-1]), "or has no sensible type"),
    ],
)
def test_bodies_that_contradict_themselves_are_refused(op: While, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        op.infer(*TYPES)


def test_a_counter_of_quantized_bytes_bounds_a_loop() -> None:
    """0, 0.5 more each time, and on while that is below 2."""
    net, quant = Net(), Quant((0.25,), (3,))
    net.values["i"] = Value(Type(DType.S8, (1,), quant), np.array([3], np.int8))
    start = [net.const(np.array([True])), "i", net.x(3)]

    def make(carried: Sequence[Tensor]) -> Sequence[Tensor]:
        _, i, y = (x.name for x in carried)
        more = net(Add(), net.one(Dequantize(), i), np.float32([0.5]))
        (following,) = net.add(Quantize(), more, quant=quant)
        made = net(Less(), more, np.float32([2.0])), following, net(Mul(), y, np.float32([2.0]))
        return [Tensor(net, name) for name in made]

    *_, y = while_loop([Tensor(net, name) for name in start], make, limit=None, most=None)
    graph = net.done(y.name)
    assert [node.op.limit for node in graph.nodes if isinstance(node.op, While)] == [4]
    (found,) = run(graph, {"x": np.float32([1, -2, 3])}).values()
    assert found.tolist() == [16, -32, 48]

"""Bodies of loops come out of files, too: what contradicts itself is refused, and the rest comes back."""

from dataclasses import replace
from pathlib import Path

import pytest
from ops.cases.while_loop import COUNTED

from edgekit import file
from edgekit.builder import Builder
from edgekit.ops.while_loop import MAX_LIMIT, While

TYPES = [COUNTED.types[name] for name in COUNTED.inputs]


def test_files_keep_loops(tmp_path: Path) -> None:
    builder = Builder()
    inputs = [builder.input(name, type) for name, type in zip(COUNTED.inputs, TYPES, strict=True)]
    graph = builder.graph("net", inputs, builder.add(COUNTED, *inputs))
    file.save(graph, tmp_path / "net.ek")
    assert file.load(tmp_path / "net.ek") == graph


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

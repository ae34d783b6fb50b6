"""MindIR files made to do harm: lies about types, values without end, weights elsewhere."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.caffe_files import part
from support.hostile_files import Case, file, sample
from support.mindir_files import constant, described, model, node, number, primitive, tensor

NET = sample("mindspore/net.mindir")
ONE = np.ones(4, np.float32)
X = {"net:x": described((4,))}
RELU = node("ReLU", ["net:x"], "y", (4,))


def made(*nodes: bytes, **more: object) -> Callable[[Path], Path]:
    """A net of these nodes on an input of four numbers."""
    return file("net.mindir", model(nodes, X, "y", **more))  # type: ignore[arg-type]  # as `model` takes them


def stored(content: bytes) -> Callable[[Path], Path]:
    """A net that adds a parameter which is stored like that."""
    return made(node("Add", ["net:x", "w"], "y", (4,)), parameters={"w": content})


def nested(depth: int) -> bytes:
    value = number(3, 1) + number(16, 7)
    for _ in range(depth):
        value = part(17, value) + number(16, 20)
    return value


OUTSIDE = tensor(ONE, "w", data=b"") + part(12, part(1, b"../../etc/passwd"))

CASES = {
    "cut off": Case("E0401", "damaged", file("net.mindir", NET[:-50])),
    "no message": Case("E0401", "", file("net.mindir", b"\xff" * 64)),
    "without a graph": Case("E0401", "no output", file("net.mindir", NET[:20][:16])),
    "weights in a second file": Case("E0205", "second file", stored(OUTSIDE)),
    "weights that are compressed": Case("E0205", "compressed", stored(tensor(ONE, "w") + number(16, 3))),
    "weight beyond reason": Case("E0402", "absurd", stored(tensor(ONE, "w", dims=(1 << 40, 1 << 20)))),
    "weight that is short": Case("E0401", "there are 8", stored(tensor(ONE, "w", data=bytes(8)))),
    "weight of no known type": Case("E0204", "element type 8", stored(part(7, b"w") + number(2, 8))),
    "value of the future": Case("E0401", "later or never", made(node("ReLU", ["z"], "y", (4,)))),
    "type that lies": Case("E0401", "the file says f32[5]", made(node("ReLU", ["net:x"], "y", (5,)))),
    "primitive that nothing describes": Case(
        "E0401", "described nowhere", made(node("REF::ReLU:1", ["net:x"], "y", (4,)))
    ),
    "unknown primitive": Case("E0201", "unsupported op Launch", made(node("Launch", ["net:x"], "y"))),
    "tensor for a flag": Case(
        "E0401",
        "keep_dims is a tensor",
        made(constant("c", 0), node("ReduceMax", ["net:x", "c", "net:x"], "y", (1,))),
    ),
    "number for a flag": Case(
        "E0401",
        "largest of TopK cannot be 2",
        made(
            node("Sort", ["net:x"], "s", axis=0, descending=2),
            constant("c", 0),
            node("TupleGetItem", ["s", "c"], "y", (4,)),
        ),
    ),
    "constant nested without end": Case(
        "E0402", "nested without end", made(constant("c", nested(100)), node("Reshape", ["net:x", "c"], "y"))
    ),
    "constant of a petabyte": Case(
        "E0402|E0401",
        "",
        made(
            constant("c", (1 << 30, 1 << 20)), constant("v", ONE[0:1].copy()), node("FillV2", ["c", "v"], "y")
        ),
    ),
    "split into nothing": Case(
        "E0401",
        "0 parts",
        made(constant("a", 0), constant("n", 0), node("Split", ["net:x", "a", "n"], "y")),
    ),
    "part that is not there": Case(
        "E0205",
        "result 7",
        made(constant("i", 7), node("MakeTuple", ["net:x"], "t"), node("TupleGetItem", ["t", "i"], "y")),
    ),
    "functions": Case("E0205", "unroll them", made(RELU, more=part(8, part(2, b"loop")))),
    "input beyond reason": Case(
        "E0402", "absurd", file("net.mindir", model([RELU], {"net:x": described((1 << 40,))}, "y"))
    ),
    "training": Case("E0205", "set_train(False)", made(node("Dropout", ["net:x"], "y", keep_prob=0.5))),
    "changed in place, then read": Case(
        "E0205",
        "read once more",
        made(
            node("ReLU", ["net:x"], "a"),
            node("InplaceAddExt", ["a", "net:x"], "b"),
            node("Add", ["a", "b"], "y"),
        ),
    ),
    "convolution of a line": Case(
        "E0205|E0401",
        "",
        made(
            node("REF::c", ["net:x", "w"], "y"),
            parameters={"w": np.ones((1, 1, 3, 3), np.float32)},
            primitives=[primitive("c", "Conv2D", pad_mode="same", stride=(0, 0, 0, 0))],
        ),
    ),
    "big-endian": Case(
        "E0205", "little-endian", file("net.mindir", model([RELU], X, "y", more=number(10, 0)))
    ),
}

"""Graphs of TensorFlow made to do harm: cycles, recursion, absurd constants, operators that open files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.caffe_files import part
from support.exports import SAMPLES
from support.hostile_files import Case, file, sample
from support.mindir_files import number
from support.tensorflow_files import (
    constant,
    define,
    function,
    graph,
    node,
    placeholder,
    shape,
    tensor,
    written_table,
)

from edgekit.converters.file_formats import sorted_table

NET = sample("tf/net.pb")
FOLDER = SAMPLES / "tf" / "saved_model"
X = placeholder("x", (2, 3))
ONE = np.ones(4, np.float32)


def made(*nodes: bytes, functions: tuple[bytes, ...] = ()) -> Callable[[Path], Path]:
    return file("net.pb", graph(X, *nodes, functions=functions))


def stored(value: bytes) -> Callable[[Path], Path]:
    """A net that adds a constant which is stored like that."""
    return made(node("c", "Const", value=part(8, value)), node("y", "AddV2", ["x", "c"]))


def nested(depth: int) -> tuple[bytes, ...]:
    """Functions that call each other, so deep."""
    calls = [[node("b", f"f{i + 1}" if i < depth else "Neg", ["a"])] for i in range(depth + 1)]
    return tuple(define(f"f{i}", ["a"], body, {"r": "b:0"}) for i, body in enumerate(calls))


def calls(name: str) -> bytes:
    return node("y", "PartitionedCall", ["x"], f=function(name))


SAVED = {p.relative_to(FOLDER).as_posix(): p.read_bytes() for p in FOLDER.rglob("*") if p.is_file()}
INDEX, SHARD = "variables/variables.index", "variables/variables.data-00000-of-00001"


def saved(**changed: Callable[[bytes], bytes | None]) -> Callable[[Path], Path]:
    """The sample with other content: of the model, the index or the shard."""
    names = {"model": "saved_model.pb", "index": INDEX, "shard": SHARD}

    def make(folder: Path) -> Path:
        (folder / "net" / "variables").mkdir(parents=True)
        contents: dict[str, bytes | None] = {**SAVED}
        contents |= {names[what]: change(SAVED[names[what]]) for what, change in changed.items()}
        for name, content in contents.items():
            if content is not None:
                (folder / "net" / name).write_bytes(content)
        return folder / "net"

    return make


def linked(what: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = saved()(folder)
        (path / what).rename(folder / "elsewhere")
        (path / what).symlink_to(folder / "elsewhere")
        return path

    return make


def flipped(raw: bytes, at: int) -> bytes:
    return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def table(change: Callable[[dict[bytes, bytes]], object]) -> Callable[[bytes], bytes]:
    """The index with other entries, put together again with checksums that fit."""

    def made(raw: bytes) -> bytes:
        found = dict(sorted_table.entries(raw, "the index"))
        change(found)
        return written_table(found)

    return made


def entry(**fields: int) -> Callable[[bytes], bytes]:
    """The entry of each variable with other numbers behind its own, which count."""
    numbers = {"type": 1, "shard": 3, "offset": 4, "size": 5}
    more = b"".join(number(numbers[key], value) for key, value in fields.items())
    return table(lambda found: found.update({k: v + more for k, v in found.items() if k}))


def header(more: bytes) -> Callable[[bytes], bytes]:
    return table(lambda found: found.update({b"": found[b""] + more}))


def without(raw: bytes) -> None:
    return None


ITSELF = define("f", ["a"], [node("b", "PartitionedCall", ["a"], f=function("f"))], {"r": "b:0"})
SAVED_MODELS = {
    "index that is missing": Case("E0104", "variables.index is missing", saved(index=without)),
    "index that is cut off": Case("E0401", "no table of LevelDB", saved(index=lambda raw: raw[:-9])),
    "index with a flipped bit": Case("E0401", "checksum differs", saved(index=lambda raw: flipped(raw, 20))),
    "index that is compressed otherwise": Case(
        "E0205", "method 7", saved(index=lambda raw: written_table(dict(sorted_table.entries(raw, "")), 7))
    ),
    "index of a big machine": Case("E0205", "not little-endian", saved(index=header(number(2, 1)))),
    "shards without end": Case("E0402", "shards are absurd", saved(index=header(number(1, 1 << 30)))),
    "shards that are missing": Case(
        "E0104", "data-00000-of-00002 is missing", saved(index=header(number(1, 2)))
    ),
    "shard that is missing": Case("E0104", "is missing", saved(shard=without)),
    "shard that is cut off": Case("E0401", "the shard has", saved(shard=lambda raw: raw[:100])),
    "shard with other bits": Case(
        "E0401", "checksum differs", saved(shard=lambda raw: bytes(b ^ 1 for b in raw))
    ),
    "shard that is a link": Case("E0404", "is a link", linked(SHARD)),
    "index that is a link": Case("E0404", "is a link", linked(INDEX)),
    "variables that are a link": Case("E0404", "is a link", linked("variables")),
    "variable in no shard": Case("E0401", "in no shard", saved(index=entry(shard=3))),
    "variable beyond its shard": Case("E0401", "the shard has", saved(index=entry(offset=1 << 40))),
    "variable before its shard": Case("E0401", "the shard has", saved(index=entry(offset=-8))),
    "variable of a size that lies": Case("E0401", "there are 8", saved(index=entry(size=8))),
    "variable of texts": Case("E0204", "type string", saved(index=entry(type=7))),
    "variable that is nowhere": Case(
        "E0401",
        "is not in the checkpoint",
        saved(index=table(lambda found: [found.pop(k) for k in list(found) if k])),
    ),
    "graphs of several kinds": Case("E0401", "holds 2 graphs", saved(model=lambda raw: raw + raw)),
    "graphs of no kind": Case("E0401", "no graph of TensorFlow", saved(model=lambda raw: raw[:2])),
}
CASES = {
    **SAVED_MODELS,
    "text that is cut off": Case("E0401", "makes no sense", file("net.pbtxt", 'node { name: "x" op: "Neg"')),
    "text without end": Case("E0402", "nested", file("net.pbtxt", "node { name: 'x' " + "attr { " * 99)),
    "text of other messages": Case("E0401", "in braces", file("net.pbtxt", 'node { name: "x" } node: 3')),
    "SavedModel as text without a graph": Case(
        "E0401", "holds 0 graphs", file("saved_model.pbtxt", "saved_model_schema_version: 1")
    ),
    "cut off": Case("E0401", "damaged", file("net.pb", NET[:-50])),
    "no graph": Case("E0401", "computes nothing", file("net.pb", graph(constant("c", ONE)))),
    "cycle": Case(
        "E0205", "circles", made(node("y", "Neg", ["z"]), node("z", "Neg", ["y"]), node("w", "Neg", ["z"]))
    ),
    "loop that nothing enters": Case(
        "E0205",
        "circles",
        made(
            node("m", "Merge", ["n", "n"]),
            node("c", "LoopCond", ["m"]),
            node("s", "Switch", ["m", "c"]),
            node("n", "NextIteration", ["s:1"]),
            node("y", "Exit", ["s"]),
        ),
    ),
    "end of no loop": Case(
        "E0401", "Neg has 1 operands", made(node("s", "Neg", ["x"]), node("y", "Exit", ["s"]))
    ),
    "end of nothing": Case("E0401", "Exit has 0 operands", made(node("y", "Exit"))),
    "loop that reads its own end": Case(
        "E0205",
        "circles",
        made(
            node("e", "Enter", ["y"], frame_name="f"),
            node("m", "Merge", ["e", "n"]),
            node("c", "LoopCond", ["m"]),
            node("s", "Switch", ["m", "c"]),
            node("n", "NextIteration", ["s:1"]),
            node("y", "Exit", ["s"]),
            node("z", "Neg", ["y"]),
        ),
    ),
    "node of no name": Case("E0401", "empty or not its own", made(node("", "Neg", ["x"]))),
    "node that is there twice": Case(
        "E0401", "empty or not its own", made(node("y", "Neg", ["x"]), node("y", "Abs", ["x"]))
    ),
    "operand that is nowhere": Case("E0401", "no node 'z'", made(node("y", "Neg", ["z"]))),
    "operand of no number": Case("E0401", "names no result", made(node("y", "Neg", ["x:z:w:0"]))),
    "result that is not there": Case("E0205", "result 3 of x", made(node("y", "Neg", ["x:3"]))),
    "operand too much": Case("E0401", "takes 1 operands", made(node("y", "Neg", ["x", "x"]))),
    "operand too few": Case("E0401", "operand b is missing", made(node("y", "AddV2", ["x"]))),
    "function that is nowhere": Case("E0401", "no function 'f'", made(calls("f"))),
    "function that calls itself": Case("E0205", "calls itself", made(calls("f"), functions=(ITSELF,))),
    "functions without end": Case("E0402", "nested", made(node("y", "f0", ["x"]), functions=nested(100))),
    "function of more operands": Case(
        "E0401", "takes 1 operands", made(node("y", "f0", ["x", "x"]), functions=nested(1))
    ),
    "operator that runs Python": Case("E0201", "runs Python code", made(node("y", "PyFunc", ["x"]))),
    "operator that reads a file": Case("E0201", "opens files", made(node("y", "ReadFile", ["x"]))),
    "operator that writes a file": Case("E0201", "opens files", made(node("y", "WriteFile", ["x"]))),
    "unknown operator": Case("E0201", "unsupported op Launch", made(node("y", "Launch", ["x"]))),
    "unknown attribute": Case("E0203", "attribute fast", made(node("y", "Neg", ["x"], fast=True))),
    "constant beyond reason": Case(
        "E0402", "absurd", stored(number(1, 1) + part(2, shape((1 << 40, 1 << 20))))
    ),
    "constant that is short": Case("E0401", "takes 32 bytes", stored(tensor(ONE, (8,)))),
    "constant of negative size": Case("E0401", "open shape", stored(tensor(ONE, (-4,)))),
    "constant of no known type": Case("E0204", "type complex128", stored(number(1, 18) + part(2, b""))),
    "constant without a value": Case("E0401", "no value", made(node("c", "Const"), node("y", "Neg", ["c"]))),
    "text for numbers": Case(
        "E0401|E0403", "", made(node("y", "Neg", ["x"]), node("z", "AvgPool", ["x"], ksize="a"))
    ),
    "branch without a function": Case("E0401", "no function then_branch", made(node("y", "If", ["x", "x"]))),
    "branch that calls itself": Case(
        "E0205",
        "calls itself",
        made(
            node("y", "If", ["x", "x"], then_branch=function("g"), else_branch=function("g")),
            functions=(
                define("g", ["a"], [node("b", "PartitionedCall", ["a"], f=function("g"))], {"r": "b:z:0"}),
            ),
        ),
    ),
    "loop that carries nothing": Case(
        "E0401",
        "carries nothing",
        made(
            node("w", "While", [], cond=function("c"), body=function("c")),
            node("y", "Neg", ["w"]),
            functions=(define("c", [], [constant("b", True, "bool")], {"r": "b:z:0"}),),
        ),
    ),
    "loop that changes a type": Case(
        "E0401",
        "condition of a loop is bool[2]",
        made(
            placeholder("n", ()),
            node("y", "While", ["n"], cond=function("c"), body=function("b")),
            functions=(
                define("c", ["a"], [node("l", "Less", ["a", "a"])], {"r": "l:z:0"}),
                define("b", ["a"], [node("p", "Pack", ["a", "a"])], {"r": "p:z:0"}),
            ),
        ),
    ),
    "list of fewer than nothing": Case(
        "E0401",
        "a list of -3",
        made(
            constant("n", -3, "int32"),
            node("y", "TensorListReserve", ["n", "n"], element_dtype=np.dtype("float32")),
            node("z", "TensorListLength", ["y"]),
        ),
    ),
    "list beyond reason": Case(
        "E0402",
        "absurd",
        made(
            constant("n", 1 << 30, "int32"),
            constant("s", [1 << 20], "int32"),
            node("y", "TensorListReserve", ["s", "n"], element_dtype=np.dtype("float32")),
        ),
    ),
    "range of nothing": Case(
        "E0401", "no range around zero", made(node("y", "FakeQuantWithMinMaxArgs", ["x"], min=1.0, max=2.0))
    ),
    "input without a type": Case(
        "E0401",
        "has no type",
        file("net.pb", graph(node("x", "Placeholder", fast=True), node("y", "Neg", ["x"]))),
    ),
    "stride of nothing": Case(
        "E0205",
        "strides of",
        made(
            placeholder("i", (1, 4, 4, 1)),
            node("y", "MaxPool", ["i"], ksize=[1, 2, 2, 1], strides=[1, 0, 0, 1], padding="SAME"),
        ),
    ),
}

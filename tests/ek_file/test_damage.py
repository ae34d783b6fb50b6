"""Damaged, foreign and forged .ek files are refused with a clear error."""

import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.ek_files import edit, forge, refused, sections

from edgekit.core import ek_file, flatbuffer
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.types import DType, Type, Value

# Damage


def test_every_flipped_byte_is_noticed(path: Path) -> None:
    good = path.read_bytes()
    for i in range(len(good)):
        path.write_bytes(good[:i] + bytes([good[i] ^ 0x55]) + good[i + 1 :])
        with pytest.raises(EdgeKitError) as info:
            ek_file.load(path)
        assert info.value.exit_code == Exit.MALFORMED, f"byte {i}"


def test_every_truncation_is_noticed(path: Path) -> None:
    good = path.read_bytes()
    for size in [*range(200), *range(200, len(good), 7), len(good) - 1]:
        path.write_bytes(good[:size])
        refused(path, "E0401", "is too short|bytes instead of|no .ek file")


def test_appended_bytes_are_noticed(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"\0")
    refused(path, "E0401", "bytes instead of")


@pytest.mark.parametrize(
    "content", [b"", b"\x08\x07" * 64, b"\x89PNG\r\n\x1a\n" * 16], ids=["empty", "onnx", "png"]
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.ek").write_bytes(content)
    refused(tmp_path / "net.ek", "E0401", "too short|no .ek file")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: None], ids=["folder", "pipe", "nothing"])
def test_what_is_no_file_cannot_be_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "net.ek")
    refused(tmp_path / "net.ek", "E0104", "not a regular file|No such file")


def test_a_newer_version_says_so(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8:12] = struct.pack("<I", ek_file.VERSION + 1)
    path.write_bytes(content)  # the checksum need not be the one that this version knows
    assert "update edgekit" in refused(path, "E0405", f"version {ek_file.VERSION + 1}").hint


# Forgery: the checksum is right, and the structure lies


def test_forging_nothing_gives_the_same_graph(path: Path, graph: Graph) -> None:
    edit(path, lambda record: None)
    assert ek_file.load(path) == graph


def node(record: flatbuffer.Record, i: int = 0, **change: Any) -> None:
    record["nodes"][i].update(change)


def attribute(record: flatbuffer.Record, **change: Any) -> None:
    record["nodes"][0]["attributes"][0].update(change)


def value(record: flatbuffer.Record, i: int, **change: Any) -> None:
    record["values"][i].update(change)


def again(items: list[Any]) -> None:
    items.append(items[0])


ONE_SCALE = {"scale": [1.0], "zero": [0], "rounding": "E"}
# Name: code, words of the message, what is changed. Values are x, w, b, y, z.
FORGERIES: dict[str, tuple[str, str, Callable[[flatbuffer.Record], None]]] = {
    "operator unknown": ("E0406", "operator Warp is unknown", lambda r: node(r, op="Warp")),
    "operator of Python": ("E0406", "operator object is unknown", lambda r: node(r, op="object")),
    "attribute unknown": ("E0406", "attribute warp of Dense", lambda r: attribute(r, name="warp")),
    "member unknown": ("E0406", "DType.F31", lambda r: attribute(r, kind="member", text="DType.F31")),
    "record unknown": ("E0406", "Path is unknown", lambda r: attribute(r, kind="record", text="Path")),
    "attribute of another type": ("E0401", "lo of Dense cannot be ''", lambda r: attribute(r, kind="text")),
    "attribute twice": ("E0401", "lo of Dense is there twice", lambda r: again(r["nodes"][0]["attributes"])),
    "attribute missing": ("E0401", "shape of Reshape is missing", lambda r: node(r, 1, attributes=[])),
    "shape that infer refutes": ("E0401", r"computes f32\[3,1\]", lambda r: value(r, 4, shape=[1, 3])),
    "type that infer refutes": ("E0401", r"z is s8\[3,1\]", lambda r: value(r, 4, dtype="s8")),
    "type unknown": ("E0401", "f33", lambda r: value(r, 0, dtype="f33")),
    "dimension negative": ("E0401", "x has the absurd shape", lambda r: value(r, 0, shape=[1, -4])),
    "dimension absurd": ("E0401", "x has the absurd shape", lambda r: value(r, 0, shape=[1 << 62, 1 << 62])),
    "constant negative": ("E0401", "absurd shape", lambda r: value(r, 1, shape=[-3, -4])),
    "constant absurd": ("E0401", "absurd shape", lambda r: value(r, 1, shape=[0, 1 << 62])),
    "constant of absurd rank": ("E0401", "absurd shape", lambda r: value(r, 1, shape=[1] * 100 + [12])),
    "constant too large": (
        "E0401",
        "data of w are not where",
        lambda r: value(r, 1, shape=[1 << 20, 1 << 7]),
    ),
    "constant inside another": ("E0401", "data of b are not where", lambda r: value(r, 2, data=4)),
    "constant outside": ("E0401", "data of b are not where", lambda r: value(r, 2, data=1 << 40)),
    "constant before": ("E0401", "data of b are not where", lambda r: value(r, 2, data=-64)),
    "constant lost": ("E0401", "more data than constants", lambda r: value(r, 2, data=-1)),
    "name twice": ("E0401", "two values have the same name", lambda r: value(r, 1, name="x")),
    "edge not there": ("E0401", "a value that is not there", lambda r: node(r, inputs=[99, 1, 2])),
    "edge too early": ("E0401", "reads z before it is computed", lambda r: node(r, inputs=[4, 1, 2])),
    "operand missing": ("E0401", "cannot be applied to", lambda r: node(r, inputs=[0, 1])),
    "result missing": ("E0401", "1 results, not 0", lambda r: node(r, outputs=[])),
    "result twice": ("E0401", "y is computed twice", lambda r: again(r["nodes"])),
    "output not there": ("E0401", "a value that is not there", lambda r: r.update(outputs=[99])),
    "output never computed": ("E0401", "output y is never", lambda r: r.update(nodes=[], outputs=[3])),
    "output twice": ("E0401", "output y is there twice", lambda r: r.update(outputs=[3, 3])),
    "input that is a constant": (
        "E0401",
        "w is there twice or is a constant",
        lambda r: r.update(inputs=[1]),
    ),
    "nodes out of order": ("E0401", "reads y before it is", lambda r: r["nodes"].reverse()),
    "axis not there": ("E0401", "along axis 7", lambda r: value(r, 0, quant={**ONE_SCALE, "axis": 7})),
    "scales missing": ("E0401", "1 scales and 1 zero", lambda r: value(r, 0, quant={**ONE_SCALE, "axis": 1})),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_structure_is_refused(case: str, path: Path) -> None:
    code, words, change = FORGERIES[case]
    edit(path, change)
    refused(path, code, words)


def test_a_bool_is_0_or_1(tmp_path: Path) -> None:
    values = {"c": Value(Type(DType.BOOL, (2,)), np.array([True, False]))}
    ek_file.save(Graph("net", (), ("c",), (), values), tmp_path / "net.ek")
    structure, data = sections(tmp_path / "net.ek")
    forge(tmp_path / "net.ek", structure, data.replace(b"\1", b"\2"))
    refused(tmp_path / "net.ek", "E0401", "2 is no bool")


def test_another_identifier_is_refused(path: Path) -> None:
    structure, data = sections(path)
    forge(path, structure[:4] + b"TFL3" + structure[8:], data)
    refused(path, "E0401", "identifier")


def test_random_damage_behind_a_right_checksum_never_breaks_the_reader(path: Path, graph: Graph) -> None:
    structure, data = sections(path)
    rng = random.Random(1)
    outcomes = set()
    for _ in range(600):
        damaged = bytearray(structure)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        forge(path, bytes(damaged), data)
        try:
            loaded = ek_file.load(path)
        except EdgeKitError as error:
            outcomes.add(error.code)
        else:
            outcomes.add("same" if loaded == graph else "other")  # a changed name is a good graph
    assert outcomes == {"same", "other", "E0401", "E0406"}


def test_parts_that_overlap_are_a_trap(path: Path) -> None:
    """A hundred thousand nodes may all be the same large one: a small file which takes endless time."""
    large = {"op": "Reshape", "attributes": [{"name": "shape"}] * 1000}
    structure = bytearray(flatbuffer.write(ek_file.schema(), {"nodes": [large] + [{}] * 100_000}))

    def number(format: str, at: int) -> int:
        return int(struct.unpack_from(format, structure, at)[0])

    root = number("<I", 0)
    field = root + number("<H", root - number("<i", root) + 4 + 2 * 3)  # nodes are the fourth field
    first = field + number("<I", field) + 4
    target = first + number("<I", first)
    for at in range(first, first + 4 * 100_001, 4):
        struct.pack_into("<I", structure, at, target - at)
    forge(path, bytes(structure), b"")
    refused(path, "E0401", "its parts overlap")


def test_nesting_has_an_end(path: Path) -> None:
    nested: flatbuffer.Record = {"kind": "integers"}
    for _ in range(40):
        nested = {"kind": "items", "items": [nested]}
    edit(path, lambda record: node(record, attributes=[{"name": "lo", **nested}]))
    refused(path, "E0401", "nested too deep")

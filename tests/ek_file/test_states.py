"""States in .ek files: kept, checked, and unknown to readers of version 1, who can read all other files."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.ek_files import edit, refused
from support.stateful import Remembering

from edgekit.core import ek_file
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.types import DType


def remembering() -> Graph:
    net = Remembering(DType.F32)
    x, s, t = net.x(3), net.state("s", np.arange(3, dtype=np.float32)), net.state("t", np.ones(3, np.float32))
    total = net(Add(), x, s, name="total")
    return net.remembering([net(Add(), total, t, name="y")], {s: total, t: x})


@pytest.fixture
def stateful(tmp_path: Path) -> Path:
    ek_file.save(remembering(), tmp_path / "net.ek")
    return tmp_path / "net.ek"


def version(path: Path) -> int:
    (found,) = struct.unpack_from("<I", path.read_bytes(), 8)
    return int(found)


def test_states_come_back_as_they_were(stateful: Path) -> None:
    assert ek_file.load(stateful) == remembering()
    assert ek_file.load(stateful).states[0].start.tolist() == [0, 1, 2]


def test_files_have_the_least_version_that_knows_what_is_in_them(stateful: Path) -> None:
    assert version(stateful) == 2
    net = Remembering(DType.F32)
    ek_file.save(net.done(net(Neg(), net.x(3))), stateful)
    assert version(stateful) == 1


def values(record: Any, name: str) -> int:
    return [value["name"] for value in record["values"]].index(name)


FORGED: dict[str, tuple[Callable[[Any], object], str]] = {
    "a value that is not there": (lambda r: r["states"][0].update(input=99), "refers to a value"),
    "data from elsewhere": (lambda r: r["states"][0].update(data=64), "not where they should be"),
    "data that are missing": (lambda r: r["states"][1].update(data=1 << 40), "not where they should be"),
    "data of nobody": (lambda r: r["states"].pop(), "more data than constants and states"),
    "a state that is an input": (lambda r: r["states"][0].update(input=values(r, "x")), "is there twice"),
    "a state read twice": (lambda r: r["states"][0].update(input=values(r, "t")), "is there twice"),
    "one content for two": (
        lambda r: r["states"][0].update(output=values(r, "x")),
        "output x is there twice",
    ),
    "a content that is an output": (
        lambda r: r["states"][0].update(output=values(r, "y")),
        "output y is there twice",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_states_are_refused(name: str, stateful: Path) -> None:
    change, words = FORGED[name]
    edit(stateful, change)
    refused(stateful, "E0401", words)


def test_the_next_content_has_the_type_of_the_state(stateful: Path) -> None:
    def change(record: Any) -> None:
        record["values"][values(record, "t")]["shape"] = [1]

    edit(stateful, change)
    refused(stateful, "E0401", "its next content x is")

"""An .ek file gives back the graph that was saved, from a file that is there completely or not at all."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import any_graphs

from edgekit.core import atomic, attributes, ek_file, flatbuffer
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.ops import Op, registry
from edgekit.core.types import DType, Quant, Type, Value, type_of

# tmp_path is one folder for all examples of a test, and every example writes its own file into it.
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


# Identity


@same_folder
@given(graph=any_graphs.graphs())
def test_load_gives_what_was_saved(graph: Graph, tmp_path: Path) -> None:
    ek_file.save(graph, tmp_path / "net.ek")
    loaded = ek_file.load(tmp_path / "net.ek")
    assert loaded == graph
    assert list(loaded.values) == list(graph.values), "the order decides the order of the generated code"


@same_folder
@given(graph=any_graphs.graphs())
def test_same_graph_gives_same_bytes(graph: Graph, tmp_path: Path) -> None:
    first, second = tmp_path / "first.ek", tmp_path / "second.ek"
    ek_file.save(graph, first)
    ek_file.save(ek_file.load(first), second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("dtype", DType)
def test_constants_of_every_type_keep_their_bits(dtype: DType, tmp_path: Path) -> None:
    bits = np.arange(256, dtype=np.uint8).repeat(dtype.bytes)
    data = (bits % 2 if dtype is DType.BOOL else bits).view(dtype.numpy).reshape(2, -1)
    quant = Quant((0.5, 2.0), (1, 0), 0) if dtype.is_integer else None
    values = {"c": Value(Type(dtype, data.shape, quant), data)}
    ek_file.save(Graph("net", (), ("c",), (), values), tmp_path / "net.ek")
    loaded = ek_file.load(tmp_path / "net.ek").values["c"]
    assert loaded == values["c"]


@pytest.mark.parametrize("data", [np.float32(1), np.ones((0, 3)), np.arange(6).reshape(2, 3).T], ids=str)
def test_constants_may_be_scalars_empty_or_strided(data: np.ndarray[Any, Any], tmp_path: Path) -> None:
    array = np.asarray(data)
    values = {"c": Value(type_of(array), array)}
    ek_file.save(Graph("net", (), ("c",), (), values), tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek").values == values


def through_bytes(op: Op) -> Op:
    """The operator, written into the structure of a file and read again."""
    node = {"op": type(op).__name__, "attributes": attributes.encode_fields(op)}
    (record,) = flatbuffer.read(ek_file.schema(), flatbuffer.write(ek_file.schema(), {"nodes": [node]}))[
        "nodes"
    ]
    return attributes.decode_op(record["op"], record["attributes"])


@pytest.mark.parametrize("cls", registry().values(), ids=registry().keys())
@settings(max_examples=20)
@given(data=st.data())
def test_every_operator_keeps_its_attributes(cls: type[Op], data: st.DataObject) -> None:
    op = data.draw(any_graphs.records(cls))
    assert repr(through_bytes(op)) == repr(op)  # by text, because NaN differs from NaN


@dataclass(frozen=True)
class Corner:
    at: tuple[int, float]
    kind: Literal["round", "sharp"] = "sharp"


@dataclass(frozen=True)
class Probe:
    """Stands for operators to come: every kind of attribute there may be."""

    corners: tuple[Corner, ...]
    dtype: DType
    matrix: tuple[tuple[int, ...], ...]
    options: tuple[str | None, ...] = ()
    corner: Corner | None = None
    scale: float | int = 1
    exact: bool = False


@pytest.fixture
def with_probe(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    caches = (attributes._declarations, attributes._types)
    known = {**registry(), "Probe": Probe}
    monkeypatch.setattr(attributes, "registry", lambda: known)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("with_probe")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(op=any_graphs.records(Probe))
def test_every_kind_of_attribute_is_kept(op: Any) -> None:
    assert repr(through_bytes(op)) == repr(op)


@pytest.mark.usefixtures("with_probe")
@pytest.mark.parametrize(
    "change",
    [
        {"matrix": ([1], [2])},
        {"matrix": ((1, np.int64(2)),)},
        {"scale": np.float32(0.1)},
        {"exact": 1},
        {"corner": Corner((1, 2.0), "odd")},  # type: ignore[arg-type]  # that is the point
        {"options": (1 << 64,)},
    ],
    ids=str,
)
def test_save_refuses_attributes_that_would_come_back_changed(change: dict[str, Any]) -> None:
    op = replace(Probe((), DType.F32, ()), **change)
    with pytest.raises(TypeError):
        attributes.encode_fields(op)


# The file


def test_constants_are_views_of_the_mapped_file(path: Path, graph: Graph) -> None:
    arrays = dict(ek_file.load(path).constants())
    assert arrays.keys() == dict(graph.constants()).keys()
    for array in arrays.values():
        assert array.base is not None
        assert not array.flags.writeable
        assert array.ctypes.data % ek_file.ALIGNMENT == 0


def test_saving_over_a_loaded_file_leaves_the_loaded_graph_alone(path: Path, graph: Graph) -> None:
    loaded = ek_file.load(path)
    values = {n: v if v.data is None else Value(v.type, v.data * 0) for n, v in graph.values.items()}
    ek_file.save(replace(graph, values=values), path)
    assert loaded == graph
    assert ek_file.load(path) != graph


def test_an_interrupted_save_leaves_the_old_file(path: Path) -> None:
    before = path.read_bytes()

    def parts() -> Iterator[bytes]:
        yield b"half of it"
        raise OSError(28, "No space left on device")

    with pytest.raises(EdgeKitError, match="No space left") as info:
        atomic.write(path, parts())
    assert info.value.exit_code == Exit.USAGE
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_save_replaces_plain_files_only(make: Callable[[Path], None], graph: Graph, tmp_path: Path) -> None:
    make(tmp_path / "net.ek")
    with pytest.raises(EdgeKitError, match="not a regular file"):
        ek_file.save(graph, tmp_path / "net.ek")
    assert [p.name for p in tmp_path.iterdir()] == ["net.ek"]


def test_save_follows_a_link(path: Path, graph: Graph) -> None:
    link = path.with_name("link.ek")
    link.symlink_to(path)
    ek_file.save(graph.with_name("other"), link)
    assert link.is_symlink()
    assert ek_file.load(path).name == "other"

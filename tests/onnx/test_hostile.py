"""Hostile and broken ONNX models are refused: soon, in little memory, with a code, a place and a reason."""

import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper
from support.hostile_files import PYTHON
from support.hostile_models import CASES, RELU
from support.onnx_models import FLOAT, model, node, tensor

from edgekit.converters.onnx.reader import convert
from edgekit.core.errors import EdgeKitError, Exit

SECONDS = 5
MEMORY = 1 << 30


@pytest.mark.parametrize("case", CASES)
def test_hostile_model_is_refused(case: str) -> None:
    codes, words, make = CASES[case]
    hostile = make()
    before, start = peak_memory(), time.process_time()
    error = refused(lambda: convert(hostile), words)
    seconds, memory = time.process_time() - start, peak_memory() - before
    assert error.code in codes.split("|")
    assert error.exit_code in (Exit.UNSUPPORTED, Exit.MALFORMED)
    assert seconds < SECONDS
    assert memory < MEMORY


def peak_memory() -> int:
    """The most bytes that this process ever had; the cases before count too, so a small excess may hide."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def refused(run: Callable[[], object], words: str) -> EdgeKitError:
    """The error that `run` raises, without a warning."""
    with warnings.catch_warnings(action="error"), pytest.raises(EdgeKitError, match=words or ".") as info:
        run()
    assert not PYTHON.search(str(info.value)), "words of Python"
    return info.value


# Several faults


def test_faults_of_a_kind_are_listed_at_once() -> None:
    nodes = [node("Warp", "x", "a"), node("Relu", "a", "b"), node("Bend", "b", "y")]
    error = refused(lambda: convert(model(nodes)), "unsupported op Warp   node Warp_a")
    assert [other.where for other in error.also] == ["node Bend_y"]
    nodes = [node("Relu", "p", "a"), node("Relu", "q", "b"), node("Add", "a b", "y")]
    error = refused(lambda: convert(model(nodes)), "reads p, which nothing computes")
    assert [other.where for other in error.also] == ["node Relu_b"]


def test_operators_of_branches_are_listed_with_the_others() -> None:
    def branch(kind: str) -> GraphProto:
        return helper.make_graph([node(kind, "x", "z")], kind, [], [tensor("z", [2, 3])])

    def choice(given: str) -> list[NodeProto]:
        made = helper.make_node(
            "If", [given], ["a"], name="choice", then_branch=branch("Warp"), else_branch=branch("Relu")
        )
        return [node("ReduceSum", "x", "sum", keepdims=0), node("Cast", "sum", "any", to=9), made]

    nodes = [*choice("any"), node("Bend", "a", "y")]
    error = refused(lambda: convert(model(nodes)), "unsupported op Warp   node choice/Warp_z")
    assert [other.where for other in error.also] == ["node Bend_y"]
    nodes = [*choice("any"), node("Relu", "a", "y")]
    assert not refused(lambda: convert(model(nodes)), "unsupported op Warp   node choice/Warp_z").also


def test_the_first_exception_stays_attached() -> None:
    """`E0403` means that a handler met what it did not expect: the way there must be found."""
    hostile = model([node("Range", "a b c", "y")], {"a": 0, "b": 9, "c": 0})
    error = refused(lambda: convert(hostile), "makes no sense: a size or a step in it is 0")
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None


# Files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no graph"),
        (b"\0" * 100, "no ONNX file"),
        (b"PK\3\4" + b"\0" * 100, "no ONNX file"),
        (b"\x80\x04cposix\nsystem\n", "no ONNX file|holds no graph"),
        (model([RELU]).SerializeToString()[:-9], "no ONNX file"),
        (b"\x3a\x80\x80\x80\x80\x08" + b"\0" * 9, "no ONNX file"),  # a graph that says it has 2 GiB
        (b"\x3b" * 100_000, "no ONNX file"),  # groups in groups
    ],
    ids=["empty", "zeros", "archive", "pickle", "cut", "length", "nested"],
)
def test_file_that_is_no_model_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(content)
    assert refused(lambda: convert(tmp_path / "net.onnx"), words).code == "E0401"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: None], ids=["folder", "pipe", "nothing"])
def test_what_is_no_file_cannot_be_read(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "net.onnx")
    error = refused(lambda: convert(tmp_path / "net.onnx"), "not a regular file|No such file")
    assert (error.code, error.exit_code) == ("E0104", Exit.USAGE)


def test_file_larger_than_the_format_allows_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "net.onnx").open("wb") as stream:
        stream.truncate(1 << 31)
    assert refused(lambda: convert(tmp_path / "net.onnx"), "more than 2,147,483,647 bytes").code == "E0402"


# External data


def external(folder: Path, *places: dict[str, str]) -> Path:
    """A model that adds a constant [2, 3] from each of these places, and 24 bytes in w.bin."""
    (folder / "w.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    names = [f"c{i}" for i in range(len(places))]
    sums = [node("Add", f"{'s' * i or 'x'} {name}", "s" * (i + 1)) for i, name in enumerate(names)]
    proto = model(sums, outputs=["s" * len(places)])
    for name, place in zip(names, places, strict=True):
        tensor = TensorProto(name=name, data_type=FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
        for key, value in place.items():
            tensor.external_data.add(key=key, value=value)
        proto.graph.initializer.append(tensor)
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    return folder / "net.onnx"


@pytest.mark.parametrize(
    "place",
    [{}, {"offset": "0"}, {"length": "24"}, {"offset": "0", "length": "24", "checksum": "none"}],
    ids=str,
)
@pytest.mark.parametrize("location", ["w.bin", "./w.bin", "data/w.bin"])
def test_external_data_beside_the_model_are_read(
    location: str, place: dict[str, str], tmp_path: Path
) -> None:
    path = external(tmp_path, {"location": location, **place})
    (tmp_path / "data").mkdir()
    (tmp_path / "data/w.bin").write_bytes((tmp_path / "w.bin").read_bytes())
    (constant,) = (data for _, data in convert(path).constants())
    assert np.array_equal(constant, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_external_data_behind_an_offset_reach_to_the_end_of_the_file(tmp_path: Path) -> None:
    path = external(tmp_path, {"location": "w.bin", "offset": "8"})
    (tmp_path / "w.bin").write_bytes(np.arange(-2, 6, dtype=np.float32).tobytes())
    (constant,) = (data for _, data in convert(path).constants())
    assert np.array_equal(constant, np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        ({}, "E0404", "outside of the model's folder"),
        ({"location": "/etc/hostname"}, "E0404", "outside of the model's folder"),
        ({"location": "../outside.bin"}, "E0404", "outside of the model's folder"),
        ({"location": "data/../../outside.bin"}, "E0404", "outside of the model's folder"),
        ({"location": "link.bin"}, "E0404", "behind a link"),
        ({"location": "folder/w.bin"}, "E0404", "behind a link"),
        ({"location": "null"}, "E0404", "behind a link"),
        ({"location": "circle"}, "E0404|E0104", "behind a link|missing"),
        ({"location": "data"}, "E0404", "not in a regular file"),
        ({"location": "pipe"}, "E0404", "not in a regular file"),
        ({"location": "nothing.bin"}, "E0104", "missing"),
        ({"location": "w.bin/w.bin"}, "E0104", "missing"),
        ({"location": "w.bin\0.bin"}, "E0104", "missing"),
        ({"location": "w" * 5000}, "E0104", "missing"),
        ({"location": "w.bin", "offset": "-8"}, "E0401", "from -8 to"),
        ({"location": "w.bin", "length": "-8"}, "E0401", "to -8"),
        ({"location": "w.bin", "offset": "8", "length": "24"}, "E0401", "from 8 to 32 of a file of 24"),
        ({"location": "w.bin", "offset": str(1 << 70)}, "E0401", "of a file of 24"),
        ({"location": "w.bin", "offset": "9" * 5000}, "E0401", "not a number"),
        ({"location": "w.bin", "offset": "many"}, "E0401", "not a number"),
        ({"location": "w.bin", "length": "20"}, "E0401", "no float"),
        ({"location": "large.bin"}, "E0401", "too many"),
    ],
    ids=str,
)
def test_external_data_elsewhere_are_refused(
    place: dict[str, str], code: str, words: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True)
    path = external(folder, place)
    (tmp_path / "outside.bin").write_bytes((folder / "w.bin").read_bytes())
    (folder / "link.bin").symlink_to(folder / "w.bin")
    (folder / "folder").symlink_to(tmp_path)
    (folder / "null").symlink_to("/dev/null")
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "pipe")
    with (folder / "large.bin").open("wb") as stream:
        stream.truncate(1 << 40)
    assert refused(lambda: convert(path), words).code in code.split("|")


def test_external_data_are_not_read_over_and_over(tmp_path: Path) -> None:
    """A small model could name a large file a thousand times."""
    path = external(tmp_path, *[{"location": "w.bin"}] * 5)
    assert refused(lambda: convert(path), "over and over").code == "E0404"


def test_external_data_of_a_model_in_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no folder to look in, and the current one is not it."""
    proto = ModelProto.FromString(external(tmp_path, {"location": "w.bin"}).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert refused(lambda: convert(proto), "need a model file").code == "E0404"


def test_strings_that_are_no_text_are_refused() -> None:
    """The parser hands them out as bytes."""
    content = model([RELU]).SerializeToString()
    hostile = ModelProto.FromString(content + b"\x12\x03\xff\xfe\x80")  # the producer
    error = refused(lambda: convert(hostile), "a producer_name is no text")
    assert error.code == "E0401"

"""Samples come out of files one by one, the same as from memory, and however many there are."""

import gc
import io
import random
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net

from edgekit import EdgeKitError, Graph, api
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.samples import arrays
from edgekit.samples.sample_files import Samples

SHAPE = (1, 4, 3)


def one_input(*shape: int) -> Graph:
    net = Net()
    return net.done(net(Add(), net.x(*shape), net.random(shape[-1])))


def two_inputs() -> Graph:
    net = Net()
    return net.done(net(Add(), net.x(*SHAPE, name="a"), net.x(*SHAPE, name="b")))


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def assert_same(found: Samples, expected: list[dict[str, Any]]) -> None:
    assert len(found) == len(expected)
    for _ in range(2):  # they can be gone through again
        for a, b in zip(found, expected, strict=True):
            assert list(a) == list(b)
            for name in a:
                assert a[name].shape == b[name].shape
                np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_archive_gives_what_its_arrays_hold(tmp_path: Path, save: Any, order: Any) -> None:
    given = {"a": np.asarray(numbers(5, *SHAPE), order=order), "b": numbers(*SHAPE)}
    save(tmp_path / "x.npz", **given)
    assert_same(Samples(tmp_path / "x.npz", two_inputs()), arrays.samples(two_inputs(), given))


@pytest.mark.parametrize("shape", [SHAPE, (7, *SHAPE), (7, *SHAPE[1:]), (0, *SHAPE)])
def test_an_array_alone_is_for_the_only_input(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = numbers(*shape)
    np.save(tmp_path / "x.npy", x)
    assert_same(Samples(tmp_path / "x.npy", one_input(*SHAPE)), arrays.samples(one_input(*SHAPE), {"x": x}))


@pytest.mark.parametrize("name", ["label", "labels"])
def test_labels_may_lie_beside_the_samples(tmp_path: Path, name: str) -> None:
    path, x, classes = tmp_path / "set.npz", numbers(3, *SHAPE), np.array([2, 0, 1])
    arrays.save(path, {"x": x, name: classes})
    expected = arrays.samples(one_input(*SHAPE), {"x": x})
    assert_same(Samples(path, one_input(*SHAPE)), expected)
    assert list(arrays.load(path, one_input(*SHAPE))) == ["x"]
    assert np.array_equal(api.read_labels(path), classes)


def test_an_input_may_be_called_labels(tmp_path: Path) -> None:
    net = Net()
    graph = net.done(net(Add(), net.x(*SHAPE, name="a"), net.x(*SHAPE, name="labels")))
    given = {"a": numbers(2, *SHAPE), "labels": numbers(*SHAPE)}
    arrays.save(tmp_path / "x.npz", given)
    assert_same(Samples(tmp_path / "x.npz", graph), arrays.samples(graph, given))


def test_a_folder_gives_its_files_by_name(tmp_path: Path) -> None:
    x = numbers(9, *SHAPE)
    np.save(tmp_path / "2.npy", x[4:])
    np.savez(tmp_path / "1.npz", x=x[:4])
    (tmp_path / ".3.npy").write_bytes(b"what a desktop leaves")
    (tmp_path / "notes.txt").write_text("nothing")
    assert_same(Samples(tmp_path, one_input(*SHAPE)), arrays.samples(one_input(*SHAPE), {"x": x}))


def peak(work: Callable[[], object]) -> int:
    """As in a program: tests collect garbage later, and numpy's parsed headers wait in cycles until then."""
    later = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*later)


@pytest.mark.parametrize("kind", ["npy", "npz", "folder"])
def test_reading_takes_no_more_memory_for_more_samples(tmp_path: Path, kind: str) -> None:
    graph = one_input(1, 1000)

    def path(count: int) -> Path:
        x = numbers(count, 1, 1000)
        made = tmp_path / f"{count}.{kind}"
        if kind == "folder":
            made.mkdir()
            for i in range(0, count, 50):
                np.save(made / f"{i:05}.npy", x[i : i + 50])
        elif kind == "npy":
            np.save(made, x)
        else:
            np.savez_compressed(made, x=x)
        return made

    def all_of(count: int) -> Callable[[], object]:
        made = path(count)
        return lambda: sum(1 for _ in Samples(made, graph))

    few, many = (peak(all_of(count)) for count in (200, 2000))
    assert many < few + 100_000  # the array itself grew by 7.2 MB


def test_calibration_takes_no_more_memory_for_more_samples(tmp_path: Path) -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 500), net.random(4, 500), net.random(4)))
    for count in (400, 4000):  # the fewer are more than what is kept of any number, and what runs together
        np.save(tmp_path / f"{count}.npy", numbers(count, 1, 500))

    def calibrated(count: int) -> Callable[[], object]:
        return lambda: api.quantize_model(graph, tmp_path / f"{count}.npy", calibrate="minmax")

    calibrated(400)()  # what is imported and kept once
    few, many = (peak(calibrated(count)) for count in (400, 4000))
    assert many < 1.05 * few


# Files that cannot be used


def header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    buffer = io.BytesIO()
    head = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (header((5, 1, 4, 3)) + bytes(239), "E0401", "x.npy is no .npz or .npy file, or is damaged"),
        (header((1 << 60, 1, 4, 3)), "E0401", "is damaged"),
        (header((1 << 62, 1 << 62, 4)), "E0401", "is damaged"),
        (header((-5, 1, 4, 3)) + bytes(240), "E0401", "is damaged"),
        (header((2, 1, 4, 3), "|O") + bytes(240), "E0404", "holds pickled objects"),
        (header((2, 1, 4, 3), "<f8") + bytes(240), "E0102", "input x is f64, the model takes f32"),
        (header((2, 1, 4, 3), "<U4") + bytes(480), "E0102", "input x is <U4"),
        (header((2, 1, 4, 3), "|u1") + bytes(240), "E0102", "input x is u8"),
        (header((2, 1, 5, 3)) + bytes(240), "E0102", r"input x is \[2,1,5,3\]"),
        (b"\x93NUMPY", "E0401", "is damaged"),
        (b"\x93NUMPY\x09\x00" + bytes(100), "E0401", "is damaged"),
        (b"PK\x03\x04" + bytes(100), "E0401", "is damaged"),
        (b"", "E0401", "is damaged"),
        (b"\x89PNG\r\n\x1a\n" * 16, "E0401", "is no .npz or .npy file"),
    ],
)
def test_bad_files_are_refused_before_anything_is_read(
    tmp_path: Path, content: bytes, code: str, words: str
) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(EdgeKitError, match=words) as caught:
        Samples(tmp_path / "x.npy", one_input(*SHAPE))
    assert caught.value.code == code
    assert caught.value.hint


def test_raw_data_for_a_model_of_floats_are_explained(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, *SHAPE), np.uint8))
    with pytest.raises(
        EdgeKitError, match=r"(?s)input x is u8.*normalized as in training; .*--mean and --std"
    ):
        Samples(tmp_path / "x.npy", one_input(*SHAPE))


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, x=numbers(5, *SHAPE))
    good = path.read_bytes()
    for size in range(4, len(good), 41):
        path.write_bytes(good[:size])
        with pytest.raises(EdgeKitError, match="E0401"):
            Samples(path, one_input(*SHAPE))


def test_pickled_objects_in_an_archive_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([{}], object))
    with pytest.raises(EdgeKitError, match=r"E0404 x\.npz holds pickled objects"):
        Samples(tmp_path / "x.npz", one_input(*SHAPE))


@pytest.mark.parametrize("seed", range(4))
def test_damaged_archives_are_refused_or_read(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=numbers(5, *SHAPE), b=numbers(5, *SHAPE))
    good, rng = path.read_bytes(), random.Random(seed)
    for _ in range(100):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        path.write_bytes(bad)
        with suppress(EdgeKitError):
            list(Samples(path, two_inputs()))


def test_inputs_must_all_be_there(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=numbers(5, *SHAPE))
    with pytest.raises(EdgeKitError, match=r"E0101 input b is missing"):
        Samples(tmp_path / "x.npz", two_inputs())
    np.savez(tmp_path / "x.npz", a=numbers(5, *SHAPE), b=numbers(4, *SHAPE))
    with pytest.raises(EdgeKitError, match=r"differ in the number of samples \(a: 5, b: 4\)"):
        Samples(tmp_path / "x.npz", two_inputs())
    np.save(tmp_path / "x.npy", numbers(5, *SHAPE))
    with pytest.raises(EdgeKitError, match=r"(?s)x.npy holds one array, net has 2 inputs.*keys a, b"):
        Samples(tmp_path / "x.npy", two_inputs())


def test_a_folder_without_arrays_says_what_it_should_hold(tmp_path: Path) -> None:
    with pytest.raises(
        EdgeKitError, match=r"(?s)E0104 .* holds no .npz or .npy file.*save samples as arrays"
    ):
        Samples(tmp_path, one_input(*SHAPE))
    (tmp_path / "cat.JPG").write_bytes(b"")
    with pytest.raises(EdgeKitError, match="images are not read: save their pixels as arrays"):
        Samples(tmp_path, one_input(*SHAPE))

"""Arrays of files reach the inputs that they are for, sample by sample, and never change on the way."""

import random
from contextlib import suppress
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.nets import Net

from edgekit import EdgeKitError, Graph, run
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType
from edgekit.samples import arrays


def sum_of(*shapes: tuple[int, ...]) -> Graph:
    """The sum of inputs x0, x1, ... of these shapes."""
    net = Net()
    names = [net.x(*shape, name=f"x{i}") for i, shape in enumerate(shapes)]
    total = names[0]
    for name in names[1:] or names:
        total = net(Add(), total, name, name="y")
    return net.done(total)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("model", "given", "result"),
    [
        ((2, 3), (2, 3), (2, 3)),  # as it is
        ((2, 3), (5, 2, 3), (5, 2, 3)),  # five samples
        ((1, 3), (5, 3), (5, 3)),  # the batch counts samples
        ((1, 3), (5, 1, 3), (5, 1, 3)),
        ((), (), ()),
        ((), (4,), (4,)),
        ((2, 3), (0, 2, 3), (0, 2, 3)),  # an empty set
        ((1, 3), (0, 3), (0, 3)),
    ],
)
def test_samples_go_in_and_come_out_as_they_were_stacked(
    model: tuple[int, ...], given: tuple[int, ...], result: tuple[int, ...]
) -> None:
    x = np.arange(np.prod(given), dtype=np.float32).reshape(given)
    y = run(sum_of(model), {"x0": x})["y"]
    assert y.shape == result
    assert (y.reshape(-1) == 2 * x.reshape(-1)).all()


def test_one_input_may_be_the_same_for_all_samples() -> None:
    y = run(sum_of((2,), (2,)), {"x0": np.float32([[1, 2], [3, 4], [5, 6]]), "x1": np.float32([10, 20])})["y"]
    assert y.tolist() == [[11, 22], [13, 24], [15, 26]]


def test_inputs_with_different_numbers_of_samples_are_refused() -> None:
    with pytest.raises(EdgeKitError, match=r"E0108 inputs differ in the number of samples \(x0: 3, x1: 4\)"):
        run(sum_of((2,), (2,)), {"x0": ones(3, 2), "x1": ones(4, 2)})


def test_every_wrong_input_is_named() -> None:
    with pytest.raises(EdgeKitError) as caught:
        run(sum_of((2,), (2,)), {"x0": ones(3), "x1": np.ones(2)})
    assert [error.code for error in (caught.value, *caught.value.also)] == ["E0102", "E0102"]


def test_a_single_array_is_the_single_input() -> None:
    assert run(sum_of((2,)), ones(2))["y"].tolist() == [2, 2]
    with pytest.raises(EdgeKitError, match="the argument holds one array, net has 2 inputs"):
        run(sum_of((2,), (2,)), ones(2))


def test_an_npy_file_is_the_single_input(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ones(2))
    assert run(sum_of((2,)), tmp_path / "x.npy")["y"].tolist() == [2, 2]
    with pytest.raises(EdgeKitError, match=r"(?s)x.npy holds one array, net has 2 inputs.*keys x0, x1"):
        run(sum_of((2,), (2,)), tmp_path / "x.npy")


@pytest.mark.parametrize("dtype", [DType.BF16, DType.F8E4M3FN, DType.S4])
def test_types_that_files_do_not_know_survive_them(tmp_path: Path, dtype: DType) -> None:
    x = np.float32([1, 2, 3]).astype(dtype.numpy)
    arrays.save(tmp_path / "x.npz", {"x0": x})
    net = Net(dtype)
    graph = net.done(net(Reshape((3, 1)), net.x(3, name="x0")))
    (sample,) = arrays.samples(graph, arrays.load(tmp_path / "x.npz", graph))
    assert sample["x0"].dtype == x.dtype
    assert sample["x0"].tobytes() == x.tobytes()


def test_numbers_are_never_converted() -> None:
    with pytest.raises(EdgeKitError, match=r"input x0 is bf16, the model takes f32\[2\]"):
        run(sum_of((2,)), ones(2).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("name", ["file", "a/b", "x:0", "arr.npy"])
def test_any_name_can_be_a_key(tmp_path: Path, name: str) -> None:
    arrays.save(tmp_path / "x.npz", {name: ones(2)})
    with np.load(tmp_path / "x.npz") as content:
        assert content[name].tolist() == [1, 1]


def test_mutated_files_are_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    graph = sum_of((2, 3))
    np.savez_compressed(path, x0=ones(2, 3))
    good = path.read_bytes()
    rng = random.Random(1)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        path.write_bytes(bad[: rng.randint(len(bad) // 2, len(bad))] if rng.random() < 0.3 else bad)
        with suppress(EdgeKitError):
            arrays.samples(graph, arrays.load(path, graph))

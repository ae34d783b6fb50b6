"""Data in another layout than the model's are refused, with the numpy expression that mends them."""

import re
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.nets import Net

from edgekit import EdgeKitError, Graph, run, save
from edgekit.core.ops.reshape import Reshape

Shape = tuple[int, ...]


def flattens(*shape: int) -> Graph:
    """A model that gives back its input in one row."""
    net = Net()
    return net.done(net(Reshape((int(np.prod(shape)),)), net.x(*shape), name="y"))


def mended(graph: Graph, x: np.ndarray) -> np.ndarray:
    """The data as the hint of the error says."""
    with pytest.raises(EdgeKitError) as caught:
        run(graph, x)
    (expression,) = re.findall(r"save it as (x\S.*?)(?:, resized|$)", caught.value.hint)
    made: np.ndarray = eval(expression, {"x": x})
    return made


def numbered(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("model", "axes", "batch"),
    [
        ((1, 3, 8, 6), (0, 2, 3, 1), 5),  # NHWC for NCHW
        ((1, 3, 8, 6), (0, 2, 3, 1), 1),
        ((1, 8, 6, 3), (0, 3, 1, 2), 5),  # NCHW for NHWC
        ((1, 4, 9), (0, 2, 1), 5),  # sequences
        ((1, 9, 4), (0, 2, 1), 1),
        ((1, 2, 5, 8, 6), (0, 2, 3, 4, 1), 3),  # volumes
        ((8, 6, 3), (0, 3, 1, 2), 5),  # a model without a batch
    ],
)
def test_axes_in_another_order_come_into_the_model_s(model: Shape, axes: Shape, batch: int) -> None:
    one = model[1:] if model[0] == 1 else model
    right = numbered(batch, *one)
    found = mended(flattens(*model), right.transpose(axes))
    assert np.array_equal(found, right)
    assert run(flattens(*model), found)["y"].reshape(-1).tolist() == right.reshape(-1).tolist()


@pytest.mark.parametrize(
    ("model", "given", "mended_shape"),
    [
        ((1, 3, 8, 6), (3, 8, 6), (1, 3, 8, 6)),  # no batch
        ((1, 3, 8, 6), (8, 6, 3), (1, 3, 8, 6)),  # no batch, and NHWC
        ((1, 8, 6, 3), (3, 8, 6), (1, 8, 6, 3)),
        ((1, 10), (10,), (1, 10)),
        ((1, 1, 8, 6), (5, 8, 6), (5, 1, 8, 6)),  # no channels
        ((1, 8, 6, 1), (5, 8, 6), (5, 8, 6, 1)),
        ((1, 1, 8, 6), (8, 6), (1, 1, 8, 6)),
        ((1, 8, 6, 1), (8, 6), (1, 8, 6, 1)),
        ((8, 6), (5, 1, 8, 6), (5, 8, 6)),  # an axis too many
        ((1, 8, 6), (5, 8, 6, 1), (5, 1, 8, 6)),
        ((1, 48), (5, 8, 6), (5, 48)),  # rows of pixels
        ((1, 1, 8, 6), (5, 48), (5, 1, 8, 6)),
        ((4, 3, 8, 6), (4, 8, 6, 3), (4, 3, 8, 6)),  # a batch of four
    ],
)
def test_missing_axes_are_added(model: Shape, given: Shape, mended_shape: Shape) -> None:
    found = mended(flattens(*model), numbered(*given))
    assert found.shape == mended_shape
    run(flattens(*model), found)


def test_the_hint_names_both_layouts() -> None:
    with pytest.raises(EdgeKitError, match="hint: the data are NHWC, the model takes NCHW: save it as"):
        run(flattens(1, 3, 8, 6), numbered(2, 8, 6, 3))
    with pytest.raises(EdgeKitError, match="hint: the batch dimension is missing: save it as x"):
        run(flattens(1, 3, 8, 6), numbered(3, 8, 6))


@pytest.mark.parametrize(
    ("model", "given", "words"),
    [
        ((1, 3, 8, 6), (2, 9, 9, 3), r"x.transpose\(0, 3, 1, 2\), resized to 8x6"),
        ((1, 3, 8, 6), (9, 9, 3), r"x.transpose\(2, 0, 1\)\[None\], resized to 8x6"),
        ((1, 3, 8, 6), (2, 3, 9, 9), "the model takes 8x6: resize the data, or bind another shape"),
        ((1, 3, 8, 6), (7,), r"a sample is \[1, 3, 8, 6\]; one dimension more, in front, counts samples"),
        ((4, 3, 8, 6), (6, 3, 8, 6), "one dimension more, in front, counts samples"),
        ((1, 3, 8, 6), (5, 144), "one dimension more, in front"),  # the order of channels is unknown
    ],
)
def test_data_that_no_expression_mends_get_other_words(model: Shape, given: Shape, words: str) -> None:
    with pytest.raises(EdgeKitError, match=words):
        run(flattens(*model), numbered(*given))


def test_type_and_layout_are_wrong_in_one_error() -> None:
    with pytest.raises(EdgeKitError) as caught:
        run(flattens(1, 3, 8, 6), numbered(2, 8, 6, 3).astype(np.uint8))
    text = str(caught.value)
    assert "input x is u8, the model takes f32[1,3,8,6]" in text
    assert "x.transpose(0, 3, 1, 2)" in text


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--data", "images.npy"),
        ("verify", "--data", "images.npy"),
        ("quantize", "--data", "images.npy"),
        ("diff", "net.ek", "--data", "images.npz"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_takes_data_says_it(
    cli: CommandLine, folder: Path, words: tuple[str, ...]
) -> None:
    save(flattens(1, 3, 8, 6), "net.ek")
    np.save("images.npy", numbered(4, 8, 6, 3))
    np.savez("images.npz", x=numbered(4, 8, 6, 3))
    command, *rest = words
    answer = cli(command, "net.ek", *rest)
    assert answer.code == 2
    assert "error: E0102 input x is [4,8,6,3], the model takes f32[1,3,8,6]" in answer.err
    assert "hint: the data are NHWC, the model takes NCHW: save it as x.transpose(0, 3, 1, 2)" in answer.err

"""Sparse weights of TFLite files are made dense, as LiteRT's DENSIFY does."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Sparsity, Tensor, network
from tflite.litert import litert

from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

TYPES = ("float32", "float16", "int8")
Way = Callable[[Array, str], tuple[Array, Sparsity]]


def rows_of(kept: Array, index: str = "int32") -> tuple[Array, Array]:
    """Segments and indices of what is kept in each row."""
    segments = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return segments.astype(index), np.nonzero(kept)[1].astype(index)


def by_rows(full: Array, index: str) -> tuple[Array, Sparsity]:
    return full[full != 0], Sparsity((0, 1), (), (full.shape[0], rows_of(full != 0, index)))


def by_columns(full: Array, index: str) -> tuple[Array, Sparsity]:
    data, sparsity = by_rows(full.T, index)
    return data, Sparsity((1, 0), (), sparsity.levels)


def by_blocks(full: Array, index: str, height: int = 2, width: int = 4) -> tuple[Array, Sparsity]:
    """Blocks of rows and columns, of which those with anything in them are stored whole."""
    blocks = full.reshape(full.shape[0] // height, height, -1, width).transpose(0, 2, 1, 3)
    kept = (blocks != 0).any(axis=(2, 3))
    levels = (len(blocks), rows_of(kept, index), height, width)
    return blocks[kept].reshape(-1), Sparsity((0, 1, 2, 3), (0, 1), levels)


def full_of(dtype: str, seed: int, shape: tuple[int, ...] = (6, 8)) -> Array:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-99, 100, shape).astype(dtype)
    return numbers * (rng.random(shape) < 0.3)


def content(data: Array, shape: tuple[int, ...], sparsity: Sparsity, **quant: Sequence[float]) -> bytes:
    dtype = str(data.dtype)
    sparse, y = Tensor(shape, dtype, data, sparsity=sparsity, **quant), Tensor(shape, dtype, **quant)
    return network([Operator("DENSIFY", [sparse], [y], "DensifyOptions")], [], [y])


def read(model: bytes, folder: Path) -> Array:
    (folder / "net.tflite").write_bytes(model)
    (found,) = simulate.run(tflite_reader.convert(folder / "net.tflite", name="net"), {}).values()
    return found


@pytest.mark.parametrize("index", ["int32", "uint16", "uint8"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("way", [by_rows, by_columns, by_blocks])
def test_constants_are_those_of_litert(way: Way, dtype: str, index: str, tmp_path: Path) -> None:
    full = full_of(dtype, len(dtype) + len(index))
    data, sparsity = way(full, index)
    model = content(data, full.shape, sparsity)
    (wanted,) = litert(model, [], reference=True)
    assert np.array_equal(wanted, full)
    assert np.array_equal(read(model, tmp_path), wanted)


def test_quantized_constants_are_those_of_litert(tmp_path: Path) -> None:
    data, sparsity = by_rows(full := full_of("int8", 5), "int32")
    model = content(data, full.shape, sparsity, scale=(0.5,), zero=(3,))
    assert np.array_equal(read(model, tmp_path), litert(model, [], reference=True)[0])


FULL = full_of("float32", 7)
ROWS = rows_of(FULL != 0)
LEVELS = {
    "levels for": (FULL.shape[0],),
    "too few segments": (FULL.shape[0], (ROWS[0][:-2], ROWS[1])),
    "out of order": (FULL.shape[0], (ROWS[0][::-1].copy(), ROWS[1])),
    "outside of": (FULL.shape[0], (ROWS[0], ROWS[1] + 8)),
    "lists more numbers": (1 << 30, ROWS),
    "stores": FULL.shape,
}


@pytest.mark.parametrize("words", LEVELS)
def test_damage_is_named(words: str, tmp_path: Path) -> None:
    model = content(FULL[FULL != 0], FULL.shape, Sparsity((0, 1), (), LEVELS[words]))
    with pytest.raises(EdgeKitError, match=words) as caught:
        read(model, tmp_path)
    assert caught.value.code == "E0401"


def test_a_sparse_scalar_is_one_number(tmp_path: Path) -> None:
    scalar = Sparsity((), (), ())
    assert read(content(np.full(1, 3, np.float32), (), scalar), tmp_path) == 3
    with pytest.raises(EdgeKitError, match="stores 2 numbers, and lists 1"):
        read(content(np.full(2, 3, np.float32), (), scalar), tmp_path)


def test_a_block_has_a_dimension(tmp_path: Path) -> None:
    data, sparsity = by_blocks(FULL, "int32")
    with pytest.raises(EdgeKitError, match="a dimension that is not there"):
        read(content(data, FULL.shape, replace(sparsity, blocked=(0, 2))), tmp_path)

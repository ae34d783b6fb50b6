"""Arrays of a file are the elements where it says they lie, or are refused: nothing else is ever read."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.converters import files
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

RAW = bytes(range(1, 49))


@given(
    raw=st.integers(0, len(RAW)).map(lambda size: RAW[:size]),
    dtype=st.sampled_from([DType.U8, DType.S16, DType.F32]),
    dims=st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 6)), max_size=3),
    offset=st.integers(-2, 12),
    with_strides=st.booleans(),
    more=st.integers(0, 1),
    exact=st.booleans(),
)
def test_each_element_is_where_the_file_says(
    raw: bytes,
    dtype: DType,
    dims: list[tuple[int, int]],
    offset: int,
    with_strides: bool,
    more: int,
    exact: bool,
) -> None:
    shape = [n for n, _ in dims]
    dense = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    strides = [step for _, step in dims] if with_strides else dense
    places = [
        offset + dtype.bytes * sum(i * s for i, s in zip(at, strides, strict=True))
        for at in product(*map(range, shape))
    ]
    end = max(places, default=offset - dtype.bytes) + dtype.bytes
    given_strides = [*strides, *[1] * more] if with_strides else None
    fits = offset >= 0 and end <= len(raw) and not (exact and end != len(raw))
    fits = fits and not (with_strides and (more or min(strides, default=0) < 0))
    read = partial(files.array, raw, dtype, shape, "", offset=offset, strides=given_strides, exact=exact)
    if not fits:
        with pytest.raises(EdgeKitError, match="E0401"):
            read()
        return
    found = read()
    expected = [np.frombuffer(raw, dtype.numpy, 1, place)[0] for place in places]
    np.testing.assert_array_equal(found.reshape(-1), np.array(expected, dtype.numpy))
    assert found.shape == tuple(shape)

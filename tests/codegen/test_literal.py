"""Numbers as C text: whatever their type holds, they are what a compiler reads."""

from itertools import pairwise

import numpy as np
import pytest

from edgekit.codegen.printing.literal import elements, lines
from edgekit.core.fixed import int_range
from edgekit.core.types import DType

INTEGERS = (DType.S8, DType.U8, DType.S16, DType.U16, DType.S32, DType.U32, DType.S64, DType.U64)


def read(text: str) -> int:
    """As C has it: no constant is negative, and each has a type that holds it."""
    digits = text.replace("(", "").replace(")", "").replace("- 1", "").strip().lstrip("-")
    magnitude = int(digits.rstrip("uUL"))
    assert magnitude < 2**31 or digits.endswith("LL") or (digits.endswith("u") and magnitude < 2**32)
    assert magnitude < 2**63 or digits.endswith("ULL")
    value = -magnitude if "-" in text.replace("- 1", "") else magnitude
    return value - 1 if "- 1" in text else value


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_are_what_c_reads(dtype: DType) -> None:
    least, most = int_range(dtype)
    numbers = {least, least + 1, most - 1, most, 0, 1, 62, 63, 126, 127}
    numbers |= {-n for n in (1, 62, 63, 126, 127, 128)} if dtype.is_signed else set()
    array = np.array(sorted(numbers), dtype.numpy)
    assert [read(text) for text in elements(array)] == array.tolist()
    # Only the least numbers of 32 and 64 bits need an expression.
    assert sum("(" in text for text in elements(array)) == (dtype in (DType.S32, DType.S64))


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_floats_are_exact_and_have_a_point(dtype: DType) -> None:
    kind = np.finfo(dtype.numpy)
    numbers = [0.0, -0.0, 1.0, -3.0, 0.1, 1e10, 1e-10, 123456789.0, float(kind.max), float(kind.tiny), 1 / 3]
    array = np.array([*numbers, *(-n for n in numbers)], dtype.numpy)
    for text, value in zip(elements(array), array, strict=True):
        plain = text.removesuffix("f")
        assert ("f" in text) == (dtype is DType.F32)
        assert "." in plain
        assert dtype.numpy.type(plain).tobytes() == value.tobytes()


@pytest.mark.parametrize("room", [1, 5, 6, 7, 20, 110])
def test_lines_hold_as_many_items_as_fit(room: int) -> None:
    items = [f"{-(7**k)}" for k in range(12)] * 3
    found = list(lines(iter(items), indent="  ", width=room + 4))
    assert " ".join(found).replace(",", "").split() == items
    assert all(line.startswith("  ") and line.endswith(",") for line in found)
    bodies = [line[2:-1] for line in found]
    assert all(len(body) <= room or ", " not in body for body in bodies)
    assert all(len(f"{one}, {next_.split(',')[0]}") > room for one, next_ in pairwise(bodies))
    assert list(lines(iter(()))) == []

"""Loops that loaders run make what layouts mean."""

import numpy as np
import pytest
from support.op_cases import normal

from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.codegen.kernels.pack import pack
from edgekit.codegen.kernels.pack_loops import gathered, nests
from edgekit.core.types import DType

SHAPES = {
    "O": [(8,), (13,), (1,)],
    "OI": [(16, 12), (21, 7), (5, 1)],
    "OHWI": [(16, 3, 3, 8), (21, 2, 3, 5), (3, 1, 1, 1)],
}
MOVING = {
    "O/8! o8": "O",
    "O I": "OI",
    "O/16 I o16": "OI",
    "O/8! I o8": "OI",
    "O/8! I/4! o8 i4": "OI",
    "O/8!4 I/2! o8 i2": "OI",
    "H W O I": "OHWI",
    "O/8! H W I o8": "OHWI",
    "O/8! H WI/4! o8 wi4": "OHWI",
    "O/8! I/2! H W o8 i2": "OHWI",
    "G O/16 H W I o16": "OHWI",
}
MORE = ("O/16! I o16(zip8) : +8 u4", "light O/8! I/4! o8 i4", "blocks O/8! I/2! o8 i2", "same! 4", "O/8~ o8")


@pytest.mark.parametrize("tag", MOVING)
def test_loops_read_what_is_packed(tag: str) -> None:
    for shape in SHAPES[MOVING[tag]]:
        weights = np.asarray(normal(DType.F32, *shape))
        found = nests(tag, shape, 1)
        assert found, shape
        assert np.array_equal(gathered(found, weights), pack(tag, weights)), shape


@pytest.mark.parametrize(("outputs", "groups"), [(32, 2), (12, 4), (42, 2)])
def test_groups_are_packed_one_by_one(outputs: int, groups: int) -> None:
    tag, weights = "G O/16 H W I o16", np.asarray(normal(DType.F32, outputs, 3, 3, 2))
    found = nests(tag, weights.shape, groups)
    assert np.array_equal(gathered(found, weights), pack(tag, weights, groups))


@pytest.mark.parametrize("tag", MORE)
def test_layouts_that_do_more_than_move_have_none(tag: str) -> None:
    assert nests(tag, (16, 16), 1) == ()


def test_many_unlike_pieces_are_no_loops() -> None:
    assert nests("G O/16 H W I o16", (180, 3, 3, 2), 9) == ()


def test_layouts_of_webassembly_are_loops_but_for_those_known_here() -> None:
    """Else each module would have its own weights in the file."""
    kernels = [kernel for kernel in all_variants() if kernel.isa in ("relaxed", "wasm", "ref")]
    tags = {tag for kernel in kernels for tag in kernel.pack.values()}
    shapes = {1: (16,), 2: (16, 16), 4: (16, 4, 4, 16)}
    rest = {
        tag for tag in tags if not any(nests(tag, shape, 1) for shape in shapes.values() if fits(tag, shape))
    }
    assert {tag.partition(" ")[0] for tag in rest} <= {
        "blocks",
        "light",
        "same!",
        "O/16!",
        "O/{block}!{last}",
    }


def fits(tag: str, shape: tuple[int, ...]) -> bool:
    dims = sum(len(word.partition("/")[0]) for word in tag.split() if word[0].isupper() and word[0] != "G")
    return dims == len(shape)

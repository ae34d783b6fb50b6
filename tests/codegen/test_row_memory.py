"""What lies in the free ends of rings while a loop over rows runs."""

from edgekit.codegen.lowering.row_memory import NewestRows, PassingBytes, passing_bytes
from edgekit.codegen.memory.arena import ArenaBuffer, InplaceShift, plan

FIRST, SECOND = NewestRows("first", 100, 0, 1), NewestRows("second", 60, 2, 3)


def test_scratch_memory_lies_where_rows_are_missing() -> None:
    assert passing_bytes([PassingBytes(60, 0, 0)], [FIRST, SECOND], 4) == 0
    assert passing_bytes([PassingBytes(100, 3, 3)], [FIRST, SECOND], 4) == 0


def test_what_meets_the_rows_of_all_rings_takes_memory_of_its_own() -> None:
    assert passing_bytes([PassingBytes(60, 1, 2)], [FIRST, SECOND], 4) == 60


def test_two_at_once_share_no_rows() -> None:
    items = [PassingBytes(50, 0, 1), PassingBytes(40, 1, 1)]
    assert passing_bytes(items, [FIRST, SECOND], 4) == 40


def test_what_is_larger_reaches_beyond_the_topmost_ring() -> None:
    assert passing_bytes([PassingBytes(150, 2, 2)], [FIRST, SECOND], 4) == 50
    assert passing_bytes([PassingBytes(150, 2, 2), PassingBytes(80, 1, 1)], [FIRST, SECOND], 4) == 80


def test_a_result_grows_over_what_its_layer_reads() -> None:
    read = PassingBytes(60, 1, 2, "second", 8)
    assert passing_bytes([read], [FIRST, SECOND], 4) == 8
    assert passing_bytes([PassingBytes(60, 1, 2, "other", 8)], [FIRST, SECOND], 4) == 60


def test_a_plan_of_the_arena_has_the_same_bytes() -> None:
    """Two rings, of which 40 and 20 bytes stay, and what is read into the second one."""
    rings = [
        ArenaBuffer("first", 140, 0, 3, 4, ((2, 40),)),
        ArenaBuffer("second", 80, 0, 3, 4, ((0, 20), (2, 80))),
    ]
    read = ArenaBuffer("read", 60, 1, 2, 4)
    shifts = [InplaceShift("second", "read", 20 + 8, is_loop=True)]
    alone, grown = plan([*rings, read]), plan([*rings, read], shifts=shifts)
    assert (alone.size, grown.size) == (280, 228)
    assert grown.offsets["read"] >= grown.offsets["second"] + 28

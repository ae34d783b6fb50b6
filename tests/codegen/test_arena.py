"""The memory planner: its layouts are legal, its bounds are true, and small ones are as small as can be."""

from dataclasses import replace
from itertools import combinations, permutations, product
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.codegen.memory import arena, arena_fit, arena_search
from edgekit.codegen.memory.arena import BUDGET, ArenaBuffer, ArenaPlan, InplaceShift, crowded, plan
from edgekit.codegen.memory.arena_problem import ArenaProblem
from edgekit.codegen.memory.arena_stacks import assigned


def buffers_of(
    most: int, steps: int = 8, largest: int = 70, aligns: tuple[int, ...] = (1, 4, 16)
) -> st.SearchStrategy[list[ArenaBuffer]]:
    """Some use another part of their bytes from step to step."""
    row = st.tuples(
        st.integers(1, largest),
        st.integers(0, steps),
        st.integers(0, steps),
        st.sampled_from(aligns),
        st.dictionaries(st.integers(0, steps), st.integers(1, largest), max_size=2),
    )
    return st.lists(row, max_size=most).map(
        lambda rows: [
            ArenaBuffer(f"b{i}", size, min(a, b), max(a, b), align, changes(uses, min(a, b), max(a, b), size))
            for i, (size, a, b, align, uses) in enumerate(rows)
        ]
    )


def changes(uses: dict[int, int], first: int, last: int, size: int) -> tuple[tuple[int, int], ...]:
    return tuple((step, min(uses[step], size)) for step in sorted(uses) if first <= step <= last)


def used(buffer: ArenaBuffer, step: int) -> int:
    """Bytes in use at a step."""
    if not buffer.first <= step <= buffer.last:
        return 0
    return [buffer.size, *(size for start, size in buffer.uses if start <= step)][-1]


@st.composite
def shifted(draw: st.DrawFn, most: int) -> tuple[list[ArenaBuffer], list[InplaceShift]]:
    """Buffers, and leave for some outputs to lie over inputs that are used for the last time."""
    buffers = draw(buffers_of(most, steps=4))
    pairs = [
        (output.name, source.name)
        for output, source in product(buffers, buffers)
        if output.first == source.last and source.first < source.last
    ]
    if not pairs:
        return buffers, []
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
    return buffers, [InplaceShift(output, source, draw(st.integers(0, 60))) for output, source in chosen]


def shared_steps(a: ArenaBuffer, b: ArenaBuffer) -> range:
    return range(max(a.first, b.first), min(a.last, b.last) + 1)


def least_gap(lower: ArenaBuffer, upper: ArenaBuffer) -> int:
    """From the start of one to that of another above it."""
    return max((used(lower, step) for step in shared_steps(lower, upper)), default=0)


def legal(offsets: dict[str, int], buffers: list[ArenaBuffer], shifts: list[InplaceShift]) -> bool:
    leave = {(shift.output, shift.input): shift.distance for shift in shifts}

    def lies_under(lower: ArenaBuffer, upper: ArenaBuffer) -> bool:
        return offsets[lower.name] + lower.size <= offsets[upper.name]

    def may_follow(lower: ArenaBuffer, upper: ArenaBuffer, step: int) -> bool:
        gap, size = offsets[upper.name] - offsets[lower.name], used(lower, step)
        return gap >= min(size, leave.get((lower.name, upper.name), size))

    return all(offsets[b.name] >= 0 and offsets[b.name] % b.align == 0 for b in buffers) and all(
        may_follow(a, b, step) or may_follow(b, a, step)
        for a, b in combinations(buffers, 2)
        if a.first <= b.last and b.first <= a.last and not (lies_under(a, b) or lies_under(b, a))
        for step in shared_steps(a, b)
    )


def check(result: ArenaPlan, buffers: list[ArenaBuffer], shifts: list[InplaceShift]) -> None:
    assert result.offsets.keys() == {b.name for b in buffers}
    assert legal(result.offsets, buffers, shifts)
    assert result.size == max((result.offsets[b.name] + b.size for b in buffers), default=0)
    assert result.lower_bound <= result.size
    assert result.optimal == (result.lower_bound == result.size)


def first_fit(buffers: list[ArenaBuffer]) -> int:
    offsets: dict[str, int] = {}
    for k, buffer in enumerate(buffers):
        ends = [offsets[b.name] + least_gap(b, buffer) for b in buffers[:k] if shared_steps(b, buffer)]
        starts = sorted(-(-end // buffer.align) * buffer.align for end in [0, *ends])
        offsets[buffer.name] = next(
            at for at in starts if legal({**offsets, buffer.name: at}, [*buffers[:k], buffer], shifts=[])
        )
    return max((offsets[b.name] + b.size for b in buffers), default=0)


def smallest_stack(buffers: list[ArenaBuffer]) -> int:
    """The smallest arena: in some order, each buffer lies on those before it."""
    gaps = {(a.name, b.name): least_gap(a, b) for a, b in permutations(buffers, 2)}
    best = sum(b.size + b.align for b in buffers)
    for order in permutations(buffers):
        offsets: dict[str, int] = {}
        for k, b in enumerate(order):
            top = max((offsets[a.name] + gaps[a.name, b.name] for a in order[:k]), default=0)
            offsets[b.name] = -(-top // b.align) * b.align
        best = min(best, max((offsets[b.name] + b.size for b in buffers), default=0))
    return best


def smallest_of_all(buffers: list[ArenaBuffer], shifts: list[InplaceShift], below: int) -> int:
    """The smallest arena of all that there are, up to a size that is known to do."""
    names = [b.name for b in buffers]
    choices = [range(0, below - b.size + 1, b.align) for b in buffers]
    return min(
        max(at + b.size for at, b in zip(offsets, buffers, strict=True))
        for offsets in product(*choices)
        if legal(dict(zip(names, offsets, strict=True)), buffers, shifts)
    )


@given(buffers_of(12, largest=5000))
def test_live_buffers_lie_apart_and_aligned(buffers: list[ArenaBuffer]) -> None:
    check(plan(buffers, budget=2000), buffers, [])


@given(shifted(10))
def test_shifted_outputs_keep_their_distance(case: tuple[list[ArenaBuffer], list[InplaceShift]]) -> None:
    buffers, shifts = case
    check(plan(buffers, shifts=shifts, budget=2000), buffers, shifts)


@given(buffers_of(12))
def test_a_plan_is_never_larger_than_first_fit(buffers: list[ArenaBuffer]) -> None:
    size = plan(buffers, budget=0).size
    by_birth = sorted(buffers, key=lambda b: b.first)
    assert size <= first_fit(by_birth)
    assert size <= first_fit(sorted(by_birth, key=lambda b: -b.size))


@given(buffers_of(6, steps=5))
def test_small_plans_are_optimal_and_known_to_be(buffers: list[ArenaBuffer]) -> None:
    result = plan(buffers)
    assert result.optimal
    assert result.size == smallest_stack(buffers)


@pytest.mark.parametrize("seed", range(8))
def test_plans_of_seven_buffers_are_optimal(seed: int) -> None:
    random = Random(seed)
    starts = [random.randrange(6) for _ in range(7)]
    buffers = [
        ArenaBuffer(
            f"b{i}", random.randint(1, 999), start, start + random.randrange(5), random.choice((1, 8, 16))
        )
        for i, start in enumerate(starts)
    ]
    result = plan(buffers)
    assert result.optimal
    assert result.size == smallest_stack(buffers)


@given(shifted(4))
def test_small_shifted_plans_are_optimal_and_known_to_be(
    case: tuple[list[ArenaBuffer], list[InplaceShift]],
) -> None:
    buffers, shifts = case
    small = [
        ArenaBuffer(
            b.name,
            -(-b.size // 6),
            b.first,
            b.last,
            min(b.align, 4),
            tuple((step, -(-size // 6)) for step, size in b.uses),
        )
        for b in buffers
    ]
    close = [InplaceShift(s.output, s.input, s.distance // 6) for s in shifts]
    result = plan(small, shifts=close)
    check(result, small, close)
    assert result.optimal
    assert not small or result.size == smallest_of_all(small, close, below=result.size)


def test_an_output_over_its_input_takes_only_the_distance() -> None:
    buffers = [ArenaBuffer("x", 100, 0, 1, 1), ArenaBuffer("y", 80, 1, 2, 1)]
    assert plan(buffers).size == 180
    assert plan(buffers, shifts=[InplaceShift("y", "x", 12)]) == ArenaPlan({"x": 12, "y": 0}, 112, 112)


def test_an_output_hides_a_small_input() -> None:
    buffers = [ArenaBuffer("x", 20, 0, 1, 1), ArenaBuffer("y", 80, 1, 2, 1)]
    assert plan(buffers, shifts=[InplaceShift("y", "x", 12)], budget=0) == ArenaPlan(
        {"x": 12, "y": 0}, 80, 80
    )


def test_what_a_buffer_does_not_use_any_more_is_free() -> None:
    x = ArenaBuffer("x", 100, 0, 2, 1, uses=((2, 30),))
    assert plan([x, ArenaBuffer("y", 70, 2, 3, 1)]) == ArenaPlan({"x": 0, "y": 30}, 100, 100)
    assert plan([x, ArenaBuffer("y", 70, 1, 3, 1)]) == ArenaPlan({"x": 0, "y": 100}, 170, 170)


def test_what_a_buffer_does_not_use_yet_is_free() -> None:
    x = ArenaBuffer("x", 100, 0, 2, 1, uses=((0, 30), (2, 100)))
    assert plan([x, ArenaBuffer("y", 70, 0, 1, 1)]) == ArenaPlan({"x": 0, "y": 30}, 100, 100)


def test_alignment_counts_towards_the_bound() -> None:
    three = [ArenaBuffer(name, 20, 0, 0, align=16) for name in "abc"]
    assert plan(three) == ArenaPlan({"a": 0, "b": 32, "c": 64}, 84, 84)


def test_parts_that_do_not_meet_share_the_arena() -> None:
    result = plan([ArenaBuffer("a", 64, 0, 1), ArenaBuffer("b", 32, 2, 3), ArenaBuffer("c", 48, 2, 2)])
    assert (result.size, result.optimal) == (80, True)


def test_a_model_without_buffers_needs_no_arena() -> None:
    assert plan([]) == ArenaPlan({}, 0, 0)


def many(count: int, longest: int, seed: int = 7, shrinking: bool = False) -> list[ArenaBuffer]:
    random = Random(seed)
    starts = [random.randrange(count) for _ in range(count)]
    buffers = [
        ArenaBuffer(f"b{i}", random.randint(1, 9999), start, start + random.randint(0, longest))
        for i, start in enumerate(starts)
    ]
    if not shrinking:
        return buffers
    halves = [((b.first + 1, -(-b.size // 2)),) if b.first < b.last else () for b in buffers]
    return [replace(b, uses=uses) for b, uses in zip(buffers, halves, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_what_swaps_lead_to_is_legal(seed: int) -> None:
    buffers = many(60, 20, seed, shrinking=seed % 2 == 0)
    inputs = {b.last: b.name for b in buffers if b.first < b.last}
    shifts = [InplaceShift(b.name, inputs[b.first], 100 * seed) for b in buffers if b.first in inputs]
    result = plan(buffers, shifts=shifts, budget=100_000)
    check(result, buffers, shifts)
    assert result.size <= plan(buffers, shifts=shifts, budget=0).size


def test_a_plan_as_small_as_can_be_is_not_searched_any_further() -> None:
    buffers = [
        ArenaBuffer("a", 64, 0, 2),
        ArenaBuffer("b", 32, 1, 3),
        ArenaBuffer("c", 48, 2, 4),
        ArenaBuffer("d", 9, 5, 5),
    ]
    result = plan(buffers)
    assert result.optimal
    assert result.compared == plan(buffers, budget=0).compared


def chain(links: int) -> tuple[list[ArenaBuffer], list[InplaceShift]]:
    """Results of one size, each of which may start 40 bytes before the one that it is made of, and beside all
    of them a byte that lives throughout."""
    layers = [ArenaBuffer(f"b{i}", 100, i, i + 1, 1) for i in range(links)]
    shifts = [InplaceShift(f"b{i + 1}", f"b{i}", 40) for i in range(links - 1)]
    return [*layers, ArenaBuffer("state", 1, 0, links, 1)], shifts


@pytest.mark.parametrize("links", [4, 60])
def test_a_few_steps_in_a_row_prove_what_a_long_plan_needs(links: int) -> None:
    """Two results fit into 141 bytes. The last of four would start 120 bytes before the first, and 201 are
    enough for two that do not overlap. Branch and bound over all buffers ends for few of them only."""
    buffers, shifts = chain(links)
    result = plan(buffers, shifts=shifts)
    check(result, buffers, shifts)
    assert crowded(buffers, shifts) == 141
    assert result.size == result.lower_bound == 201


def test_no_search_goes_on_beyond_a_limit() -> None:
    buffers, shifts = chain(12)
    whole, stopped = plan(buffers, shifts=shifts), plan(buffers, shifts=shifts, limit=150)
    check(stopped, buffers, shifts)
    assert stopped.size >= stopped.lower_bound > 150
    assert stopped.compared <= whole.compared


def test_the_lowest_gap_is_tried_beside_the_tightest() -> None:
    """First fit is optimal here, and best fit is not; the budget is gone before other orders are tried."""
    rows = (
        (4, 1, 1),
        (3, 1, 1),
        (4, 1, 4),
        (4, 4, 6),
        (6, 1, 1),
        (5, 12, 14),
        (3, 1, 4),
        (9, 14, 14),
        (7, 6, 12),
    )
    assert plan([ArenaBuffer(f"b{i}", *row, 1) for i, row in enumerate(rows)], budget=0).optimal


def test_the_same_buffers_get_the_same_plan() -> None:
    buffers = many(120, 30)
    assert plan(buffers, budget=300_000) == plan(list(buffers), budget=300_000)


def test_searching_pays() -> None:
    buffers = many(120, 30)
    assert plan(buffers).size < plan(buffers, budget=0).size < first_fit(buffers)


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("longest", [10, 300])
def test_a_thousand_buffers_take_what_the_budget_says(
    longest: int, shrinking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About a second: it is counted, for a clock would count what else the machine does."""
    buffers = many(1000, longest, shrinking=shrinking)
    compared = 0
    fit = arena_fit.fit

    def counted(problem: ArenaProblem, i: int, placed: list[int], *rest: Any) -> int:
        nonlocal compared
        compared += len(placed)
        return fit(problem, i, placed, *rest)

    for module in (arena_fit, arena_search):
        monkeypatch.setattr(module, "fit", counted)
    check(plan(buffers), buffers, [])
    assert len(buffers) < compared < BUDGET * 1.1


@pytest.mark.parametrize(
    ("buffers", "shifts", "complaint"),
    [
        ([ArenaBuffer("a", 1, 0, 0), ArenaBuffer("a", 1, 1, 1)], [], "same name"),
        (
            [ArenaBuffer("a", 1, 0, 2), ArenaBuffer("b", 1, 1, 3)],
            [InplaceShift("b", "a")],
            "not its last use",
        ),
        (
            [ArenaBuffer("a", 1, 0, 1), ArenaBuffer("b", 1, 1, 3)],
            [InplaceShift("b", "a", -1)],
            "negative distance",
        ),
        (
            [ArenaBuffer("a", 1, 0, 1), ArenaBuffer("b", 1, 1, 1), ArenaBuffer("c", 1, 1, 1)],
            [InplaceShift("b", "a"), InplaceShift("c", "b")],
            "input and output of one step",
        ),
    ],
)
def test_contradictions_are_found(
    buffers: list[ArenaBuffer], shifts: list[InplaceShift], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        plan(buffers, shifts=shifts)


@settings(max_examples=50)
@given(buffers_of(14))
def test_a_sweep_keeps_buffers_apart(buffers: list[ArenaBuffer]) -> None:
    best = plan(buffers, budget=2000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "MAX_PAIRS", 0)
        result = plan(buffers)
    check(result, buffers, [])
    assert result.lower_bound <= best.size
    assert result.size >= best.lower_bound


@settings(max_examples=50)
@given(buffers_of(10), st.randoms(use_true_random=False))
def test_the_bound_of_sums_knows_what_may_overlap(buffers: list[ArenaBuffer], random: Random) -> None:
    pairs = [
        (o, i) for o in buffers for i in buffers if o is not i and o.first == i.last and i.first < i.last
    ]
    shifts = [
        InplaceShift(o.name, i.name, random.choice([0, 5, 40]))
        for o, i in random.sample(pairs, len(pairs) // 2)
    ]
    size = plan(buffers, shifts=shifts, budget=2000).size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arena, "MAX_PAIRS", 0)
        assert crowded(buffers, shifts) <= size


def test_a_sweep_fills_gaps() -> None:
    nested = [ArenaBuffer(f"b{i}", 100, i, 2000 - i) for i in range(1000)]
    result = plan(nested)
    assert result.size == 999 * 112 + 100
    assert result.lower_bound == 1000 * 112 - 12
    chain = [ArenaBuffer(f"c{i}", 16 * (1 + i % 3), i, i + 1) for i in range(3000)]
    beside = [ArenaBuffer(f"d{i}", 16, 0, 3000) for i in range(700)]
    assert plan([*chain, *beside]).size <= 16 * (700 + 7)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_takes_as_long_whichever_part_comes_first(seed: int) -> None:
    """The part that needs more memory is searched first: what fits below it needs no search."""

    def part(begin: int, largest: int) -> list[ArenaBuffer]:
        random = Random(seed)
        steps = [sorted((random.randrange(12), random.randrange(12))) for _ in range(30)]
        return [
            ArenaBuffer(f"b{begin + i}", random.randrange(1, largest), begin + first, begin + last, 1)
            for i, (first, last) in enumerate(steps)
        ]

    plans = [plan(part(0, one) + part(100, other)) for one, other in ((50, 90), (90, 50))]
    assert plans[0].compared == plans[1].compared
    assert plans[0].size == plans[1].size


@pytest.mark.parametrize("seed", range(20))
def test_an_assignment_takes_the_least_sum(seed: int) -> None:
    random = Random(seed)
    costs = [[random.randrange(30) for _ in range(1 + seed % 6)] for _ in range(1 + seed % 6)]
    sums = [
        sum(row[j] for row, j in zip(costs, order, strict=True)) for order in permutations(range(len(costs)))
    ]
    assert assigned(costs) == min(sums)


def test_rings_that_are_full_at_different_steps_need_more_than_any_step() -> None:
    """Each has 30 bytes at one step and 20 at the others, so that any two of them lie 30 bytes apart."""
    rings = [ArenaBuffer(name, 30, 0, 3, 1, uses=ring) for name, ring in zip("abc", RINGS, strict=True)]
    result = plan(rings, budget=2_000)
    check(result, rings, [])
    assert crowded(rings) == 70
    assert result.size == result.lower_bound == 90


RINGS = (((1, 20),), ((0, 20), (1, 30), (2, 20)), ((0, 20), (2, 30), (3, 20)))


def test_layouts_are_proven_in_few_comparisons() -> None:
    """As keyword spotting has them on a processor with caches: an image and its columns in each layer."""
    layers = [ArenaBuffer(f"y{i}", 8000 - 700 * (i % 4), i, i + 1, 64) for i in range(12)]
    scratch = [ArenaBuffer(f"s{i}", 16064 - 1300 * (i % 3), i, i, 64) for i in range(12)]
    result = plan([*layers, *scratch])
    check(result, [*layers, *scratch], [])
    assert result.optimal
    assert result.compared < 20_000

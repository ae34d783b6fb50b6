"""What tuning tries, decides and remembers; without a model, a compiler or a process."""

import json
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from edgekit.core import target as targets
from edgekit.core.attributes import admits
from edgekit.core.errors import EdgeKitError
from edgekit.quantize.settings import LEAST_SQNR
from edgekit.tuning.budget import Budget, binding, dominates, interval, is_worse
from edgekit.tuning.journal import Journal
from edgekit.tuning.output import Limits, board, claimed
from edgekit.tuning.problem import WHOLE, Fault, LargestLayer, Outcome, Point, Result
from edgekit.tuning.search import GENERATION, TuningSearch

SENSITIVITY = {"first": 9.0, "second": 4.0, "third": 0.5, "last": -0.1}
MACS = 100_000
_WIDTH = {"int4": 0.5, "int8": 1.0, "int16": 1.0, "bf16": 2.0, "f32": 4.0}


def outcome(point: Point) -> Outcome:
    """A model of which everything is known: fewer numbers are worse, each layer by its sensitivity."""
    if point.left < 5:
        return Fault("E0605", "this cannot be reached by pruning", "")
    levels = dict(point.better)
    gained = sum(SENSITIVITY[name] for name in levels)
    sqnr = {"int4": 15.0, "int8": 30.0, "bf16": 60.0, "f32": 150.0}[point.base]
    sqnr += gained - (WHOLE - point.left) * 0.25
    weights = sum(_WIDTH[levels.get(name, point.base)] for name in SENSITIVITY) * 10_000
    flash = round(8_000 + weights * point.left / WHOLE) - 1_000 * (point.optimize == "size")
    ram = round(4_000 * _WIDTH[point.base] + 500 * len(levels))
    instructions = round(1e6 * (1 + 0.5 * len(levels)) * point.left / WHOLE) + 50_000 * (
        point.optimize == "size"
    )
    accuracy = min(1.0, 0.5 + sqnr / 50)
    slowest = LargestLayer("second", instructions // 2)
    return Result(
        accuracy,
        sqnr,
        flash,
        ram,
        instructions,
        0.02,
        MACS * point.left // WHOLE,
        LargestLayer("first", flash // 2),
        None,
        slowest,
    )


def searched(budget: Budget, trials: int, seed: int = 0) -> TuningSearch:
    search = TuningSearch(replace(budget, accuracy=1.0), seed, SENSITIVITY, MACS)
    while points := search.next(trials):
        for point in points:
            search.add(point, outcome(point))
    return search


def results(points: Sequence[Point]) -> list[Result]:
    found = [outcome(point) for point in points]
    return [one for one in found if isinstance(one, Result)]


def test_what_fits_is_found_and_is_the_best_of_what_was_tried() -> None:
    budget = Budget(flash=30_000, instructions=700_000, min_sqnr=15.0)
    search = searched(budget, 40)
    assert search.best is not None
    best = search.results[search.best]
    assert best.flash <= 30_000
    assert best.instructions is not None
    assert best.instructions <= 700_000
    fits = [found for found in search.results.values() if not budget.excess(found)]
    assert best.accuracy == max(found.accuracy or 0 for found in fits)
    # An exhaustive search over the shares of pruning alone knows nothing better.
    plain = [one for one in results([Point(left=n) for n in range(5, 101)]) if not budget.excess(one)]
    assert best.sqnr_db >= min(max(one.sqnr_db for one in plain) - 1.0, LEAST_SQNR)


def test_where_accuracy_is_the_limit_the_fastest_that_keeps_it_is_taken() -> None:
    search = searched(Budget(max_drop=0.0), 40)
    assert search.best is not None
    best = search.results[search.best]
    assert best.accuracy == 1.0
    assert best.instructions == min(
        found.instructions or 0 for found in search.results.values() if found.accuracy == 1.0
    )


def test_one_sample_of_64_does_not_decide() -> None:
    """All answers right and 20 dB against one answer lost and 35 dB: chance, so signal to noise decides, or
    where accuracy is the limit, time. Ten lost answers are no chance."""
    (some,) = results([Point()])
    exact = replace(some, accuracy=1.0, judged=64, sqnr_db=20.0)
    better = replace(some, accuracy=63 / 64, judged=64, lost=1, sqnr_db=35.0, flash=some.flash + 1)
    worse = replace(some, accuracy=54 / 64, judged=64, lost=10, sqnr_db=60.0, instructions=1)
    search = TuningSearch(Budget(accuracy=1.0), 0, {}, MACS)
    for point, found in ((Point(), exact), (Point(left=75), better), (Point(left=50), worse)):
        search.add(point, found)
    assert search.best == Point(left=75)


@pytest.mark.parametrize(
    ("accuracy", "sqnr_db", "is_taken"),
    [
        (1.0, 39.9, True),
        (1.0, 26.0, True),  # nobody sees it
        (1.0, 24.0, False),  # less than quantize aims at
        (0.98, 39.9, False),
        (None, 39.9, True),  # without classes signal to noise is all that is known
        (None, 38.0, False),
    ],
)
def test_of_equal_accuracy_the_cheaper_wins(accuracy: float | None, sqnr_db: float, is_taken: bool) -> None:
    (some,) = results([Point()])
    best = replace(some, accuracy=None if accuracy is None else 1.0, sqnr_db=40.0, judged=64)
    cheaper = replace(best, accuracy=accuracy, sqnr_db=sqnr_db, flash=best.flash - 1_811)
    search = TuningSearch(Budget(accuracy=1.0), 0, {}, MACS)
    search.add(Point(better=(("first", "f32"),)), best)
    search.add(Point(), cheaper)
    assert (search.best == Point()) == is_taken


def test_twins_are_one_variant_and_not_tried_again() -> None:
    """50 % leaves 43 %, and so would each share from 43 % on."""
    (some,) = results([Point(left=50)])
    search = TuningSearch(Budget(accuracy=1.0), 0, {}, MACS)
    search.add(Point(left=50), replace(some, macs=43 * MACS // 100, digest="a"))
    assert search.share(Point(left=50)) == 0.43
    assert [search._is_known(Point(left=left)) for left in (51, 50, 49, 43, 42)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert not search._is_known(Point(left=45, base="bf16"))
    search.add(Point(left=50, base="int4"), replace(some, digest="a"))
    search.add(Point(left=50, optimize="size"), replace(some, digest="b"))
    assert list(search.results) == [Point(left=50), Point(left=50, optimize="size")]
    assert search.tried == 2
    assert len(search.next(3)) == 1


@pytest.mark.parametrize(
    ("drop", "lost", "sqnr_db", "left"),
    [
        (0.10, 1, 12.0, 75),  # certain: 1.6 % and 4.2 % more by chance
        (0.05, 1, 12.0, 100),  # neither is certain, so 25 dB count
        (0.05, 1, 26.0, 75),  # and where both have them, time
        (0.02, 2, 26.0, 100),  # beyond the limit
    ],
)
def test_a_limit_of_accuracy_is_kept_for_certain(drop: float, lost: int, sqnr_db: float, left: int) -> None:
    (some,) = results([Point()])
    assert some.instructions
    search = TuningSearch(Budget(accuracy=1.0, max_drop=drop), 0, {}, MACS)
    search.add(Point(), replace(some, accuracy=1.0, judged=64, lost=2, won=2, sqnr_db=30.0))
    faster = replace(some, accuracy=1 - lost / 64, judged=64, lost=lost, sqnr_db=sqnr_db)
    search.add(Point(left=75), replace(faster, instructions=some.instructions // 2))
    assert search.best == Point(left=left)


def test_an_interval_has_the_change_in_it_19_of_20_times() -> None:
    """Drawn: a variant loses 4 % of the answers and wins 2 %, on 400 samples."""
    random = np.random.default_rng(0)
    (some,) = results([Point()])
    held = 0
    for _ in range(2_000):
        lost, won, _ = random.multinomial(400, [0.04, 0.02, 0.94])
        found = replace(some, lost=int(lost), won=int(won), judged=400)
        held += abs((won - lost) / 400 + 0.02) <= interval(found)
    assert 0.94 < held / 2_000 < 0.97


def test_accuracies_without_counts_are_exact() -> None:
    (some,) = results([Point()])
    assert interval(some) == 0
    assert is_worse(replace(some, accuracy=0.99), replace(some, accuracy=1.0))
    assert not is_worse(some, some)


def test_the_front_is_beaten_by_nothing_and_beats_the_rest() -> None:
    search = searched(Budget(), 30)
    everything, front = search.results, [search.results[point] for point in search.front]
    assert len(front) > 4
    for point, found in everything.items():
        assert any(dominates(one, found) for one in front) == (point not in search.front)


@pytest.mark.parametrize("trials", [1, 3, 8, 25])
def test_no_more_is_tried_than_asked_and_nothing_twice(trials: int) -> None:
    search = TuningSearch(Budget(accuracy=1.0), 1, SENSITIVITY, MACS)
    tried: list[Point] = []
    while points := search.next(trials):
        assert len(points) <= GENERATION
        tried += points
        for point in points:
            search.add(point, outcome(point))
    assert len(tried) == len(set(tried)) == trials


def test_a_seed_decides_what_is_tried_whatever_comes_in_first() -> None:
    first = searched(Budget(flash=30_000), 40)
    assert list(first.found) == list(searched(Budget(flash=30_000), 40).found)
    assert list(first.found) != list(searched(Budget(flash=30_000), 40, seed=1).found)


def test_the_most_sensitive_layer_gets_the_better_format_first() -> None:
    search = searched(Budget(min_sqnr=35.0, flash=60_000), 20)
    raised = [point for point in search.found if len(point.better) == 1]
    assert raised
    assert all(point.better[0][0] == "first" for point in raised if point.base == "int8")


def test_what_cannot_be_reached_names_what_binds() -> None:
    search = searched(Budget(flash=2_000, min_sqnr=20.0), 30)
    assert search.best is None
    assert search.closest is not None
    found = search.results[search.closest]
    missed = search.budget.excess(found)
    assert "flash" in missed
    assert search.budget.distance(found) == min(map(search.budget.distance, search.results.values()))
    assert binding(found, "flash", SENSITIVITY) == found.largest
    assert binding(found, "instructions", SENSITIVITY) == found.slowest
    assert binding(found, "accuracy", SENSITIVITY) == "first"


def test_unknown_instructions_do_not_keep_a_limit() -> None:
    (known,) = results([Point()])
    assert Budget(instructions=10**9).excess(replace(known, instructions=None)) == {"instructions": 1.0}
    assert not Budget(instructions=10**9).excess(known)


POINTS = [Point(), Point(50, "int8", (("first", "int16"), ("last", "bf16")), "size"), Point(left=4)]


def test_a_journal_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "this")
    for point in POINTS:
        journal.add(point, outcome(point))
    assert Journal(path, "this").known == {point: outcome(point) for point in POINTS}
    assert Journal(path, "another").known == {}


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_line_that_was_cut_short_costs_that_line_alone(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path, "this")
    for point in POINTS[:2]:
        journal.add(point, outcome(point))
    path.write_bytes(path.read_bytes()[:-cut])
    again = Journal(path, "this")
    assert POINTS[0] in again.known
    again.add(POINTS[2], outcome(POINTS[2]))
    final = Journal(path, "this").known
    assert {POINTS[0], POINTS[2]} <= final.keys()


@pytest.mark.parametrize(
    "line", ["{}", "[1]", "nonsense", '{"problem": "this", "point": {"left": 5}}', "\x00"]
)
def test_lines_of_somebody_else_are_passed_over(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text(line + "\n")
    journal = Journal(path, "this")
    assert journal.known == {}
    journal.add(Point(), outcome(Point()))
    assert list(Journal(path, "this").known) == [Point()]
    json.loads(path.read_text().splitlines()[-1])


OTHERS = (None, True, "x", [], {}, [[]], [["a"]], 1.5, -1, 10**400)


def test_values_of_other_types_are_passed_over(tmp_path: Path) -> None:
    """Each value of a line in turn: what is taken has the types that the search counts on."""
    path = tmp_path / "journal.jsonl"
    faults: tuple[Outcome, ...] = (Fault("E0301", "no", "none", True), outcome(Point()))
    for found in faults:
        path.unlink(missing_ok=True)
        Journal(path, "this").add(POINTS[1], found)
        right = json.loads(path.read_text())
        table = "fault" if isinstance(found, Fault) else "result"
        ways = [(part, name) for part in ("point", table) for name in right[part]]
        for (part, name), value in product([*ways, ("", "point"), ("", table)], OTHERS):
            wrong = json.loads(json.dumps(right))
            (wrong[part] if part else wrong)[name] = value
            path.write_text(json.dumps(wrong) + "\n")
            for point, got in Journal(path, "this").known.items():
                assert_types(point)
                assert_types(got)


def assert_types(found: object) -> None:
    assert is_dataclass(found)
    for name, hint in get_type_hints(type(found)).items():
        value = getattr(found, name)
        assert admits(hint, value), (name, value)
        assert not isinstance(value, int) or abs(value) < 1 << 63


def test_latency_is_counted_in_instructions_of_the_board() -> None:
    chip = replace(targets.load("stm32f407"), clock=100_000_000, cycles_per_instruction=1.25)
    budget, on = Limits(seconds=0.01, flash=1000).on(chip)
    assert budget.instructions == 800_000
    assert on.memory == {"flash": 1000, "ram": 128 << 10}
    with pytest.raises(EdgeKitError, match="how long an instruction takes"):
        Limits(seconds=0.01).on(targets.load("stm32h743"))


@pytest.mark.parametrize("name", ["stm32f407", "cortex-m4", "host", "rp2040"])
def test_a_board_is_written_as_it_is_read(name: str) -> None:
    chip = replace(targets.load(name), memory={"flash": 5000, "ram": 600}, cflags=("-O2",))
    assert replace(targets.parse("board", board(chip)), name=name) == chip


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    assert claimed(tmp_path / "new").is_dir()
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(EdgeKitError, match="something else"):
        claimed(tmp_path)

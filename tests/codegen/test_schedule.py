"""The order of execution: topological, never worse than it was, and the best there is for small graphs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from random import Random
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.codegen.schedule import Task, order, peak

Case = tuple[list[Task], dict[str, int], frozenset[str]]


@st.composite
def graphs(draw: st.DrawFn, most: int) -> Case:
    names = ["x"]
    sizes = {"x": draw(st.integers(0, 9))}
    tasks = []
    for i in range(draw(st.integers(0, most))):
        inputs = tuple(draw(st.lists(st.sampled_from(names), max_size=3)))
        outputs = tuple(f"t{i}_{k}" for k in range(draw(st.integers(1, 2))))
        inplace = [(o, k) for o in range(len(outputs)) for k in range(len(inputs))]
        chosen = tuple(draw(st.lists(st.sampled_from(inplace), max_size=3, unique=True))) if inplace else ()
        sizes |= {name: draw(st.integers(0, 20)) for name in outputs}
        tasks.append(Task(inputs, outputs, draw(st.sampled_from([0, 0, 6])), chosen))
        names += outputs
    return tasks, sizes, frozenset(draw(st.lists(st.sampled_from(names), max_size=2)))


def is_topological(tasks: Sequence[Task], sequence: Sequence[int]) -> bool:
    turn = {task: k for k, task in enumerate(sequence)}
    maker = {name: i for i, task in enumerate(tasks) for name in task.outputs}
    return sorted(sequence) == list(range(len(tasks))) and all(
        turn[maker[name]] < turn[i] for i, task in enumerate(tasks) for name in task.inputs if name in maker
    )


def saved(task: Task, sizes: Mapping[str, int], dying: set[str]) -> int:
    """The most that running in place saves, of all ways to give each output another input."""
    best = 0
    for inputs in permutations([*range(len(task.inputs)), *[-1] * len(task.outputs)], len(task.outputs)):
        taken = [(o, i) for o, i in enumerate(inputs) if (o, i) in task.inplace and task.inputs[i] in dying]
        if len({task.inputs[i] for _, i in taken}) == len(taken):
            best = max(best, sum(min(sizes[task.outputs[o]], sizes[task.inputs[i]]) for o, i in taken))
    return best


def plain_peak(case: Case, sequence: Sequence[int]) -> int:
    """What `peak` says, counted anew at every step."""
    tasks, sizes, keep = case
    made = {name for task in tasks for name in task.outputs}
    live = {name for task in tasks for name in task.inputs} - made
    most = sum(sizes[name] for name in live)
    for k, i in enumerate(sequence):
        wanted = keep.union(*(tasks[j].inputs for j in sequence[k + 1 :]))
        dying = set(tasks[i].inputs) - wanted
        most = max(
            most,
            sum(sizes[name] for name in live.union(tasks[i].outputs))
            + tasks[i].scratch
            - saved(tasks[i], sizes, dying),
        )
        live = live.union(tasks[i].outputs) & wanted
    return most


def all_orders(tasks: Sequence[Task]) -> Iterator[tuple[int, ...]]:
    return (order for order in permutations(range(len(tasks))) if is_topological(tasks, order))


def random_graph(count: int, reach: int, seed: int, largest: int = 99) -> Case:
    """Tasks that read what up to `reach` tasks before them made."""
    random = Random(seed)
    tasks: list[Task] = []
    for i in range(count):
        inputs = {f"t{random.randrange(max(0, i - reach), i)}" for _ in range(min(i, random.randint(1, 3)))}
        tasks.append(Task(tuple(sorted(inputs)), (f"t{i}",)))
    return tasks, {f"t{i}": random.randint(1, largest) for i in range(count)}, frozenset()


def branches(count: int, length: int, seed: int) -> Case:
    """Chains that fork and join, listed across: all first tasks, all second ones... They end small."""
    random = Random(seed)
    stem = [Task((), ("stem",))]
    steps = [
        Task((f"b{b}_{k - 1}" if k else "stem",), (f"b{b}_{k}",)) for k in range(length) for b in range(count)
    ]
    join = [Task(tuple(f"b{b}_{length - 1}" for b in range(count)), ("y",))]
    sizes = {name: random.randint(1, 99) for task in steps for name in task.outputs}
    ends = {f"b{b}_{length - 1}": random.randint(1, 9) for b in range(count)}
    return [*stem, *steps, *join], sizes | ends | {"stem": 40, "y": 1}, frozenset()


@settings(deadline=None)
@given(graphs(6))
def test_the_peak_is_what_counting_gives(case: Case) -> None:
    tasks, sizes, keep = case
    assert peak(tasks, sizes, keep) == plain_peak(case, range(len(tasks)))


@settings(deadline=None)
@given(graphs(14))
def test_an_order_is_topological_and_not_worse(case: Case) -> None:
    tasks, sizes, keep = case
    sequence = order(tasks, sizes, keep, budget=3000)
    assert is_topological(tasks, sequence)
    assert peak(tasks, sizes, keep, sequence) <= peak(tasks, sizes, keep)


@settings(deadline=None)
@given(graphs(6))
def test_small_graphs_get_the_best_order(case: Case) -> None:
    tasks, sizes, keep = case
    best = min(peak(tasks, sizes, keep, sequence) for sequence in all_orders(tasks))
    assert peak(tasks, sizes, keep, order(tasks, sizes, keep)) == best


@pytest.mark.parametrize("largest", [3, 99])
def test_graphs_of_seven_tasks_get_the_best_order(largest: int) -> None:
    for seed in range(25):
        tasks, sizes, keep = random_graph(7, 3, seed, largest)
        best = min(peak(tasks, sizes, keep, sequence) for sequence in all_orders(tasks))
        assert peak(tasks, sizes, keep, order(tasks, sizes, keep)) == best


@settings(deadline=None)
@given(graphs(14))
def test_an_order_that_is_good_enough_stays(case: Case) -> None:
    tasks, sizes, keep = case
    sequence = order(tasks, sizes, keep, budget=3000)
    if peak(tasks, sizes, keep, sequence) == peak(tasks, sizes, keep):
        assert sequence == list(range(len(tasks)))


def test_branches_run_one_after_the_other() -> None:
    wide = {"a0": 50, "b0": 50, "c0": 50, "a1": 1, "b1": 1, "c1": 1}
    tasks = [
        *(Task(("x",), (f"{name}0",)) for name in "abc"),
        *(Task((f"{name}0",), (f"{name}1",)) for name in "abc"),
        Task(("a1", "b1", "c1"), ("y",)),
    ]
    assert peak(tasks, wide) == 151
    assert order(tasks, wide) == [0, 3, 1, 4, 2, 5, 6]
    assert peak(tasks, wide, sequence=order(tasks, wide)) == 53


def test_a_reused_input_is_not_counted_twice() -> None:
    tasks = [Task((), ("a",)), Task(("a",), ("b",), inplace=((0, 0),)), Task(("b",), ("c",))]
    sizes = {"a": 100, "b": 100, "c": 10}
    assert peak(tasks, sizes) == 110
    assert peak(tasks, sizes, keep={"a"}) == 210


def test_a_graph_in_two_halves_keeps_the_half_that_is_lower() -> None:
    tasks, sizes, _ = branches(4, 2, seed=1)
    names = {name: f"second_{name}" for name in sizes}
    second = [
        Task((*(names[n] for n in task.inputs), *(() if task.inputs else ("y",))), (names[task.outputs[0]],))
        for task in tasks
    ]
    both = [*tasks, *second]
    large = sizes | {names[name]: 10 * size for name, size in sizes.items()}
    sequence = order(both, large)
    assert sequence[: len(tasks)] == list(range(len(tasks)))
    assert peak(both, large, sequence=sequence) < peak(both, large)


def test_the_same_tasks_get_the_same_order() -> None:
    tasks, sizes, keep = random_graph(60, 40, seed=3)
    assert order(tasks, sizes, keep, budget=20_000) == order(list(tasks), dict(sizes), keep, budget=20_000)


def test_a_long_chain_stays_as_it_is() -> None:
    tasks = [Task((f"c{i}",), (f"c{i + 1}",)) for i in range(500)]
    start = process_time()
    assert order(tasks, {f"c{i}": i % 37 for i in range(501)}) == list(range(500))
    assert process_time() - start < 2


@pytest.mark.parametrize(
    ("case", "enough"),
    [
        (branches(40, 3, seed=0), 0.5),
        (branches(12, 5, seed=0), 0.75),
        (random_graph(200, 12, seed=0), 0.9),
        (random_graph(200, 200, seed=0), 0.7),
    ],
    ids=["forty branches", "long branches", "narrow", "tangled"],
)
def test_large_graphs_get_a_lower_peak_within_seconds(case: Case, enough: float) -> None:
    tasks, sizes, keep = case
    start = process_time()
    sequence = order(tasks, sizes, keep)
    assert process_time() - start < 4  # about one on an idle machine
    assert is_topological(tasks, sequence)
    assert peak(tasks, sizes, keep, sequence) <= enough * peak(tasks, sizes, keep)


def test_a_name_is_made_once_and_before_it_is_read() -> None:
    with pytest.raises(AssertionError, match="made twice"):
        order([Task((), ("a",)), Task((), ("a",))], {})
    with pytest.raises(AssertionError, match="read before"):
        order([Task(("a",), ("b",)), Task((), ("a",))], {})
    with pytest.raises(AssertionError, match="before its inputs"):
        peak([Task((), ("a",)), Task(("a",), ("b",))], {}, sequence=[1, 0])

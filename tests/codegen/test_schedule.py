"""The order of execution: topological, never worse than it was, and the best there is for small graphs."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from random import Random
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.codegen.memory import schedule, schedule_search
from edgekit.codegen.memory.schedule import _BUDGET, Task, order, peak, search
from edgekit.codegen.memory.schedule_problem import problem
from edgekit.codegen.memory.schedule_search import SearchBudget
from edgekit.codegen.memory.schedule_windows import improve_windows

Case = tuple[list[Task], dict[str, int], frozenset[str]]
Within = Mapping[str, str]
NOTHING: Within = MappingProxyType({})


@st.composite
def graphs(draw: st.DrawFn, most: int) -> Case:
    names = ["x"]
    sizes = {"x": draw(st.integers(0, 9))}
    tasks = []
    for i in range(draw(st.integers(0, most))):
        inputs = tuple(draw(st.lists(st.sampled_from(names), max_size=3)))
        outputs = tuple(f"t{i}_{k}" for k in range(draw(st.integers(1, 2))))
        pairs = [(o, k) for o in range(len(outputs)) for k in range(len(inputs))]
        pairs = draw(st.lists(st.sampled_from(pairs), max_size=3, unique=True)) if pairs else []
        chosen = tuple((o, k, draw(st.sampled_from([0, 0, 3, 12]))) for o, k in pairs)
        sizes |= {name: draw(st.integers(0, 20)) for name in outputs}
        tasks.append(Task(inputs, outputs, draw(st.sampled_from([0, 0, 6])), chosen))
        names += outputs
    return tasks, sizes, frozenset(draw(st.lists(st.sampled_from(names), max_size=2)))


@st.composite
def sharing(draw: st.DrawFn, most: int) -> tuple[Case, Within]:
    """Graphs in which some results are views of what they are made from, and others are joined in place."""
    tasks, sizes, keep = draw(graphs(most))
    made = {name for task in tasks for name in task.outputs}
    within: dict[str, str] = {}
    for task in tasks:
        for whole in task.outputs:
            match draw(st.sampled_from(["own", "view", "join"])):
                case "view" if task.inputs:
                    source = draw(st.sampled_from(task.inputs))
                    within[whole] = within.get(source, source)
                case "join":
                    parts = {name for name in task.inputs if name in made and name not in within}
                    inside = {name for name, root in within.items() if root in parts}
                    within |= dict.fromkeys(sorted(parts | inside), whole)
    return (tasks, sizes, keep), within


def is_topological(tasks: Sequence[Task], sequence: Sequence[int]) -> bool:
    turn = {task: k for k, task in enumerate(sequence)}
    maker = {name: i for i, task in enumerate(tasks) for name in task.outputs}
    return sorted(sequence) == list(range(len(tasks))) and all(
        turn[maker[name]] < turn[i] for i, task in enumerate(tasks) for name in task.inputs if name in maker
    )


def saved(task: Task, sizes: Mapping[str, int], own: set[str], dying: set[str], within: Within) -> int:
    """The most that writing over inputs saves, of all ways to give each output another input."""
    best = 0
    roots = [within.get(name, name) for name in task.inputs]
    pairs = {(o, i): d for o, i, d in task.over if task.outputs[o] in own and roots[i] in dying}
    for inputs in permutations([*range(len(roots)), *[-1] * len(task.outputs)], len(task.outputs)):
        taken = [(o, i) for o, i in enumerate(inputs) if (o, i) in pairs]
        if len({roots[i] for _, i in taken}) == len(taken):
            sides = [(sizes[task.outputs[o]], sizes[roots[i]], pairs[o, i]) for o, i in taken]
            best = max(best, sum(out + x - min(out + x, max(out, d + x)) for out, x, d in sides))
    return best


def plain_peak(case: Case, sequence: Sequence[int], within: Within = NOTHING) -> int:
    """What `peak` says, counted anew at every step: memory is live from the first to the last task that makes
    or reads something in it."""
    tasks, sizes, keep = case
    made = {name for task in tasks for name in task.outputs}
    touched: dict[str, list[int]] = {}
    for k, i in enumerate(sequence):
        for name in (*tasks[i].inputs, *tasks[i].outputs):
            touched.setdefault(within.get(name, name), []).append(k)
    kept = {within.get(name, name) for name in keep}
    first = {root: steps[0] if root in made else 0 for root, steps in touched.items()}
    last = {root: len(tasks) if root in kept else steps[-1] for root, steps in touched.items()}
    most = 0
    for k, i in enumerate(sequence):
        live = sum(sizes[root] for root in touched if first[root] <= k <= last[root])
        own = {name for name in tasks[i].outputs if name not in within and first[name] == k}
        dying = {root for root in touched if last[root] == k}
        most = max(most, live + tasks[i].scratch - saved(tasks[i], sizes, own, dying, within))
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


@given(sharing(6))
def test_the_peak_is_what_counting_gives(given: tuple[Case, Within]) -> None:
    case, within = given
    found = peak(*case, within=within)
    assert found == plain_peak(case, range(len(case[0])), within)


@given(sharing(14))
def test_an_order_is_topological_and_not_worse(given: tuple[Case, Within]) -> None:
    case, within = given
    sequence = order(*case, within=within, budget=3000)
    assert is_topological(case[0], sequence)
    assert peak(*case, sequence, within=within) <= peak(*case, within=within)


@given(sharing(6))
def test_small_graphs_get_the_best_order(given: tuple[Case, Within]) -> None:
    case, within = given
    best = min(peak(*case, sequence, within=within) for sequence in all_orders(case[0]))
    assert peak(*case, order(*case, within=within), within=within) == best


@pytest.mark.parametrize("largest", [3, 99])
def test_graphs_of_seven_tasks_get_the_best_order(largest: int) -> None:
    for seed in range(25):
        tasks, sizes, keep = random_graph(7, 3, seed, largest)
        best = min(peak(tasks, sizes, keep, sequence) for sequence in all_orders(tasks))
        assert peak(tasks, sizes, keep, order(tasks, sizes, keep)) == best


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


@pytest.mark.parametrize(("distance", "most"), [(0, 12), (1, 12), (4, 14), (11, 21), (12, 22), (99, 22)])
def test_an_output_over_its_input_takes_only_the_distance(distance: int, most: int) -> None:
    tasks = [Task((), ("x",)), Task(("x",), ("y",), over=((0, 0, distance),))]
    assert peak(tasks, {"x": 10, "y": 12}) == most


def test_a_reused_input_is_not_counted_twice() -> None:
    tasks = [
        Task((), ("a",)),
        Task(("a",), ("b",), over=((0, 0, 0),)),
        Task(("b",), ("c",)),
    ]
    sizes = {"a": 100, "b": 100, "c": 10}
    assert peak(tasks, sizes) == 110
    assert peak(tasks, sizes, keep={"a"}) == 210


def test_a_view_takes_no_memory_and_keeps_what_it_lies_in() -> None:
    tasks = [
        Task((), ("x",)),
        Task(("x",), ("view",)),
        Task((), ("y",)),
        Task(("view", "y"), ("z",)),
    ]
    sizes = {"x": 100, "y": 10, "z": 1}
    assert peak(tasks, sizes, within={"view": "x"}) == 111


def test_parts_that_are_made_in_place_need_the_whole_from_the_first_one_on() -> None:
    tasks = [
        Task((), ("a",)),
        Task((), ("t",)),
        Task(("t",), ("b",)),
        Task(("a", "b"), ("ab",)),
    ]
    sizes = {"t": 10, "ab": 100}
    within = {"a": "ab", "b": "ab"}
    assert peak(tasks, sizes, within=within) == 110
    assert peak(tasks, sizes | {"a": 50, "b": 50}) == 200


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


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tasks that a search ran. They are counted, for a clock would count what else the machine does."""
    ran: list[int] = []
    run = schedule_search.TaskGraph.run

    def counted(graph: schedule_search.TaskGraph, state: schedule_search.SearchState, task: int) -> Any:
        ran.append(task)
        return run(graph, state, task)

    monkeypatch.setattr(schedule_search.TaskGraph, "run", counted)
    return ran


def test_a_long_chain_stays_as_it_is(runs: list[int]) -> None:
    tasks = [Task((f"c{i}",), (f"c{i + 1}",)) for i in range(500)]
    assert order(tasks, {f"c{i}": i % 37 for i in range(501)}) == list(range(500))
    assert not runs


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
def test_large_graphs_get_a_lower_peak_within_the_budget(case: Case, enough: float, runs: list[int]) -> None:
    tasks, sizes, keep = case
    sequence = order(tasks, sizes, keep)
    assert 0 < len(runs) < _BUDGET * 1.1
    assert is_topological(tasks, sequence)
    assert peak(tasks, sizes, keep, sequence) <= enough * peak(tasks, sizes, keep)


@pytest.mark.parametrize("budget", [1500, 4000])
def test_a_small_budget_is_kept_to(budget: int) -> None:
    for tasks, sizes, keep in (branches(40, 3, seed=0), branches(12, 5, seed=0)):
        found = search(tasks, sizes, keep, budget=budget)
        assert found.stopped
        assert budget / 2 < found.runs < budget * 1.1


def test_a_name_is_made_once_and_before_it_is_read() -> None:
    with pytest.raises(AssertionError, match="made twice"):
        order([Task((), ("a",)), Task((), ("a",))], {})
    with pytest.raises(AssertionError, match="read before"):
        order([Task(("a",), ("b",)), Task((), ("a",))], {})
    with pytest.raises(AssertionError, match="before its inputs"):
        peak([Task((), ("a",)), Task(("a",), ("b",))], {}, sequence=[1, 0])


@given(sharing(14))
def test_windows_are_topological_and_not_worse(given: tuple[Case, Within]) -> None:
    case, within = given
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "_SEARCH_TASKS", 3)
        patch.setattr(schedule, "_FLOOR_TASKS", 3)
        sequence = order(*case, within=within, budget=3000)
    assert is_topological(case[0], sequence)
    assert peak(*case, sequence, within=within) <= peak(*case, within=within)


@given(sharing(14))
def test_windows_keep_count_of_what_is_live(given: tuple[Case, Within]) -> None:
    (tasks, sizes, keep), within = given
    whole = problem(tasks, sizes, keep, within)
    part = range(len(tasks))
    found, sequence = improve_windows(whole, part, 0, SearchBudget(2000))
    assert found == peak(tasks, sizes, keep, sequence, within=within)


@pytest.mark.parametrize(
    ("case", "enough"),
    [(branches(40, 3, seed=0), 0.5), (branches(12, 5, seed=0), 0.75), (random_graph(200, 12, seed=0), 0.95)],
    ids=["forty branches", "long branches", "narrow"],
)
def test_windows_get_a_lower_peak(case: Case, enough: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_SEARCH_TASKS", 8)
    tasks, sizes, keep = case
    found = search(tasks, sizes, keep)
    assert found.runs <= _BUDGET
    assert peak(tasks, sizes, keep, found.sequence) <= enough * peak(tasks, sizes, keep)


@given(graphs(9))
def test_parts_come_one_after_the_other_in_every_order(case: Case) -> None:
    tasks = case[0]
    parts = problem(*case, NOTHING).cut()
    assert [i for part in parts for i in part] == list(range(len(tasks)))
    before = [{*()} for _ in tasks]
    maker = {name: i for i, task in enumerate(tasks) for name in task.outputs}
    for i, task in enumerate(tasks):
        for j in {maker[name] for name in task.inputs if name in maker}:
            before[i] |= {j} | before[j]
    cuts = [k for k in range(len(tasks)) if all(before[i] >= {*range(k)} for i in range(k, len(tasks)))]
    assert [part.start for part in parts] == cuts

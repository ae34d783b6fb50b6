"""Every operator with each dimension in turn empty, of one and of two elements: what is simulated.

The cases follow from those of the operators: see support/resized_cases.py.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.each_target import TARGETS, drive_all, load
from support.op_cases import Case, as_graph, assert_close, expected
from support.resized_cases import all_resized

from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.program import compile_graph
from edgekit.core.ops import Call, registry
from edgekit.core.target import Target

_MOST_PORTS = 400  # of a program: WebAssembly has functions of up to 1000 parameters
# Those that ask for something to look at.
_NEVER_EMPTY = {"FilterBank", "NonMaxSuppression", "NonZero", "SpectrumEnergy", "While"}


def has_results(case: Case) -> bool:
    return any(y.size for y in case.op.infer(*case.types))


def packed(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """As many as go into a program."""
    chunk: list[Case] = []
    room = _MOST_PORTS
    for case in cases:
        ports = len(case.operands) + len(case.op.infer(*case.types))
        if ports > room:
            yield chunk
            chunk, room = [], _MOST_PORTS
        chunk.append(case)
        room -= ports
    yield chunk


def calls(cases: Sequence[Case], target: Target) -> Iterator[tuple[Case, list[Call]]]:
    """Of each case those that compute it, lowered with many others."""
    for chunk in packed(cases):
        graph, _, outputs = as_graph(chunk)
        steps = {y: layer.steps for layer in lower(graph, target) for y in layer.node.outputs}
        for case, (y, *_) in zip(chunk, outputs, strict=True):
            yield case, [step for step in steps[y] if isinstance(step, Call)]


def check(cases: Sequence[Case], target: Target, folder: Path) -> None:
    """All results of these, from one executable."""
    chunks = list(packed(cases))
    graphs = [as_graph(chunk, f"cases{i}") for i, chunk in enumerate(chunks)]
    programs = [compile_graph(graph, target) for graph, _, _ in graphs]
    driver = drive_all(programs, folder)
    for chunk, program, (_, inputs, outputs) in zip(chunks, programs, graphs, strict=True):
        results = driver.run(program, inputs)
        for case, names in zip(chunk, outputs, strict=True):
            for name, wanted in zip(names, expected(case), strict=True):
                assert_close(results[name], wanted, case)


def test_every_operator_meets_an_empty_dimension() -> None:
    empty = {type(case.op).__name__ for case in all_resized(0)}
    assert {name for name in registry() if not name.startswith("_")} - empty == _NEVER_EMPTY
    assert {type(case.op).__name__ for case in all_resized(1)} >= empty


def test_what_has_no_elements_is_not_called() -> None:
    nothing = [case for case in all_resized(0) if not has_results(case)]
    assert [str(case) for case, made in calls(nothing, load("host")) if made] == []


@pytest.mark.parametrize("name", TARGETS)
def test_empty_dimensions(name: str, tmp_path: Path) -> None:
    cases = [case for case in all_resized(0) if has_results(case)]
    assert len(cases) > 300
    check(cases, load(name), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_dimensions_of_one_and_two(name: str, tmp_path: Path) -> None:
    """Portable C runs on the host; on others, what has kernels of its own."""
    target = load(name)
    own = tuple(f"{isa}/" for isa in target.isa if isa != "ref" or name == "host")
    small = (*all_resized(1), *all_resized(2))
    cases = [case for case, made in calls(small, target) if any(call.file.startswith(own) for call in made)]
    assert len(cases) > 10
    check(cases, target, tmp_path)

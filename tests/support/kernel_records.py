"""A plugin of pytest that records which kernel files each test takes: of what it ran and compared.

Each process of a run writes what its tests took to a file of its own; test_every_file.py, which comes last,
reads them all. `support.planning` finds out without running anything.
"""

import functools
import json
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import pytest

if TYPE_CHECKING:  # every run of pytest reads this file, and few need these
    from edgekit.codegen.program import Program

P = ParamSpec("P")
R = TypeVar("R")
TESTS = (
    "tests/kernels",
    "tests/ops/test_ops.py::test_c_computes_what_the_operator_means",
    "tests/quantize/test_integers.py::test_c_gives_the_integers_of_the_simulator",
)
# Networks need reference models, which may be absent; the others take no other files, or run nothing.
WITHOUT = (
    "network",
    "parts_of",
    "lack",
    "speed",
    "nearer",
    "for_their_shapes",
    "are_vectors",
    "left_in_za",
    "bits_of_neon",
)
Takers = Mapping[str, Sequence[str]]  # by kernel file, the tests that take it


class Test:
    """The programs that a test ran, whether it knows what is right, and the kernels that it compared."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.ran: list[Program] = []
        self.expects = False
        self.taken: set[str] = set()

    def runs(self, program: "Program") -> None:
        if self.name:
            self.ran.append(program)
            self.compare()

    def expects_results(self) -> None:
        self.expects = True
        self.compare()

    def compare(self) -> None:
        """A test that did both compares."""
        if self.expects and self.ran:
            from edgekit.codegen.kernels.sources import variant_of

            for program in self.ran:
                self.taken |= {variant_of(line.call, program.target).file for line in program.lines}
            self.ran.clear()


current = Test()


def expecting(function: Callable[P, R]) -> Callable[P, R]:
    """What says which results are right."""

    @functools.wraps(function)
    def wrapped(*arguments: P.args, **options: P.kwargs) -> R:
        current.expects_results()
        return function(*arguments, **options)

    return wrapped


def running(method: Callable[..., Any]) -> Callable[..., Any]:
    """What runs a program."""

    @functools.wraps(method)
    def wrapped(self: object, program: "Program", *arguments: Any) -> Any:
        current.runs(program)
        return method(self, program, *arguments)

    return wrapped


@functools.cache
def install() -> None:
    """Let what runs programs, and what computes their results, tell the test. `drawn` of integer_bench and
    `expected` of op_cases, which tests take by name, always do so."""
    from support import in_process

    from edgekit.codegen.execution import driver
    from edgekit.core import simulate

    patch = pytest.MonkeyPatch()  # for all of the session
    for machine in (driver.Driver, in_process.Machine):
        patch.setattr(machine, "run", running(machine.run))
    patch.setattr(driver.Driver, "run_each", running(driver.Driver.run_each))
    simulate.run = expecting(simulate.run)
    simulate.run_each = expecting(simulate.run_each)


@pytest.fixture(scope="session", autouse=True)
def kernel_records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these files."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernel_records"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Only a test that passes takes kernels."""
    global current
    is_one = item.nodeid.startswith(TESTS) and not any(word in item.nodeid for word in WITHOUT)
    if is_one:
        install()
    test = current = Test(item.nodeid if is_one else "")
    try:
        yield
    finally:
        current = Test()
    if test.taken:
        assert isinstance(item, pytest.Function)
        folder = item.funcargs["kernel_records"]
        assert isinstance(folder, Path)
        with (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps([test.name, sorted(test.taken)]) + "\n")


def read(folder: Path) -> Takers:
    """What all processes wrote so far."""
    takers: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):  # or it is being written
                name, taken = json.loads(line)
                for file in taken:
                    takers.setdefault(file, []).append(name)
    return takers

"""A plugin of pytest that compiles and runs nothing: says which kernel files the programs of each test take.

Cases are drawn, layers are lowered, what a test expects of the program is asserted. Nothing is simulated, and
no code generated; compilers and emulators need not be installed. A test counts for the kernels of a program
that it would have run, once it would have compared results with the simulator, or with what an operator
means: there it ends. The file that PLANNED_TO names gets, for each kernel file, the tests that take it,
beside those that it holds already. A test whose target has no kernel that is still without a test does not
run.
"""

import contextlib
import json
import os
from collections.abc import Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support import generated, in_process, kernel_records, times, tools
from support.kernel_records import expecting, running
from support.layer_orders import as_drawn

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import driver, runner
from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.codegen.lowering import lower
from edgekit.codegen.printing import render
from edgekit.core import simulate, target
from edgekit.core.target import Target

TAKEN: dict[str, set[str]] = {}
_TIMES = times.times()
_EDGES = "kernels/test_edges.py"  # takes most kernels of each set, so that many others need not be planned
# Their layers are drawn until there is one for each kernel, which takes long: they come when few are missing.
_DRAWING = ("kernels/test_orders.py", "kernels/test_x86.py")


class Planned(Exception):  # noqa: N818  # no error: the end
    """Results of a program would be compared now."""


class Results(dict[str, "Results"]):
    """Of a program that did not run: they are not looked at before something is compared."""

    def __missing__(self, name: str) -> "Results":
        return self


class Test(kernel_records.Test):
    """A test that ends where it would compare."""

    def compare(self) -> None:
        is_end = self.expects and bool(self.ran)
        super().compare()
        if is_end:
            for file in self.taken:
                TAKEN.setdefault(file, set()).add(self.name)
            raise Planned


def compiler(_: Target) -> toolchain.Compiler:
    return toolchain.Compiler("none", (), "gcc")


def pytest_configure(config: pytest.Config) -> None:
    """Before any module of tests takes these by name."""
    if (known := _file()).exists():
        TAKEN.update(
            {file: set(tests) for file, tests in json.loads(known.read_text(encoding="utf-8")).items()}
        )
    patch = pytest.MonkeyPatch()  # for all of the session
    for module in (render, generated):  # the second one imported it by name
        patch.setattr(module, "render", lambda *_, **__: {})
    toolchain.find = compiler
    patch.setattr(toolchain.Compiler, "run", lambda *_: "")
    patch.setattr(driver.Driver, "__init__", lambda *_, **__: None)
    for machine in (driver.Driver, in_process.Machine):
        patch.setattr(machine, "run", running(lambda *_: Results()))
    patch.setattr(driver.Driver, "run_each", running(lambda *_: iter([Results()])))
    lower.in_best_order = as_drawn
    simulate.run = expecting(lambda *_: Results())
    simulate.run_each = expecting(lambda *_: iter([Results()]))
    runner.why_not_here = lambda target: ""
    tools.require = str
    tools.require_module = lambda name: os  # which is not used


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All cases of a family of operators are one program, and builds are compilers of the same ones."""
    first = {"index": 0, "sanitize": True, "build": "gcc"}
    items[:] = [i for i in items if all(_parameters(i).get(name, one) == one for name, one in first.items())]
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> tuple[bool, bool, bool, float]:
    """Portable kernels, which all targets have, come first, then the edges, and files of tests that take
    little time."""
    file, _ = times.place(item.nodeid)
    return file.startswith("kernels/"), file != _EDGES, file in _DRAWING, sum(_TIMES.get(file, {}).values())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = {variant.isa for variant in all_variants() if variant.file not in TAKEN}
    names = {value for value in _parameters(item).values() if isinstance(value, str)} & _targets().keys()
    may_take = missing & {isa for name in names for isa in _targets()[name]} if names else missing
    if not may_take:
        pytest.skip("other tests take all kernels of its target")


@cache
def _targets() -> Mapping[str, Sequence[str]]:
    """The instruction sets of each target."""
    return {name: target.load(name).isa for name in target.names()}


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    kernel_records.current = Test(item.nodeid)
    with contextlib.suppress(Planned):
        yield


def pytest_sessionfinish() -> None:
    found = {file: sorted(tests) for file, tests in sorted(TAKEN.items())}
    _file().write_text(json.dumps(found), encoding="utf-8")


def _file() -> Path:
    return Path(os.environ["PLANNED_TO"])

"""A plugin of pytest that compiles and runs nothing: says which kernel files the programs of each test take.

Up to the first program that a test would generate, it does what it always does: cases are drawn, layers are
lowered, what it expects of the program is asserted. There it ends. Neither compilers nor emulators need to be
installed. The file that PLANNED_TO names gets, for each kernel file, the tests that take it.
"""

import contextlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from support import in_process, tools

from edgekit.codegen import render, runner, toolchain
from edgekit.codegen.kernels import variant_of
from edgekit.codegen.program import Program
from edgekit.target import Target

TAKEN: dict[str, set[str]] = {}
_test = ""


class Planned(Exception):  # noqa: N818  # no error: the end
    """A program is ready: the test would compile it now."""


def plan(program: Program, *_: object) -> NoReturn:
    for line in program.lines:
        variant = variant_of(line.call, program.target)
        TAKEN.setdefault(f"{variant.isa}/{variant.stem}", set()).add(_test)
    raise Planned


def compiler(_: Target) -> toolchain.Compiler:
    return toolchain.Compiler("none", (), "gcc")


def pytest_configure(config: pytest.Config) -> None:
    """Before any module of tests takes these by name."""
    render.render = plan
    in_process.Machine.run = lambda self, program, inputs: plan(program)  # type: ignore[method-assign]
    toolchain.find = compiler
    runner.why_not_here = lambda target: ""
    tools.require = str
    tools.require_module = lambda name: os  # which nobody looks at


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All cases of a family of operators are one program, and builds are compilers of the same ones."""
    first = {"index": 0, "sanitize": True, "build": "gcc"}
    items[:] = [i for i in items if all(_parameters(i).get(name, one) == one for name, one in first.items())]


def _parameters(item: pytest.Item) -> dict[str, Any]:
    return item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    global _test
    _test = item.nodeid
    with contextlib.suppress(Planned):
        yield


def pytest_sessionfinish() -> None:
    found = {file: sorted(tests) for file, tests in sorted(TAKEN.items())}
    Path(os.environ["PLANNED_TO"]).write_text(json.dumps(found), encoding="utf-8")

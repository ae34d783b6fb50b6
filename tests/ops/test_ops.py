"""Every operator in C against its meaning in numpy: at full speed, and with sanitizers."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.op_cases import Case, assert_close, expected, run_in_c

from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import registry
from edgekit.core.types import Array

_STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
# Levels from -O1 on take twice as long to compile, and look for no more.
_SANITIZE = ("-Og", "-g1", "-DEK_GUARD=0", "-fsanitize=address,undefined,float-cast-overflow")
_FAMILIES = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent / "cases")]))


@cache
def _cases(family: str) -> tuple[Case, ...]:
    return tuple(importlib.import_module(f"ops.cases.{family}").CASES)


_ALL = [
    pytest.param(family, i, id=f"{family}-{c}") for family in _FAMILIES for i, c in enumerate(_cases(family))
]


Results = Callable[[str, bool], list[list[Array]]]


@pytest.fixture(scope="session")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Results of a family in C; compiled once, also where that fails."""

    @cache
    def attempt(family: str, sanitize: bool) -> list[list[Array]] | EdgeKitError:
        folder = tmp_path_factory.mktemp(family)
        flags = (*_SANITIZE, "-fno-sanitize-recover=all") if sanitize else _STRICT
        try:
            return run_in_c(_cases(family), folder, "size" if sanitize else "speed", flags)
        except EdgeKitError as error:
            return error

    def results(family: str, sanitize: bool) -> list[list[Array]]:
        found = attempt(family, sanitize)
        if isinstance(found, EdgeKitError):
            pytest.fail(str(found))
        return found

    return results


def test_every_operator_has_cases() -> None:
    tested = {type(case.op).__name__ for family in _FAMILIES for case in _cases(family)}
    assert {name for name in registry() if not name.startswith("_")} == tested


@pytest.mark.parametrize("sanitize", [False, True], ids=["speed", "sanitized"])
@pytest.mark.parametrize(("family", "index"), _ALL)
def test_c_computes_what_the_operator_means(family: str, index: int, sanitize: bool, in_c: Results) -> None:
    case = _cases(family)[index]
    found = in_c(family, sanitize)[index]
    for result, wanted in zip(found, expected(case), strict=True):
        assert_close(result, wanted, case)

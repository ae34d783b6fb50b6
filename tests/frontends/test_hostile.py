"""Hostile files of every format are refused with a code, a reason and, where there is a way, a hint."""

import importlib
import pkgutil
from pathlib import Path

import pytest
from frontends import hostile
from support.hostile_files import PYTHON, Case

from edgekit.converters import read
from edgekit.core.errors import EdgeKitError, Exit

# Every module of the folder `hostile` has CASES; nothing lists them.
MODULES = [
    importlib.import_module(f"frontends.hostile.{m.name}") for m in pkgutil.iter_modules(hostile.__path__)
]
CASES: dict[str, Case] = {
    f"{m.__name__.rpartition('.')[2]}: {k}": v for m in MODULES for k, v in m.CASES.items()
}


@pytest.mark.parametrize("name", CASES)
def test_hostile_file_is_refused(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    with pytest.raises(EdgeKitError) as caught:
        read.read(case.make(tmp_path))
    error = caught.value
    assert error.code in case.code.split("|"), error
    assert case.words in str(error)
    assert not PYTHON.search(str(error)), "words of Python"
    assert error.exit_code in (Exit.USAGE, Exit.UNSUPPORTED, Exit.MALFORMED)
    assert not isinstance(error.__cause__, AssertionError | MemoryError)


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40

"""The names in a pickle, read without loading it, beside those that Python imports as it loads one."""

import io
import pickle
from collections import Counter, OrderedDict, deque
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath

import pytest

from edgekit.converters.file_formats.pickle_names import pickle_names


class _Recorder(pickle.Unpickler):
    """Loads a pickle of ours, and keeps what it imported."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw))
        self.found: set[str] = set()

    def find_class(self, module: str, name: str) -> object:
        self.found.add(f"{module}.{name}")
        return super().find_class(module, name)


THINGS = {
    "none": [1, "two", 3.0, None],
    "one": OrderedDict(a=1),
    "modules named twice": [date(2026, 1, 2), datetime(2026, 1, 2, 3), Decimal("1.5"), OrderedDict(b=2)],
    "texts between": {"datetime": Fraction(1, 3), "x" * 300: PurePosixPath("a/b"), "c": Counter("hello")},
    "many in the memo": [[str(i) for i in range(300)], Decimal(1), date(2026, 1, 2), Decimal(2), deque([1])],
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("what", THINGS)
def test_names_are_those_that_loading_imports(what: str, protocol: int) -> None:
    raw = pickle.dumps(THINGS[what], protocol)
    loaded = _Recorder(raw)
    loaded.load()
    assert pickle_names(raw) == loaded.found
    assert loaded.found or what == "none"


def test_several_pickles_follow_one_another() -> None:
    assert pickle_names(pickle.dumps(1) + pickle.dumps(Decimal(1)) + b"weights") == {"decimal.Decimal"}


def test_names_before_a_fault_count() -> None:
    raw = pickle.dumps([Decimal(1), date(2026, 1, 2)])
    assert pickle_names(raw[:-1] + b"!") == {"decimal.Decimal", "datetime.date"}
    for end in range(len(raw)):
        assert pickle_names(raw[:end]) <= {"decimal.Decimal", "datetime.date"}

"""Objects of JSON files, whose fields are asked for by type: what is missing or something else is damage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from edgekit.core.errors import EdgeKitError

T = TypeVar("T")
_NAMES = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True)
class Record:
    """A JSON object, and what it is, for errors."""

    fields: Mapping[str, Any]
    where: str

    @staticmethod
    def of(value: Any, where: str) -> Record:
        if not isinstance(value, dict):
            raise EdgeKitError("E0401", f"{where} should be an object, is {_short(value)}")
        return Record(value, where)

    def __contains__(self, key: str) -> bool:
        """Is the field there, with anything but null?"""
        return self.fields.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        return self._get(key, str, default)

    def integer(self, key: str, default: int | None = None) -> int:
        return self._get(key, int, default)

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._get(key, float, default))

    def flag(self, key: str, default: bool | None = None) -> bool:
        return self._get(key, bool, default)

    def items(self, key: str, default: list[Any] | None = None) -> list[Any]:
        return self._get(key, list, default)

    def integers(self, key: str, default: list[int] | None = None) -> list[int]:
        return [checked(v, int, f"{key} of {self.where}") for v in self._get(key, list, default)]

    def record(self, key: str) -> Record:
        return Record(self._get(key, dict, None), f"{key} of {self.where}")

    def records(self, key: str) -> Iterator[Record]:
        """The objects of a list."""
        for i, item in enumerate(self._get(key, list, None)):
            yield Record(checked(item, dict, f"{key}[{i}] of {self.where}"), f"{key}[{i}] of {self.where}")

    def _get(self, key: str, kind: type[T], default: T | None) -> T:
        value = self.fields.get(key)
        if value is None:
            if default is None:
                raise EdgeKitError("E0401", f"{self.where} has no {key}")
            return default
        return checked(value, kind, f"{key} of {self.where}")


def checked(value: Any, kind: type[T], what: str) -> T:
    """The value, if it is of the type; an integer is a number, too, but true and false are none."""
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise EdgeKitError("E0401", f"{what} should be {_NAMES[kind]}, is {_short(value)}")
    return value  # type: ignore[return-value]  # an int for a float, as Python has it


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."

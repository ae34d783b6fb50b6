"""What all HTML pages share: one style, one script, one way to write numbers; they need no other file."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from edgekit.core import atomic, templating
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code
from edgekit.core.types import Type

SUFFIXES = (".html", ".htm")


def check_destination(path: Path) -> None:
    """Refuse a file name that is none of a page; asked before the work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise EdgeKitError("E0105", f"cannot write {path}: the report goes into an .html file")


def save(path: Path, page: str) -> None:
    """Write a page, whole or not at all."""
    check_destination(path)
    atomic.write(path, [page.encode()])


def render(template: str, **values: object) -> str:
    """A page of one of the templates, with style and script inside."""
    page = templating.environment("edgekit.reports").get_template(template)
    return page.render(style=asset("page.css"), script=asset("page.js"), **values)


@cache
def asset(name: str) -> Code:
    """The style or the script of all pages."""
    return Code((files("edgekit.reports") / "templates" / name).read_text(encoding="utf-8"))


def number(value: float) -> str:
    """A coordinate, as short as it may be."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    return "0" if not share else f"{share:.1%}" if share >= 0.001 else "< 0.1%"


def short_size(count: float) -> str:
    """Bytes in three digits: 26.0 KB."""
    for unit in ("B", "KB", "MB"):
        if count < 1024 or unit == "MB":
            break
        count /= 1024
    return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.3g} {unit}"


def short_count(value: float) -> str:
    """A number in three digits: 3.38 M."""
    if abs(value) < 999.5:
        return f"{value:.3g}"
    power = 3 if abs(value) >= 999.5e6 else 2 if abs(value) >= 999.5e3 else 1
    return f"{value / 1000**power:,.3g} {'_kMG'[power]}"


def shapes(types: Sequence[Type]) -> str:
    """8x8x12 s8 of each, without a batch of one."""
    return ", ".join(shape(type, with_dtype=True) for type in types)


def shape(type: Type, *, with_dtype: bool = False) -> str:
    sizes = type.shape[1:] if type.rank > 1 and type.shape[0] == 1 else type.shape
    text = "\N{MULTIPLICATION SIGN}".join(map(str, sizes)) or "1"
    return f"{text} {type.dtype.value}" if with_dtype else text


def fitting(text: str, columns: int) -> str:
    """A name that fits into so many columns of a monospaced font: of a long one, start and end."""
    if _columns(text) <= columns:
        return text
    head, tail = text, text
    while _columns(head) > columns // 2:
        head = head[:-1]
    while _columns(tail) > columns - 1 - columns // 2:
        tail = tail[1:]
    return f"{head}\N{HORIZONTAL ELLIPSIS}{tail}"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(ch) in "WF" else 1 for ch in text)


def columns(cards: int, most: int) -> int:
    """How many cards are side by side, at most: rows of about the same length, so that none has one alone."""
    wide = -(-cards // -(-cards // most)) if cards else 1
    return next((count for count in range(wide, 1, -1) if cards % count != 1), wide)


@dataclass(frozen=True)
class Cell:
    """One number: as text, as what the table is sorted by, as the length of a bar in percent, and a note."""

    text: str
    value: str
    bar: str = ""
    note: str = ""

    @staticmethod
    def of(count: int, share: float | None = None) -> Cell:
        return Cell(f"{count:,}", str(count), "" if share is None else bar(share))


def bar(share: float) -> str:
    """The length of a bar, in percent."""
    return number(100 * min(max(share, 0.0), 1.0))

"""What is in an ELF file: sections with their flags and sizes, what is loaded, and addresses of symbols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_SYMBOLS = 2  # section type
_LOADED = 1  # segment type


@dataclass(frozen=True)
class Section:
    """A section header, as far as it is asked for."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.wide = data[4] == 2
        self.order = "little" if data[5] == 1 else "big"
        self.word = 8 if self.wide else 4

    def number(self, at: int, size: int) -> int:
        return int.from_bytes(self.data[at : at + size], self.order)  # type: ignore[arg-type]  # one of two

    def text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode(errors="replace")


def sections(data: bytes) -> list[Section]:
    """All sections; none where the file is of another format."""
    if data[:4] != b"\x7fELF":
        return []
    r = _Reader(data)
    table = r.number(0x28 if r.wide else 0x20, r.word)
    entry, count, names = (r.number((0x3A if r.wide else 0x2E) + 2 * i, 2) for i in range(3))
    rows = []
    for i in range(count):
        at = table + entry * i
        flags = r.number(at + 8, r.word)
        offset, size = (r.number(at + (0x18 if r.wide else 0x10) + k * r.word, r.word) for k in range(2))
        link = r.number(at + (0x28 if r.wide else 0x18), 4)
        rows.append((r.number(at, 4), r.number(at + 4, 4), flags, offset, size, link))
    base = rows[names][3] if names < len(rows) else 0
    return [Section(r.text(base + row[0]), *row[1:]) for row in rows]


def segments(data: bytes) -> list[tuple[int, bytes]]:
    """What is loaded: addresses in memory with their contents, as far as the file has any."""
    r = _Reader(data)
    table = r.number(0x20 if r.wide else 0x1C, r.word)
    entry, count = (r.number((0x36 if r.wide else 0x2A) + 2 * i, 2) for i in range(2))
    found = []
    for at in range(table, table + entry * count, entry):
        offset, _, address, size = (r.number(at + r.word * k, r.word) for k in range(1, 5))
        if r.number(at, 4) == _LOADED and size:
            found.append((address, data[offset : offset + size]))
    return found


def symbols(data: bytes) -> dict[str, int]:
    """The address of each symbol that has a name."""
    return dict(_symbols(data))


def _symbols(data: bytes) -> Iterator[tuple[str, int]]:
    found = sections(data)
    for section in found:
        if section.type != _SYMBOLS:
            continue
        r = _Reader(data)
        size, at_value = (24, 8) if r.wide else (16, 4)
        names = found[section.link].offset
        for at in range(section.offset, section.offset + section.size, size):
            if name := r.text(names + r.number(at, 4)):
                yield name, r.number(at + at_value, r.word)

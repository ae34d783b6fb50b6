"""What is in an ELF file: sections, what is loaded, symbols, and which function refers to which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

_SYMBOLS, _RELA, _REL = 2, 4, 9  # section types
_LOADED = 1  # segment type
WRITABLE, _ALLOCATED = 1, 2  # section flags
_ARM = 40  # machine
# Relocations of Arm's jumps that are no calls: a function ends with them.
_JUMPS = {29, 30, 51, 102}
_UNDEFINED, _RESERVED = 0, 0xFF00  # section indices: of symbols of other files, and of none

Place = tuple[int, int]  # a file, and a section of it


@dataclass(frozen=True)
class Section:
    """A section header, as far as it is asked for."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


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
        link, info = (r.number(at + (0x28 if r.wide else 0x18) + 4 * k, 4) for k in range(2))
        rows.append((r.number(at, 4), r.number(at + 4, 4), flags, offset, size, link, info))
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


@dataclass(frozen=True)
class Links:
    """Of object files: which sections refer to which others, or to symbols that none of them has; and whether
    they jump there, instead of a call or an address."""

    functions: Mapping[str, Place]
    names: Mapping[Place, Set[str]]  # of the functions in each section
    between: Mapping[Place, Set[tuple[Place, bool]]]
    outside: Mapping[Place, Set[tuple[str, bool]]]
    has_return_in_frame: bool  # frames as clang tells them hold the return address


def links(objects: Sequence[bytes]) -> Links | None:
    """None where one of the files is of another format."""
    if any(data[:4] != b"\x7fELF" for data in objects):
        return None
    is_arm = all(_Reader(data).number(0x12, 2) == _ARM for data in objects)
    tables = [_table(data) for data in objects]
    # Other files see what is global only, but static functions have names, too, that compilers speak of.
    seen = {s.name: (i, s.section) for i, table in enumerate(tables) for s in table if s.is_global}
    functions, names = {}, defaultdict(set)
    for i, table in enumerate(tables):
        for symbol in table:
            if symbol.is_function:
                functions[symbol.name] = (i, symbol.section)
                names[i, symbol.section].add(symbol.name)
    between, outside = defaultdict(set), defaultdict(set)
    for i, (data, table) in enumerate(zip(objects, tables, strict=True)):
        for section, index, kind in _relocations(data):
            symbol, is_jump = table[index], is_arm and kind in _JUMPS
            if symbol.section == section:  # branches within a function that a linker may shorten
                continue
            if 0 < symbol.section < _RESERVED:
                between[i, section].add(((i, symbol.section), is_jump))
            elif symbol.name in seen:
                between[i, section].add((seen[symbol.name], is_jump))
            elif symbol.name:
                outside[i, section].add((symbol.name, is_jump))
    return Links(functions, names, between, outside, is_arm)


@dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    is_global: bool  # and defined here
    is_function: bool


def _table(data: bytes) -> list[_Symbol]:
    """The symbols of an object file, in order."""
    found, table = sections(data), []
    for section in found:
        if section.type != _SYMBOLS:
            continue
        r = _Reader(data)
        size, at_info, at_section = (24, 4, 6) if r.wide else (16, 12, 14)
        for at in range(section.offset, section.offset + section.size, size):
            name = r.text(found[section.link].offset + r.number(at, 4))
            info, home = r.number(at + at_info, 1), r.number(at + at_section, 2)
            is_here = home != _UNDEFINED and home < _RESERVED
            table.append(_Symbol(name, home, is_here and info >> 4 != 0, is_here and info & 15 == 2))
    return table


def _relocations(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Section, symbol and type of each in what is loaded: unwinders and debuggers call nothing."""
    r, found = _Reader(data), sections(data)
    for section in found:
        if section.type not in (_REL, _RELA) or not found[section.info].flags & _ALLOCATED:
            continue
        if found[section.info].name.startswith((".ARM.", ".eh_frame")):
            continue
        entry = r.word * (3 if section.type == _RELA else 2)
        for at in range(section.offset, section.offset + section.size, entry):
            info = r.number(at + r.word, r.word)
            yield section.info, info >> (32 if r.wide else 8), info & (0xFFFF_FFFF if r.wide else 0xFF)

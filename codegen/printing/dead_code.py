"""Dead code elimination in the headers of a library: definitions that nothing in it reaches are left out."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from itertools import product

from edgekit.codegen.kernels.support_headers import runtime_header
from edgekit.codegen.printing.c_text import (
    NAME,
    Conditional,
    Macro,
    Part,
    Piece,
    defined,
    expanded,
    parsed,
    pieces,
    without_comments,
)

_Headers = Mapping[str, Sequence[Part]]
_INCLUDE = re.compile(r'#include "((?:edgekit/)?[\w.]+)"')
_FOLDER = "edgekit/"
_TYPES = "edgekit/types.h"
_REFUSED = '\n#error "edgekit/ is of another build'  # behind the conditions of model.c.j2


def without_dead_code(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of a folder, with what its code reaches of the runtime's headers. Where nothing is left of a
    header, others include what it includes."""
    code = {path: data.decode() for path, data in files.items() if path.endswith((".c", ".h"))}
    texts = {path: text for path, text in code.items() if not _is_of_runtime(path, text)}
    headers = {path.removeprefix(_FOLDER): code[path] for path in sorted(code.keys() - texts.keys())}
    whole = _for_callers(texts, headers)
    parts = {name: parsed(text) for name, text in headers.items()}
    macros = _Macros(parts)
    units = [unit for name in parts for unit in _units(name, parts[name], macros)]
    roots = {name for text in texts.values() for name in macros.meaning("", without_comments(text))[1]}
    alive = _reached(units, roots)
    kept = [unit for unit in units if unit.header in whole or unit.is_kept(alive)]
    printer = _Printer({id(unit.piece) for unit in kept}, alive)
    needed = whole | {unit.header for unit in kept if unit.defines}
    dead = {name: _includes(_outermost(found)) for name, found in parts.items() if name not in needed}
    texts |= {
        _FOLDER + name: headers[name] if name in whole else printer.text(parts[name]) for name in needed
    }
    beside = {
        _FOLDER + name: [line.replace('"', f'"{_FOLDER}', 1) for line in lines]
        for name, lines in dead.items()
    }
    left = {path: _with_includes_of(dead if "/" in path else beside, text) for path, text in texts.items()}
    left = _sealed(left, headers)
    order = [path for path in files if path in left or path not in code]
    return {path: left[path].encode() if path in left else files[path] for path in order}


def _is_of_runtime(path: str, text: str) -> bool:
    """Kernels lie in the same folder."""
    return path.startswith(_FOLDER) and runtime_header(path.removeprefix(_FOLDER)) == text


def _for_callers(texts: Mapping[str, str], headers: Mapping[str, str]) -> Set[str]:
    """What headers beside the folder include stays whole: who includes those of two libraries reads these of
    the first one alone."""
    found = {_TYPES.removeprefix(_FOLDER)}
    queue = [text for path, text in texts.items() if path.endswith(".h") and "/" not in path]
    while queue:
        new = {name.removeprefix(_FOLDER) for name in _INCLUDE.findall(queue.pop())} & headers.keys() - found
        found |= new
        queue += (headers[name] for name in new)
    return found


def _sealed(texts: Mapping[str, str], headers: Iterable[str]) -> dict[str, str]:
    """With a hash of these headers in types.h, which the model's file compares with its own."""
    kept = "".join(texts.get(_FOLDER + name, "") for name in sorted(headers))
    found = f"0x{hashlib.sha256(kept.encode()).hexdigest()[:8]}"
    comment = "/* A hash of the helpers in this folder: each library has those that it uses. */"
    definition = f"{comment}\n#define EK_HELPERS {found}\n\n#endif\n"
    checked = f" || \\\n    EK_HELPERS != {found}{_REFUSED}"
    sealed = {path: text.replace(_REFUSED, checked) for path, text in texts.items()}
    return sealed | {_TYPES: texts[_TYPES].removesuffix("#endif\n") + definition}


def _with_includes_of(dead: Mapping[str, Sequence[str]], text: str) -> str:
    """The text of a file that includes in place of dead headers what these include, each once."""

    def live(line: str) -> list[str]:
        match = _INCLUDE.match(line)
        return (
            [each for inner in dead[match[1]] for each in live(inner)]
            if match and match[1] in dead
            else [line]
        )

    lines, moved = list[str](), set[str]()
    for line in text.splitlines(keepends=True):
        new = live(line)
        if new == [line]:
            lines += [line] * (line not in moved)
        else:
            new = [each for each in dict.fromkeys(new) if each not in lines]
            lines += new
            moved.update(new)
    return "".join(lines)


class _Macros:
    """Macros that paste names together, which have to be expanded to know what is named."""

    def __init__(self, headers: _Headers) -> None:
        found = defaultdict[str, dict[str, list[Macro]]](dict)
        for header, parts in headers.items():
            for piece, _ in pieces(parts):
                if piece.macro and piece.macro.parameters is not None:
                    found[piece.macro.name].setdefault(header, []).append(piece.macro)
        self._pasting = dict[str, dict[str, list[Macro]]]()
        while more := {name for name in found.keys() - self._pasting if self._pastes(found[name])}:
            self._pasting |= {name: found[name] for name in more}
        self._within = {name: _within(name, headers) for name in headers}

    def _pastes(self, by_header: Mapping[str, list[Macro]]) -> bool:
        return any(macro.pastes(self._pasting) for macros in by_header.values() for macro in macros)

    @cache  # noqa: B019, of one library
    def _visible_in(self, header: str) -> Mapping[str, list[Macro]]:
        """The definitions that code of a header meets: its own, or those of headers that include it."""
        found = dict[str, list[Macro]]()
        for name, by_header in self._pasting.items():
            around = [m for other in by_header if header in self._within[other] for m in by_header[other]]
            anywhere = [macro for macros in by_header.values() for macro in macros]
            found[name] = by_header.get(header) or around or anywhere
        return found

    def meaning(self, header: str, code: str) -> tuple[frozenset[str], frozenset[str]]:
        """What code of a header defines, and all names in it, as each of these definitions expands it."""
        visible = self._visible_in(header)
        named, queue = set[str](), {*NAME.findall(code)} & visible.keys()
        while queue:
            named |= queue
            bodies = {word for name in queue for macro in visible[name] for word in NAME.findall(macro.body)}
            queue = bodies & visible.keys() - named
        several = [visible[name] for name in named if len(visible[name]) > 1]
        usual = {name: found[0] for name, found in visible.items()}
        texts = [expanded(code, usual | {macro.name: macro for macro in each}) for each in product(*several)]
        empty = frozenset[str]()
        return empty.union(*(defined(text) for text, _ in texts)), empty.union(*(names for _, names in texts))


def _within(name: str, headers: _Headers) -> frozenset[str]:
    """A header, and all that it includes."""
    found, queue = {name}, [name]
    while queue:
        lines = _includes(headers[queue.pop()])
        new = {match[1] for match in map(_INCLUDE.match, lines) if match and match[1] in headers} - found
        found |= new
        queue += new
    return frozenset(found)


def _outermost(parts: Sequence[Part]) -> list[Piece]:
    """What stands in no conditional but the guard of the header."""
    guarded = [part for each in parts if isinstance(each, Conditional) for part in each.branches[0][1]]
    return [part for part in (*parts, *guarded) if isinstance(part, Piece)]


def _includes(parts: Sequence[Part]) -> list[str]:
    """The lines that include other headers."""
    return [f"{piece.text.rstrip()}\n" for piece, _ in pieces(parts) if piece.text.startswith("#include")]


@dataclass(frozen=True)
class _Unit:
    """A definition, or an assertion about some, with what it needs."""

    header: str
    piece: Piece
    defines: frozenset[str]
    uses: frozenset[str]

    def is_kept(self, alive: Set[str]) -> bool:
        """An assertion goes with the types and functions that it is about."""
        if self.defines:
            return not self.defines.isdisjoint(alive)
        return all(name in alive for name in self.uses if name.startswith("ek_"))


def _units(header: str, parts: Sequence[Part], macros: _Macros) -> Iterator[_Unit]:
    for piece, conditions in pieces(parts):
        if piece.is_code or piece.is_macro:
            defines, uses = macros.meaning(header, piece.code)
            if piece.macro:
                defines = frozenset({piece.macro.name})
            yield _Unit(header, piece, defines, uses | conditions)


def _reached(units: Sequence[_Unit], roots: set[str]) -> set[str]:
    """All names that are used, beginning with these."""
    by_name = defaultdict[str, list[_Unit]](list)
    for unit in units:
        for name in unit.defines:
            by_name[name].append(unit)
    alive, queue = set[str](), roots
    while queue:
        alive |= queue
        uses = {name for each in queue for unit in by_name.get(each, ()) for name in unit.uses}
        uses |= {name for unit in units if not unit.defines and unit.is_kept(alive) for name in unit.uses}
        queue = uses - alive
    return alive


@dataclass(frozen=True)
class _Printer:
    """Writes what is left of headers."""

    kept: Set[int]
    alive: Set[str]

    def text(self, parts: Sequence[Part]) -> str:
        """Of a header, which begins with a comment on all of it."""
        first = parts[0]
        assert isinstance(first, Piece)
        assert first.is_comment
        return first.text + self._block(parts[1:])

    def _block(self, parts: Sequence[Part]) -> str:
        """A comment goes with the first piece that is left of those behind it: up to the next comment, or,
        where no blank line is behind it, up to a blank line."""
        result, section, comment = "", "", ""
        for part in parts:
            if isinstance(part, Piece) and part.is_comment:
                if _ends_paragraph(part.text):
                    section = part.text
                comment = "" if _ends_paragraph(part.text) else part.text
                continue
            text = self._part(part)
            if text:
                result += section + comment + text
                section = comment = ""
            else:
                end = part.text if isinstance(part, Piece) else part.end.text
                section, comment = "", comment * (not _ends_paragraph(end))
                result += "\n" * (_ends_paragraph(end) and bool(result) and not _ends_paragraph(result))
        return result

    def _part(self, part: Part) -> str:
        if isinstance(part, Piece):
            return part.text if self._is_kept(part) else ""
        branches = [(opening.text, self._block(inner)) for opening, inner in part.branches]
        text = "".join(opening + inner for opening, inner in branches)
        return text + part.end.text if any(inner.strip() for _, inner in branches) else ""

    def _is_kept(self, piece: Piece) -> bool:
        if piece.text.startswith("#undef"):
            return piece.text.split()[1] in self.alive
        return id(piece) in self.kept or not (piece.is_code or piece.is_macro)


def _ends_paragraph(text: str) -> bool:
    return text.endswith("\n\n")

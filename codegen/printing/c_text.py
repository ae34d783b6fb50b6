"""The text of a C header in pieces: conditionals, includes, macros, functions, types and comments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_MACRO = re.compile(r"#define (\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
NAME = re.compile(r"\b(?:ek|EK)_\w+")
_CALL = re.compile(r"\b(EK_\w+)\(")
_BRACKETS = {"(": 1, ")": -1}


@dataclass(frozen=True)
class Macro:
    """What stands behind #define."""

    name: str
    parameters: tuple[str, ...] | None  # None for one without brackets
    body: str

    def pastes(self, pasting: Collection[str]) -> bool:
        """Does it make names, by ##, by macros that do, or by macros that it is given?"""
        called = {f"{name}(" for name in self.parameters or ()}
        return (
            "##" in self.body
            or any(name in pasting for name in NAME.findall(self.body))
            or any(call in self.body for call in called)
        )

    def filled_in(self, arguments: Sequence[str]) -> str:
        """Its body with these arguments, pasted where it says ##."""
        assert self.parameters is not None
        given = dict(zip(self.parameters, arguments, strict=False))
        if "..." in self.parameters:
            given["__VA_ARGS__"] = ", ".join(arguments[len(self.parameters) - 1 :])
        words = "|".join(map(re.escape, given))
        return (
            re.sub(rf"(?:## ?)?\b({words})\b(?: ?##)?", lambda m: given[m[1]], self.body)
            if words
            else self.body
        )


@dataclass(frozen=True)
class Piece:
    """A definition, a directive or a comment, with the blank lines behind it."""

    text: str

    @property
    def is_comment(self) -> bool:
        return self.text.startswith("/*")

    @property
    def is_code(self) -> bool:
        return not self.text.startswith(("/*", "#"))

    @property
    def is_macro(self) -> bool:
        """Is it a definition of a macro of ours? The guard of a header is not."""
        return self.macro is not None and NAME.match(self.macro.name) is not None

    @cached_property
    def code(self) -> str:
        """Without comments, and lines of a macro as one."""
        return without_comments(self.text).replace("\\\n", "\n")

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(NAME.findall(self.code))

    @cached_property
    def macro(self) -> Macro | None:
        match = _MACRO.match(self.code)
        if not match:
            return None
        parameters = match[2]
        listed = None if parameters is None else tuple(each.strip() for each in parameters.split(","))
        return Macro(match[1], listed, match[3])


@dataclass(frozen=True)
class Conditional:
    """#if to #endif: each branch has the directive that opens it."""

    branches: tuple[tuple[Piece, tuple[Part, ...]], ...]
    end: Piece


Part = Piece | Conditional


@cache
def without_comments(text: str) -> str:
    return _COMMENT.sub(" ", text)


def parsed(text: str) -> tuple[Part, ...]:
    """The pieces of a text; joined, they are the text."""
    found, rest = _block(list(_pieces(text)))
    assert not rest, "a directive without its #if"
    return found


def pieces(
    parts: Sequence[Part], within: frozenset[str] = frozenset()
) -> Iterator[tuple[Piece, frozenset[str]]]:
    """All but those that are parts of conditionals, and what the conditions around each name."""
    for part in parts:
        if isinstance(part, Piece):
            yield part, within
        else:
            conditions = within.union(*(opening.names for opening, _ in part.branches))
            for _, inner in part.branches:
                yield from pieces(inner, conditions)


def _block(queue: list[Piece]) -> tuple[tuple[Part, ...], list[Piece]]:
    """What stands before the next directive that ends it."""
    found: list[Part] = []
    while queue and not queue[0].text.startswith(("#el", "#endif")):
        piece, queue = queue[0], queue[1:]
        if not piece.text.startswith("#if"):
            found.append(piece)
            continue
        branches = []
        while not piece.text.startswith("#endif"):
            inner, queue = _block(queue)
            branches.append((piece, inner))
            piece, queue = queue[0], queue[1:]
        found.append(Conditional(tuple(branches), piece))
    return tuple(found), queue


def _pieces(text: str) -> Iterator[Piece]:
    lines = text.splitlines(keepends=True)
    while lines:
        count = _lines(lines)
        while count < len(lines) and not lines[count].strip():
            count += 1
        yield Piece("".join(lines[:count]))
        lines = lines[count:]


def _lines(lines: Sequence[str]) -> int:
    """How many of them the first piece takes."""
    first = lines[0]
    if first.startswith("/*"):
        return next(k for k, line in enumerate(lines, 1) if "*/" in line)
    if first.startswith("#"):
        return next(k for k, line in enumerate(lines, 1) if not line.endswith("\\\n"))
    assert first[0] not in " \n}", f"no definition begins with {first!r}"
    code = ""
    for k, line in enumerate(lines, 1):
        code = _STRING.sub("", _COMMENT.sub("", code + line))
        after = lines[k] if k < len(lines) else ""
        if "{" in code:
            if line.startswith("}") or (k == 1 and code.count("{") == code.count("}")):
                return k
        elif code.rstrip().endswith(";") or (
            code.startswith("EK_") and _is_closed(code) and after[:1] not in "{ "
        ):
            return k
    raise AssertionError(f"{first!r} does not end")


def _is_closed(code: str) -> bool:
    return code.rstrip().endswith(")") and code.count("(") == code.count(")")


def expanded(code: str, macros: Mapping[str, Macro]) -> tuple[str, frozenset[str]]:
    """The code with calls of these macros replaced by what they stand for, and all names on the way there."""
    names = {*NAME.findall(code)}
    while match := next((m for m in _CALL.finditer(code) if m[1] in macros), None):
        start, end = match.end(), _closing(code, match.end())
        body = macros[match[1]].filled_in(_split(code[start:end]))
        names.update(NAME.findall(body))
        code = code[: match.start()] + body + code[end + 1 :]
    return code, frozenset(names)


def _closing(code: str, start: int) -> int:
    """Where the bracket ends that opened before."""
    depth = 1
    for match in re.compile(r"[()]").finditer(code, start):
        depth += _BRACKETS[match[0]]
        if not depth:
            return match.start()
    raise AssertionError("brackets do not match")


def _split(code: str) -> list[str]:
    """Arguments between commas that stand in no brackets."""
    found, depth = [""], 0
    for sign in re.split(r"([(),])", code):
        depth += _BRACKETS.get(sign, 0)
        if sign == "," and not depth:
            found.append("")
        else:
            found[-1] += sign
    return [each.strip() for each in found]


def defined(code: str) -> frozenset[str]:
    """The functions, variables, types and enumerators that expanded code defines."""
    return frozenset(name for each in _declarations(_STRING.sub("", code)) for name in _declared(each))


def _declarations(code: str) -> Iterator[str]:
    """Each with its body."""
    start = depth = 0
    for match in re.finditer(r"[{};]", code):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        text = code[start : match.end()]
        is_function = text.partition("{")[0].rstrip().endswith(")")
        if depth == 0 and (match[0] == ";" or is_function):
            yield text.strip()
            start = match.end()


def _declared(text: str) -> Iterator[str]:
    head, _, body = text.partition("{")
    if head.startswith("typedef"):
        outside = re.sub(r"\{.*\}|\(.*?\)", "", text, flags=re.DOTALL)
        yield from re.findall(r"\bek_\w+", outside)[-1:]
    elif match := re.match(r"(?:struct|union|enum)\s*(\w*)\s*$", head):
        yield from filter(None, (match[1],))
        yield from re.findall(r"\b(?:ek|EK)_\w+(?=\s*[,=}])", body) if head.startswith("enum") else ()
    elif match := re.search(r"\b(ek_\w+)\s*[(\[=;]", head):
        yield match[1]

"""Finds the conditions of C and the conditional jumps of its assembly; makes C that records their outcomes.

A condition is an operand of if, while, for, ?:, && or ||, as it stands in the source: `a && b` has two.
Each has two branches, true and false. Literals such as the 1 of `while (1)` are none. What the preprocessor
decides is not looked at; the text of macros is. In string literals, which only assembly has here, the
conditional jumps of Arm are found: each has two branches, taken and not taken.

Conditions become `COVER_(number, condition)`. Before a jump stands a label, whose address goes with the
number into the section `.cover`: no byte of code changes, since kernels jump by counted bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# What types.h says in addition: where outcomes are recorded. Of each site, whether it was false, whether it
# was true, and whether the program found that out, not the compiler. Every object may hold the array.
RECORDER = """
#ifndef COVER_
__attribute__((weak, used)) unsigned char cover_hits[{size}];
static inline __attribute__((unused)) int cover_(int number, int outcome, int is_fixed)
{{
    cover_hits[3 * number + outcome] = 1;
    if (!is_fixed)
        cover_hits[3 * number + 2] = 1;
    return outcome;
}}
#ifdef COVER_LAYERS
/* Compilers know the parameters of a layer, which are no property of a kernel: only constants in C are. */
#define COVER_NULL(condition) ((void *)((long)((condition) ? 1 : 0) * 0l)) /* null where that is a constant */
#define COVER_FIXED(condition) (sizeof(*(1 ? COVER_NULL(condition) : (int *)8)) == sizeof(int))
#else
#define COVER_FIXED(condition) __builtin_constant_p((condition) ? 1 : 0)
#endif
#define COVER_(number, condition) cover_((number), (condition) ? 1 : 0, COVER_FIXED(condition))
#endif
"""
SECTION = ".cover"

_TOKEN = re.compile(
    r"""(?P<space>\s+|\\\n|/\*.*?\*/|//[^\n]*)
    |(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<char>'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<sign>\#\#|<<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^=!<>]=|<<|>>|.)""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_JUMP = re.compile(
    rf'(?:(?<=")|(?<=\\n))\s*(?:\w+:\s*)?(?P<jump>(?:b\.?(?:{_CONDITIONS})(?:\.[nw])?|cbn?z|tbn?z|letp|le|wls|'
    r"wlstp\.\d+)\s)"
)
_ASSIGN = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")
_ENDS = {";", ",", "{", "}", "?", ":", "return", "case", "else", "do", *_ASSIGN}
_LOOPS = ("for", "EK_UNROLLED_FOR", "EK_ROLLED_FOR")
_DECIDE = ("if", "while", *_LOOPS)


@dataclass(frozen=True)
class Site:
    """A condition or a jump: two branches."""

    file: str
    line: int
    text: str
    scope: str  # the function or macro that it is part of
    is_jump: bool = False


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class _Group:
    """Brackets, and what is in them."""

    start: int
    end: int
    items: tuple[_Item, ...]
    kind: str = "group"

    text = ""


_Item = _Token | _Group


def instrument(file: str, text: str, first: int) -> tuple[str, list[Site]]:
    """The text that records outcomes under numbers from `first` on, and its sites in their order."""
    sites: list[Site] = []
    changes: list[tuple[int, int, str]] = []  # where, rank, what is put there
    known = [*scopes(text)]

    def site(start: int, end: int, is_jump: bool = False) -> Site:
        words = " ".join(text[start:end].replace("\\\n", " ").split())
        scope = next((name for name, low, high in known if low <= start < high), "")
        return Site(file, text.count("\n", 0, start) + 1, words, scope, is_jump)

    for start, end in sorted({*conditions(text)}):
        number = first + len(sites)
        sites.append(site(start, end))
        changes += [(start, -end, f"COVER_({number}, "), (end, -start - len(text), ")")]
    for start, end in jumps(text):
        number = first + len(sites)
        sites.append(site(start, end, is_jump=True))
        label = 70000 + number  # such labels may occur again: b means the last one
        words = (f"{label}:", f".pushsection {SECTION}", f".long {label}b", f".long {number}", ".popsection")
        changes.append((start, 0, "".join(word + "\\n" for word in words)))
    changed = text
    for at, _, new in sorted(changes, reverse=True):
        changed = changed[:at] + new + changed[at:]
    return changed, sites


def conditions(text: str) -> Iterator[tuple[int, int]]:
    """Where conditions start and end."""
    bare = _COMMENT.sub(_blank, text)
    for found in _DIRECTIVE.finditer(bare):
        if defined := _DEFINE.match(found[0]):
            start = found.start() + defined.end()
            yield from _of_code(" " * start + bare[start : found.end()].replace("\\\n", "  "))
    yield from _of_code(_DIRECTIVE.sub(_blank, bare))


def jumps(text: str) -> Iterator[tuple[int, int]]:
    """Where conditional jumps of assembly start and end."""
    for token in _tokens(_COMMENT.sub(_blank, text)):
        if token.kind == "string":
            for found in _JUMP.finditer(token.text):
                end = token.text.find("\\n", found.end())
                stop = end if end >= 0 else len(token.text) - 1
                yield token.start + found.start("jump"), token.start + stop


def scopes(text: str) -> Iterator[tuple[str, int, int]]:
    """The name of each macro and function, and where it starts and ends."""
    bare = _COMMENT.sub(_blank, text)
    for found in _DIRECTIVE.finditer(bare):
        if defined := _DEFINE.match(found[0]):
            yield re.split(r"\W+", defined[0].strip("# \t"), maxsplit=2)[1], *found.span()
    depth, before, name, start = 0, [""], "", 0
    for token in _tokens(_DIRECTIVE.sub(_blank, bare)):
        if token.text == "{":
            if depth == 0:
                name, start = "".join(before), token.start
            depth += 1
        elif token.text == "}":
            depth -= 1
            if depth == 0:
                yield name, start, token.end
                before = [""]
        elif depth == 0 and token.text == ";":
            before = [""]
        elif depth == 0 and token.text == "(" and before[-1].isidentifier() and before[-1] != "__attribute__":
            before = [before[-1], ""]  # the word before the first bracket, where no brackets went before
        elif depth == 0 and len(before) == 1:
            before = [token.text]


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup != "space":
            yield _Token(str(found.lastgroup), found[0], found.start())


def _of_code(text: str) -> Iterator[tuple[int, int]]:
    yield from _sequence(_grouped([*_tokens(text)]))


def _grouped(tokens: Sequence[_Token]) -> tuple[_Item, ...]:
    """Tokens with what is in brackets as one item. Macros may hold some that do not match: they stay."""
    stack: list[list[_Item]] = [[]]
    opened: list[_Token] = []
    for token in tokens:
        if token.text in ("(", "["):
            opened.append(token)
            stack.append([])
        elif token.text in (")", "]") and opened:
            items = stack.pop()
            stack[-1].append(_Group(opened.pop().start, token.end, tuple(items)))
        else:
            stack[-1].append(token)
    while opened:
        rest = stack.pop()
        stack[-1] += [opened.pop(), *rest]
    return tuple(stack[0])


def _sequence(items: Sequence[_Item]) -> Iterator[tuple[int, int]]:
    """The conditions among items: what stands before `?`, around && and ||, and behind if, while and for."""
    part: list[_Item] = []
    before = ""
    for item in (*items, _Token("sign", ";", 0)):
        if isinstance(item, _Group) and before in _DECIDE and not part:
            yield from _decision(item.items if before not in _LOOPS else _second(item.items))
            if before in _LOOPS:
                yield from _sequence(item.items)
            before = ""
            continue
        if item.text in _ENDS or item.text in _DECIDE:
            if item.text == "?" or any(i.text in ("&&", "||") for i in part):
                yield from _decision(part)
            else:
                yield from _inside(part)
            part, before = [], item.text
        else:
            part.append(item)


def _inside(items: Sequence[_Item]) -> Iterator[tuple[int, int]]:
    for item in items:
        if isinstance(item, _Group):
            yield from _sequence(item.items)


def _second(items: Sequence[_Item]) -> list[_Item]:
    """The condition of a for loop; nothing where a macro is all that its brackets hold."""
    at = [i for i, item in enumerate(items) if item.text == ";"]
    return list(items[at[0] + 1 : at[1]]) if len(at) == 2 else []


def _decision(items: Sequence[_Item]) -> Iterator[tuple[int, int]]:
    """The operands of && and || in a condition, or the condition itself."""
    if any(item.text in ("?", ",", "=") for item in items):  # decides by what it contains
        yield from _whole(items)
        yield from _sequence(items)
        return
    part: list[_Item] = []
    for item in (*items, _Token("sign", "&&", 0)):
        if item.text not in ("&&", "||"):
            part.append(item)
            continue
        bare = [i for i in part if i.text != "!"]
        if len(bare) == 1 and isinstance(bare[0], _Group) and _is_logical(bare[0].items):
            yield from _decision(bare[0].items)
        else:
            yield from _whole(part)
            yield from _inside(part)
        part = []


def _is_logical(items: Sequence[_Item]) -> bool:
    bare = [i for i in items if i.text != "!"]
    if len(bare) == 1 and isinstance(bare[0], _Group):
        return _is_logical(bare[0].items)
    return any(i.text in ("&&", "||") for i in items) and not any(i.text in ("?", ",", "=") for i in items)


def _whole(items: Sequence[_Item]) -> Iterator[tuple[int, int]]:
    if items and not all(item.kind == "number" for item in items):
        yield items[0].start, items[-1].end

"""Headers of the runtime that the text of a kernel needs: those that define what it uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.contracts import COMMENT

INCLUDE = re.compile(r'^#include ["<]edgekit/(?:\w+/)*([\w.]+)[">]\n', re.MULTILINE)
_WIDTH = re.compile(r"^#define EK_WIDE\(name\) (\w+)##name$", re.MULTILINE)
_OF_WIDTH = re.compile(
    r"^(?:EK_INLINED?\b[^;{(]*?\bEK_WIDE\((\w+)\)\(|struct EK_WIDE\((\w+)\) \{)", re.MULTILINE
)
_DEFINED = re.compile(
    r"^(?:(?:EK_(?:INLINE|INLINED|COMPACT)|static (?:inline|EK_ASSEMBLY|EK_SHARED)) [\w *]*?\b(ek_\w+)\("
    r"|#define (EK_\w+)|typedef .*?\b(ek_\w+);|struct (ek_\w+))",
    re.MULTILINE,
)


@cache
def definitions() -> Mapping[str, tuple[str, ...]]:
    """Which headers of the runtime define each inline function, macro or type that kernels may use. Those of
    instruction sets define the same names."""
    return _by_name(of_widths()) | _by_name(_defined(lambda text: text))


@cache
def made_by_macros() -> Mapping[str, tuple[str, ...]]:
    """Which headers define the functions that their macros make."""
    return _by_name(_defined(contracts.made))


def _by_name(definitions: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for header, name in definitions:
        found[name] = (*found.get(name, ()), header)
    return found


def _defined(part: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Headers and the names that a part of each defines."""
    for header in contracts.headers():
        text = contracts.header(header)
        if header != "generic.h" and "EK_FN" not in text:
            yield from ((header, "".join(names)) for names in _DEFINED.findall(part(COMMENT.sub("", text))))


def of_widths() -> Iterator[tuple[str, str]]:
    """Headers of a width of vectors, and what a text that they include defines for it as EK_WIDE(name)."""
    for header in contracts.headers():
        prefix = _WIDTH.search(contracts.header(header))
        for other in _support_file(header)[1] if prefix else ():
            if prefix and not _WIDTH.search(contracts.header(other)):
                names = _OF_WIDTH.findall(contracts.header(other))
                yield from ((header, prefix[1] + "".join(each)) for each in names)


def supports(text: str, included: Sequence[str], isas: Sequence[str]) -> set[str]:
    """The headers that define what a text uses: those that it includes go first, then those that are named
    after the best instruction set and what these include, then those of the next set. Conversions of 16-bit
    floats hide behind macros."""
    used = set(re.findall(r"\b(?:ek|EK)_\w+\b", COMMENT.sub("", text)))
    found = {_first(headers, included, isas) for name, headers in definitions().items() if name in used}
    if used & {f"EK_{verb}_{t}" for verb in ("LOAD", "STORE") for t in ("f16", "bf16")}:
        found.add("half.h")
    for name in sorted(used & made_by_macros().keys()):
        headers = made_by_macros()[name]
        if all(header not in headers for header, _ in support_files([*found])):
            found.add(_first(headers, included, isas))
    return found | {"types.h"}


def _first(headers: Sequence[str], included: Sequence[str], isas: Sequence[str]) -> str:
    """Of headers that define the same name, the one that a text for these instruction sets means."""
    own = [header for header in headers if header in included]
    for ending in (f"_{isa}.h" for isa in isas):
        own += [header for header in headers if header.endswith(ending)]
        own += [header for header in headers if header in _included_by(ending)]
    return (own or list(headers))[0]


@cache
def _included_by(ending: str) -> frozenset[str]:
    """The headers that those whose names end so include."""
    named = [header for header in contracts.headers() if header.endswith(ending)]
    return frozenset(name for name, _ in support_files(named)) - {*named}


def support_files(headers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, text) of support headers and of what they include, with includes made relative to each other."""
    queue, seen = list(headers), set(headers)
    while queue:
        header = queue.pop()
        text, included = _support_file(header)
        queue += (name for name in included if name not in seen)
        seen.update(included)
        yield header, text


def runtime_header(name: str) -> str | None:
    """The text of a header in libraries; None for what is none of the runtime's."""
    return _support_file(name)[0] if name in contracts.headers() else None


@cache
def _support_file(header: str) -> tuple[str, tuple[str, ...]]:
    """Its text in a library, and the headers that it includes, each once."""
    text = contracts.header(header)
    return INCLUDE.sub(r'#include "\1"\n', text), tuple(dict.fromkeys(INCLUDE.findall(text)))

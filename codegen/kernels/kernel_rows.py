"""Rows of a kernel file: the kernels that its code serves, and of each the tags that it has or inherits.

kernel_files.py describes the tags, and what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path

from edgekit.codegen.kernels.expressions import Expression, ExpressionError, conjuncts
from edgekit.codegen.memory.inplace import ORDERS
from edgekit.core.reasons import OwnWordsError

_HEAD = re.compile(r"\s*(/\*.*?\*/)", re.DOTALL)
_LINE = re.compile(r"(?:/\*| \*| {2,3})(?: (.*?))?(?: ?\*/)?")
TAG_LINE = re.compile(r"^\s*/?\*+ ?@(\w+)", re.MULTILINE)
_PLACE_AND_NAME = r"\w+/\w+(\.\w+)?"
_NAME = rf"{_PLACE_AND_NAME}( \w+=\w+)*"
_NEXT = re.compile(r" +(?=@)")  # between tags of a line
_KIND = r"[a-z][a-z0-9 -]*"  # of work
_UNIT = rf"{_KIND}( \d[\d.e-]*)?"  # and what one takes
FORMS = {
    "for": r"[A-Z]=\w+( [A-Z]=\w+)*",
    "rule": r"\w+(=\w+)?( \w+(=\w+)?)*",
    "when": r".+",
    "pack": r"\w+: \S.*",
    "fold": r"\w+: -?\d+ \w+",
    "scratch": r".+",
    "order": rf"({'|'.join(ORDERS)})( \d+| \{{.+?\}})*",
    "also": r"\w+",
    "apart": r"",
    "split": r"never|\w+(/[^>]+)?( >= .+)?",
    "work": rf"{_UNIT}(, {_UNIT})*",
    "count": rf"{_KIND}: .+",
    "loads": r"\w+: .+",
    "as": rf"{_NAME}(, {_NAME})*( like {_PLACE_AND_NAME})?",
    "without": r"\w.*",
}
_ONCE = ("order", "apart")  # in a row
_COMMAS = re.compile(rf", (?=(?:{'|'.join(FORMS)})\b)(?![^()]*\))")  # between tags that a row is without


class KernelFileError(OwnWordsError):
    """A kernel file that says something of itself that means nothing."""


@dataclass(frozen=True)
class Tag:
    """What a kernel's file says behind an @."""

    word: str
    text: str
    where: str  # path and line

    @property
    def key(self) -> str:
        """What it says something of: a row has its own in place of one that it would inherit."""
        match self.word:
            case "when":
                return f"when {self.text}"
            case "for" | "pack" | "fold" | "count" | "loads":
                return f"{self.word} {re.split('[:=]', self.text)[0]}"
        return self.word

    @property
    def conditions(self) -> tuple[Expression, ...]:
        try:
            return conjuncts(self.text)
        except ExpressionError as error:
            raise self.wrong(str(error)) from None

    def wrong(self, why: str) -> KernelFileError:
        return KernelFileError(f"{self.where}: @{self.word}: {why}")


@dataclass(frozen=True, eq=False)
class Row:
    """A kernel as its comment has it."""

    name: str  # instruction set and stem
    words: str  # the sentences on it, as a comment
    tags: tuple[Tag, ...]
    own: tuple[Tag, ...]  # those of them that it does not inherit
    changes: Mapping[str, str]

    @property
    def isa(self) -> str:
        return self.name.partition("/")[0]


def rows(path: Path, text: str) -> tuple[Row, ...]:
    """Those of a file with this text; the first one is named by the file."""
    where = f"kernels/{path.parent.name}/{path.name}"
    comments = head_comments(text)
    if not comments:
        raise KernelFileError(f"{where}:1: no comment says what this kernel is")
    if stray := TAG_LINE.search(text, comments[-1].end()):
        line = text.count("\n", 0, stray.start(1)) + 1
        raise KernelFileError(f"{where}:{line}: @{stray[1]} stands behind the head of the file")
    found: dict[str, Row] = {}
    for comment in comments:
        line = text.count("\n", 0, comment.start(1)) + 1
        words, tags = _parts(comment[1], where, line)
        starts = [i for i, tag in enumerate(tags) if tag.word == "as"]
        before = tags[: starts[0]] if starts else tags
        if not found:
            if not words:
                raise KernelFileError(f"{where}:{line}: no sentence says what this kernel is")
            name = f"{path.parent.name}/{path.stem}"
            found[name] = Row(name, words, _once(before), tuple(before), {})
        elif before or not starts:
            raise KernelFileError(f"{where}:{line}: a kernel of the same code begins with @as")
        for start, end in pairwise([*starts, len(tags)]):
            for row in _further(tags[start], tags[start + 1 : end], words, found):
                found[row.name] = row
    return tuple(found.values())


def code(text: str) -> str:
    """What stands behind the head of a file."""
    return text[head_comments(text)[-1].end() :]


def head_comments(text: str) -> list[re.Match[str]]:
    """The comments at the head of a file: the first one, and those behind it that have tags."""
    found: list[re.Match[str]] = []
    at = 0
    while (match := _HEAD.match(text, at)) and (not found or TAG_LINE.search(match[1])):
        found.append(match)
        at = match.end()
    return found


def _further(head: Tag, tags: Sequence[Tag], words: str, known: Mapping[str, Row]) -> Iterator[Row]:
    """The kernels that a tag @as names, and the tags behind it."""
    names, _, like = head.text.partition(" like ")
    base = known.get(like or next(iter(known)))
    if base is None:
        raise head.wrong(f"no kernel {like} stands before it")
    for name, *pairs in (one.split() for one in names.split(", ")):
        types = [pair for pair in pairs if pair[0].isupper()]
        own = _once([*(Tag("for", pair, head.where) for pair in types), *tags])
        changes = dict(pair.split("=") for pair in pairs if pair not in types)
        if name in known:
            raise head.wrong(f"{name} is named twice")
        yield Row(name, words or base.words, _merged(base, own), own, {**base.changes, **changes})


def _once(tags: Sequence[Tag]) -> tuple[Tag, ...]:
    for word in _ONCE:
        if len(found := [tag for tag in tags if tag.word == word]) > 1:
            raise found[1].wrong("said twice")
    return tuple(tags)


def _merged(base: Row, own: Sequence[Tag]) -> tuple[Tag, ...]:
    """The tags of a row that is like another one; its own stand in the places of those that they replace."""
    found = _by_key(tag for tag in base.tags if tag.word not in ("work", "without"))
    for tag in (tag for tag in own if tag.word == "without"):
        for what in _COMMAS.split(tag.text):
            left = [key for key in found if key == what or key.startswith(f"{what} ")]
            if not left:
                raise tag.wrong(f"{base.name} has no {what}")
            for key in left:
                del found[key]
    return tuple(tag for tags in (found | _by_key(own)).values() for tag in tags)


def _by_key(tags: Iterable[Tag]) -> dict[str, list[Tag]]:
    found: dict[str, list[Tag]] = {}
    for tag in tags:
        found.setdefault(tag.key, []).append(tag)
    return found


def _parts(comment: str, file: str, first: int) -> tuple[str, tuple[Tag, ...]]:
    """A comment's sentences, as a comment, and its tags."""
    words: list[str] = []
    tags: list[Tag] = []
    for number, raw in enumerate(comment.split("\n"), first):
        where = f"{file}:{number}"
        line = _LINE.fullmatch(raw)
        text = ((line[1] if line else raw) or "").strip()
        if text.startswith("@"):
            tags += (tag for part in _NEXT.split(text) for tag in _tags(part, where))
        elif tags and text:
            raise KernelFileError(f"{where}: a sentence behind tags: {text!r}")
        elif text:
            words.append(raw.removesuffix("*/").rstrip())
    return "/*" + "\n".join(words)[2:] + " */" if words else "", tuple(tags)


def _tags(text: str, where: str) -> Iterator[Tag]:
    """One, but for each type and each condition of several."""
    tag = _tag(text, where)
    if tag.word == "for":
        yield from (Tag(tag.word, part, where) for part in tag.text.split())
    elif tag.word == "when":
        yield from (Tag(tag.word, part.text, where) for part in tag.conditions)
    else:
        yield tag


def _tag(text: str, where: str) -> Tag:
    word, _, rest = text[1:].partition(" ")
    tag = Tag(word, rest.strip(), where)
    if word not in FORMS:
        near = get_close_matches(word, FORMS, 1)
        raise tag.wrong("no such tag" + (f", is it @{near[0]}?" if near else f": {', '.join(FORMS)}"))
    if not re.fullmatch(FORMS[word], tag.text):
        raise tag.wrong(f"{tag.text!r} is not as kernel_files.py describes")
    return tag

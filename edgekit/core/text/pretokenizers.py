"""Pre-tokenizers: they split text into the pieces within which a model finds tokens.

`Words` stands for the regular expressions of GPT-2, GPT-4, Llama 3 and Qwen 2, which differ in few respects:
nothing that a file says is run as a regular expression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from edgekit.core.text.characters import Kind, kind

_CONTRACTIONS = ("s", "t", "re", "ve", "m", "ll", "d")
_LINE_ENDS = "\r\n"


@dataclass(frozen=True)
class Piece:
    """Part of a text. `first`: does it begin where the text begins?"""

    text: str
    first: bool


@dataclass(frozen=True)
class Words:
    """Words, numbers, punctuation and white space, each with what is in front of it.

    `any_case`: contractions such as 'LL are found in any case. `any_prefix`: a word takes any one character
    in front of it, not just a space. `digits`: so many digits at most make a piece, 0: all of them.
    `spaced_digits`: a number takes a space in front of it. `line_ends`: punctuation takes line ends behind
    it, and white space is split behind the last of them."""

    any_case: bool = False
    any_prefix: bool = False
    digits: int = 0
    spaced_digits: bool = True
    line_ends: bool = False

    def __call__(self, piece: Piece) -> Iterator[Piece]:
        at = 0
        while at < len(piece.text):
            end = self.end(piece.text, at)
            yield Piece(piece.text[at:end], piece.first and at == 0)
            at = end

    def end(self, text: str, at: int) -> int:
        """Where the piece that begins at `at` ends."""
        if contraction := self._contraction(text, at):
            return at + 1 + contraction
        space = at + (text[at] == " ")
        prefixed = at + self._is_prefix(text[at])
        if (end := _run(text, prefixed, Kind.LETTER)) > prefixed:
            return end
        start = space if self.spaced_digits else at
        if (end := _run(text, start, Kind.NUMBER)) > start:
            return min(end, start + self.digits) if self.digits else end
        if (end := _run(text, space, Kind.OTHER)) > space:
            while self.line_ends and end < len(text) and text[end] in _LINE_ENDS:
                end += 1
            return end
        end = _run(text, at, Kind.SPACE)
        if self.line_ends and (last := max(text.rfind(c, at, end) for c in _LINE_ENDS)) >= 0:
            return last + 1
        # The last space belongs to what follows, if there are others.
        return end if end == len(text) or end == at + 1 else end - 1

    def _contraction(self, text: str, at: int) -> int:
        """How many letters behind this apostrophe are one of 's, 't, 're ...; 0 if none are."""
        if text[at] != "'":
            return 0
        for letters in _CONTRACTIONS:
            found = text[at + 1 : at + 1 + len(letters)]
            if self.any_case:
                found = found.replace("\u017f", "s").lower()  # the long s, whose capital is S
            if found == letters:
                return len(letters)
        return 0

    def _is_prefix(self, ch: str) -> bool:
        if not self.any_prefix:
            return ch == " "
        return ch not in _LINE_ENDS and kind(ch) in (Kind.SPACE, Kind.OTHER)


def _run(text: str, at: int, wanted: Kind) -> int:
    """Where the characters of one kind end that begin at `at`."""
    while at < len(text) and kind(text[at]) is wanted:
        at += 1
    return at


@dataclass(frozen=True)
class Digits:
    """Numbers apart from everything else, each digit of its own or not."""

    individual: bool

    def __call__(self, piece: Piece) -> Iterator[Piece]:
        start, text = 0, piece.text
        for at in range(1, len(text) + 1):
            a, b = kind(text[at - 1]) is Kind.NUMBER, at < len(text) and kind(text[at]) is Kind.NUMBER
            if at == len(text) or a != b or (a and self.individual):
                yield Piece(text[start:at], piece.first and start == 0)
                start = at


@dataclass(frozen=True)
class LeadingSpace:
    """A space in front of each piece that has none."""

    def __call__(self, piece: Piece) -> Iterator[Piece]:
        yield piece if piece.text.startswith(" ") else Piece(" " + piece.text, piece.first)


@dataclass(frozen=True)
class Metaspace:
    """Spaces become a character that is in no text, mostly U+2581, which begins a piece; one is put in front
    always, first in a text, or never."""

    replacement: str
    prepend: Literal["always", "first", "never"]
    split: bool

    def __call__(self, piece: Piece) -> Iterator[Piece]:
        text = piece.text.replace(" ", self.replacement)
        wanted = self.prepend == "always" or (self.prepend == "first" and piece.first)
        if wanted and not text.startswith(self.replacement):
            text = self.replacement + text
        starts = [i for i, ch in enumerate(text) if ch == self.replacement and i] if self.split else []
        for start, end in zip([0, *starts], [*starts, len(text)], strict=True):
            yield Piece(text[start:end], piece.first and start == 0)


Pretokenizer = Words | Digits | LeadingSpace | Metaspace

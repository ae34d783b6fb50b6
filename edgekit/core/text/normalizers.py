"""Normalizers: what a tokenizer makes of text before it splits it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from edgekit.core.text import unicode_classes
from edgekit.core.text.characters import SPACES, bounds

_SPACES = "".join(SPACES)


@dataclass(frozen=True)
class Nfc:
    """Canonical composition (NFC) of Unicode 9, as in the package `tokenizers`, whatever Python's is: newer
    characters stand for themselves, and nothing composes across them."""

    def __call__(self, text: str) -> str:
        parts = _newer().split(text)
        return "".join(part if i % 2 else unicodedata.normalize("NFC", part) for i, part in enumerate(parts))


@cache
def _newer() -> re.Pattern[str]:
    edges = bounds(unicode_classes.UNKNOWN_TO_NFC)
    spans = zip(edges[::2], edges[1::2], strict=True)
    return re.compile(f"([{''.join(f'{chr(begin)}-{chr(end - 1)}' for begin, end in spans)}])")


@dataclass(frozen=True)
class Prepend:
    """Text in front, unless there is none behind it."""

    content: str

    def __call__(self, text: str) -> str:
        return self.content + text if text else text


@dataclass(frozen=True)
class Replace:
    """One text for another, from the left, without overlap."""

    old: str
    new: str

    def __call__(self, text: str) -> str:
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Lowercase:
    """Each character of its own: no sigma is a final one."""

    def __call__(self, text: str) -> str:
        return "".join(map(str.lower, text))


@dataclass(frozen=True)
class Strip:
    """White space of the ends goes."""

    left: bool
    right: bool

    def __call__(self, text: str) -> str:
        text = text.lstrip(_SPACES) if self.left else text
        return text.rstrip(_SPACES) if self.right else text


Normalizer = Nfc | Prepend | Replace | Lowercase | Strip

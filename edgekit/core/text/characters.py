"""Classes of characters that tokenizers split at: letters, numbers and white space."""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from functools import cache, lru_cache
from itertools import accumulate

from edgekit.core.text import unicode_classes

# White_Space of Unicode. str.isspace has four separators of ASCII more.
SPACES = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class Kind(Enum):
    """What a pre-tokenizer knows of a character."""

    LETTER = 0
    NUMBER = 1
    SPACE = 2
    OTHER = 3


@lru_cache(1 << 12)
def kind(ch: str) -> Kind:
    if ch in SPACES:
        return Kind.SPACE
    for table, found in ((unicode_classes.LETTERS, Kind.LETTER), (unicode_classes.NUMBERS, Kind.NUMBER)):
        if bisect_right(bounds(table), ord(ch)) % 2:
            return found
    return Kind.OTHER


@cache
def bounds(table: str) -> tuple[int, ...]:
    """The characters at which a class begins, ends, begins ..."""
    return tuple(accumulate(map(int, table.split())))

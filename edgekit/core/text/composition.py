"""The data of canonical composition (NFC): what characters are made of, of Unicode 9 as `Nfc` is.

Hangul is not in the tables: its syllables are computed.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from edgekit.core.text import unicode_classes
from edgekit.core.text.characters import bounds

_COUNT = 0x110000


@dataclass(frozen=True)
class Composition:
    """`parts` of characters: two, or one that replaces it. The first may have parts, the second has none.
    `pairs`: what two become. `classes`: characters where another canonical combining class begins."""

    parts: Mapping[int, tuple[int, ...]]
    pairs: Mapping[tuple[int, int], int]
    classes: Mapping[int, int]


@cache
def composition() -> Composition:
    parts, pairs, classes, before = {}, {}, {}, 0
    newer = bounds(unicode_classes.UNKNOWN_TO_NFC)
    for code in range(_COUNT):
        ch = chr(code)
        is_known = bisect_right(newer, code) % 2 == 0
        kind = unicodedata.combining(ch) if is_known else 0
        if kind != before:
            classes[code] = before = kind
        words = unicodedata.decomposition(ch).split()
        if is_known and words and not words[0].startswith("<"):
            first, *second = (int(word, 16) for word in words)
            parts[code] = (first, *second)
            if second and unicodedata.normalize("NFC", ch) == ch:
                pairs[first, second[0]] = code
    return Composition(parts, dict(sorted(pairs.items())), classes)

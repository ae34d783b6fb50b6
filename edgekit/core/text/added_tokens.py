"""Added tokens: texts such as <s> that are tokens wherever they stand, found before anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgekit.core.text.characters import SPACES

_SPACES = "".join(SPACES)


@dataclass(frozen=True)
class AddedToken:
    """`special` ones are not shown in decoded text. `normalized` ones are searched for in normalized text.
    Those with `left` or `right` take the white space of that side."""

    id: int
    text: str
    special: bool
    normalized: bool
    left: bool = False
    right: bool = False


class Matcher:
    """Finds tokens in text, the leftmost first, and of those the longest."""

    def __init__(self, tokens: Mapping[str, AddedToken]) -> None:
        self.tokens = tokens
        longest = sorted(tokens, key=len, reverse=True)
        self.pattern = re.compile("|".join(map(re.escape, longest))) if longest else None

    def parts(self, text: str) -> Iterator[str | AddedToken]:
        """The text, cut into tokens and what is between them; nothing is empty."""
        done = 0
        for found in self.pattern.finditer(text) if self.pattern else ():
            token, (start, end) = self.tokens[found[0]], found.span()
            if token.left:
                start = max(len(text[:start].rstrip(_SPACES)), done)
            if token.right:
                end += len(text[end:]) - len(text[end:].lstrip(_SPACES))
            if done < start:
                yield text[done:start]
            yield token
            done = end
        if done < len(text):
            yield text[done:]


def matcher(tokens: Sequence[AddedToken], texts: Sequence[str]) -> Matcher:
    """`texts` are what the tokens look like where they are searched; of equal ones, the last counts."""
    return Matcher({text: token for token, text in zip(tokens, texts, strict=True) if text})

"""Unigram (SentencePiece): the most probable sequence of tokens, by Viterbi's algorithm."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from edgekit.core.text.bpe import BYTE_TOKENS

UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class Unigram:
    """`tokens` by id, with the logarithms of their probabilities. A character that is no token is `unknown`,
    ten below the least; neighbours become one unknown, or the tokens of their bytes with `byte_fallback`."""

    tokens: tuple[str, ...]
    scores: tuple[float, ...]
    unknown: int
    byte_fallback: bool = False

    @cached_property
    def vocabulary(self) -> Mapping[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if token}

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.vocabulary)

    @cached_property
    def _byte_ids(self) -> tuple[int, ...]:
        return tuple(self.vocabulary[token] for token in BYTE_TOKENS)

    def ids(self, piece: str) -> list[int]:
        found: list[int] = []
        for start, end in self._spans(piece):
            one = self.vocabulary.get(piece[start:end])
            if one is None and self.byte_fallback:
                found.extend(self._byte_ids[byte] for byte in piece[start:end].encode())
            else:
                found.append(self.unknown if one is None else one)
        return found

    def _matches(self, piece: str, start: int) -> Iterator[int]:
        """Where tokens end that begin here, the nearest first."""
        low, high, end = 0, len(self._sorted), start
        while end < len(piece):
            end += 1
            text = piece[start:end]
            low = bisect_left(self._sorted, text, low, high)
            if low == high or not self._sorted[low].startswith(text):
                return
            if self._sorted[low] == text:
                yield end

    def _spans(self, piece: str) -> list[tuple[int, int]]:
        """The best path from the start to each character, then back along it. Sums are float64, from the
        left; of equal ones the first stays, whose last token is the longest."""
        least = min(self.scores, default=0.0) - UNKNOWN_PENALTY
        # Of the best path to each place: its score, where its last token starts, and whether that is unknown.
        paths: list[tuple[float, int, bool] | None] = [(0.0, 0, False)] + [None] * len(piece)

        def offer(score: float, start: int, end: int, is_unknown: bool) -> None:
            best = paths[end]
            if best is None or score > best[0]:
                paths[end] = (score, start, is_unknown)

        for start in range(len(piece)):
            here = paths[start]
            assert here is not None, "each character is a token or unknown"
            has_single = False
            for end in self._matches(piece, start):
                one = self.vocabulary[piece[start:end]]
                offer(self.scores[one] + here[0], start, end, one == self.unknown)
                has_single = has_single or end == start + 1
            if not has_single:
                offer(least + here[0], start, start + 1, True)
        spans: list[tuple[int, int]] = []
        end, was_unknown = len(piece), False
        while end > 0:
            path = paths[end]
            assert path is not None
            _, start, is_unknown = path
            if is_unknown and was_unknown:
                spans[-1] = (start, spans[-1][1])
            else:
                spans.append((start, end))
            end, was_unknown = start, is_unknown
        return spans[::-1]

"""Byte-pair encoding (BPE): the pair of neighbours that training merged first is merged first."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
# GPT-2's alphabet: bytes that are printable characters of Latin-1 stay, the others become U+0100 and on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_HIDDEN = [byte for byte in range(256) if byte not in _PRINTABLE]
BYTE_ALPHABET = {byte: chr(byte) for byte in _PRINTABLE} | {b: chr(256 + i) for i, b in enumerate(_HIDDEN)}


@dataclass(frozen=True)
class Bpe:
    """`tokens` by id, "" where there is none; `merges` are pairs of ids, those of lower rank first.

    `byte_level`: pieces are bytes in GPT-2's alphabet. Otherwise they are characters; one that is no token
    becomes the tokens of its bytes with `byte_fallback`, or `unknown`, or nothing. `fuse_unknown`: neighbours
    become one unknown. `whole_words`: a piece that is a token is not looked into."""

    tokens: tuple[str, ...]
    merges: tuple[tuple[int, int], ...]
    byte_level: bool = False
    byte_fallback: bool = False
    unknown: int | None = None
    fuse_unknown: bool = False
    whole_words: bool = False

    @cached_property
    def vocabulary(self) -> Mapping[str, int]:
        return {token: i for i, token in enumerate(self.tokens) if token}

    @cached_property
    def ranks(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """The rank and the result of each merge."""
        tokens, vocabulary = self.tokens, self.vocabulary
        return {(a, b): (rank, vocabulary[tokens[a] + tokens[b]]) for rank, (a, b) in enumerate(self.merges)}

    @cached_property
    def _byte_ids(self) -> tuple[int, ...]:
        return tuple(self.vocabulary[token] for token in BYTE_TOKENS)

    def ids(self, piece: str) -> list[int]:
        if self.byte_level:
            piece = piece.encode().decode("latin-1").translate(BYTE_ALPHABET)
        if self.whole_words and piece in self.vocabulary:
            return [self.vocabulary[piece]]
        return self._merged(self._symbols(piece))

    def _symbols(self, piece: str) -> list[int]:
        found: list[int] = []
        was_unknown = False
        for ch in piece:
            one = self.vocabulary.get(ch)
            if one is not None:
                found.append(one)
            elif self.byte_fallback:
                found.extend(self._byte_ids[byte] for byte in ch.encode())
            elif self.unknown is not None and not (was_unknown and self.fuse_unknown):
                found.append(self.unknown)
            was_unknown = one is None
        return found

    def _merged(self, ids: list[int]) -> list[int]:
        """A heap of pairs by rank, then by place; those that other merges have overtaken are skipped."""
        if len(ids) < 2:
            return ids
        ranks, end = self.ranks, len(ids)
        following, before = list(range(1, end + 1)), list(range(-1, end - 1))
        heap: list[tuple[int, int, int, int, int]] = []

        def push(a: int, b: int) -> None:
            if (merge := ranks.get((ids[a], ids[b]))) is not None:
                heapq.heappush(heap, (merge[0], a, ids[a], ids[b], merge[1]))

        for at in range(end - 1):
            push(at, at + 1)
        while heap:
            _, a, left, right, result = heapq.heappop(heap)
            b = following[a]
            if ids[a] != left or b == end or ids[b] != right:
                continue
            ids[a], ids[b] = result, -1
            following[a] = following[b]
            if following[b] < end:
                before[following[b]] = a
                push(a, following[b])
            if before[a] >= 0:
                push(before[a], a)
        return [i for i in ids if i >= 0]

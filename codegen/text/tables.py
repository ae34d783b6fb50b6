"""A tokenizer as the tables and settings that its C is printed of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from edgekit.codegen.printing.literal import number
from edgekit.core.escape import Code
from edgekit.core.text import unicode_classes
from edgekit.core.text.added_tokens import AddedToken
from edgekit.core.text.bpe import BYTE_ALPHABET, BYTE_TOKENS, Bpe
from edgekit.core.text.characters import bounds
from edgekit.core.text.composition import composition
from edgekit.core.text.normalizers import Nfc, Prepend, Replace
from edgekit.core.text.pretokenizers import Digits, LeadingSpace, Metaspace, Pretokenizer, Words
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.unigram import UNKNOWN_PENALTY, Unigram

_BYTE_OF = {ch: byte for byte, ch in BYTE_ALPHABET.items()}
_PLANE = 1 << 16


@dataclass(frozen=True)
class Spaces:
    """Spaces as another character: `front` says where one is put in front, `cut` where pieces are split."""

    replacement: str
    front: str  # "never", "always", "first", or "each", even if there is one
    cut: str  # "each" in front of each one, "runs" in front of some in a row, "never"


@dataclass(frozen=True)
class Tables:
    """What C needs of a tokenizer. `unsupported` says why there is no C of it; "" where there is."""

    tokenizer: Tokenizer

    @cached_property
    def unsupported(self) -> str:
        normalizers, steps = self.tokenizer.normalizers, self.tokenizer.pretokenizers
        if self.composes:
            texts = (one.text for one in self.tokenizer.added if one.normalized)
            stable = all(Nfc()(text) == text for text in texts)
            return "" if stable else "added tokens that its normalizer Nfc changes"
        for step in normalizers:
            if not isinstance(step, Prepend | Replace):
                return f"its normalizer {type(step).__name__}"
        if normalizers and (self._normalized_space is None or steps):
            return "its normalizers Prepend and Replace in this form"
        if any(isinstance(step, Metaspace) for step in steps[:-1]):
            return "steps behind Metaspace"
        if normalizers and any(one.normalized for one in self.tokenizer.added):
            return "added tokens that are searched for in normalized text"
        if self.searches_text and any(self.texts[i] != text for text, i in self.searched.items()):
            return "a decoder that does not belong to its model"
        return ""

    @property
    def composes(self) -> bool:
        """Is text normalized by composition (NFC), and by nothing else?"""
        return self.tokenizer.normalizers == (Nfc(),)

    @cached_property
    def _normalized_space(self) -> str | None:
        """The character that normalizers put in the place of spaces, if that is all they do."""
        replaced = [step for step in self.tokenizer.normalizers if isinstance(step, Replace)]
        front = [step.content for step in self.tokenizer.normalizers if isinstance(step, Prepend)]
        if len(replaced) != 1 or replaced[0].old != " " or len(replaced[0].new) != 1 or len(front) > 1:
            return None
        return replaced[0].new if not front or front[0] in (" ", replaced[0].new) else None

    @cached_property
    def spaces(self) -> Spaces | None:
        steps = self.tokenizer.pretokenizers
        if (space := self._normalized_space) is not None:
            has_front = any(isinstance(step, Prepend) for step in self.tokenizer.normalizers)
            return Spaces(space, "each" if has_front else "never", self._runs(space))
        if steps and isinstance(steps[-1], Metaspace):
            last = steps[-1]
            return Spaces(
                last.replacement, last.prepend, "each" if last.split else self._runs(last.replacement)
            )
        return None

    def _runs(self, space: str) -> str:
        """Pieces may be cut where a space follows something else, if no token has both side by side."""
        model = self.tokenizer.model
        joined = any(space in token.lstrip(space) for token in model.tokens if token)
        return "never" if joined or isinstance(model, Unigram) or model.whole_words else "runs"

    @cached_property
    def splits(self) -> tuple[Pretokenizer, ...]:
        """The steps in front of the model, without Metaspace."""
        return tuple(step for step in self.tokenizer.pretokenizers if not isinstance(step, Metaspace))

    @property
    def split_steps(self) -> list[tuple[int, str, Pretokenizer]]:
        """The last one first, as C wants functions before their use."""
        return [(i, type(step).__name__, step) for i, step in reversed([*enumerate(self.splits)])]

    # What parts of the code are needed

    @property
    def uses_scratch(self) -> bool:
        """Is a piece copied before the model sees it, or does the model need memory?"""
        has_front = any(isinstance(step, LeadingSpace) for step in self.splits)
        return self.spaces is not None or has_front or self.unigram is not None or self.composes

    @property
    def needs_kinds(self) -> bool:
        return any(isinstance(step, Words | Digits) for step in self.splits)

    @property
    def any_left(self) -> bool:
        return any(one.left for one in self.tokenizer.added)

    @property
    def any_right(self) -> bool:
        return any(one.right for one in self.tokenizer.added)

    @property
    def needs_spaces(self) -> bool:
        return self.needs_kinds or self.any_left or self.any_right

    @property
    def reads_characters(self) -> bool:
        return self.needs_spaces or self.bpe is None or not self.bpe.byte_level or self.composes

    @property
    def compares(self) -> bool:
        """Is text compared with that of a token, or with a character?"""
        decoding = self.tokenizer.decoding
        return bool(self.tokenizer.added or self.spaces or decoding.space or decoding.byte_fallback)

    @property
    def gap(self) -> bytes:
        assert self.spaces is not None
        return self.spaces.replacement.encode()

    @property
    def shown_space(self) -> bytes:
        return self.tokenizer.decoding.space.encode()

    # The vocabulary

    @cached_property
    def bpe(self) -> Bpe | None:
        model = self.tokenizer.model
        return model if isinstance(model, Bpe) else None

    @cached_property
    def unigram(self) -> Unigram | None:
        model = self.tokenizer.model
        return model if isinstance(model, Unigram) else None

    @cached_property
    def count(self) -> int:
        return max(self.tokenizer.tokens, default=-1) + 1

    @cached_property
    def texts(self) -> tuple[bytes, ...]:
        """What each token stands for: bytes for a byte-level model, otherwise its text."""
        byte_level = self.tokenizer.decoding.byte_level
        texts = (self.tokenizer.tokens.get(i, "") for i in range(self.count))
        return tuple(
            self.tokenizer.decoding.raw(text, True) if byte_level else text.encode() for text in texts
        )

    @cached_property
    def searched(self) -> dict[bytes, int]:
        """The tokens that a model finds, by the bytes that it finds them by, in the order of these."""
        found: dict[bytes, int] = {}
        for token, i in self.tokenizer.model.vocabulary.items():
            if self.bpe is None or not self.bpe.byte_level:
                found[token.encode()] = i
            elif all(ch in _BYTE_OF for ch in token):
                found[bytes(_BYTE_OF[ch] for ch in token)] = i
        return dict(sorted(found.items()))

    @cached_property
    def searches_text(self) -> bool:
        """Are tokens searched for by their text, not merged alone?"""
        return self.bpe is None or self.bpe.whole_words

    @cached_property
    def byte_ids(self) -> tuple[int, ...] | None:
        """The token of each byte, -1 where there is none."""
        vocabulary, bpe = self.tokenizer.model.vocabulary, self.bpe
        if bpe is not None and bpe.byte_level:
            return tuple(vocabulary.get(BYTE_ALPHABET[byte], -1) for byte in range(256))
        if self.tokenizer.model.byte_fallback:
            return tuple(vocabulary[token] for token in BYTE_TOKENS)
        return None

    @cached_property
    def _characters(self) -> list[tuple[int, int]]:
        """Characters that are tokens, with these."""
        return sorted((ord(t), i) for t, i in self.tokenizer.model.vocabulary.items() if len(t) == 1)

    @property
    def character_codes(self) -> list[int]:
        return [code for code, _ in self._characters] or [0]

    @property
    def character_ids(self) -> list[int]:
        return [i for _, i in self._characters] or [self.count]

    @property
    def id_type(self) -> str:
        return "uint16_t" if self.count < 1 << 16 else "uint32_t"

    @property
    def text_bytes(self) -> bytes:
        return b"".join(self.texts) or b"\0"

    @property
    def text_begins(self) -> list[int]:
        return [0, *accumulate(map(len, self.texts))]

    @cached_property
    def merges(self) -> tuple[tuple[int, int, int, int], ...]:
        """Left, right, rank and result, in the order of the pair."""
        assert self.bpe is not None
        return tuple(sorted((a, b, rank, result) for (a, b), (rank, result) in self.bpe.ranks.items()))

    @cached_property
    def ranked_by_result(self) -> bool:
        """Do results come in the order of ranks? Then they are ranks, too."""
        results = [result for _, _, _, result in sorted(self.merges, key=lambda merge: merge[2])]
        return all(a < b for a, b in pairwise(results))

    @cached_property
    def first_merges(self) -> list[int]:
        """Where the merges of each left token begin."""
        starts = np.searchsorted([merge[0] for merge in self.merges], range(self.count + 1))
        return [int(start) for start in starts]

    def merge_column(self, column: int) -> list[int]:
        return [merge[column] for merge in self.merges]

    @cached_property
    def score_type(self) -> str:
        """float if that keeps each of them."""
        assert self.unigram is not None
        return (
            "float" if all(float(np.float32(score)) == score for score in self.unigram.scores) else "double"
        )

    @property
    def score_texts(self) -> list[str]:
        assert self.unigram is not None
        return [number(score, self.score_type) for score in self.unigram.scores]

    @property
    def least_text(self) -> Code:
        assert self.unigram is not None
        return Code(number(min(self.unigram.scores, default=0.0) - UNKNOWN_PENALTY, "double"))

    # Added tokens

    @cached_property
    def added(self) -> tuple[tuple[AddedToken, ...], tuple[AddedToken, ...]]:
        """Those that are searched first, and those that are searched behind: the longest of each first."""
        ordered = sorted(self._last_of_each(), key=lambda one: -len(one.text.encode()))
        return (
            tuple(one for one in ordered if not one.normalized),
            tuple(one for one in ordered if one.normalized),
        )

    @property
    def added_bytes(self) -> bytes:
        """The texts of both lists."""
        return b"".join(one.text.encode() for list in self.added for one in list)

    def added_begin(self, token: AddedToken) -> int:
        return self._added_begins[id(token)]

    @cached_property
    def _added_begins(self) -> dict[int, int]:
        ordered = [one for list in self.added for one in list]
        sizes = [len(one.text.encode()) for one in ordered]
        return {id(one): begin for one, begin in zip(ordered, [0, *accumulate(sizes)], strict=False)}

    def _last_of_each(self) -> list[AddedToken]:
        return [*{(one.text, one.normalized): one for one in self.tokenizer.added if one.text}.values()]

    @cached_property
    def special(self) -> tuple[int, ...]:
        return tuple(sorted(self.tokenizer.special_ids))

    # Characters

    @cached_property
    def letters(self) -> tuple[list[int], list[int]]:
        return _planes(bounds(unicode_classes.LETTERS))

    @cached_property
    def numbers(self) -> tuple[list[int], list[int]]:
        return _planes(bounds(unicode_classes.NUMBERS))

    @property
    def decomposed(self) -> list[tuple[int, int, int]]:
        """Characters with the one or two that they are made of; 0 where there is one."""
        return [(code, parts[0], sum(parts[1:])) for code, parts in composition().parts.items()]

    @property
    def composed(self) -> list[tuple[int, int, int]]:
        return [(*pair, code) for pair, code in composition().pairs.items()]

    @property
    def combining(self) -> list[tuple[int, int]]:
        return [*composition().classes.items()]

    # Sizes

    @cached_property
    def longest(self) -> int:
        """Bytes that a token adds to a text at most: those that are not UTF-8 become three each, and a
        character may have been incomplete before."""
        return 3 * max(map(len, self.texts), default=0) + 4

    @cached_property
    def room(self) -> int:
        """Of so many elements for each byte of a text, and so many more, nothing is too long."""
        growth = len(self.spaces.replacement.encode()) if self.spaces else 1
        for_model = growth * (6 if self.unigram else 2)
        # Composition takes two elements for a byte, and makes three bytes of one at most.
        return 2 + 3 * for_model if self.composes else for_model


def _planes(edges: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Edges of a class without their plane, and where those of each plane begin."""
    starts = [int(np.searchsorted(edges, plane * _PLANE)) for plane in range(18)]
    return [edge % _PLANE for edge in edges], starts


def left_out(tokenizer: Tokenizer | None) -> str:
    """Why there is no C of a tokenizer, in a sentence; "" where there is, or no tokenizer."""
    reason = Tables(tokenizer).unsupported if tokenizer else ""
    return f"the library has no tokenizer and no sampler: C does not have {reason}" if reason else ""

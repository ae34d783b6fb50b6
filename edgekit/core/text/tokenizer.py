"""A tokenizer: added tokens, normalizers, pre-tokenizers and a model in a row, and the way back to text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from edgekit.core.errors import EdgeKitError
from edgekit.core.text.added_tokens import AddedToken, Matcher, matcher
from edgekit.core.text.bpe import Bpe
from edgekit.core.text.decoding import Decoding, TextStream
from edgekit.core.text.normalizers import Normalizer, Strip
from edgekit.core.text.pretokenizers import Piece, Pretokenizer
from edgekit.core.text.unigram import Unigram


@dataclass(frozen=True)
class Tokenizer:
    """`prefix` and `suffix` are the tokens around a text, such as one that begins it; `stop` are those with
    which a model ends a text."""

    model: Bpe | Unigram
    added: tuple[AddedToken, ...] = ()
    normalizers: tuple[Normalizer, ...] = ()
    pretokenizers: tuple[Pretokenizer, ...] = ()
    decoding: Decoding = field(default_factory=Decoding)
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    stop: tuple[int, ...] = ()

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The ids of a text, with `prefix` and `suffix` if `special`; added tokens in it are always found."""
        _check(text)
        found = [*self.prefix] if special else []
        for part in self._parts(text):
            if isinstance(part, AddedToken):
                found.append(part.id)
            else:
                for piece in self._pieces(part):
                    found += self.model.ids(piece.text)
        return [*found, *self.suffix] if special else found

    def decode(self, ids: Iterable[int], *, special: bool = False) -> str:
        """The text of tokens, without special ones unless `special`. Ids without a token give nothing."""
        return self.decoding.text(self._shown(ids, special))

    def stream(self) -> TokenStream:
        """Text of tokens as they come, without special ones."""
        return TokenStream(self)

    @cached_property
    def tokens(self) -> Mapping[int, str]:
        """Every token by its id; added ones as they are searched for."""
        own = {i: token for i, token in enumerate(self.model.tokens) if token}
        return own | {one.id: self._searched(one) for one in self.added}

    @cached_property
    def special_ids(self) -> frozenset[int]:
        texts = {one.text for one in self.added if one.special}
        return frozenset(i for i, token in self.tokens.items() if token in texts)

    def _shown(self, ids: Iterable[int], special: bool) -> Iterator[str]:
        for i in ids:
            if i in self.tokens and (special or i not in self.special_ids):
                yield self.tokens[i]

    @cached_property
    def _matchers(self) -> tuple[Matcher, Matcher]:
        """For raw text and for normalized text, where tokens are searched that are normalized themselves."""
        raw = [one for one in self.added if not one.normalized]
        normalized = [one for one in self.added if one.normalized]
        return (
            matcher(raw, [one.text for one in raw]),
            matcher(normalized, [self._searched(one) for one in normalized]),
        )

    def _searched(self, token: AddedToken) -> str:
        return self._normalized(token.text) if token.normalized else token.text

    def _normalized(self, text: str) -> str:
        for normalizer in self.normalizers:
            text = normalizer(text)
        return text

    def _parts(self, text: str) -> Iterator[Piece | AddedToken]:
        """Added tokens, and normalized text between them."""
        raw, normalized = self._matchers
        first = True
        for part in raw.parts(text):
            if isinstance(part, AddedToken):
                yield part
                first = False
                continue
            stripped = any(isinstance(one, Strip) and one(part)[:1] != part[:1] for one in self.normalizers)
            for piece in normalized.parts(self._normalized(part)):
                yield piece if isinstance(piece, AddedToken) else Piece(piece, first and not stripped)
                first = False
            first = False

    def _pieces(self, part: Piece) -> list[Piece]:
        pieces = [part]
        for split in self.pretokenizers:
            pieces = [new for piece in pieces for new in split(piece)]
        return pieces


class TokenStream:
    """Text of a tokenizer's tokens as they come."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._stream = TextStream(tokenizer.decoding)

    def push(self, id: int) -> str:
        """What this token makes certain, which is nothing while a character is incomplete."""
        tokens, special = self.tokenizer.tokens, self.tokenizer.special_ids
        return self._stream.push(tokens[id]) if id in tokens and id not in special else ""

    def end(self) -> str:
        return self._stream.end()


def _check(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"character {error.start} of the text is half of a surrogate pair"
        raise EdgeKitError("E0103", message, hint="give text that UTF-8 can hold") from None

"""Tokens back to text, as a whole or as they come: a character may be spread over several tokens."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from edgekit.core.text.bpe import BYTE_ALPHABET, BYTE_TOKENS

_BYTE_OF = {ch: byte for byte, ch in BYTE_ALPHABET.items()}
_BYTES_OF_TOKENS = {token: bytes([byte]) for byte, token in enumerate(BYTE_TOKENS)}
_UNREADABLE = "\ufffd"


@dataclass(frozen=True)
class Decoding:
    """What tokens stand for.

    `byte_level`: bytes in GPT-2's alphabet. `byte_fallback`: <0x41> is a byte. `space` is a character that
    stands for a space, or "". In front of the text, `strip` spaces go, and with `bare_start` all of the first
    token. `between` stands between tokens."""

    byte_level: bool = False
    byte_fallback: bool = False
    space: str = ""
    bare_start: bool = False
    strip: int = 0
    between: str = ""

    def text(self, tokens: Iterable[str]) -> str:
        """The text of all tokens. Bytes that are not UTF-8 become U+FFFD: with `byte_fallback` each byte of
        their run, the valid ones included; otherwise each part of what could have been a character."""
        parts = [(token in self._byte_tokens, self.raw(token, i == 0)) for i, token in enumerate(tokens)]
        text = ""
        for is_byte, run in groupby(parts, key=lambda part: part[0]):
            raw = b"".join(part for _, part in run)
            text += _strict(raw) if is_byte else raw.decode(errors="replace")
        return text[self._leading_spaces(text) :]

    def raw(self, token: str, is_first: bool) -> bytes:
        """What a token adds."""
        if self.byte_level:  # what is not in the alphabet is an added token, which stands for itself
            known = all(ch in _BYTE_OF for ch in token)
            return bytes(_BYTE_OF[ch] for ch in token) if known else token.encode()
        if token in self._byte_tokens:
            return _BYTES_OF_TOKENS[token]
        if self.space:
            token = token.replace(self.space, "" if is_first and self.bare_start else " ")
        return ("" if is_first else self.between).encode() + token.encode()

    @property
    def _byte_tokens(self) -> dict[str, bytes]:
        return _BYTES_OF_TOKENS if self.byte_fallback else {}

    def _leading_spaces(self, text: str) -> int:
        """How many characters are stripped."""
        return min(self.strip, len(text) - len(text.lstrip(" ")))


class TextStream:
    """Text of tokens as they come: each call gives what has become certain. Together that is
    `Decoding.text`, but for runs of byte tokens that are not UTF-8: valid characters in them stay."""

    def __init__(self, decoding: Decoding) -> None:
        self.decoding = decoding
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_first = True
        self._strip = decoding.strip

    def push(self, token: str) -> str:
        raw = self.decoding.raw(token, self._is_first)
        self._is_first = False
        return self._stripped(self._utf8.decode(raw))

    def end(self) -> str:
        """What is left: U+FFFD where a character is incomplete."""
        return self._stripped(self._utf8.decode(b"", True))

    def _stripped(self, text: str) -> str:
        while self._strip and text:
            self._strip -= 1
            if not text.startswith(" "):
                self._strip = 0
                break
            text = text[1:]
        return text


def _strict(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return _UNREADABLE * len(raw)

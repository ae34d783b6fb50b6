"""Protocol buffers as text, as in prototxt and pbtxt files: fields by name, as often as they occur."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from edgekit.core.errors import EdgeKitError

Value: TypeAlias = "int | float | bool | str | Fields"
_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<word>[\w.+-]+)|(?P<sign>[{}<>:,;\[\]])"""
)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[fF]?|[-+]?inf|nan")
_INTEGER = re.compile(r"-?\d{1,20}|-?0[xX][0-9a-fA-F]{1,16}")
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_MAX_DEPTH = 64
_CLOSING = {"{": "}", "<": ">"}


@dataclass(frozen=True)
class Fields:
    """One message: its fields by name."""

    fields: Mapping[str, list[Value]]
    where: str

    def texts(self, name: str) -> list[str]:
        return [value for value in self.fields.get(name, []) if isinstance(value, str)]

    def text(self, name: str, default: str = "") -> str:
        return [default, *self.texts(name)][-1]

    def integers(self, name: str) -> list[int]:
        found = self.fields.get(name, [])
        numbers = [v for v in found if isinstance(v, int) and not isinstance(v, bool)]
        if len(numbers) != len(found):
            raise EdgeKitError("E0401", f"{name} should be whole numbers", self.where)
        return numbers

    def messages(self, name: str) -> list[Fields]:
        found = self.fields.get(name, [])
        parts = [value for value in found if isinstance(value, Fields)]
        if len(parts) != len(found):
            raise EdgeKitError("E0401", f"{name} should be a message", self.where)
        return parts


def parse(text: str, where: str) -> Fields:
    """The message that a text is."""
    return _Parser(text, where).message("", 0)


class _Parser:
    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.line = 1
        self.tokens = self._tokens(text)
        self.kind, self.token = next(self.tokens)

    def message(self, closing: str, depth: int) -> Fields:
        if depth > _MAX_DEPTH:
            raise EdgeKitError("E0402", "is nested without end", self._here())
        fields: dict[str, list[Value]] = {}
        where = self._here() if closing else self.where
        while self.token != closing or self.kind == "text":
            if self.kind != "word":
                raise self._damaged()
            values = fields.setdefault(self._take(), [])
            has_colon = self._skip(":")
            if self.kind == "sign" and self.token in _CLOSING:
                values.append(self._part(depth))
            elif not has_colon:
                raise self._damaged()
            elif self._skip("["):
                while not self._skip("]"):
                    values.append(self._part(depth) if self.token in _CLOSING else self._scalar())
                    self._skip(",")
            else:
                values.append(self._scalar())
            self._skip(",") or self._skip(";")
        return Fields(fields, where)

    def _part(self, depth: int) -> Fields:
        closing = _CLOSING[self._take()]
        part = self.message(closing, depth + 1)
        self._take()
        return part

    def _scalar(self) -> Value:
        if self.kind == "text":
            parts = []
            while self.kind == "text":  # strings one behind the other are one
                parts.append(_ESCAPE.sub(_escaped, self._take()[1:-1].encode()))
            return b"".join(parts).decode(errors="surrogateescape")
        if self.kind != "word":
            raise self._damaged()
        word = self._take()
        if word in ("true", "false"):
            return word == "true"
        if _INTEGER.fullmatch(word):
            return int(word, 16 if "x" in word.lower() else 10)
        return float(word.rstrip("fF") if word[-3:] != "inf" else word) if _NUMBER.fullmatch(word) else word

    def _take(self) -> str:
        token = self.token
        self.kind, self.token = next(self.tokens)
        return token

    def _skip(self, sign: str) -> bool:
        found = self.kind == "sign" and self.token == sign
        if found:
            self._take()
        return found

    def _tokens(self, text: str) -> Iterator[tuple[str, str]]:
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._damaged(text[at])
            at = found.end()
            if found.lastgroup != "space":
                yield str(found.lastgroup), found.group()
            self.line += found.group().count("\n")
        while True:
            yield "end", ""

    def _damaged(self, token: str = "") -> EdgeKitError:
        found = token or self.token or "the end"
        return EdgeKitError("E0401", f"{found[:40]!r} makes no sense here", self._here())

    def _here(self) -> str:
        return f"{self.where}, line {self.line}"


def _escaped(found: re.Match[bytes]) -> bytes:
    """What an escape stands for: a byte by its number, a control character, or the character itself."""
    code = found[1]
    if code[:1].isdigit():
        return bytes([int(code, 8) & 0xFF])
    return bytes([int(code[1:], 16)]) if len(code) > 1 else _LETTERS.get(code, code)

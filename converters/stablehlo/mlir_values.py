"""Tokens of MLIR text, and the attributes that are made of them: numbers, lists, dictionaries, constants."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from edgekit.converters.stablehlo.mlir_literals import Spec, dense, spec
from edgekit.core.errors import EdgeKitError

_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_TOKEN = re.compile(
    r"""
    (?P<tensor>(?:tensor|vector|memref)<[^<>]*(?:<[^<>]*>[^<>]*)*>)
  | (?P<dense>dense(?:_resource)?<[^<>]*>)
  | (?P<text>"[^"\\]*(?:\\.[^"\\]*)*")
  | (?P<value>%[\w$.-]+(?:\#\d+)?)
  | (?P<symbol>@(?:[\w$.-]+|"[^"]*"))
  | (?P<alias>\#[A-Za-z_][\w$.-]*)
  | (?P<block>\^[\w$.-]+)
  | (?P<number>0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
  | (?P<word>[A-Za-z_!][\w$.]*)
  | (?P<mark>->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_END = ("", "")
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


@dataclass
class Tokens:
    """A position in a text, and what the text gave names to so far."""

    text: str
    at: int = 0
    aliases: dict[str, str] = field(default_factory=dict)  # of locations, those that are a name
    _next: tuple[str, str] = _END

    def __post_init__(self) -> None:
        self.take()

    # Tokens

    def take(self) -> str:
        """The next token, which is gone then."""
        taken = self._next[1]
        space = _SPACE.match(self.text, self.at)
        found = _TOKEN.match(self.text, space.end() if space else self.at)
        if found is None or not found.lastgroup:
            self._next, self.at = _END, len(self.text)
        else:
            self._next, self.at = (found.lastgroup, found[found.lastgroup]), found.end()
        return taken

    @property
    def kind(self) -> str:
        return self._next[0]

    @property
    def next(self) -> str:
        return self._next[1]

    def accept(self, *tokens: str) -> bool:
        """Take the next token if it is one of these."""
        found = self.kind in ("word", "mark") and self.next in tokens
        if found:
            self.take()
        return found

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"{token} expected")

    def need(self, kind: str) -> str:
        if self.kind != kind:
            raise self.error(f"a {kind} expected")
        return self.take()

    def error(self, what: str) -> EdgeKitError:
        line = self.text.count("\n", 0, self.at) + 1
        found = f"{self.next[:40]!r}" if self.kind else "the end"
        return EdgeKitError("E0401", f"{what}, found {found}", f"line {line}")

    def until(self, close: str, item: Callable[[], None]) -> None:
        """Items with commas between them, up to the closing mark."""
        while not self.accept(close):
            if not self.kind:
                raise self.error(f"{close} expected")
            item()
            self.accept(",")

    def type(self) -> Spec:
        if self.kind == "tensor":
            return spec(self.take())
        name = self.need("word")  # tokens and tuples: no reader computes with them
        if self.accept("<"):
            self.skip("<")
        return Spec(name, None)

    def location(self) -> str:
        """Skip a location, if one is here, and return the name that it is, or nothing."""
        if not self.accept("loc"):
            return ""
        self.expect("(")
        name = ""
        if self.kind == "text":
            name = self.next[1:-1]
        elif self.kind == "alias":
            name = self.aliases.get(self.next, "")
        start = self.at
        self.skip("(")
        return name if ":" not in self.text[start : start + 2] else ""

    def skip(self, opened: str) -> None:
        """Everything up to the mark that closes this one."""
        close, depth = _PAIRS[opened], 1
        while depth:
            if not self.kind:
                raise self.error(f"{close} expected")
            if self.kind == "mark":
                depth += (self.next == opened) - (self.next == close)
            self.take()

    # Values of attributes

    def value(self, typed: bool = True) -> Any:
        """A number, word, text, list, dictionary, or constant; those with x between them as a tuple. What
        stands behind a colon is the `typed` value's own type, and otherwise that of the operator."""
        first = self._single(typed)
        if not isinstance(first, list):
            return first
        several = [first]
        while (self.kind == "word" and self.next == "x") or self.next == "->":
            self.take()
            several.append(self._single())
        return tuple(several) if len(several) > 1 else first

    def _single(self, typed: bool = True) -> Any:
        kind = self.kind
        if kind == "number":
            found = number(self.take())
            self._skip_type(typed)
            return found
        if kind == "dense":
            content = self.take()
            self.expect(":")
            return dense(content, self.type())
        if kind == "text":
            text = self.take()[1:-1]
            self._skip_type(typed)
            return text
        if kind == "tensor":
            return self.type()
        if kind == "symbol":
            return self.take()[1:].strip('"')
        if kind in ("alias", "word"):
            name = self.take()
            if self.accept("<"):
                return self._angled(name)
            self._skip_type(typed)
            return {"true": True, "false": False}.get(name, name)
        if self.accept("["):
            items: list[Any] = []
            self.until("]", lambda: items.append(self._range()))
            return items
        if self.accept("{"):
            return self.dictionary("}")
        raise self.error("a value expected")

    def dictionary(self, close: str) -> dict[str, Any]:
        """`key = value` pairs; what stands alone is true."""
        found: dict[str, Any] = {}

        def entry() -> None:
            key = self.take().strip('"')
            found[key] = self.value() if self.accept("=") else True

        self.until(close, entry)
        return found

    def _angled(self, name: str) -> Any:
        """array<i64: 1, 2>, or an attribute of a dialect."""
        if name == "array":
            self.need("word")
            items: list[Any] = []
            self.accept(":")
            self.until(">", lambda: items.append(self._single()))
            return items
        if self.next == "[":
            made = self.value()
            self.expect(">")
            return made
        found: dict[str, Any] = {}

        def entry() -> None:
            key = self.take()
            # #stablehlo<comparison_direction GE>
            found[key] = self.value() if self.accept("=") or self.kind == "word" else True

        self.until(">", entry)
        return found

    def _range(self) -> Any:
        """An item of a list; of a slice, start:limit:step."""
        first = self.value()
        if not isinstance(first, int) or self.next != ":":
            return first
        numbers = [first]
        while self.accept(":"):
            numbers.append(int(self.need("number")))
        return numbers

    def _skip_type(self, typed: bool) -> None:
        """The type behind a number, but not the limit of a slice behind its start."""
        if typed and self.next == ":" and not re.compile(r"\s*-?\d").match(self.text, self.at):
            self.take()
            self.type()


def number(text: str) -> int | float:
    """An integer, also in hexadecimal, or a float."""
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if set(text) & set(".eE") else int(text)

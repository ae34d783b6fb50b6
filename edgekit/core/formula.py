"""The C formulas of elementwise operators as expressions: one grammar for all that compute or print them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

_TOKEN = re.compile(
    r"\s*(\((?:float|double|u?int\d+_t)\)|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?[fu]?|\w+|\|\||&&|[<>=!]="
    r"|[-+*/<>?:(),!&|^~])"
)
# What binds weakest comes first.
_BINARY = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
)
_UNARY = ("-", "!", "~")
# The signs that arrays, tensors and expressions of other languages share with Python's numbers.
ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "*": operator.mul,
    "/": operator.truediv,
    "-": lambda a, *b: operator.sub(a, *b) if b else -a,
}


class FormulaError(ValueError):
    """What of a formula cannot be read."""


@dataclass(frozen=True)
class Number:
    text: str  # without a suffix
    is_unsigned: bool = False


@dataclass(frozen=True)
class Operand:
    name: str


@dataclass(frozen=True)
class Cast:
    """A conversion to a C type."""

    ctype: str
    operand: Formula


@dataclass(frozen=True)
class Operation:
    """An operator of C: - ! ~ of one operand, ?: of three, others of two."""

    sign: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True)
class Function:
    """A call of a function of the runtime."""

    name: str  # ek_exp_f32
    operands: tuple[Formula, ...]


Formula = Number | Operand | Cast | Operation | Function


@cache
def parse(text: str) -> Formula:
    """The expression that a formula writes."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text.replace(" ", ""):
        raise FormulaError(f"cannot read {text!r}")
    return _Parser(text, tokens).whole()


_FUNCTION = 16  # operations that numpy takes for exp and its like


@cache
def operations(text: str) -> int:
    """How many operations a formula takes, about."""

    def count(formula: Formula) -> int:
        match formula:
            case Number() | Operand():
                return 0
            case Cast(_, inner):
                return 1 + count(inner)
            case Operation(_, operands):
                return 1 + sum(map(count, operands))
            case Function(_, operands):
                return _FUNCTION + sum(map(count, operands))

    return count(parse(text))


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str, tokens: Sequence[str]) -> None:
        self.text, self.tokens = text, [*tokens]

    def whole(self) -> Formula:
        formula = self.choice()
        if self.tokens:
            raise FormulaError(f"cannot read {' '.join(self.tokens)!r} of {self.text!r}")
        return formula

    def take(self, *wanted: str) -> str:
        """The next token if it is one of these, else nothing."""
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else ""

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise FormulaError(f"no {token!r} where one should be in {self.text!r}")

    def choice(self) -> Formula:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        yes = self.choice()
        self.expect(":")
        return Operation("?:", (condition, yes, self.choice()))

    def binary(self, level: int) -> Formula:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while sign := self.take(*_BINARY[level]):
            left = Operation(sign, (left, self.binary(level + 1)))
        return left

    def unary(self) -> Formula:
        if sign := self.take(*_UNARY):
            return Operation(sign, (self.unary(),))
        if self.take("("):
            inner = self.choice()
            self.expect(")")
            return inner
        if not self.tokens:
            raise FormulaError(f"{self.text!r} ends too early")
        token = self.tokens.pop(0)
        return Cast(token[1:-1], self.unary()) if token[0] == "(" else self.name_or_number(token)

    def name_or_number(self, token: str) -> Formula:
        if token[0].isdigit() or token[0] == ".":
            return Number(token.rstrip("fu"), token[-1] == "u")
        if not re.fullmatch(r"\w+", token):
            raise FormulaError(f"{token!r} stands where an operand should in {self.text!r}")
        if not self.take("("):
            return Operand(token)
        operands = [self.choice()]
        while self.take(","):
            operands.append(self.choice())
        self.expect(")")
        return Function(token, tuple(operands))

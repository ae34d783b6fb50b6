"""The C formulas of elementwise operators as expressions for graphics processors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from edgekit.codegen.gpu.ast import F32, Expr, Kind, number, select
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.math_f32 import FUNCTIONS
from edgekit.codegen.gpu.use import UnsupportedError

_TOKEN = re.compile(r"\s*(\(float\)|\(int32_t\)|[\d.]+(?:e[+-]?\d+)?f?|\w+|\|\||&&|[<>=!]=|[-+*/<>?:(),!])")
# What binds weakest comes first.
_BINARY: tuple[Mapping[str, Callable[[Any, Any], Expr]], ...] = (
    {"||": lambda a, b: a | b},
    {"&&": lambda a, b: a & b},
    {"==": lambda a, b: a.eq(b), "!=": lambda a, b: a.ne(b)},
    {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": lambda a, b: a / b},
)


def formula(k: Builder, text: str, kind: Kind, operands: Mapping[str, Expr]) -> Expr:
    """The value of a formula over these operands, whose numbers are of one kind."""
    return _Parser(k, text, kind, operands).whole()


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, k: Builder, text: str, kind: Kind, operands: Mapping[str, Expr]) -> None:
        self.k, self.text, self.kind, self.operands = k, text, kind, operands
        self.tokens = _TOKEN.findall(text)
        if "".join(self.tokens).replace(" ", "") != text.replace(" ", ""):
            raise self.lacking(text)

    def lacking(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"the formula {self.text}" if what == self.text else f"{what} in {self.text}")

    def whole(self) -> Expr:
        y = self.choice()
        if self.tokens:
            raise self.lacking(" ".join(self.tokens))
        return y

    def take(self, *wanted: str) -> str:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else ""

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.lacking(self.text)

    def choice(self) -> Expr:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        yes = self.choice()
        self.expect(":")
        return select(condition, yes, self.choice())

    def binary(self, level: int) -> Expr:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while sign := self.take(*_BINARY[level]):
            left = _BINARY[level][sign](left, self.binary(level + 1))
        return left

    def unary(self) -> Expr:
        if self.take("(float)" if self.kind == F32 else "(int32_t)"):
            return self.unary()
        if self.take("-"):
            return -self.unary()
        if self.take("!"):
            return ~self.unary()
        if self.take("("):
            inner = self.choice()
            self.expect(")")
            return inner
        if not self.tokens:
            raise self.lacking(self.text)
        return self.name_or_number(self.tokens.pop(0))

    def name_or_number(self, token: str) -> Expr:
        if token[0].isdigit():
            return number(float(token.rstrip("f")), self.kind)
        if not self.take("("):
            if token not in self.operands:
                raise self.lacking(token)
            return self.operands[token]
        arguments = [self.choice()]
        while self.take(","):
            arguments.append(self.choice())
        self.expect(")")
        name = token.removeprefix("ek_").removesuffix("_f32")
        if name not in FUNCTIONS or not token.endswith("_f32") or self.kind != F32:
            raise self.lacking(token)
        return FUNCTIONS[name](self.k, *(self.k.let("operand", a) for a in arguments))

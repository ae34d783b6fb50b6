"""The C formulas of elementwise operators, evaluated in numpy on float32: the same steps, the same bits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from edgekit import math_f32
from edgekit.ir import Array

Formula = Callable[[Mapping[str, Array]], Array]
_TOKEN = re.compile(r"\s*(\(float\)|[\d.]+(?:e[+-]?\d+)?|\w+|\|\||&&|[<>=!]=|[-+*/<>?:(),!])")
# What binds weakest comes first.
_BINARY: tuple[Mapping[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: _truth(a) | _truth(b)},
    {"&&": lambda a, b: _truth(a) & _truth(b)},
    {"==": operator.eq, "!=": operator.ne},
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": operator.truediv},
)


@cache
def parse(text: str) -> Formula:
    """The formula as a function of its operands: a, b and c of float32, or of truth values."""
    return _Parser(text).whole()


class _Parser:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens) == text.replace(" ", ""), f"cannot read {text!r}"

    def whole(self) -> Formula:
        formula = self.choice()
        assert not self.tokens, f"cannot read {' '.join(self.tokens)!r} of {self.text!r}"
        return formula

    def take(self, *wanted: str) -> str:
        """The next token if it is one of these, else nothing."""
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else ""

    def expect(self, token: str) -> None:
        assert self.take(token), f"no {token!r} where one should be in {self.text!r}"

    def choice(self) -> Formula:
        condition = self.binary(0)
        if not self.take("?"):
            return condition
        yes = self.choice()
        self.expect(":")
        no = self.choice()
        return lambda ins: np.where(_truth(condition(ins)), yes(ins), no(ins))

    def binary(self, level: int) -> Formula:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while sign := self.take(*_BINARY[level]):
            left = _applied(_BINARY[level][sign], left, self.binary(level + 1))
        return left

    def unary(self) -> Formula:
        if self.take("(float)"):
            return self.unary()
        if self.take("-"):
            operand = self.unary()
            return lambda ins: -operand(ins)
        if self.take("("):
            inner = self.choice()
            self.expect(")")
            return inner
        return self.name_or_number(self.tokens.pop(0))

    def name_or_number(self, token: str) -> Formula:
        if token[0].isdigit():
            number = np.asarray(token, np.float32)
            return lambda ins: number
        if not self.take("("):
            return lambda ins: ins[token]
        operands = [self.choice()]
        while self.take(","):
            operands.append(self.choice())
        self.expect(")")
        function = getattr(math_f32, token.removeprefix("ek_").removesuffix("_f32"))
        return lambda ins: function(*(operand(ins) for operand in operands))


def _applied(function: Callable[[Any, Any], Any], left: Formula, right: Formula) -> Formula:
    return lambda ins: function(left(ins), right(ins))


def _truth(x: Array) -> Array:
    return np.asarray(x, np.bool_)

"""Conditions and sizes in kernel files: Python's expressions over the parameters and facts of a call.

Beside numbers and their operators they may say `weight_limit`, the bytes that weights may take, `is_block`, 1
for some rows of a layer in a loop, `rule`, `max` and `min`, of windows `taps_h` and `whole_w`, so many taps
and whole windows along an axis are inside of the image, and of the weights `zero_blocks(1, 4)`, so many
percent of 1 output and 4 inputs each, and `heavy_pairs()`, of 1000 pairs of these those that have too much
for overflow_safe.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import CodeType
from typing import Any

from edgekit.codegen.kernels.overflow_safe import heavy_pairs
from edgekit.codegen.kernels.windows import MEASURES
from edgekit.core.ops import Call, Param
from edgekit.core.ops._integer import FACTS
from edgekit.core.reasons import OwnWordsError
from edgekit.core.tiles import zero_blocks

WEIGHT_LIMIT = "weight_limit"  # a fact of some calls: see compact_weights.py
IS_BLOCK = "is_block"  # a fact of calls in loops over rows: row_calls.py
_USUAL = {WEIGHT_LIMIT: 1 << 62, IS_BLOCK: 0}  # facts of other calls
KNOWN = frozenset({*FACTS, *MEASURES, *_USUAL, "rule"})  # of any call, beside its parameters
_OF_WEIGHTS: dict[str, Callable[..., int]] = {f.__name__: f for f in (zero_blocks, heavy_pairs)}
_FUNCTIONS = frozenset({"max", "min", *_OF_WEIGHTS})
_NODES = (
    *(ast.BoolOp, ast.boolop, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop),
    *(ast.IfExp, ast.Call, ast.Subscript, ast.Tuple, ast.Constant, ast.Name, ast.expr_context),
)
_NOTHING: Mapping[str, int] = {}


class ExpressionError(OwnWordsError):
    """A text that is no condition or size of a kernel file."""


@dataclass(frozen=True)
class Expression:
    """One of them, and the names in it that are not functions."""

    text: str
    names: frozenset[str] = field(compare=False, repr=False)  # whose order differs from process to process
    body: ast.expr = field(compare=False, repr=False)

    @cached_property
    def code(self) -> CodeType:
        return compile(ast.Expression(self.body), "<condition>", "eval")

    @cached_property
    def asks_weights(self) -> bool:
        """Does it ask for what only weights tell?"""
        return any(isinstance(node, ast.Name) and node.id in _OF_WEIGHTS for node in ast.walk(self.body))

    def of(self, call: Call, known: Mapping[str, int] = _NOTHING) -> int:
        """Its value as an integer, where other names than those of the call are known, too."""
        return int(self.exactly(call, known))

    def exactly(self, call: Call, known: Mapping[str, int] = _NOTHING) -> float:
        """Its value, which may be a fraction: the text comes from our own kernels."""
        found = {name: _value(call, name) for name in self.names - known.keys()}
        values = {name: value for name, value in found.items() if value is not None}
        functions = _builtins(call) if self.asks_weights else _PLAIN
        number: float = eval(self.code, functions, {**values, **known})
        return number


def values(expressions: Mapping[str, Expression], call: Call) -> dict[str, int]:
    """Of expressions by name, each of which may use those before it."""
    found: dict[str, int] = {}
    for name, each in expressions.items():
        found[name] = each.of(call, found)
    return found


_PLAIN = {"__builtins__": {"max": max, "min": min}}


def _builtins(call: Call) -> dict[str, Any]:
    """All functions, also those of the weights of this call."""

    def of_weights(measure: Callable[..., int]) -> Callable[..., int]:
        return lambda *sizes: measure(call.args[1].value.data, *sizes)

    weights = {name: of_weights(measure) for name, measure in _OF_WEIGHTS.items()}
    return {"__builtins__": {**_PLAIN["__builtins__"], **weights}}


def _value(call: Call, name: str) -> str | Param | None:
    """What a name stands for; None where the call has nothing of this name."""
    if name == "rule":
        return call.rule
    if name in call.facts:
        return call.facts[name]
    if name in MEASURES:
        return MEASURES[name](call.params)
    return call.params.get(name, _USUAL.get(name))


@cache
def expression(text: str) -> Expression:
    return _expression(text, _parsed(text))


@cache
def conjuncts(text: str) -> tuple[Expression, ...]:
    """The parts of a condition that all must hold. An `and` in brackets or beside an `or` parts nothing."""
    body = _parsed(text)
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    return tuple(expression(text[part.col_offset : part.end_col_offset]) for part in parts)


@cache
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ExpressionError(f"{text!r} is no expression") from None


def _expression(text: str, body: ast.expr) -> Expression:
    functions, nodes = set(), tuple(ast.walk(body))
    for node in nodes:
        if not isinstance(node, _NODES):
            raise ExpressionError(f"{ast.unparse(node)!r} is more than conditions and sizes may say")
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
                words = ", ".join(sorted(_FUNCTIONS))
                raise ExpressionError(f"{ast.unparse(node.func)} is no function of conditions: {words}")
            functions.add(id(node.func))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in functions}
    return Expression(text, frozenset(names), body)

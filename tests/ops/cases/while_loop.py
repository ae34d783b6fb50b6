"""Loops: sums that stop at a bound, values that change places, a branch and a loop within a loop."""

import numpy as np
from support.op_cases import case

from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.logic import Less, Not, Or, Where
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.while_loop import BodyNode, BodyValue, While
from edgekit.core.types import DType, Type

BOOL, WORD, NUMBER = Type(DType.BOOL, ()), Type(DType.S32, ()), Type(DType.F32, (3,))
YES, NO = np.array(True), np.array(False)


def word(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def loop(
    limit: int, inputs: dict[str, Type], outputs: str, *nodes: tuple[Op, str, str], **types: Type
) -> While:
    """A loop whose nodes are an operator, its operands and its result."""
    made = tuple(BodyNode(op, tuple(read.split()), (result,), result) for op, read, result in nodes)
    values = tuple(BodyValue(name, type) for name, type in {**inputs, **types}.items())
    return While(tuple(inputs), tuple(outputs.split()), made, values, limit)


COUNTED = loop(
    100,
    {"go": BOOL, "i": WORD, "y": NUMBER, "one": WORD, "end": WORD, "x": NUMBER},
    "on j z",
    (Add(), "i one", "j"),
    (Add(), "y x", "z"),
    (Less(), "j end", "on"),
    j=WORD,
    z=NUMBER,
    on=BOOL,
)
# Fibonacci: both values are read after the first of them is known.
EXCHANGED = loop(
    30,
    {"go": BOOL, "a": WORD, "b": WORD, "end": WORD},
    "on b c",
    (Add(), "a b", "c"),
    (Less(), "c end", "on"),
    c=WORD,
    on=BOOL,
)
SWAPPED = loop(
    7,
    {"go": BOOL, "a": NUMBER, "b": NUMBER, "flag": BOOL, "same": NUMBER},
    "go b a turned same",
    (Not(), "flag", "turned"),
    turned=BOOL,
)
WINDOW = Type(DType.F32, (1,))
# The oldest goes; which of two comes instead depends on the turn.
SHIFTED = loop(
    5,
    {"go": BOOL, "ring": NUMBER, "even": BOOL, "x": WINDOW, "y": WINDOW},
    "go next odd",
    (Slice((1,), (1,), (2,)), "ring", "rest"),
    (Mul(), "x y", "product"),
    (Where(), "even product x", "new"),
    (Concat(0), "rest new", "next"),
    (Not(), "even", "odd"),
    rest=Type(DType.F32, (2,)),
    product=WINDOW,
    new=WINDOW,
    next=NUMBER,
    odd=BOOL,
)
INNER = loop(
    4,
    {"again": BOOL, "n": WORD, "m": NUMBER, "unit": WORD, "bound": WORD, "step": NUMBER},
    "more k l",
    (Add(), "n unit", "k"),
    (Sub(), "m step", "l"),
    (Less(), "k bound", "more"),
    k=WORD,
    l=NUMBER,
    more=BOOL,
)


def nested() -> While:
    """The inner loop runs once more in each iteration of the outer one, up to its limit."""
    nodes = (
        BodyNode(Less(), ("nought", "i"), ("again",)),
        BodyNode(INNER, ("again", "nought", "y", "one", "i", "x"), ("a", "b", "c")),
        BodyNode(Add(), ("i", "one"), ("j",)),
        BodyNode(Less(), ("j", "end"), ("under",)),
        BodyNode(Or(), ("under", "a"), ("on",)),
    )
    inputs = {"go": BOOL, "i": WORD, "y": NUMBER, "one": WORD, "nought": WORD, "end": WORD, "x": NUMBER}
    types = {"again": BOOL, "a": BOOL, "b": WORD, "c": NUMBER, "j": WORD, "under": BOOL, "on": BOOL}
    values = tuple(BodyValue(name, type) for name, type in {**inputs, **types}.items())
    return While(tuple(inputs), ("on", "j", "c"), nodes, values, 9)


START, STEP = np.array([1, -2, 3], np.float32), np.array([0.5, 0.25, -1], np.float32)
CASES = (
    *(case(COUNTED, YES, word(0), START, word(1), word(end), STEP) for end in (0, 1, 7, 1000)),
    case(COUNTED, NO, word(0), START, word(1), word(7), STEP),
    case(COUNTED, YES, word(0), START, word(1), word(7), STEP, constant=(3, 5)),
    case(EXCHANGED, YES, word(0), word(1), word(90)),
    *(case(SWAPPED, go, START, STEP, YES, START) for go in (YES, NO)),
    case(SHIFTED, YES, START, YES, np.array([2], np.float32), np.array([5], np.float32)),
    *(case(nested(), YES, word(0), START, word(1), word(0), word(end), STEP) for end in (3, 50)),
)

"""Mutants of Python source: one small change each, found in the syntax tree and made in the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Mult,
}
_ORDERED = (
    ast.Sub,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.MatMult,
)  # of which operands may not be swapped
_CALLED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "rint": "floor",
    "round": "floor",
    "floor": "ceil",
    "ceil": "floor",
}
# What is said to people, to type checkers, or of our own mistakes.
_SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign)


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of a text become `text`; `kind` names the change, `line` counts from one, and
    the tests of lines `tested` are those that run it."""

    kind: str
    line: int
    start: int
    end: int
    text: str
    tested: tuple[int, int]
    source: str = ""  # the line where it starts

    def apply(self, source: str) -> str:
        raw = source.encode()
        return (raw[: self.start] + self.text.encode() + raw[self.end :]).decode()


def edits(source: str) -> list[Edit]:
    """Every mutant of a module, in the order of the text."""
    tree = ast.parse(source)
    starts, texts = [0], source.splitlines()
    for raw in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(raw))
    last = max((node.end_lineno or 0 for node in tree.body), default=0)
    found = set()
    for node, kind, text, function in _walk(tree, None):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        line = texts[node.lineno - 1].strip()
        found.add(Edit(kind, node.lineno, start, end, text, _tested(node, function, last), line))
    return sorted(found, key=lambda e: (e.start, e.end, e.kind, e.text))


def _tested(node: _Node, function: ast.FunctionDef | None, last: int) -> tuple[int, int]:
    """Its own lines within a function, the body of the function for a default, and the whole module for what
    runs at import."""
    if function is None:
        return 1, last
    first = function.body[0].lineno
    if node.lineno < first:
        return first, function.body[-1].end_lineno or first
    return node.lineno, node.end_lineno or node.lineno


_Node = ast.expr | ast.stmt
_Change = tuple[_Node, str, str]  # what is replaced, how the change is called, by which text


def _walk(
    node: ast.AST, function: ast.FunctionDef | None
) -> Iterator[tuple[_Node, str, str, ast.FunctionDef | None]]:
    """Changes of a node and below it; `function` is the outermost function around them, or none at import."""
    if isinstance(node, _SKIPPED):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from _walk(node.value, function)
        return
    if isinstance(node, ast.FunctionDef):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                yield from ((*change, function or node) for change in _default(default))
    elif isinstance(node, _Node):
        yield from ((*change, function) for change in _of(node))
    body = node.body if isinstance(node, ast.FunctionDef | ast.ClassDef) else list(ast.iter_child_nodes(node))
    inner = function or (node if isinstance(node, ast.FunctionDef) else None)
    for child in body:
        if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
            continue  # a docstring
        yield from _walk(child, inner)


def _default(node: ast.expr) -> Iterator[_Change]:
    """Changes of what an argument is where a call leaves it out."""
    match node:
        case ast.Constant(value=str(value)):
            yield node, "default", repr(value + "_")
        case ast.Constant(value=None):
            yield node, "default", "0"
        case ast.Name(id=name):
            yield node, "default", f"(-{name})"
        case _:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant):
                    yield from ((part, "default", text) for _, _, text in _of(part))


def _of(node: _Node) -> Iterator[_Change]:
    """Changes of one node. What its neighbours could tear apart comes in brackets."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield node, "comparison", _with(node, ops=[_COMPARED[type(op)]()])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED:
            if not any(map(_is_text, (left, right))):
                yield node, "arithmetic", f"({_with(node, op=_COMPUTED[type(op)]())})"
                if isinstance(op, _ORDERED) and ast.dump(left) != ast.dump(right):
                    yield node, "swapped operands", f"({_with(node, left=right, right=left)})"
        case ast.AugAssign(op=op) if type(op) in _COMPUTED:
            yield node, "arithmetic", _with(node, op=_COMPUTED[type(op)]())
            yield node, "removed update", "pass"
        case ast.Constant(value=bool(value)):
            yield node, "boolean", str(not value)
        case ast.Constant(value=int(value)):
            yield node, "constant", str(value + 1)
            if value > 0:
                yield node, "constant", str(value - 1)
        case ast.Constant(value=float(value)):
            yield node, "constant", repr(value + 1)
            if value:
                yield node, "constant", repr(value / 2)
        case ast.BoolOp(op=op):
            yield node, "and/or", f"({_with(node, op=ast.And() if isinstance(op, ast.Or) else ast.Or())})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "dropped not", f"({ast.unparse(operand)})"
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield node, "dropped minus", f"({ast.unparse(operand)})"
        case ast.IfExp(body=body, orelse=orelse):
            yield node, "branch", f"({ast.unparse(body)})"
            yield node, "branch", f"({ast.unparse(orelse)})"
        case ast.If(test=test):
            yield test, "branch", "False"
            yield test, "branch", "True"
        case ast.Slice(lower=lower, upper=upper):
            for bound in (lower, upper):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield bound, "slice", f"({ast.unparse(bound)}) + 1"
        case ast.Call():
            yield from _of_call(node)
        case _:
            yield from _of_statement(node)


def _of_call(node: ast.Call) -> Iterator[_Change]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _CALLED and isinstance(node.func, ast.Attribute):
        yield node, "call", _with(node, func=ast.Attribute(node.func.value, _CALLED[name]))
    elif name in _CALLED and name in ("min", "max", "any", "all"):
        yield node, "call", _with(node, func=ast.Name(_CALLED[name]))
    elif name in ("sorted", "abs", "reversed", "round") and len(node.args) == 1:
        yield node, "call", f"({ast.unparse(node.args[0])})"


def _of_statement(node: _Node) -> Iterator[_Change]:
    match node:
        case ast.Expr(value=ast.Call()):
            yield node, "removed call", "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield node, "removed update", "pass"
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _read(value):
            yield node, "removed update", "pass"
        case ast.Return(value=(ast.Compare() | ast.BoolOp()) as value):
            yield node, "return value", f"return not ({ast.unparse(value)})"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "return value", "return None"
        case ast.Continue():
            yield node, "loop", "break"


def _with(node: ast.expr | ast.stmt, **fields: object) -> str:
    """The text of a node with some of its fields replaced."""
    new = copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return ast.unparse(new)


def _read(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))

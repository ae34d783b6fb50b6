"""Prints kernels: what all shading languages have in common; each language is a file beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from edgekit.codegen.gpu.ast import (
    Assign,
    Barrier,
    Define,
    Expr,
    GpuBuffer,
    GpuKernel,
    GpuLoop,
    Kind,
    Statement,
    Store,
    When,
)

_BINARY = {"and": "&&", "or": "||"}
_SIGNS = {"neg": "-", "~": "~", "not": "!"}
_INDENT = "    "


class Dialect(ABC):
    """How a language spells things. What is asked for here is spelled alike in all that come from C."""

    functions: ClassVar[dict[str, str]] = {}  # name here -> name there, or one with {0} and {1}

    @abstractmethod
    def type(self, kind: Kind) -> str: ...

    def literal(self, e: Expr) -> str:
        match e.kind.scalar:
            case "f32":
                return f"{e.text}f"
            case "u32":
                return f"{e.text}u"
            case "i32" if e.text == "-2147483648":
                return "(-2147483647 - 1)"
        return e.text

    @abstractmethod
    def convert(self, kind: Kind, x: Expr) -> str: ...

    @abstractmethod
    def bits(self, kind: Kind, x: Expr) -> str: ...

    @abstractmethod
    def vector(self, kind: Kind, parts: Sequence[str]) -> str: ...

    @abstractmethod
    def select(self, condition: Expr, yes: Expr, no: Expr) -> str: ...

    def define(self, name: str, value: Expr, changes: bool) -> str:
        return f"{'' if changes else 'const '}{self.type(value.kind)} {name} = {self.expr(value)}"

    def counter(self, name: str, start: str) -> str:
        """The variable of a loop and where it starts."""
        return f"int {name} = {start}"

    @abstractmethod
    def barrier(self) -> str: ...

    def at(self, name: str, index: str) -> str:
        """An element of a buffer."""
        return f"{name}[{name}_at + {index}]"

    def function(self, name: str, kind: Kind, args: Sequence[str]) -> str:
        spelled = self.functions[name]
        return spelled.format(*args) if "{" in spelled else f"{spelled}({', '.join(args)})"

    def binary(self, op: str, a: Expr, b: Expr) -> str:
        return f"({self.expr(a)} {_BINARY.get(op, op)} {self.expr(b)})"

    def expr(self, e: Expr) -> str:
        match e.op:
            case "literal":
                return self.literal(e)
            case "name":
                return e.text
            case "load":
                return self.at(e.text, self.expr(e.args[0]))
            case "element" | "uniform":
                return f"{e.text}[{self.expr(e.args[0])}]"
            case "lane":
                return f"{self.expr(e.args[0])}.{'xyzw'[int(e.text)]}"
            case "splat" | "vector":
                return self.vector(e.kind, [self.expr(a) for a in e.args])
            case "select":
                return self.select(*e.args)
            case "convert":
                return self.convert(e.kind, e.args[0])
            case "bits":
                return self.bits(e.kind, e.args[0])
            case op if op in _SIGNS:
                return f"({_SIGNS[op]}{self.expr(e.args[0])})"
            case op if (len(e.args) == 2 and not op.isalpha()) or op in _BINARY:
                return self.binary(op, *e.args)
            case op:
                return self.function(op, e.kind, [self.expr(a) for a in e.args])

    def lines(self, body: Sequence[Statement], depth: int = 1) -> Iterator[str]:
        indent = _INDENT * depth
        for s in body:
            match s:
                case Define():
                    yield f"{indent}{self.define(s.name, s.value, s.changes)};"
                case Assign():
                    yield f"{indent}{s.name} = {self.expr(s.value)};"
                case Store():
                    index = self.expr(s.index)
                    is_buffer = isinstance(s.to, GpuBuffer)
                    place = self.at(s.to.name, index) if is_buffer else f"{s.to.name}[{index}]"
                    yield f"{indent}{place} = {self.expr(s.value)};"
                case GpuLoop():
                    first = self.counter(s.name, self.expr(s.start))
                    yield f"{indent}for ({first}; {s.name} < {self.expr(s.stop)}; {s.name} += {s.step}) {{"
                    yield from self.lines(s.body, depth + 1)
                    yield f"{indent}}}"
                case When():
                    yield f"{indent}if ({self.expr(s.condition)}) {{"
                    yield from self.lines(s.body, depth + 1)
                    if s.otherwise:
                        yield f"{indent}}} else {{"
                        yield from self.lines(s.otherwise, depth + 1)
                    yield f"{indent}}}"
                case Barrier():
                    yield f"{indent}{self.barrier()};"


def used(kernel: GpuKernel) -> set[tuple[str, Kind]]:
    """The operations of a kernel, to know which helpers it needs."""
    found: set[tuple[str, Kind]] = set()

    def visit(e: Expr) -> None:
        found.add((e.op, e.kind))
        for arg in e.args:
            visit(arg)

    def walk(body: Sequence[Statement]) -> None:
        for s in body:
            match s:
                case Define() | Assign():
                    visit(s.value)
                case Store():
                    visit(s.index)
                    visit(s.value)
                case GpuLoop():
                    visit(s.start)
                    visit(s.stop)
                    walk(s.body)
                case When():
                    visit(s.condition)
                    walk(s.body)
                    walk(s.otherwise)

    walk(kernel.body)
    return found

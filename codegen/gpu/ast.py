"""What kernels for GPUs are made of: typed expressions, statements, buffers, whole kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Scalar = Literal["f32", "i32", "u32", "bool"]


@dataclass(frozen=True)
class Kind:
    """A scalar, or four of them."""

    scalar: Scalar
    lanes: int = 1

    @property
    def one(self) -> Kind:
        return Kind(self.scalar)

    @property
    def bytes(self) -> int:
        return 4 * self.lanes


F32, I32, U32, BOOL = Kind("f32"), Kind("i32"), Kind("u32"), Kind("bool")
F32X4, I32X4, U32X4 = Kind("f32", 4), Kind("i32", 4), Kind("u32", 4)

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
Value = "Expr | int | float"


@dataclass(frozen=True, eq=False)
class Expr:
    """An operation on expressions; `text` is the name of a variable, or the digits of a number."""

    kind: Kind
    op: str
    args: tuple[Expr, ...] = ()
    text: str = ""

    def __add__(self, other: Expr | float) -> Expr:
        return _binary("+", self, other)

    def __radd__(self, other: Expr | float) -> Expr:
        return _binary("+", other, self)

    def __sub__(self, other: Expr | float) -> Expr:
        return _binary("-", self, other)

    def __rsub__(self, other: Expr | float) -> Expr:
        return _binary("-", other, self)

    def __mul__(self, other: Expr | float) -> Expr:
        return _binary("*", self, other)

    def __rmul__(self, other: Expr | float) -> Expr:
        return _binary("*", other, self)

    def __truediv__(self, other: Expr | float) -> Expr:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Expr | float) -> Expr:
        return _binary("/", other, self)

    def __floordiv__(self, other: Expr | float) -> Expr:
        """Towards zero, as processors divide."""
        return _binary("/", self, other)

    def __mod__(self, other: Expr | float) -> Expr:
        return _binary("%", self, other)

    def __and__(self, other: Expr | float) -> Expr:
        return _binary("and" if self.kind.scalar == "bool" else "&", self, other)

    def __or__(self, other: Expr | float) -> Expr:
        return _binary("or" if self.kind.scalar == "bool" else "|", self, other)

    def __xor__(self, other: Expr | float) -> Expr:
        return _binary("!=" if self.kind.scalar == "bool" else "^", self, other)

    def __lshift__(self, other: Expr | float) -> Expr:
        return _shift("<<", self, other)

    def __rshift__(self, other: Expr | float) -> Expr:
        """Of signed numbers, rounded down."""
        return _shift(">>", self, other)

    def __lt__(self, other: Expr | float) -> Expr:
        return _binary("<", self, other)

    def __le__(self, other: Expr | float) -> Expr:
        return _binary("<=", self, other)

    def __gt__(self, other: Expr | float) -> Expr:
        return _binary(">", self, other)

    def __ge__(self, other: Expr | float) -> Expr:
        return _binary(">=", self, other)

    def eq(self, other: Expr | float) -> Expr:
        return _binary("==", self, other)

    def ne(self, other: Expr | float) -> Expr:
        return _binary("!=", self, other)

    def __neg__(self) -> Expr:
        return Expr(self.kind, "neg", (self,))

    def __invert__(self) -> Expr:
        return Expr(self.kind, "not" if self.kind.scalar == "bool" else "~", (self,))

    def lane(self, i: int) -> Expr:
        """One of four."""
        assert self.kind.lanes == 4, "only vectors have lanes"
        return Expr(self.kind.one, "lane", (self,), str(i))

    def to(self, kind: Kind) -> Expr:
        """The same number in another type; what has no place is cut off."""
        return self if kind == self.kind else Expr(kind, "convert", (self,))

    def bits(self, kind: Kind) -> Expr:
        """The same bits as another type."""
        return self if kind == self.kind else Expr(kind, "bits", (self,))


def number(value: float, kind: Kind) -> Expr:
    """A literal."""
    if kind.lanes == 4:
        return splat(number(value, kind.one))
    if kind.scalar == "f32":
        text = f"{float(value):.9g}"
        return Expr(kind, "literal", text=text if set(text) & set(".en") else f"{text}.0")
    return Expr(kind, "literal", text=str(int(value)))


def splat(x: Expr) -> Expr:
    """Four times the same."""
    return Expr(Kind(x.kind.scalar, 4), "splat", (x,))


def vector(*parts: Expr) -> Expr:
    """Four scalars side by side."""
    assert len(parts) == 4, "vectors have four lanes"
    return Expr(Kind(parts[0].kind.scalar, 4), "vector", tuple(parts))


def select(condition: Expr, yes: Expr | float, no: Expr | float) -> Expr:
    """`yes` where the condition holds, else `no`."""
    if not isinstance(yes, Expr):
        assert isinstance(no, Expr), "one of both says the type"
        yes = number(yes, no.kind)
    first, second = _same(yes, no)
    return Expr(first.kind, "select", (condition, first, second))


def function(name: str, *args: Expr | float) -> Expr:
    """A function that takes and gives one type: min, max, mulhi, clz, sqrt, floor, abs, round (to even)."""
    first = next(arg for arg in args if isinstance(arg, Expr))
    widest = Kind(first.kind.scalar, max(arg.kind.lanes for arg in args if isinstance(arg, Expr)))
    return Expr(widest, name, tuple(_as(arg, widest) for arg in args))


def dot4(a: Expr, b: Expr, total: Expr) -> Expr:
    """`total` and the four products of the signed bytes of two words."""
    return Expr(I32, "dot4", (a, b, total))


def half(buffer: GpuBuffer, i: Expr) -> Expr:
    """Float i of 16 bits in a buffer of words: its word, which of both, and where it is itself."""
    return Expr(F32, "half", (buffer[i >> 1], i & 1, i), buffer.name)


def four_halves(buffer: GpuBuffer, i: Expr) -> Expr:
    """Four floats of 16 bits in a buffer of words: their two words, and where they are themselves."""
    return Expr(F32X4, "half4", (buffer[i * 2], buffer[i * 2 + 1], i), buffer.name)


def halves(first: Expr, second: Expr) -> Expr:
    """The word of two floats, rounded to 16 bits."""
    return Expr(U32, "halves", (first, second))


def _as(x: Expr | float, kind: Kind) -> Expr:
    if not isinstance(x, Expr):
        return number(x, kind)
    if x.kind.lanes < kind.lanes:
        x = splat(x)
    assert x.kind == kind, f"{x.kind} where {kind} should be"
    return x


def _same(a: Expr | float, b: Expr | float) -> tuple[Expr, Expr]:
    first = a if isinstance(a, Expr) else b
    assert isinstance(first, Expr), "one of both is an expression"
    lanes = max(x.kind.lanes for x in (a, b) if isinstance(x, Expr))
    kind = Kind(first.kind.scalar, lanes)
    return _as(a, kind), _as(b, kind)


def _binary(op: str, a: Expr | float, b: Expr | float) -> Expr:
    first, second = _same(a, b)
    kind = Kind("bool", first.kind.lanes) if op in _COMPARISONS else first.kind
    return Expr(kind, op, (first, second))


def _shift(op: str, x: Expr, by: Expr | float) -> Expr:
    amount = by if isinstance(by, Expr) else number(by, U32)
    amount = amount.to(Kind("u32", amount.kind.lanes))
    return Expr(x.kind, op, (x, splat(amount) if amount.kind.lanes < x.kind.lanes else amount))


@dataclass(frozen=True)
class GpuBuffer:
    """Memory that a kernel is given; its elements are counted from a first one that is given, too."""

    name: str
    kind: Kind
    writes: bool = False

    @property
    def start(self) -> str:
        """The name of the first element."""
        return f"{self.name}_at"

    def __getitem__(self, index: Expr | int) -> Expr:
        return Expr(self.kind, "load", (_as(index, I32),), self.name)


@dataclass(frozen=True)
class Shared:
    """Memory that the items of one work-group share."""

    name: str
    kind: Kind
    size: int

    def __getitem__(self, index: Expr | int) -> Expr:
        return Expr(self.kind, "element", (_as(index, I32),), self.name)


@dataclass(frozen=True)
class Define:
    """A new variable; one that never changes, or one that may."""

    name: str
    value: Expr
    changes: bool


@dataclass(frozen=True)
class Assign:
    name: str
    value: Expr


@dataclass(frozen=True)
class Store:
    """Into a buffer, or into memory of the work-group."""

    to: GpuBuffer | Shared
    index: Expr
    value: Expr


@dataclass(frozen=True)
class GpuLoop:
    """Counts from start to before stop."""

    name: str
    start: Expr
    stop: Expr
    step: int
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class When:
    condition: Expr
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Barrier:
    """All items of the work-group come here before one goes on, and see what the others wrote."""


Statement = Define | Assign | Store | GpuLoop | When | Barrier


@dataclass(frozen=True)
class GpuKernel:
    """One program text: shapes and the like are constants that a use of it brings."""

    name: str
    buffers: tuple[GpuBuffer, ...]
    constants: tuple[Expr, ...]  # names
    shared: tuple[Shared, ...]
    group: int  # items of a work-group
    body: tuple[Statement, ...]
    is_exact: bool = False  # sums and products of floats are rounded one by one


def names(expressions: Sequence[Expr]) -> tuple[str, ...]:
    """Of variables or constants."""
    return tuple(e.text for e in expressions)

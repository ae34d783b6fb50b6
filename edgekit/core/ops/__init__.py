"""Operators: each is a frozen dataclass that says its types (infer), its meaning (eval) and its C (lower).

An operator registers itself by existing: every module of this package is imported on first use, and a
concrete subclass of Op is known by its class name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

import numpy as np

from edgekit.core.layouts import Layout, Want
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type, Value
from edgekit.core.value_ranges import Known, Pairs, Range

# Steps of `work` that numpy takes to read or write an element, and that Python takes for an iteration.
ELEMENT, ITERATION = 4, 1 << 12

Param = int | float | Sequence[int] | Sequence[float]


@dataclass(frozen=True)
class Arg:
    """An operand as `lower` sees it: the edge's name and type, and the data of a constant."""

    name: str
    value: Value
    note: str = ""  # what it is, where lowering makes it of a tensor: its name is <tensor>#<ending>

    @property
    def type(self) -> Type:
        return self.value.type


@dataclass(frozen=True)
class Columns:
    """Elements of each row of a result, which a part computes as rows of its own, and copies there."""

    start: int
    count: int
    rows: int
    stride: int  # elements of a row of the result
    bytes: int  # of the part's own rows, in front of its other working memory


@dataclass(frozen=True)
class Part:
    """A part of a call, which may run beside the others."""

    params: Mapping[str, Param]  # those that differ from the parameters of the whole
    shifts: tuple[int, ...]  # elements between the start of each argument and that of the whole
    scratch: int = 0  # bytes of working memory, behind that of the parts before it
    columns: Columns | None = None  # None: what it computes lies side by side


@dataclass(frozen=True)
class Call:
    """One kernel call. `kernel` names the source file in runtime_c/kernels/<isa>; `types` says what its
    generic type letters stand for; `params` fills its parameter struct by field name."""

    kernel: str
    types: Mapping[str, DType]
    args: tuple[Arg, ...]  # in the order of the C signature, results last
    params: Mapping[str, Param] = field(default_factory=dict)
    # Where several operators share a kernel's text, as elementwise ones share map<n>: `label` is what names
    # the instance, `expr` the formula in C.
    label: str = ""
    expr: str = ""
    tail: str = ""  # what the kernel does to its results at last, in C
    rule: str = ""  # of requantization, as kernels name it
    facts: Mapping[str, int] = field(
        default_factory=dict
    )  # what conditions of kernels may ask, beside params
    results: int = 1  # how many of the last args are results
    scratch: int = 0  # bytes of working memory, passed after the last result where not 0
    inplace: tuple[int, ...] = ()  # indices of args whose memory the (first) result may take over
    # The result may lie over the first arg if it starts at least so many bytes before it; None: never.
    overlap: int | None = None
    macs: int = 0
    parts: tuple[Part, ...] = ()  # what several cores may compute at once; none: the call is one
    file: str = ""  # of its kernel, as <instruction set>/<name>, once that is selected

    @property
    def groups(self) -> int:
        """Of channels, where a layer has them."""
        groups = self.params.get("groups", 1)
        assert isinstance(groups, int)
        return groups

    @property
    def content(self) -> tuple[object, ...]:
        """All that a kernel is selected by: digests stand in place of constants."""
        operands = (each for arg in self.args for each in (arg.type, arg.note, arg.value.digest))
        return repr(replace(self, args=())), *operands


@dataclass(frozen=True)
class View:
    """The result is the argument's own memory, from a byte offset on: no code."""

    result: Arg
    arg: Arg
    offset: int = 0


@dataclass(frozen=True)
class Join:
    """The result is the arguments one behind the other: they can be computed in place, or are copied."""

    result: Arg
    args: tuple[Arg, ...]


Step = Call | View | Join


class Op:
    """An operator. Subclasses are frozen dataclasses whose fields are the attributes."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        """Types of the results; raises TypeError with a sentence that a user understands."""
        raise NotImplementedError

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        """The meaning, in numpy: the oracle of every test."""
        raise NotImplementedError

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        """The meaning to the last bit of floats, in the steps of portable C. Asked where a run rounds rows to
        integers (dynamic quantization): there the last bit may decide on a code."""
        return self.eval(*ins)

    # Does a run choose scales by which it rounds to integers?
    quantizes: ClassVar[bool] = False

    # Does it only move elements, so that quantized ones keep their scale and `eval` holds for them too?
    is_data_movement: ClassVar[bool] = False

    # Operands that are empty where the operator goes without them.
    may_be_absent: ClassVar[Sequence[int]] = ()

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        """The exact integers of the operator on quantized tensors; `eval` is its meaning on reals."""
        assert self.is_data_movement, f"{type(self).__name__} is not defined on quantized tensors"
        return self.eval(*args)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        """Is there an integer form for these operands? Values with data are constants: those that are moved
        take the scale of what is computed."""
        return self.is_data_movement and any(value.type.dtype.is_float for value in ins)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        """The kernel calls that compute `outs`. Branches on dtype and shape, never on the target."""
        raise NotImplementedError

    def macs(self, *ins: Type) -> int:
        """Multiply-accumulates of one evaluation; 0 for everything that is not a contraction."""
        return 0

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Steps of one evaluation in numpy, of about a nanosecond each, at most. An operator that reads
        elements more than once, as windows do, or loops over them in Python, says so."""
        return self.macs(*ins) + ELEMENT * sum(t.size for t in (*ins, *outs))

    def run_work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """The steps of `work` unless they depend on data: then the least, and `eval` counts the others."""
        return self.work(ins, outs)

    # What passes ask. Operators that do not answer are left alone.

    def changes_nothing(self, *ins: Type) -> bool:
        """Are the elements of the result those of the first operand, in order? Asked only where both have as
        many, of one type."""
        return False

    def padded(self, pads: tuple[int, int, int, int]) -> Op | None:
        """The operator for an image without the border of zeros that it has (top, left, bottom, right)."""
        return None

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        """The operator for operands that are stored with their dimensions in another order: `ins` says how
        each one is, `at` is the one to go by. It says how it wants the others, and how its results are."""
        return None

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        """The least and the largest value of each channel of the results: the cells of the last dimension."""
        return None

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        """Which channels of each operand and of the result belong together, such that without some of them
        the others are computed as before. An operand of None is read whole. None: no channel can go."""
        return None

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        """The operator without the channels of operands and of the result that are not kept."""
        return self


def without_elements(outs: Sequence[Type]) -> tuple[Array, ...] | None:
    """The results of any operator, where none has an element: then there is nothing to compute."""
    return None if any(y.size for y in outs) else tuple(np.empty(y.shape, y.dtype.numpy) for y in outs)


@dataclass(frozen=True)
class OpInLayout:
    """An operator that computes the same from operands in other layouts: what it wants, and what it gives."""

    op: Op
    ins: tuple[Want, ...]
    outs: tuple[Layout, ...]


@cache
def registry() -> Mapping[str, type[Op]]:
    """Every operator by class name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    found: dict[str, type[Op]] = {}
    queue = [Op]
    while queue:
        cls = queue.pop()
        queue.extend(cls.__subclasses__())
        if "__dataclass_params__" in vars(cls):
            found[cls.__name__] = cls
    return dict(sorted(found.items()))


def require(condition: bool, message: str) -> None:
    """Refuse operands in `infer` with a sentence that a user understands."""
    if not condition:
        raise OperandError(message)

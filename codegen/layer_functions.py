"""Functions of layers, where a compiler specialises kernels for shapes: layers that are equal share one.

Equal are those that call the same kernel with the same parameters; what constants differ among them are
arguments of the function, as tensors are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from edgekit.codegen.lowering.row_loops import LoopedLayer
from edgekit.codegen.printing import row_loops
from edgekit.codegen.program import Operand, Program, ProgramCall
from edgekit.core.escape import Code


@dataclass(frozen=True)
class LayerFunction:
    """What some layers call: the operands that are its arguments, and the first of these layers."""

    line: ProgramCall
    given: tuple[bool, ...]  # is this operand an argument?
    users: int  # layers

    @property
    def c(self) -> str:
        return self.line.c

    @property
    def comment(self) -> Code:
        """What the first layer is, and how many there are."""
        return Code(f"{self.line.comment}{f', and {self.users - 1} more' * (self.users > 1)}")

    @property
    def signature(self) -> Code:
        pointers = (operand.pointer for operand in self._given(self.line))
        given = [f"{'const ' * p.const}{p.ctype} *{p.name}" for p in pointers]
        return Code(", ".join([*given, *[f"int32_t {row_loops.ROW}"] * bool(self.rows)]))

    @property
    def rows(self) -> LoopedLayer | None:
        """Where blocks of rows differ in their parameters: it is given the first row of one."""
        rows = self.line.rows
        return rows if rows and not rows.is_even else None

    @property
    def arguments(self) -> Code:
        """Of the kernel, inside the function."""
        pairs = zip(self.line.operands, self.given, strict=True)
        found = [operand.pointer.name if given else operand.address for operand, given in pairs]
        if not (rows := self.rows):
            return Code(", ".join([*found, f"&{self.c}_params"]))
        cut = zip(rows.operands, self.line.call.args, self.line.operands, strict=False)
        for i, (operand, arg, made) in enumerate(cut):
            found[i] += row_loops.offset(operand, rows, arg.type.dtype, made.pointer)
        return Code(", ".join([*found, "&params"]))

    @property
    def block(self) -> ProgramCall:
        """The first of the layers, with parameters that differ from block to block. The others are written as
        constants, and not copied, so that compilers know them in kernels."""
        if not (rows := self.rows):
            return self.line
        differ = row_loops.fields(rows)
        params = tuple(
            (field, _replaced(value, differ[field.name], rows.size[1] if field.count else None))
            if field.name in differ
            else (field, value)
            for field, value in self.line.params
        )
        return replace(self.line, params=params)

    def call(self, line: ProgramCall) -> Code:
        """What a layer gives the function, inside the run function."""
        given = [operand.address for operand in self._given(line)]
        return Code(", ".join([*given, *[row_loops.ROW] * bool(self.rows)]))

    def _given(self, line: ProgramCall) -> list[Operand]:
        return [operand for operand, given in zip(line.operands, self.given, strict=True) if given]


def _replaced(value: Code, other: Code, at: int | None) -> Code:
    """The value of a parameter, or one element of an array, in place of what it was."""
    if at is None:
        return other
    elements = value.removeprefix("{").removesuffix("}").split(", ")
    return Code("{" + ", ".join([*elements[:at], other, *elements[at + 1 :]]) + "}")


def layer_functions(program: Program) -> Mapping[str, LayerFunction]:
    """By the name of the layer; layers that run in parts have functions of their own."""
    equal: dict[tuple[object, ...], list[ProgramCall]] = {}
    for line in program.lines:
        kinds = tuple((operand.pointer, operand.place.kind == "constant") for operand in line.operands)
        blocks = line.rows.text if line.rows and not line.rows.is_even else None
        own = line.c if line.call.parts else blocks
        key = (line.kernel.function, line.params, kinds, own)
        equal.setdefault(key, []).append(line)
    found: dict[str, LayerFunction] = {}
    for lines in equal.values():
        columns = zip(*(line.operands for line in lines), strict=True)
        given = tuple(_is_given(operands) for operands in columns)
        found |= {line.c: LayerFunction(lines[0], given, len(lines)) for line in lines}
    return found


def _is_given(operands: tuple[Operand, ...]) -> bool:
    """A constant that all layers have in common stays in the function."""
    return (
        operands[0].named is not None
        or operands[0].is_carried
        or operands[0].place.kind != "constant"
        or len({operand.address for operand in operands}) > 1
    )

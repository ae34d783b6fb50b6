"""Functions of layers, where a compiler specialises kernels for shapes: layers that are equal share one.

Equal are those that call the same kernel with the same parameters; what constants differ among them are
arguments of the function, as tensors are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
        return Code(", ".join(f"{'const ' * p.const}{p.ctype} *{p.name}" for p in pointers))

    @property
    def arguments(self) -> Code:
        """Of the kernel, inside the function."""
        pairs = zip(self.line.operands, self.given, strict=True)
        found = [operand.pointer.name if given else operand.address for operand, given in pairs]
        return Code(", ".join([*found, f"&{self.c}_params"]))

    def call(self, line: ProgramCall) -> Code:
        """What a layer gives the function, inside the run function."""
        return Code(", ".join(operand.address for operand in self._given(line)))

    def _given(self, line: ProgramCall) -> list[Operand]:
        return [operand for operand, given in zip(line.operands, self.given, strict=True) if given]


def layer_functions(program: Program) -> Mapping[str, LayerFunction]:
    """By the name of the layer; layers that run in parts have functions of their own."""
    equal: dict[tuple[object, ...], list[ProgramCall]] = {}
    for line in program.lines:
        kinds = tuple((operand.pointer, operand.place.kind == "constant") for operand in line.operands)
        key = (line.kernel.function, line.params, kinds, *([line.c] * bool(line.call.parts)))
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
        or operands[0].place.kind != "constant"
        or len({operand.address for operand in operands}) > 1
    )

"""C of calls that run in parts: what differs from part to part, as rows of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgekit.codegen.printing.literal import number
from edgekit.codegen.program import Operand, Program, ProgramCall
from edgekit.core.escape import Code
from edgekit.core.types import DType

_BYTES = {dtype.c: dtype.bytes for dtype in DType}


@dataclass(frozen=True)
class PartTable:
    """The parts of one call."""

    line: ProgramCall
    locals: tuple[Code, ...]  # declarations of the memory that its operands lie in
    columns: tuple[Code, ...]  # names of what differs
    rows: tuple[Code, ...]  # ... one for each part
    fields: tuple[tuple[Code, Code], ...]  # of the parameters, those with another value than the whole has
    arguments: Code

    @property
    def count(self) -> int:
        return len(self.rows)


def part_tables(program: Program) -> dict[str, PartTable]:
    """By the name of the call."""
    return {line.c: _table(line, program) for line in program.lines if line.call.parts}


def job_fields(program: Program) -> Iterator[tuple[Code, Code]]:
    """Type and name of what the parts of a run are told, as far as any of them uses it."""
    lines = [line for line in program.lines if line.call.parts]
    places = {(operand.place.kind, operand.place.name) for line in lines for operand in line.operands}
    for kind, ports, const in (("input", program.inputs, "const "), ("output", program.outputs, "")):
        for port in ports:
            if (kind, port.name) in places:
                yield Code(f"{const}{port.type.dtype.c} *"), Code(port.c)
    kinds = {kind for kind, _ in places}
    if "state" in kinds:
        yield Code(f"struct {program.name}_state *"), Code("state")
    if "arena" in kinds:
        yield Code("void *"), Code("arena")


def _table(line: ProgramCall, program: Program) -> PartTable:
    columns: list[tuple[str, list[int]]] = []

    def value(name: str, values: Sequence[int]) -> str:
        """An expression of what may differ from part to part."""
        if len(set(values)) == 1:
            return str(values[0])
        columns.append((name, list(values)))
        return f"parts[part].{name}"

    parts = line.call.parts
    fields = []
    for name in dict.fromkeys(name for part in parts for name in part.params):
        found = [part.params[name] for part in parts]
        whole = line.call.params[name]
        if isinstance(whole, int):
            if any(one != whole for one in found):
                fields.append((Code(name), Code(value(name, [_integer(one) for one in found]))))
            continue
        assert isinstance(whole, Sequence)
        for i, size in enumerate(whole):
            cells = [_integer(one[i]) for one in found if isinstance(one, Sequence)]
            if any(one != size for one in cells):
                fields.append((Code(f"{name}[{i}]"), Code(value(f"{name}_{i}", cells))))
    arguments = []
    for i, operand in enumerate(line.operands):
        if i < len(line.call.args):
            scale = _scale(operand, line.call.args[i].type.dtype, program)
            shifts = [int(part.shifts[i] * scale) for part in parts]
        else:
            shifts = [sum(part.scratch for part in parts[:k]) for k in range(len(parts))]
        at = value(f"{operand.pointer.name}_at", shifts)
        arguments.append(operand.address if at == "0" else f"{operand.address} + {at}")
    if line.params:
        arguments.append("&params")
    rows = zip(*(values for _, values in columns), strict=True)
    return PartTable(
        line,
        tuple(_locals(line, program)),
        tuple(Code(name) for name, _ in columns),
        tuple(Code("{" + ", ".join(number(v, "int32_t") for v in row) + "}") for row in rows),
        tuple(fields),
        Code(", ".join(arguments)),
    )


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _scale(operand: Operand, dtype: DType, program: Program) -> float:
    """Elements that a pointer counts, for each that a shift counts."""
    if operand.place.kind == "constant":
        dtype = next(c.dtype for c in program.constants if c.c == operand.place.name)
    return dtype.bytes / _BYTES[operand.pointer.ctype]


def _locals(line: ProgramCall, program: Program) -> Iterator[Code]:
    """Declarations of what the addresses of a call begin with."""
    own = dataclasses.replace(program, lines=(line,))
    yield from (Code(f"{ctype}const {name} = run->{name};") for ctype, name in job_fields(own))
    named = dict.fromkeys(operand.named for operand in line.operands if operand.named)
    yield from (pointer.declaration for pointer in named)

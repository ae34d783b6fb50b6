"""C of calls that run in parts: what differs from part to part, as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from edgekit.codegen.printing.literal import number
from edgekit.codegen.program import Operand, Program, ProgramCall
from edgekit.core.escape import Code
from edgekit.core.types import DType


@dataclass(frozen=True, order=True)
class _Memory:
    """A field of what the parts of a run are told: where operands lie."""

    number: int  # among all
    ctype: Code
    name: Code


@dataclass(frozen=True)
class CopiedColumns:
    """Elements of each row of a result, from the rows of a part's own."""

    ctype: Code
    own: Code  # the address of these rows
    result: Code  # ... and of where they are copied to
    rows: Code
    width: Code  # elements of a row of its own
    stride: Code  # ... and of the result


@dataclass(frozen=True)
class PartTable:
    """The parts of one call."""

    line: ProgramCall
    locals: tuple[Code, ...]  # declarations of the memory that its operands lie in
    columns: tuple[Code, ...]  # names of what differs
    rows: tuple[Code, ...]  # ... one for each part
    fields: tuple[tuple[Code, Code], ...]  # of the parameters, those with another value than the whole has
    arguments: Code
    copied: CopiedColumns | None = None

    @property
    def count(self) -> int:
        return len(self.rows)


def part_tables(program: Program) -> dict[str, PartTable]:
    """By the name of the call."""
    memory, dtypes = _memory(program), {c.c: c.dtype for c in program.read_constants}
    return {line.c: _table(line, memory, dtypes) for line in program.lines if line.call.parts}


def job_fields(program: Program) -> Iterator[tuple[Code, Code]]:
    """Type and name of what the parts of a run are told, as far as any of them uses it."""
    parallel = (line for line in program.lines if line.call.parts)
    return _fields((operand for line in parallel for operand in line.operands), _memory(program))


def _memory(program: Program) -> dict[tuple[str, str], _Memory]:
    """All that operands may lie in, but for constants: by kind, and by name where there may be several."""
    found = [
        ((kind, port.name), f"{const}{port.type.dtype.c} *", port.c)
        for kind, ports, const in (("input", program.inputs, "const "), ("output", program.outputs, ""))
        for port in ports
    ]
    found += [(("state", ""), f"struct {program.owner}_state *", "state")]
    found += [(("constant", ""), "const void *", "weights")] * program.by_pointer
    found += [(("arena", ""), "void *", "arena")]
    return {place: _Memory(k, Code(ctype), Code(name)) for k, (place, ctype, name) in enumerate(found)}


def _fields(
    operands: Iterable[Operand], memory: Mapping[tuple[str, str], _Memory]
) -> Iterator[tuple[Code, Code]]:
    """Type and name of what some operands lie in, in the order of the memory."""
    places = {(operand.place.kind, operand.place.name) for operand in operands}
    found = {memory.get(place) or memory.get((place[0], "")) for place in places}
    return ((one.ctype, one.name) for one in sorted(filter(None, found)))


def _table(
    line: ProgramCall, memory: Mapping[tuple[str, str], _Memory], dtypes: Mapping[str, DType]
) -> PartTable:
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

    def address(operand: Operand, name: str, shifts: Sequence[int]) -> str:
        at = value(name, shifts)
        return operand.address if at == "0" else f"{operand.address} + {at}"

    arguments: list[str] = []
    copied: CopiedColumns | None = None
    columns_of = [part.columns for part in parts if part.columns]
    starts = [0, *accumulate(part.scratch for part in parts[:-1])]  # of their working memory
    for i, operand in enumerate(line.operands):
        if i < len(line.call.args):
            scale = _scale(operand, line.call.args[i].type.dtype, dtypes)
            shifts = [int(part.shifts[i] * scale) for part in parts]
        else:
            own = [part.columns.bytes if part.columns else 0 for part in parts]
            shifts = [start + bytes for start, bytes in zip(starts, own, strict=True)]
        name = f"{operand.pointer.name}_at"
        if columns_of and i == len(line.call.args) - 1:
            scratch = f"{line.operands[-1].address}, {value('own_at', starts)}"
            copied = CopiedColumns(
                Code(operand.pointer.ctype),
                Code(f"EK_AT({operand.pointer.ctype}, {scratch})"),
                Code(address(operand, name, shifts)),
                Code(str(columns_of[0].rows)),
                Code(value("width", [each.count for each in columns_of])),
                Code(str(columns_of[0].stride)),
            )
            arguments.append("own")
        elif i < len(line.kernel.pointers):
            arguments.append(address(operand, name, shifts))
    if line.params:
        arguments.append("&params")
    rows = zip(*(values for _, values in columns), strict=True)
    return PartTable(
        line,
        tuple(_locals(line, memory)),
        tuple(Code(name) for name, _ in columns),
        tuple(Code("{" + ", ".join(number(v, "int32_t") for v in row) + "}") for row in rows),
        tuple(fields),
        Code(", ".join(arguments)),
        copied,
    )


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _scale(operand: Operand, dtype: DType, dtypes: Mapping[str, DType]) -> float:
    """Elements that a pointer counts, for each that a shift counts."""
    stored = dtypes[operand.place.name] if operand.place.kind == "constant" else dtype
    return stored.bytes / operand.pointer.element_bytes


def _locals(line: ProgramCall, memory: Mapping[tuple[str, str], _Memory]) -> Iterator[Code]:
    """Declarations of what the addresses of a call begin with."""
    for ctype, name in _fields(line.operands, memory):
        yield Code(f"{ctype}const {name} = run->{name};")
    named = dict.fromkeys(operand.named for operand in line.operands if operand.named)
    yield from (pointer.declaration for pointer in named)

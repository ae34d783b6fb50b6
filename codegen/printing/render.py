"""Program -> text: the files of a generated library; templates hold loops and names only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, groupby
from typing import Any, Literal

import jinja2

import edgekit
from edgekit.codegen.constants import BLOB_HEADER, Constant
from edgekit.codegen.gpu import render as gpu
from edgekit.codegen.kernels.support_headers import support_files
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.lowering.branches import Loop
from edgekit.codegen.lowering.row_loops import RowLoop
from edgekit.codegen.printing import kernel_forms, row_loops, weights_blob
from edgekit.codegen.printing.literal import crc_table, elements, lines, stored
from edgekit.codegen.printing.names import build_target
from edgekit.codegen.printing.parallel import job_fields, part_tables
from edgekit.codegen.printing.pointers import Named, arena_lines
from edgekit.codegen.printing.pools import pool_files
from edgekit.codegen.printing.processor_checks import checked
from edgekit.codegen.program import BranchTest, Program, ProgramCall, RowPort
from edgekit.codegen.text.render import render as text_files
from edgekit.core import templating
from edgekit.core.escape import Code
from edgekit.core.target import Optimize

Weights = Literal["auto", "c", "bin", "pointer"]
# Above this many bytes a compiler takes seconds for the text of the weights, and the assembler includes them.
BINARY_WEIGHTS = 1 << 20
_WIDTH = 110
_SIGNS = (" + ", " && ", " || ", " ? ", " : ")
_HEAD = re.compile(r"^(?:EK_\w+|static)\b[\w *]*\([^(){};]*\);?", re.MULTILINE)


def render(program: Program, optimize: Optimize, weights: Weights = "auto") -> dict[str, bytes]:
    """Path -> content of every file of the library, without the manifest. `weights` become C text or a binary
    that the assembler includes, or where runs are given them a blob."""
    binary = weights == "bin" or (weights == "auto" and program.weight_bytes > BINARY_WEIGHTS)
    binary = binary and not program.by_pointer
    content: dict[str, bytes] = {}
    for part in (program, *program.segments, *program.entries):
        content |= _library(part, optimize, binary)
    cmake = {
        "p": program,
        "target": build_target(program.name),
        "version": edgekit.__version__,
        "speed": optimize == "speed",
        "binary": binary,
        "options": program.target.code_options,
    }
    content["CMakeLists.txt"] = _text("CMakeLists.txt.j2", cmake).encode()
    if program.target.opencl:
        content |= gpu.render(
            program, environment(), model_origin(program), specialised=optimize == "speed", binary=binary
        )
    return dict(sorted(content.items()))


def _library(program: Program, optimize: Optimize, binary: bool) -> dict[str, bytes]:
    """The files of a program: of the model, or of a part of it."""
    name = program.name
    values = _values(program, optimize, binary)
    files = {
        f"{name}.h": _text("model.h.j2", values),
        f"{name}.c": _text("model.c.j2", values),
        f"{name}_weights.h": _text("weights.h.j2", values),
    }
    if not program.by_pointer:
        weights_source = f"weights.{'S' if binary else 'c'}"
        files[f"{name}_{weights_source}"] = _text(f"{weights_source}.j2", values)
    elif not program.within:
        files[f"{name}_weights.c"] = _text("weights_pointer.c.j2", values)
    if program.graph.tokenizer is not None:
        files |= text_files(program.graph.tokenizer, name, environment())
    supports = {"types.h"}
    if any(c.dtype.c.startswith("ek_") for c in program.constants) or _half_ports(program):
        supports.add("half.h")
    if any(line.rows for line in program.lines):
        supports.add("row_blocks.h")
    if program.row_port:
        supports.add("row_input.h")
    for port in (*program.inputs, *program.outputs):
        supports |= {"integer_port.h", port.integers.header} if port.integers else set()
    if program.target.cores > 1:
        files |= pool_files(program.target)
    for kernel in program.kernels:
        header = kernel.header if optimize == "speed" else kernel.shared_header
        files[f"edgekit/{kernel.name}.h"] = _with_short_lines(header)
        files[f"edgekit/{kernel.name}.c"] = _with_short_lines(checked(kernel, program.target))
        supports |= set(kernel.supports)
    for path, text in support_files(sorted(supports)):
        files[f"edgekit/{path}"] = text
    content = {path: text.encode() for path, text in files.items()}
    if binary:
        content[f"{name}_weights.bin"] = b"".join(data for _, data in weight_blocks(program))
    if program.by_pointer and not program.within:
        content[f"{name}_weights.bin"] = weights_blob.blob(program)
    return content


def sources(files: Mapping[str, bytes]) -> list[str]:
    """The files to compile: they include the kernels."""
    return [path for path in files if path.endswith((".c", ".S")) and not path.startswith("edgekit/")]


def weight_blocks(program: Program) -> list[tuple[Constant, bytes]]:
    """Each constant with its bytes, padded so that the next one is aligned."""
    align = program.target.align
    result = []
    for constant in program.constants:
        data = stored(constant.data).tobytes() or b"\0"
        result.append((constant, data + b"\0" * (-len(data) % align)))
    return result


def _half_ports(program: Program) -> bool:
    types = [port.type for port in (*program.inputs, *program.outputs)]
    types += [memo.type for memo in program.states]
    return any(type.dtype.c.startswith("ek_") for type in types)


def _values(program: Program, optimize: Optimize, binary: bool) -> Mapping[str, Any]:
    """All that the templates of a library's own files know."""
    ports = []
    if program.ports == "caller":
        ports += [f"const {p.type.dtype.c} *{p.c}" for p in program.inputs]
        ports += [f"{p.type.dtype.c} *{p.c}" for p in program.outputs]
    if program.row_port:
        ports += [f"const {p.type.dtype.c} *{p.c}" for p in program.inputs]
    ports += [f"struct {program.owner}_state *state"] * bool(program.states)
    ports += ["const void *weights"] * program.by_pointer
    places = [o.place for line in program.lines for o in line.operands]
    places += [test.place for line in program.lines for test in line.tests]
    used = {place.name for place in places if place.kind != "arena"}
    ports_of_run = () if program.row_port else (*program.inputs, *program.outputs)
    checks = (f"{k.macro} != 0x{k.interface}" for k in program.kernels)
    return {
        "p": program,
        "origin": model_origin(program),
        "version": edgekit.__version__,
        "guard": program.name.upper(),
        "command": _command(program),
        "interface": _interface(program),
        "interface_checks": Code(" || \\\n    ".join(checks)),
        "signature": Code(", ".join([*ports, "void *arena"])),
        "speed": optimize == "speed",
        "shared": kernel_forms.are_shared(program, optimize),
        "specialised": kernel_forms.specialised(program, optimize),
        "included": kernel_forms.included(program, optimize),
        "binary": binary,
        "integer_ports": [p for p in (*program.inputs, *program.outputs) if p.integers],
        "half_ports": _half_ports(program),
        "half": _half_ports(program) or any(c.dtype.c.startswith("ek_") for c in program.constants),
        "uses_state": any(place.kind == "state" for place in places),
        "uses_arena": any(place.kind == "arena" for place in places),
        "needs_note": ", no plan needs less" if program.arena.size == program.arena.lower_bound else "",
        "unused": [p for p in ports_of_run if p.offset is None and p.name not in used],
        "arena_table": [*arena_lines(program.arena_rows, len(program.lines))],
        "steps": _with_pointers([*_steps(program)]),
        "tables": part_tables(program),
        "layers": layer_functions(program),
        "job_fields": [*job_fields(program)],
        "arguments": Code(", ".join([*(port.split("*")[-1] for port in ports), "arena"])),
        "blob": _blob_values(program) if program.by_pointer else None,
        "weight_offsets": _weight_offsets(program) if binary else [],
        "align": max(program.target.align, 16),
        "byte_order": _little_endian(program, binary),
        "has_rows": any(line.rows for line in program.lines),
        "has_layouts": any(c.layout for c in program.constants),
        "made": _made(program),
    }


def _little_endian(program: Program, binary: bool) -> str:
    """Why this library is for little-endian processors alone, and what is not; empty for portable C."""
    if binary or program.by_pointer:
        return f"{program.owner}_weights.bin is little-endian: run build with --weights c"
    if program.target.isa != ("ref",) or program.target.gpu:
        return f"target {program.target.name} is little-endian: build for target host, which is portable C"
    return ""


def _blob_values(program: Program) -> Mapping[str, Any]:
    """What the check of weights knows of them."""
    return {
        "header": BLOB_HEADER,
        "magic": f"{weights_blob.MAGIC:08x}",
        "format": weights_blob.FORMAT,
        "crc_at": weights_blob.CRC_AT,
        "interface": weights_blob.interface(program),
        "size": weights_blob.size(program),
        "table": [Code(f"    {line}") for line in lines(crc_table())],
    }


def _weight_offsets(program: Program) -> list[tuple[int, int]]:
    """Where each constant starts in the binary, and its bytes."""
    sizes = [len(data) for _, data in weight_blocks(program)]
    return [*zip(accumulate(sizes, initial=0), sizes, strict=False)]


def _text(template: str, values: Mapping[str, Any]) -> str:
    text = environment().get_template(template).render(values)
    if not template.endswith((".c.j2", ".h.j2")):
        return text
    return "".join(map(_folded, text.splitlines(keepends=True)))


@dataclass(frozen=True)
class _Step:
    """A line of the run function: a call with its number, or where branches begin and end."""

    depth: int
    text: Code | None = None
    line: ProgramCall | None = None
    number: int = 0
    needs: tuple[Named, ...] = ()  # pointers that it uses
    declares: tuple[Named, ...] = ()  # those of them that no step before declared


def _steps(program: Program) -> Iterator[_Step]:
    """The calls, within the branches that they are guarded by."""
    now: list[BranchTest] = []  # of the branches that are open
    loop: RowLoop | None = None
    turned: list[bool] = []  # is this their else?
    for number, line in enumerate([*program.lines, None]):
        if loop and (not line or not line.rows or line.rows.loop != loop):
            yield from _closing(loop, program.row_port)
            loop = None
        if line and line.rows and not loop:
            loop = line.rows.loop
            if loop.source and (port := program.row_port):
                lines = row_loops.arrival(loop, loop.source, port.port.c, port.ring.c, port.so_far.c)
                for text in lines:
                    yield _Step(0, text, needs=(port.so_far, port.ring))
            yield _Step(0, row_loops.about(loop, number + 1))
            yield _Step(0, row_loops.opening(loop))
        tests = line.tests if line else ()
        pairs = enumerate(zip(now, tests, strict=False))
        same = next((k for k, (a, b) in pairs if a.guard != b.guard), None)
        same = min(len(now), len(tests)) if same is None else same
        other = same < min(len(now), len(tests)) and now[same].guard.condition == tests[same].guard.condition
        while len(now) > same + other:
            now.pop()
            turned.pop()
            yield _Step(len(now), Code("}"))
        if other and not turned[same]:
            now[same], turned[same] = tests[same], True
            yield _Step(same, Code("} else {"))
        elif other:
            now.pop()
            turned.pop()
            yield _Step(same, Code("}"))
        for test in tests[len(now) :]:
            yield _Step(len(now), Code(_opening(test)), needs=(test.named,) if test.named else ())
            now.append(test)
            turned.append(False)
        if line:
            here = () if line.call.parts else line.operands  # parts declare their own
            named = tuple(operand.named for operand in here if operand.named)
            yield _Step(len(now) + bool(loop), line=line, number=number, needs=named)


def _closing(loop: RowLoop, port: RowPort | None) -> Iterator[_Step]:
    """The end of a loop over rows, and where it waits for those of an input."""
    if loop.source and port:
        yield from (_Step(1, text) for text in row_loops.moving(loop, loop.source, port.ring.c))
    yield _Step(0, Code("}"))
    if loop.source and port:
        yield from (_Step(0, text) for text in row_loops.waiting(port.so_far.c))


def _with_pointers(steps: Sequence[_Step]) -> list[_Step]:
    """Each pointer is declared in front of the first step that needs it, outside of branches: a list of all
    at the top would keep them in registers, or on the stack, from there on."""
    found, declared = list(steps), set[Named]()
    first = 0  # of what stands between two places outside of branches
    for k, step in enumerate(steps):
        first = k if step.depth == 0 and step.text not in ("}", "} else {") else first
        new = tuple(dict.fromkeys(named for named in step.needs if named not in declared))
        declared.update(new)
        found[first] = replace(found[first], declares=(*found[first].declares, *new))
    return found


def _opening(test: BranchTest) -> str:
    """Of a branch or loop."""
    if isinstance(test.guard, Loop):
        i = test.counter
        return f"for (int32_t {i} = 0; {i} < {test.guard.limit} && {test.address} != 0u; {i}++) {{"
    return f"if ({test.address} {'!=' if test.guard.side else '=='} 0u) {{"


def model_origin(program: Program) -> str:
    """Where the model comes from, in the words of its file."""
    source = program.graph.source
    words = (source.file, f"sha256 {source.sha256[:16]}" * bool(source.sha256), source.producer)
    return ", ".join(filter(None, words)) or "made in memory"


def _made(program: Program) -> list[tuple[str, str]]:
    """The endings of names of constants, and what they mean."""
    return sorted({(c.name.rpartition("#")[2], c.note) for c in program.constants if c.note})


def _command(program: Program) -> str:
    """What a user runs to make the library again."""
    return f"edgekit build {program.graph.source.file or 'MODEL'}"


def _interface(program: Program) -> str:
    """A hash of what the files of a library must agree on: arguments, sizes and layouts, not the weights."""
    ports = [(port.c, str(port.type), port.offset) for port in (*program.inputs, *program.outputs)]
    states = [(memo.c, str(memo.type)) for memo in program.states]
    constants = [(c.c, c.dtype.value, c.data.size, c.layout) for c in program.constants]
    text = repr((program.ports, program.arena_bytes, program.target.align, ports, states, constants))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@cache
def _with_short_lines(text: str) -> str:
    """C whose names became longer as types were filled in: heads of functions and calls are broken anew."""
    text = _HEAD.sub(
        lambda m: m[0] if _is_short(m[0]) else _folded(" ".join(m[0].split())).rstrip("\n"), text
    )
    result, in_macro = "", False
    for line in text.splitlines(keepends=True):
        short = _cut(_folded(line))
        result += short[:-1].replace("\n", " \\\n") + short[-1:] if in_macro else short
        in_macro = line.rstrip().endswith("\\")
    return result


def _cut(line: str) -> str:
    """A part of a statement that is still too long, broken behind an argument or an operator. Macros stay."""
    code = line.lstrip()
    at = max(line.rfind(", ", 0, _WIDTH), 0) or max(line.rfind(sign, 0, _WIDTH - 2) for sign in _SIGNS) + 2
    if len(line) <= _WIDTH + 1 or "\n" in line[:-1] or at < 2 or "/*" in line or code.startswith(("*", "#")):
        return line
    indent = " " * (len(line) - len(code) + 4)
    rest = f"{indent}{line[at + 1 :].lstrip()}"
    return line if line.rstrip().endswith("\\") else f"{line[: at + 1].rstrip()}\n{_cut(rest)}"


def _is_short(text: str) -> bool:
    return all(len(line) <= _WIDTH for line in text.split("\n"))


def _folded(line: str) -> str:
    """A call or prototype on lines that are not too long, broken as clang-format would. Comments stay."""
    code = line.rstrip("\n")
    if (
        len(code) <= _WIDTH
        or not code.endswith((");", ")", "};"))
        or code.lstrip().startswith(("/*", "*", "#"))
    ):
        return line
    indent = " " * (len(code) - len(code.lstrip()) + 4)
    head, _, arguments = code.partition("(")
    if arguments and len(indent) + len(arguments) <= _WIDTH:
        return f"{head}(\n{indent}{arguments}\n"
    result, row = "", ""
    for argument in code.split(", "):
        if row and len(f"{row}, {argument},") > _WIDTH:
            result += f"{row},\n"
            row = indent + argument
        else:
            row = f"{row}, {argument}" if row else argument
    return f"{result}{row}\n"


@cache
def environment() -> jinja2.Environment:
    """What renders every template of generated code."""
    environment = templating.environment("edgekit.codegen.printing")
    environment.filters |= {
        "data_lines": _data_lines,
        "parameter_lines": _parameter_lines,
        "row_window": row_loops.window,
        "row_block": row_loops.block,
        "block_lines": _block_lines,
    }
    return environment


def _data_lines(constant: Constant) -> Iterator[Code]:
    return map(Code, lines(elements(constant.data) if constant.data.size else iter("0")))


def _block_lines(line: ProgramCall, name: str, call: Code) -> Iterator[Code]:
    """A layer inside of a loop over rows: when it is due, which rows it computes then, and the call."""
    rows = line.rows
    assert rows
    due, ring = row_loops.due(rows), line.operands[len(line.call.args) - line.call.results].named
    yield Code(f"if ({due}) {{" if due else "{")
    if row_loops.is_short(rows) or re.search(rf"\b{row_loops.ROW}\b", call):
        yield Code(f"    const int32_t {row_loops.ROW} = {row_loops.row(rows)};")
    if rows.kept and ring:
        yield Code(f"    {row_loops.keeping(rows, ring.c)}")
    if row_loops.is_short(rows):
        yield Code(f"    if ({row_loops.ROW} < {rows.blocks.layer.height})")
    yield Code(f"    {'    ' * row_loops.is_short(rows)}{name}({call});")
    yield Code("}")
    pointers = {arg.name: made.named for arg, made in zip(line.call.args, line.operands, strict=False)}
    for move in row_loops.moves(rows):
        named = pointers[move.ring]
        assert named
        yield from row_loops.moved(rows.loop, move, named.c)


def _parameter_lines(line: ProgramCall, indent: int = 4) -> Iterator[Code]:
    """The parameters of a layer by their names, as many on a line as fit. Names that begin alike, and single
    words, stay together."""
    groups = [[*group] for _, group in groupby(line.params, lambda each: each[0].name.rpartition("_")[0])]
    row: list[str] = []
    for group in groups:
        fields = [f"EK_FIELD({field.name}) {value}," for field, value in group]
        if row and indent + _width([*row, *fields]) > _WIDTH:
            yield Code(" ".join(row))
            row = []
        for each in fields:  # of which one line may not be enough
            if row and indent + _width([*row, each]) > _WIDTH:
                yield Code(" ".join(row))
                row = []
            row.append(each)
    if row:
        yield Code(" ".join(row))


def _width(fields: Sequence[str]) -> int:
    return len(" ".join(fields))

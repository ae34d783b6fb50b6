"""Program -> text: the files of a generated library; templates hold loops and names only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import jinja2

import edgekit
from edgekit.codegen.gpu import render as gpu
from edgekit.codegen.kernels.sources import support_files
from edgekit.codegen.lowering.branches import Loop
from edgekit.codegen.printing.literal import elements, lines, stored
from edgekit.codegen.program import Constant, Line, Program, Test
from edgekit.core import templating
from edgekit.core.escape import Code

Optimize = Literal["size", "speed"]
Weights = Literal["auto", "c", "bin"]
# Above this many bytes a compiler takes seconds for the text of the weights, and the assembler includes them.
BINARY_WEIGHTS = 1 << 20
_WIDTH = 110


def render(program: Program, optimize: Optimize, weights: Weights = "auto") -> dict[str, bytes]:
    """Path -> content of every file of the library, without the manifest. `weights` become C text or a binary
    that the assembler includes."""
    name = program.name
    binary = weights == "bin" or (weights == "auto" and program.weight_bytes > BINARY_WEIGHTS)
    files = {
        f"{name}.h": _text("model.h.j2", program, optimize),
        f"{name}.c": _text("model.c.j2", program, optimize),
        f"{name}_weights.h": _text("weights.h.j2", program, optimize),
        "CMakeLists.txt": _text("CMakeLists.txt.j2", program, optimize, binary),
    }
    if binary:
        files[f"{name}_weights.S"] = _text("weights.S.j2", program, optimize)
    else:
        files[f"{name}_weights.c"] = _text("weights.c.j2", program, optimize)
    supports = {"types.h"}
    if any(c.dtype.c.startswith("ek_") for c in program.constants) or _half_ports(program):
        supports.add("half.h")
    for kernel in program.kernels:
        files[f"edgekit/{kernel.name}.h"] = kernel.header
        files[f"edgekit/{kernel.name}.c"] = kernel.source
        supports |= set(kernel.supports)
    for path, text in support_files(sorted(supports)):
        files[f"edgekit/{path}"] = text
    content = {path: text.encode() for path, text in files.items()}
    if program.target.opencl:
        content |= gpu.render(
            program, environment(), model_origin(program), specialised=optimize == "speed", binary=binary
        )
    if binary:
        content[f"{name}_weights.bin"] = b"".join(data for _, data in weight_blocks(program))
    return dict(sorted(content.items()))


def sources(files: Mapping[str, bytes], optimize: Optimize) -> list[str]:
    """The files to compile: kernels are included by the model at `speed`."""
    return [
        path
        for path in files
        if path.endswith((".c", ".S")) and not (optimize == "speed" and path.startswith("edgekit/"))
    ]


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


def _text(template: str, program: Program, optimize: Optimize, binary: bool = False) -> str:
    ports = []
    if program.ports == "caller":
        ports += [f"const {p.type.dtype.c} *{p.c}" for p in program.inputs]
        ports += [f"{p.type.dtype.c} *{p.c}" for p in program.outputs]
    ports += [f"struct {program.name}_state *state"] * bool(program.states)
    places = [o.place for line in program.lines for o in line.operands]
    places += [test.place for line in program.lines for test in line.tests]
    used = {place.name for place in places if place.kind != "arena"}
    offsets, at = [], 0
    for _, data in weight_blocks(program):
        offsets.append((at, len(data)))
        at += len(data)
    text = (
        environment()
        .get_template(template)
        .render(
            p=program,
            origin=model_origin(program),
            version=edgekit.__version__,
            guard=program.name.upper(),
            signature=Code(", ".join([*ports, "void *arena"])),
            speed=optimize == "speed",
            binary=binary,
            half=_half_ports(program) or any(c.dtype.c.startswith("ek_") for c in program.constants),
            uses_state=any(place.kind == "state" for place in places),
            uses_arena=any(place.kind == "arena" for place in places),
            unused=[
                p for p in (*program.inputs, *program.outputs) if p.offset is None and p.name not in used
            ],
            arena_map=_arena_map(program),
            steps=[*_steps(program)],
            weight_offsets=offsets,
        )
    )
    return (
        "".join(map(_folded, text.splitlines(keepends=True)))
        if template.endswith((".c.j2", ".h.j2"))
        else text
    )


@dataclass(frozen=True)
class _Step:
    """A line of the run function: a call with its number, or where branches begin and end."""

    depth: int
    text: Code | None = None
    line: Line | None = None
    number: int = 0


def _steps(program: Program) -> Iterator[_Step]:
    """The calls, within the branches that they are guarded by."""
    now: list[Test] = []  # of the branches that are open
    turned: list[bool] = []  # is this their else?
    for number, line in enumerate([*program.lines, None]):
        tests = line.tests if line else ()
        same = next((k for k, (a, b) in enumerate(zip(now, tests, strict=False)) if a != b), None)
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
            yield _Step(len(now), Code(_opening(test)))
            now.append(test)
            turned.append(False)
        if line:
            yield _Step(len(now), line=line, number=number)


def _opening(test: Test) -> str:
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


def _folded(line: str) -> str:
    """A call or prototype on lines that are not too long, broken as clang-format would. Comments stay."""
    code = line.rstrip("\n")
    if len(code) <= _WIDTH or not code.endswith((");", ")")):
        return line
    indent = " " * (len(code) - len(code.lstrip()) + 4)
    head, arguments = code.split("(", 1)
    if len(indent) + len(arguments) <= _WIDTH:
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
        "data_lines": lambda c: map(Code, lines(elements(c.data) if c.data.size else iter("0"))),
        "layer_signature": _layer_signature,
        "layer_arguments": _layer_arguments,
        "call_arguments": _call_arguments,
    }
    return environment


def _layer_signature(line: Line) -> Code:
    arguments = [
        f"{'const ' * o.pointer.const}{o.pointer.ctype} *{o.pointer.name}"
        for o in line.operands
        if o.place.kind != "constant"
    ]
    return Code(", ".join(arguments))


def _layer_arguments(line: Line) -> Code:
    arguments = [o.address if o.place.kind == "constant" else o.pointer.name for o in line.operands]
    return Code(", ".join([*arguments, f"&{line.c}"]))


def _call_arguments(line: Line, speed: bool) -> Code:
    arguments = [o.address for o in line.operands if not (speed and o.place.kind == "constant")]
    return Code(", ".join(arguments if speed else [*arguments, f"&{line.c}"]))


def _arena_map(program: Program) -> list[str]:
    """Where each tensor lies, one line a buffer, in order of address."""
    seen: dict[int, list[str]] = {}
    for line in program.lines:
        last = line.operands[-1]
        for operand in line.operands:
            if operand.place.kind == "arena" and (operand is last or not operand.pointer.const):
                seen.setdefault(operand.place.offset, []).append(line.c)
    return [f"{offset:>8}  {', '.join(dict.fromkeys(names))}"[:108] for offset, names in sorted(seen.items())]

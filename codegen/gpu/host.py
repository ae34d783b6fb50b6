"""How programs that are made to run a library here call its path for GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgekit.codegen.program import Program

NO_DEVICE, LOST = 5, 6  # exit codes of such programs


def header(program: Program) -> str:
    """What a program includes."""
    return f"{program.owner}_gpu.h" if program.target.opencl else f"{program.name}.h"


def declared(program: Program) -> Iterator[str]:
    """Variables of what `created` makes."""
    if program.target.opencl:
        yield "struct ek_gpu *gpu;"
        yield from ["struct ek_gpu_state *stream;"] * bool(program.states)


def created(program: Program, indent: str = "    ") -> Iterator[str]:
    """Statements that make `gpu`, and a stream where there are states; any device will do, nothing else."""
    yield f"{indent}struct ek_gpu_config config = {{.allow_cpu_device = 1, .no_fallback = 1}};"
    yield f"{indent}enum ek_gpu_status status;"
    yield f"{indent}gpu = {program.owner}_gpu_create(&config, &status);"
    yield f"{indent}if (!gpu)\n{indent}    exit({NO_DEVICE});"
    if program.states:
        yield f"{indent}stream = {program.owner}_gpu_state_create(gpu);"
        yield f"{indent}if (!stream)\n{indent}    exit({LOST});"


def run(program: Program, ports: Sequence[str], others: Sequence[str]) -> str:
    """The statement that runs the model: on a device, or with memory beside the ports."""
    if port := program.row_port:
        row = f"{ports[0]} + row * {port.row_size}"
        push = f"{program.function}({', '.join([row, *others])});"
        loop = f"for (int32_t row = 0; row < {port.rows}; row++)"
        return f"{{ {program.name}_start({others[-1]}); {loop} {push} }}"
    if not program.target.opencl:
        return f"{program.name}_run({', '.join([*ports, *others])});"
    arguments = ["gpu", *ports, *["stream"] * bool(program.states)]
    return f"if ({program.name}_gpu_run({', '.join(arguments)})) exit({LOST});"


def destroyed(program: Program, indent: str = "    ") -> Iterator[str]:
    """Statements for the end."""
    if program.target.opencl:
        yield from [f"{indent}{program.owner}_gpu_state_destroy(stream);"] * bool(program.states)
        yield f"{indent}{program.owner}_gpu_destroy(gpu);"

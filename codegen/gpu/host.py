"""How programs that are made to run a library here call its path for GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgekit.codegen.program import Program

NO_DEVICE, LOST = 5, 6  # exit codes of such programs


def header(program: Program) -> str:
    """What a program includes."""
    return f"{program.name}_gpu.h" if program.target.opencl else f"{program.name}.h"


def created(program: Program, indent: str = "    ") -> Iterator[str]:
    """Statements that make `gpu`; any device will do, but nothing else."""
    yield f"{indent}struct ek_gpu_config config = {{.allow_cpu_device = 1, .no_fallback = 1}};"
    yield f"{indent}enum ek_gpu_status status;"
    yield f"{indent}gpu = {program.name}_gpu_create(&config, &status);"
    yield f"{indent}if (!gpu)\n{indent}    exit({NO_DEVICE});"


def run(program: Program, ports: Sequence[str], others: Sequence[str]) -> str:
    """The statement that runs the model: on a device, or with memory beside the ports."""
    if not program.target.opencl:
        return f"{program.name}_run({', '.join([*ports, *others])});"
    return f"if ({program.name}_gpu_run({', '.join(['gpu', *ports])})) exit({LOST});"

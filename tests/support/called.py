"""Which kernels of an instruction set a program calls."""

from collections import Counter

from edgekit.codegen.program import Program


def kernels(program: Program, isa: str) -> Counter[str]:
    """How often each file of an instruction set is called."""
    names = (line.kernel.function.removeprefix("ek_").rpartition("__") for line in program.lines)
    return Counter(name for name, _, own in names if own == isa)

"""How the model's source includes its kernels: specialised for each layer, or as functions.

Code for speed has all kernels specialised. In code for size a kernel is specialised for each of its layers if
these are at most `Target.copies`, since compilers then drop the code for other shapes; a kernel with more
layers is a function. The entries and CPU segments of a library share the kernel functions of its main source.
"""

from __future__ import annotations

from collections import Counter

from edgekit.codegen.kernels.sources import Kernel
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.program import Program
from edgekit.core.target import Optimize


def are_shared(program: Program, optimize: Optimize) -> bool:
    """Do several sources of the library call the same kernel functions?"""
    return optimize == "size" and bool(program.within or program.entries or program.segments)


def specialised(program: Program, optimize: Optimize) -> frozenset[str]:
    """The names of the kernels that are specialised for each layer that calls them."""
    if optimize == "speed":
        return frozenset(kernel.name for kernel in program.kernels)
    if are_shared(program, optimize):
        return frozenset()
    functions = layer_functions(program)
    users = Counter(line.kernel.name for line in program.lines if functions[line.c].c == line.c)
    return frozenset(name for name, layers in users.items() if layers <= program.target.copies)


def included(program: Program, optimize: Optimize) -> tuple[Kernel, ...]:
    """The kernels that the source of a program includes."""
    if program.within or not are_shared(program, optimize):
        return program.kernels
    parts = (program, *program.segments, *program.entries)
    found = {kernel.name: kernel for part in parts for kernel in part.kernels}
    return tuple(found[name] for name in sorted(found))

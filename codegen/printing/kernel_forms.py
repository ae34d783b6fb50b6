"""How the source of a model includes its kernels: specialised for a layer, or as functions of several.

Code for speed has kernels specialised for the shapes of each layer. Code for size has those that one layer
calls specialised, as compilers drop the cases that it does not take, and functions of those that several
call. Where kernels have a case for each shape of block, copies for the layers take less than a function of
all cases: targets say up to how many layers. CPU segments and further entries of a library share
functions with its model, whose source includes those of all.
"""

from __future__ import annotations

from collections import Counter

from edgekit.codegen.kernels.sources import Kernel
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.program import Program
from edgekit.core.target import Optimize


def are_shared(program: Program, optimize: Optimize) -> bool:
    """Are its kernels functions that several sources of its library call?"""
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

"""The memory of a target: a library that does not fit fails the build, and the error says what is large."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from edgekit.codegen.compilation.toolchain import Sizes
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError, raise_all

_NAMED = 3  # layers or tensors that an error names


def check(program: Program, sizes: Sizes | None, weights: Sequence[tuple[str, int]]) -> None:
    """E0604 for each bank that the library does not fit into. What is not known counts as nothing: code
    without a compiler, a stack that it does not tell. `weights` are those of each layer."""
    raise_all(list(_faults(program, sizes, weights)))


def _faults(
    program: Program, sizes: Sizes | None, weights: Sequence[tuple[str, int]]
) -> Iterator[EdgeKitError]:
    code, constants = (sizes.code, sizes.constants) if sizes else (0, program.linked_weight_bytes)
    ram = _ram(program, sizes)
    tensors = program.peak.tensors if program.peak else ()
    layer = f" in layer {program.peak.layer}" if program.peak else ""
    causes = {
        "flash": ({"code": code, "constants": constants}, "the largest layers", "", weights),
        "ram": (ram, "most is in use", layer, tensors),
    }
    for bank, (parts, what, where, named) in causes.items():
        need, there = sum(parts.values()), program.target.memory.get(bank)
        if there is not None and need > there:
            sums = " + ".join(f"{part} {size:,}" for part, size in parts.items() if size)
            has = f"target {program.target.name} has {there:,} B"
            yield EdgeKitError(
                "E0604",
                f"{program.name} needs {need:,} B of {bank} ({sums}), {has}",
                hint=f"{what}{where}: {_largest(named)}",
            )


def warning(program: Program, sizes: Sizes | None) -> str:
    """What is wrong where the library fits, and the caller's inputs and outputs beside it do not."""
    there, own = program.target.memory.get("ram"), sum(_ram(program, sizes).values())
    outside = program.working_bytes - program.arena.size
    if there is None or own + outside <= there:
        return ""
    has = f"target {program.target.name} has {there:,} B of ram"
    beside = f"inputs and outputs take {outside:,} B beside {own:,} B of the library"
    return f"{beside}, {has}: with --ports arena they share its arena"


def _ram(program: Program, sizes: Sizes | None) -> dict[str, int]:
    stack = (sizes and sizes.stack) or 0
    return {"arena": program.arena_bytes, "state": program.state_bytes, "stack": stack}


def _largest(named: Sequence[tuple[str, int]]) -> str:
    total: Mapping[str, int] = dict(sorted(named, key=lambda each: -each[1])[:_NAMED])
    return ", ".join(f"{name} {size:,} B" for name, size in total.items())

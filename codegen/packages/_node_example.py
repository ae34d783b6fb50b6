"""The example of an npm package: a program for Node with its sample, and with a run of the self-test."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.packages._sample import sample_of, test_of
from edgekit.codegen.printing.literal import stored

_NUMBERS = {"ek_f16": "half", "ek_bf16": "bfloat"}  # how JavaScript reads elements that it has no type for


def example(request: PackageRequest, render: Callable[..., bytes]) -> dict[str, bytes]:
    """Files by path: the inputs of the run and what is expected of it are in `check`."""
    program, test, sample = request.program, test_of(request), sample_of(request)
    given, expected = test.samples[0], test.expected[0]
    numbers = {port.c: _NUMBERS.get(port.type.dtype.c, "Number") for port in program.outputs}
    limits = {port.c: test.limit(port.name, 0) for port in program.outputs}
    return {
        "example/classify.mjs": render("classify.mjs.j2", numbers=numbers, limits=limits),
        **{f"example/{port.c}.bin": stored(sample[port.name]).tobytes() for port in program.inputs},
        **{f"example/check/{port.c}.bin": stored(given[port.name]).tobytes() for port in program.inputs},
        **{f"example/check/{port.c}.bin": stored(expected[port.name]).tobytes() for port in program.outputs},
    }

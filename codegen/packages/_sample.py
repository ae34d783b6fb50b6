"""The sample that examples classify: what the user gave, or the first inputs of the self-test."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import edgekit
from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.printing.literal import elements, lines
from edgekit.codegen.printing.render import environment
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest, prepare
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code
from edgekit.core.types import Array, DType

MAX_BYTES = 1 << 17  # of a sample in a header: more has no place in the flash of a board


def test_of(request: PackageRequest) -> SelfTest:
    """The self-test of the library."""
    return request.test or prepare(request.program.graph, [entry.graph for entry in request.program.entries])


def sample_of(request: PackageRequest) -> Mapping[str, Array]:
    """An array for each input."""
    return request.content.sample or test_of(request).samples[0]


def check(program: Program, sample: Mapping[str, Array] | None) -> None:
    """EdgeKitError where a sample has numbers that C has no constants for."""
    for name, array in (sample or {}).items():
        if DType.of(array.dtype).is_float and not np.isfinite(array.astype(np.float64)).all():
            hint = "take a sample that the model was trained or calibrated with"
            raise EdgeKitError("E0108", f"the sample of input {name} has NaN or infinity", hint=hint)


def fits_header(program: Program) -> bool:
    """May the sample be part of a program in flash?"""
    return sum(port.type.bytes for port in program.inputs) <= MAX_BYTES


def header(request: PackageRequest) -> dict[str, bytes]:
    """The sample as constants of C, by the file's name; none where it is too large."""
    program, sample = request.program, sample_of(request)
    if not fits_header(program):
        return {}
    known = {
        "name": program.name,
        "guard": program.name.upper(),
        "version": edgekit.__version__,
        "arrays": [
            {
                "c": port.c,
                "type": port.type.dtype.c,
                "size": port.type.size,
                "lines": _lines(sample[port.name]),
            }
            for port in program.inputs
            if port.type.size
        ],
    }
    text = environment().get_template("sample.h.j2").render(known)
    return {f"{program.name}_sample.h": text.encode()}


def _lines(array: Array) -> list[Code]:
    return [Code(line) for line in lines(elements(array))]

"""An Arduino library: sources in src, which every builder compiles as they are, and a sketch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.codegen.printing.render import sources
from edgekit.core.escape import Code
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where Arduino has no such boards."""
    fits = _board.is_cortex_m(target) or _board.is_riscv32(target) or _board.is_xtensa(target)
    _board.check("Arduino library", target, fits, "nrf52840, rp2040, esp32-s3")


def make(request: PackageRequest) -> Package:
    """The library. Its archive is linked (dot_a_linkage): what is never called, and what another model
    brings as well, does no harm."""
    files = _board.library(request)
    options = _board.render(request, "options.c.j2", pragma=_pragma(request))
    for path in sources(files):
        files[path] = options + files[path]
    inside: Mapping[str, bytes] = {
        **{f"src/{path}": data for path, data in files.items()},
        "library.properties": _board.render(request, "library.properties.j2"),
        "examples/Run/Run.ino": _board.render(request, "Run.ino.j2"),
    }
    return _board.package("arduino", request, inside)


def _pragma(request: PackageRequest) -> Code:
    """The options as `#pragma GCC optimize` has them: "O3", "no-math-errno"."""
    words = (option.removeprefix("-f").removeprefix("-") for option in _board.options(request))
    return Code(", ".join(map(json.dumps, words)))

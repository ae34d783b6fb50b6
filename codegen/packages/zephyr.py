"""A module of Zephyr, with an option for the model and one for its self-test."""

from __future__ import annotations

from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where the target is no microcontroller."""
    fits = _board.is_cortex_m(target) or _board.is_riscv32(target)
    _board.check("module of Zephyr", target, fits, "cortex-m4, nrf52840, riscv32")


def make(request: PackageRequest) -> Package:
    files = _board.library(request)
    compiled = library_sources(files)
    files |= _board.example(request) | {
        "zephyr/module.yml": _board.render(request, "module.yml.j2"),
        "zephyr/CMakeLists.txt": _board.render(request, "zephyr.cmake.j2", compiled=compiled),
        "zephyr/Kconfig": _board.render(request, "Kconfig.j2"),
    }
    return _board.package("zephyr", request, files)

"""A component of ESP-IDF."""

from __future__ import annotations

import re

from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.codegen.printing.render import sources
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where ESP-IDF has no such chips."""
    _board.check("component of ESP-IDF", target, _board.is_riscv32(target), "esp32-c3")


def make(wish: PackageRequest) -> Package:
    """The component. A target that is named as a chip of theirs is for no other."""
    files = _board.library(wish)
    name = wish.program.target.name
    chip = name.replace("-", "") if re.fullmatch("esp32-?[a-z0-9]*", name) else ""
    files |= {
        "CMakeLists.txt": _board.render(wish, "esp-idf.cmake.j2", compiled=sources(files, wish.optimize)),
        "idf_component.yml": _board.render(wish, "idf_component.yml.j2", chip=chip),
    }
    return _board.package("esp-idf", wish, files)

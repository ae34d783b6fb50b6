"""A component of ESP-IDF."""

from __future__ import annotations

import re

from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.codegen.printing.names import build_target
from edgekit.codegen.printing.render import sources
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where ESP-IDF has no such chips."""
    fits = _board.is_riscv32(target) or _board.is_xtensa(target)
    _board.check("component of ESP-IDF", target, fits, "esp32-c3, esp32-s3")


def make(request: PackageRequest) -> Package:
    """The component. A target that is named as a chip of theirs is for no other."""
    files = _board.library(request)
    files |= _board.example(request, "void app_main(void)") | {
        "CMakeLists.txt": _board.render(request, "esp-idf.cmake.j2", compiled=sources(files)),
        "idf_component.yml": _board.render(
            request, "idf_component.yml.j2", chip=chip_of(request.program.target)
        ),
    }
    return _board.package("esp-idf", request, files, component(request.program.name))


def component(name: str) -> str:
    """What ESP-IDF calls the model: the name of its folder, which is none of its own components."""
    return f"{name}_" if name.startswith("esp_") else build_target(name, "esp-idf")


def chip_of(target: Target) -> str:
    """What ESP-IDF calls the chip of a target; empty for a processor of several."""
    return target.name.replace("-", "") if re.fullmatch("esp32-?[a-z0-9]*", target.name) else ""

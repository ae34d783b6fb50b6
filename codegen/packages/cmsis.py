"""A layer for CMSIS solutions, as Keil Studio and the CMSIS-Toolbox read them."""

from __future__ import annotations

from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.codegen.printing.render import sources
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where the target is no Cortex-M."""
    _board.check("CMSIS layer", target, _board.is_cortex_m(target), "cortex-m4, stm32h743")


def make(request: PackageRequest) -> Package:
    files = _board.library(request)
    layer = _board.render(request, "clayer.yml.j2", compiled=sources(files))
    return _board.package(
        "cmsis", request, {**files, **_board.example(request), f"{request.program.name}.clayer.yml": layer}
    )

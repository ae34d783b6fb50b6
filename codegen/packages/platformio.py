"""A PlatformIO library, for any framework: sources in src, options in its manifest, and a sketch."""

from __future__ import annotations

import json
import re

from edgekit.codegen.packages import Package, PackageRequest, _board
from edgekit.codegen.packages._platforms import platforms_of
from edgekit.codegen.printing.render import model_origin
from edgekit.core.target import Target

HELPERS: tuple[str, ...] = ()


def check(target: Target) -> None:
    """EdgeKitError where PlatformIO has no such boards."""
    fits = _board.is_cortex_m(target) or _board.is_riscv32(target) or _board.is_xtensa(target)
    _board.check("PlatformIO library", target, fits, "stm32f407, rp2040, esp32-s3")


def make(request: PackageRequest) -> Package:
    """The library. The model's source includes its kernels: they are not compiled separately."""
    files = {f"src/{path}": data for path, data in _board.library(request).items()}
    files |= {
        "library.json": (json.dumps(_manifest(request), indent=2) + "\n").encode(),
        "examples/Run/Run.ino": _board.render(request, "Run.ino.j2"),
    }
    return _board.package("platformio", request, files)


def _manifest(request: PackageRequest) -> dict[str, object]:
    program = request.program
    return {
        "name": re.sub("_+", "-", program.name).strip("-"),
        "version": _board.VERSION,
        "description": f"The neural network {program.name} as C, made for target {program.target.name}, "
        f"from {model_origin(program)}",
        "keywords": ["neural network", "edgekit"],
        "frameworks": "*",
        "platforms": list(platforms_of(program.target).platformio),
        "headers": f"{program.name}.h",
        "build": {"flags": _board.options(request), "srcFilter": ["+<*>", "-<edgekit/>"]},
    }

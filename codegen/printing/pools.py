"""Thread pools that come with libraries for several cores: runtime_c/pools."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from edgekit.codegen.kernels import contracts
from edgekit.core.target import Target

POOLS = Path(str(files("edgekit.runtime_c"))) / "pools"


def has_threads(target: Target) -> bool:
    """Do its programs run on an operating system with threads?"""
    return not target.board and not target.memory and target.startup != "wasm"


def pool_files(target: Target) -> Mapping[str, str]:
    """Path -> text of what a library for several cores has beside its layers."""
    found = {"edgekit/pool.h": contracts.header("pool.h")}
    names = {target.pool} if target.pool else set()
    for name in sorted(names | ({"threads"} if has_threads(target) else set())):
        text = (POOLS / f"{name}.h").read_text(encoding="utf-8")
        found[f"edgekit/{name}.h"] = text.replace('"edgekit/', '"')
    return found

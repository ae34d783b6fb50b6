"""What a change touches: its files, and the instruction sets whose kernels or costs these hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import cache

from support.each_target import OWN_SETS
from support.tools import ROOT

from edgekit.codegen.kernels.kernel_files import KERNELS, all_variants
from edgekit.core import target as targets

_ANY = re.compile(r"codegen/(cost/(calibrations|cost_features|cost_files)|kernels/selection)\.py")
_COSTS = re.compile(r"targets/costs/(.+)\.toml")
_PLACE = "runtime_c/kernels/"
_HEADER = re.compile(r"runtime_c/include/edgekit/simd/.*_(\w+?)\.h")


def is_touched(name: str, files: Iterable[str] | None = None) -> bool:
    """Are kernels of a target's own sets, what these cost on it, or how costs decide among the files?"""
    own, core = OWN_SETS[name], targets.load(name).core
    kernels = {v.path.relative_to(KERNELS).as_posix() for v in all_variants() if v.isa in own}
    for path in files_of_change() if files is None else files:
        costs, header = _COSTS.fullmatch(path), _HEADER.fullmatch(path)
        is_kernel = path.startswith(_PLACE) and path.removeprefix(_PLACE) in kernels
        is_cost = bool(costs and costs[1] == core) or bool(_ANY.fullmatch(path))
        if is_kernel or is_cost or (header and header[1] in own):
            return True
    return False


@cache
def files_of_change() -> frozenset[str]:
    """Since the branch left main, or in the last commit of main itself; none without a history."""
    head = _git("rev-parse", "HEAD")
    bases = (_git("merge-base", "HEAD", name) for name in ("origin/main", "main"))
    base = next((base for base in bases if base and base != head), "HEAD~1")
    return frozenset(_git("diff", "--name-only", base).split())


def _git(*words: str) -> str:
    command = ["git", "-c", f"safe.directory={ROOT}", *words]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""

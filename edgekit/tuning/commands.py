"""Command lines that make a variant, one step each."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from edgekit.tuning.problem import BF16, F32, INT4, INT8, LEVELS, WHOLE, Point, Result, file_stem
from edgekit.tuning.tune import Tuned


def commands(found: Tuned, point: Point, result: Result) -> Iterator[str]:
    """Prune, quantize, build: those of the steps that the variant has."""
    model = found.file or "MODEL"
    if point.left < WHOLE:
        made = f"{file_stem(found.name)}_pruned.ek"
        aims = f"--macs {point.left}% --target {quote(found.target)} --data DATA"
        yield f"edgekit prune {quote(model)} {aims} -o {quote(made)}"
        model = made
    if point.base != F32:
        made = f"{file_stem(found.name)}_{point.base}.ek"
        yield f"edgekit quantize {quote(model)} {_formats(point, result)} -o {quote(made)}"
        model = made
    size = " --optimize size" if point.optimize == "size" else ""
    yield f"edgekit build {quote(model)} --target {quote(found.target)}{size}"


def _formats(point: Point, result: Result) -> str:
    if point.base == BF16:
        return "--dtype bf16"
    words = ["--data DATA"]
    if point.base == INT4:
        words.append("--weights int4")
    if point.better:  # the gate finds layers for which that pays
        tried = (INT8, *(level for _, level in point.better))
        levels = [level for level in LEVELS if level in tried]
        words.append(f"--formats {','.join(levels)} --min-sqnr {max(result.sqnr_db - 0.1, 0):.1f}dB")
    return " ".join(words)

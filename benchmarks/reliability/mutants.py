"""Mutants of the checkout: which files have them, and a sample of them by seed."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.reliability import mutants_c, mutants_python
from benchmarks.reliability.mutants_python import Edit


@dataclass(frozen=True)
class Area:
    """A part of the code, and how many of 100 mutants are drawn from it."""

    name: str
    patterns: tuple[str, ...]
    share: int


AREAS = (
    Area("fixed-point arithmetic", ("edgekit/core/fixed*.py", "runtime_c/include/edgekit/math/fixed*.h"), 12),
    Area("quantization", ("quantize/**/*.py",), 18),
    Area("passes", ("edgekit/core/passes/**/*.py",), 16),
    Area("planner and code generator", ("codegen/**/*.py",), 16),
    Area("readers", ("converters/**/*.py",), 26),
    Area("kernels", ("runtime_c/kernels/*/*.c",), 12),
)
# Files and folders within these patterns that belong to no area, and why. All others do, so that a new module
# has mutants from its first day.
_MEASURES = "compiles, runs or measures what has been generated"
_BESIDE = "writes what stands beside the model"
_EMULATED = "its tests run emulators, for which dsp and wasm stand already"
_LEFT_OUT = {
    _MEASURES: (
        *("compilation/", "execution/", "verification/verify.py"),
        *(f"cost/{name}.py" for name in ("bench", "counting", "estimate", "instructions", "layer_costs")),
    ),
    _BESIDE: ("packages/", "verification/selftest.py", "verification/selftest_source.py"),
    "its tests emulate GPUs, which takes minutes": ("gpu/",),
}
LEFT_OUT = {f"codegen/{name}": reason for reason, names in _LEFT_OUT.items() for name in names}
LEFT_OUT |= {
    f"runtime_c/kernels/{isa}/": _EMULATED
    for isa in ("dotprod", "mve", "neon", "neon32", "relaxed", "thumb", "vfp")
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str
    edit: Edit

    def changed(self, source: str) -> str:
        return self.edit.apply(source)

    def lines(self, source: str) -> tuple[str, str]:
        """The lines that it changes, before and after, as one line each: what names it as code moves."""
        old, new = source.splitlines(), self.changed(source).splitlines()
        pairs = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        before = [line.strip() for tag, a, b, _, _ in pairs if tag != "equal" for line in old[a:b]]
        after = [line.strip() for tag, _, _, a, b in pairs if tag != "equal" for line in new[a:b]]
        return " ".join(before), " ".join(after)


def modules(area: Area, root: Path) -> list[Path]:
    """The files of an area."""
    files = {file for pattern in area.patterns for file in root.glob(pattern)}
    left = tuple(str(root / name) for name in LEFT_OUT)
    return sorted(file for file in files if not str(file).startswith(left))


def sites(area: Area, root: Path) -> list[Mutant]:
    """Every mutant of an area."""
    found = []
    for file in modules(area, root):
        edits = mutants_python.edits if file.suffix == ".py" else mutants_c.edits
        name = file.relative_to(root).as_posix()
        found += [Mutant(area.name, name, e) for e in edits(file.read_text(encoding="utf-8"))]
    return found


def drawn(root: Path, count: int, seed: int) -> list[Mutant]:
    """Mutants by seed, areas in turn, so that each beginning of the list is a sample of all areas. Which are
    drawn depends on the lines that they change, and hardly on other code: a sample lasts as code moves."""
    places = []
    for area in AREAS:
        found = sites(area, root)
        often = Counter(mutant.edit.kind for mutant in found)
        keys, seen = [], Counter[str]()
        for mutant in found:
            edit = mutant.edit
            text = f"{seed} {mutant.file} {edit.kind} {edit.source} {edit.text}"
            keys.append(sampling_key(f"{text} {seen[text]}" if seen[text] else text, often[edit.kind]))
            seen[text] += 1
        order = sorted(range(len(found)), key=keys.__getitem__, reverse=True)
        wanted = round(count * area.share / sum(a.share for a in AREAS))
        chosen = islice(_distinct((found[at] for at in order), root), wanted)
        places += [((i + 0.5) / wanted, area.name, mutant) for i, mutant in enumerate(chosen)]
    return [mutant for _, _, mutant in sorted(places, key=lambda p: p[:2])]


def sampling_key(text: str, often: int) -> float:
    """Weighted sampling without replacement: the mutants with the largest keys are the sample. A kind of
    change weighs less the more often there is one, as constants alone would be a third of all."""
    uniform = (int(hashlib.sha256(text.encode()).hexdigest()[:13], 16) + 1) / 16**13
    return float(uniform ** (often**0.5))


def _distinct(mutants: Iterable[Mutant], root: Path) -> Iterator[Mutant]:
    """Those that differ in name: the same change of the same line elsewhere in a file has the same."""
    seen = set()
    for mutant in mutants:
        name = (mutant.file, *mutant.lines((root / mutant.file).read_text(encoding="utf-8")))
        if name not in seen:
            seen.add(name)
            yield mutant

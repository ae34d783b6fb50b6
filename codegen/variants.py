"""Which kernel file a call takes: the first of the target's instruction sets that has one that fits the call.

A file says in its first comment what it is for, one tag a line:

    for X=s8 W=s8           what the type letters must stand for
    rule e tfl=tfl_down     the requantization rules that it knows, and by which name it calls them
    when k_h == 1 and ...   a condition on parameters and facts of the call; `small` where weights should be,
                            `zero_blocks(1, 4)` of the weights so many percent, of 1 output and 4 inputs each,
                            `heavy_pairs()` of 1000 pairs of these, those that have too much for light.py
    pack w: O/8! I o8       the layout of a constant operand (pack.py)
    fold b: -128 w          what is added to a bias: so many times the sum of the weights of its output
    scratch 4 * in_c        bytes of working memory: an argument behind the result
    like neon/f.c dot=mmla  no code of its own: that of another file, with ek_mmla_... for ek_dot_...; and its
                            layouts and working memory, where no other ones are stated
    order pixels 16         when a result is written, which inputs are still read (overlap.py)
    also conv2d_add         another contract that the text fulfils: what EK_ADD or EK_SCALE holds is for that
    apart                   results lie over no operand, as some are written twice

`<kernel>.c` is the general file of an instruction set, `<kernel>.<variant>.c` are special ones. Of several
that fit, the one with the most conditions is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import CodeType

from edgekit.codegen.blocks import is_stream, tiled
from edgekit.codegen.light import heavy_pairs
from edgekit.codegen.pack import is_tiled
from edgekit.ops import Call
from edgekit.tiles import zero_blocks

KERNELS = Path(str(files("edgekit.runtime_c"))) / "kernels"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TAG = re.compile(
    r"^ ?\*? ?/?\*? ?(for|rule|when|pack|fold|scratch|order|like|also|apart)\b ?([^\n]*?)(?: \*/)?$",
    re.MULTILINE,
)


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel file, and what it says of itself."""

    isa: str
    path: Path
    kernels: tuple[str, ...]  # its contracts
    name: str  # of the variant; empty for the general file
    types: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)  # how it calls each
    conditions: tuple[str, ...] = ()
    pack: Mapping[str, str] = field(default_factory=dict)
    fold: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    scratch: str = ""
    order: str = ""
    like: str = ""
    apart: bool = False

    def source(self) -> str:
        """The text of the file; where it is like another one, that of the other below its own comment."""
        text = self.path.read_text(encoding="utf-8")
        if not self.like:
            return text
        file, *changes = self.like.split()
        other = (KERNELS / file).read_text(encoding="utf-8")
        first, theirs = _COMMENT.match(text), _COMMENT.match(other)
        assert first, f"{self.path} says nothing of itself"
        assert theirs, f"{file} says nothing of itself"
        code = other[theirs.end() :]
        for old, new in (change.split("=") for change in changes):
            code = re.sub(rf"\bek_{old}_", f"ek_{new}_", code)
            code = re.sub(rf"\bEK_{old.upper()}_", f"EK_{new.upper()}_", code)
        return first[0] + code

    def fits(self, call: Call, operands: Sequence[str]) -> bool:
        """Can this file compute the call, whose operands have these names in C?"""
        types = {letter: dtype.value for letter, dtype in call.types.items()}
        if any(types.get(letter) != wanted for letter, wanted in self.types.items()):
            return False
        if self.rules and call.rule not in self.rules:
            return False
        for operand, tag in self.pack.items():
            if is_tiled(tag) and call.args[operands.index(operand)].value.data is None:
                return False
        return all(evaluated(condition, call) for condition in self.conditions)


@cache
def variants(isa: str, kernel: str) -> tuple[Variant, ...]:
    """The files of an instruction set for a kernel, the most special ones first."""
    found = [variant for variant in _files(isa) if kernel in variant.kernels]
    return tuple(sorted(found, key=lambda v: (-len(v.conditions), v.name)))


@cache
def _files(isa: str) -> tuple[Variant, ...]:
    return tuple(_read(isa, path) for path in sorted((KERNELS / isa).glob("*.c")))


def select(call: Call, name: str, isas: Sequence[str], operands: Sequence[str]) -> Variant:
    """The file for a call on a target with these instruction sets. `name` is that of the instance: a file of
    exactly this name goes first."""
    for isa in isas:
        for variant in (*variants(isa, name), *variants(isa, call.kernel)):
            if variant.fits(call, operands):
                return variant
    raise AssertionError(f"no kernel {name} or {call.kernel} in kernels/{{{','.join(isas)}}}")


def tile_of(isas: Sequence[str]) -> tuple[int, int] | None:
    """Outputs and inputs of the blocks of zeros that kernels of these sets leave out; None if none does."""
    tags = (variant.pack.get("w", "") for isa in isas for variant in variants(isa, "dense_int"))
    return next((tiled(tag)[1:] for tag in tags if is_stream(tag)), None)


def _read(isa: str, path: Path) -> Variant:
    kernel, _, name = path.stem.partition(".")
    comment = _COMMENT.search(path.read_text(encoding="utf-8"))
    tags: dict[str, list[str]] = {}
    for tag, text in _TAG.findall(comment[0] if comment else ""):
        tags.setdefault(tag, []).append(text.strip())
    types = dict(part.split("=") for text in tags.get("for", ()) for part in text.split())
    conditions = [part.strip() for text in tags.get("when", ()) for part in text.split(" and ")]
    pack = dict(map(_named, tags.get("pack", ())))
    words = [word.partition("=") for text in tags.get("rule", ()) for word in text.split()]
    rules = {rule: other or rule for rule, _, other in words}
    fold = {}
    for text in tags.get("fold", ()):
        operand, rest = _named(text)
        factor, weights = rest.split()
        fold[operand] = (int(factor), weights)
    scratch, like = (" ".join(tags.get(tag, ())) for tag in ("scratch", "like"))
    if like:
        other = _read(isa, KERNELS / like.split()[0])
        pack, scratch = {**other.pack, **pack}, scratch or other.scratch
    return Variant(
        isa,
        path,
        (kernel, *tags.get("also", ())),
        name,
        types,
        rules,
        tuple(conditions),
        pack,
        fold,
        scratch,
        " ".join(tags.get("order", ())),
        like,
        "apart" in tags,
    )


def _named(text: str) -> tuple[str, str]:
    name, _, rest = text.partition(":")
    return name.strip(), rest.strip()


def evaluated(expression: str, call: Call) -> int:
    """A condition or size over the parameters and facts of a call: the text comes from our own kernels."""
    names = {"small": 0, **call.params, **call.facts, "rule": call.rule}

    def of_weights(measure: Callable[..., int]) -> Callable[..., int]:
        return lambda *sizes: measure(call.args[1].value.data, *sizes)

    shares = {share.__name__: of_weights(share) for share in (zero_blocks, heavy_pairs)}
    known = {"max": max, "min": min, **shares}
    return int(eval(_compiled(expression), {"__builtins__": known}, names))


@cache
def _compiled(expression: str) -> CodeType:
    return compile(expression, "<condition>", "eval")

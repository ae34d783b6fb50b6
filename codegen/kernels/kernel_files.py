"""Kernel files: what each says of itself and of the kernels that its code serves, in tags, parsed strictly.

The comment at the head of a file says what the kernel is, in sentences, then by tags, one a line:

    @for X=s8 W=s8           what the type letters must stand for
    @rule e tfl=tfl_down     the requantization rules that it knows, and by which name it calls them
    @when k_h == 1 and ...   a condition on parameters and facts of the call (expressions.py)
    @pack w: O/8! I o8       the layout of a constant operand (pack.py)
    @fold b: -128 w          what is added to a bias: so many times the sum of the weights of its output
    @scratch 4 * in_c        bytes of working memory: an argument behind the result
    @order pixels 16         when a result is written, which inputs are still read (../memory/inplace.py)
    @also conv2d_add         another contract that the text fulfils: what EK_ADD or EK_SCALE holds is for that
    @apart                   results lie over no operand, as some are written twice
    @split out_h/4           parts of a call start at multiples of so many rows (splits.py)
    @split rows >= 8         parts have at least so many; never: there are no parts
    @work products 0.3, calls 90  instructions for a unit of each kind of work (../cost/cost_features.py)

More comments may follow before the code, each for another kernel of the same code:

    @as neon/conv2d_int.right_shift dot=mmla  its instruction set and name; ek_mmla_... stands for ek_dot_...
    @as neon/norm_s8, wasm/norm_s8            several that are alike

It says all of itself, but for layouts and working memory that are those of the first one. `<kernel>` names
the general kernel of an instruction set, `<kernel>.<variant>` a special one. Users get the sentences only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.expressions import KNOWN, Expression, ExpressionError, conjuncts, expression
from edgekit.codegen.memory.inplace import ORDERS
from edgekit.core.ops import Call
from edgekit.core.reasons import OwnWordsError

KERNELS = Path(str(files("edgekit.runtime_c"))) / "kernels"
_HEAD = re.compile(r"\s*(/\*.*?\*/)", re.DOTALL)
_LINE = re.compile(r"(?:/\*| \*| {2,3})(?: (.*?))?(?: ?\*/)?")
_STRAY = re.compile(r"^\s*/?\*+ ?@(\w+)", re.MULTILINE)
_AS = re.compile(r"@as (.*)")
_PLACE = re.compile(r"(\w+)/(\w+)")
_ALSO = re.compile(r"@also +(\w+)")
_INCLUDE = re.compile(r'^#include "edgekit/contracts/(\w+)\.h"', re.MULTILINE)
_BRACES = re.compile(r"\{(.*?)\}")
_NAME = r"\w+/\w+(\.\w+)?( \w+=\w+)*"
_UNIT = r"[a-z][a-z0-9 ]* \d[\d.e-]*"  # a kind of work, and what one takes
_FORMS = {
    "for": r"[A-Z]=\w+( [A-Z]=\w+)*",
    "rule": r"\w+(=\w+)?( \w+(=\w+)?)*",
    "when": r".+",
    "pack": r"\w+: \S.*",
    "fold": r"\w+: -?\d+ \w+",
    "scratch": r".+",
    "order": rf"({'|'.join(ORDERS)})( \d+| \{{.+?\}})*",
    "also": r"\w+",
    "apart": r"",
    "split": r"never|\w+(/[^>]+)?( >= .+)?",
    "work": rf"{_UNIT}(, {_UNIT}){{,7}}",
    "as": rf"{_NAME}(, {_NAME})*",
}
# As these tags were written without @: a sentence has no such line.
_OLD = re.compile(
    rf"(for {_FORMS['for']}|pack {_FORMS['pack']}|fold {_FORMS['fold']}|order {_FORMS['order']}|apart"
    r"|like \w+/[\w.]+\.c( \w+=\w+)*|(rule|also) \w*_\w*( .*)?|(when|scratch) [^,.;]*[()=<>*/+][^,.;]*)"
)
_ONCE = ("order", "apart", "as", "work")


class KernelFileError(OwnWordsError):
    """A kernel file that says something of itself that means nothing."""


@dataclass(frozen=True)
class SplitLimit:
    """Of parts of a call that is cut along an axis: they start at multiples of `block`, and have at least so
    many elements of it."""

    axis: str  # "never": any axis, and no call has parts
    block: Expression | None = None
    least: Expression | None = None


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel, and what its file says of it."""

    isa: str
    stem: str  # its name: that of a file, where it has one of its own
    path: Path  # of the file that holds its code
    kernels: tuple[str, ...]  # its contracts
    words: str  # the sentences on it, as a comment
    types: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)  # how it calls each
    conditions: tuple[Expression, ...] = ()
    pack: Mapping[str, str] = field(default_factory=dict)
    fold: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    scratch: Expression | None = None
    order: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)  # helpers that its code calls in place of others
    apart: bool = False
    split: tuple[SplitLimit, ...] = ()  # of parts of its calls
    work: Mapping[str, float] = field(default_factory=dict)  # instructions for a unit of each kind

    @property
    def name(self) -> str:
        """Of the variant; empty for the general one."""
        return self.stem.partition(".")[2]

    @property
    def file(self) -> str:
        """What names it among all kernels."""
        return f"{self.isa}/{self.stem}"

    @property
    def is_own(self) -> bool:
        """Is the code's file named after it?"""
        return (self.isa, self.stem) == (self.path.parent.name, self.path.stem)

    def order_of(self, call: Call) -> str:
        """The order with the numbers that braces stand for."""
        return _BRACES.sub(lambda braces: str(expression(braces[1]).of(call)), self.order)

    def source(self) -> str:
        """Its text: the sentences on it, and the code."""
        text = self.path.read_text(encoding="utf-8")
        code = text[_comments(text)[-1].end() :]
        for old, new in self.changes.items():
            code = re.sub(rf"\bek_{old}_", f"ek_{new}_", code)
            code = re.sub(rf"\bEK_{old.upper()}_", f"EK_{new.upper()}_", code)
            code = re.sub(rf"\b(EK_RULE|EK_MATH_\w)\({old}\)", rf"\1({new})", code)
        return self.words + code


@dataclass(frozen=True)
class _Tag:
    word: str
    text: str
    where: str  # path and line

    def wrong(self, why: str) -> KernelFileError:
        return KernelFileError(f"{self.where}: @{self.word}: {why}")


@cache
def all_variants() -> tuple[Variant, ...]:
    """Of all instruction sets, in the order of their names."""
    return _in_order(KERNELS.glob("*/*.c"))


@cache
def variants_of(isa: str, kernel: str) -> tuple[Variant, ...]:
    """Those of an instruction set for a contract, in the order of their names. Other files are not parsed."""
    found = _in_order(_files().get((isa, kernel), ()))
    return tuple(variant for variant in found if variant.isa == isa and kernel in variant.kernels)


def _in_order(paths: Iterable[Path]) -> tuple[Variant, ...]:
    found = sorted((v for path in paths for v in read(path)), key=lambda v: (v.isa, f"{v.stem}.c"))
    for one, other in pairwise(found):
        if (one.isa, one.stem) == (other.isa, other.stem):
            raise KernelFileError(f"{one.file} is in {_short(one.path)} and in {_short(other.path)}")
    return tuple(found)


@cache
def _files() -> Mapping[tuple[str, str], Sequence[Path]]:
    """Which files may have kernels of an instruction set for a contract: those that name both."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in KERNELS.glob("*/*.c"):
        text = path.read_text(encoding="utf-8")
        alike = (pair for line in _AS.findall(text) for pair in _PLACE.findall(line))
        named = {(path.parent.name, path.stem.partition(".")[0]), *alike}
        also = _ALSO.findall(text)
        for place in named | {(isa, kernel) for isa, _ in named for kernel in also}:
            found.setdefault(place, []).append(path)
    return found


@cache
def read(path: Path) -> tuple[Variant, ...]:
    """The kernel of a file, and all others that its code serves."""
    text = path.read_text(encoding="utf-8")
    comments = _comments(text)
    if not comments:
        raise KernelFileError(f"{_short(path)}:1: no comment says what this kernel is")
    if stray := _STRAY.search(text, comments[-1].end()):
        line = text.count("\n", 0, stray.start(1)) + 1
        raise KernelFileError(f"{_short(path)}:{line}: @{stray[1]} stands behind the head of the file")
    included = _INCLUDE.search(text)
    found: list[Variant] = []
    for comment in comments:
        line = text.count("\n", 0, comment.start(1)) + 1
        words, tags = _parts(comment[1], path, line)
        own = [tag for tag in tags if tag.word == "as"]
        if not own and found:
            raise KernelFileError(f"{_short(path)}:{line}: a kernel of the same code begins with @as")
        if own and not found:
            raise own[0].wrong("this kernel is named by its file")
        base = found[0] if found else None
        include = included[1] if included else ""
        for one in own[0].text.split(", ") if own else [f"{path.parent.name}/{path.stem}"]:
            name, *changes = one.split()
            found.append(_variant(path, name, words, tags, base, include, dict(_pairs(changes))))
    return tuple(found)


def _comments(text: str) -> list[re.Match[str]]:
    """The comments at the head of a file: the first one, and those behind it that have tags."""
    found: list[re.Match[str]] = []
    at = 0
    while (match := _HEAD.match(text, at)) and (not found or _STRAY.search(match[1])):
        found.append(match)
        at = match.end()
    return found


def _parts(comment: str, path: Path, first: int) -> tuple[str, tuple[_Tag, ...]]:
    """A comment's sentences, as a comment, and its tags."""
    words: list[str] = []
    tags: list[_Tag] = []
    for number, raw in enumerate(comment.split("\n"), first):
        where = f"{_short(path)}:{number}"
        line = _LINE.fullmatch(raw)
        text = ((line[1] if line else raw) or "").strip()
        if text.startswith("@"):
            tags.append(_tag(text, where))
        elif _OLD.fullmatch(text):
            how = text.replace("like ", "as ", 1) if text.startswith("like ") else text
            hint = "; code of another file: a comment in that one, @as <set>/<name>" * (how != text)
            raise KernelFileError(f"{where}: tags begin with @: write `@{how.removesuffix('.c')}`{hint}")
        elif tags and text:
            raise KernelFileError(f"{where}: a sentence behind tags: {text!r}")
        elif text:
            words.append(raw.removesuffix("*/").rstrip())
    if not words:
        raise KernelFileError(f"{_short(path)}:{first}: no sentence says what this kernel is")
    return "/*" + "\n".join(words)[2:] + " */", tuple(tags)


def _tag(text: str, where: str) -> _Tag:
    word, _, rest = text[1:].partition(" ")
    tag = _Tag(word, rest.strip(), where)
    if word not in _FORMS:
        near = get_close_matches(word, _FORMS, 1)
        raise tag.wrong("no such tag" + (f", is it @{near[0]}?" if near else f": {', '.join(_FORMS)}"))
    if not re.fullmatch(_FORMS[word], tag.text):
        raise tag.wrong(f"{tag.text!r} is not as kernel_files.py describes")
    return tag


def _variant(
    path: Path,
    name: str,
    words: str,
    tags: Sequence[_Tag],
    base: Variant | None,
    included: str,
    changes: Mapping[str, str],
) -> Variant:
    isa, stem = name.split("/")
    for word in _ONCE:
        if len(found := [tag for tag in tags if tag.word == word]) > 1:
            raise found[1].wrong("said twice")
    said = {word: [tag for tag in tags if tag.word == word] for word in _FORMS}
    kernels = (stem.partition(".")[0], *(tag.text for tag in said["also"]))
    contract = f"{kernels[0]}.h" if f"{kernels[0]}.h" in contracts.headers() else f"{included}.h"
    if contract not in contracts.headers():
        raise KernelFileError(f"{_short(path)}:1: no contract include/edgekit/contracts/{kernels[0]}.h")
    _check(tags, contracts.header(contract))
    pack = {operand: text.strip() for operand, text in _unique(said["pack"], ":")}
    scratch = " ".join(tag.text for tag in said["scratch"])
    fold = {operand: text.split() for operand, text in _unique(said["fold"], ":")}
    return Variant(
        isa,
        stem,
        path,
        kernels,
        words,
        dict(_unique(said["for"], "=")),
        {rule: own or rule for rule, own in _unique(said["rule"], "=")},
        tuple(part for tag in said["when"] for part in conjuncts(tag.text)),
        {**base.pack, **pack} if base else pack,
        {operand: (int(factor), weights) for operand, (factor, weights) in fold.items()},
        expression(scratch) if scratch else base.scratch if base else None,
        said["order"][0].text if said["order"] else "",
        changes,
        bool(said["apart"]),
        tuple(map(_limit, said["split"])) or (base.split if base else ()),
        {name: float(factor) for name, factor in _units(said["work"])},
    )


def _units(tags: Sequence[_Tag]) -> Iterator[tuple[str, str]]:
    for tag in tags:
        for part in tag.text.split(", "):
            name, _, factor = part.rpartition(" ")
            yield name, factor


def _limit(tag: _Tag) -> SplitLimit:
    head, _, least = tag.text.partition(" >= ")
    axis, _, block = head.partition("/")
    return SplitLimit(axis, expression(block) if block else None, expression(least) if least else None)


def _check(tags: Sequence[_Tag], contract: str) -> None:
    """Are names those of the contract's parameters, operands and types, and of the facts of calls?"""
    operands, letters = contracts.operands(contract), contracts.letters(contract)
    for tag in tags:
        for text in _expressions(tag, tags):
            _check_expression(tag, text, contracts.fields(contract) | KNOWN)
        if tag.word in ("pack", "fold") and (name := tag.text.partition(":")[0]) not in operands:
            raise tag.wrong(f"{name} is no operand: {', '.join(operands)}")
        if tag.word == "rule":
            _check_rule(tag)
        if tag.word == "for":
            for letter, _ in _pairs(tag.text.split()):
                if letter not in letters:
                    raise tag.wrong(f"{letter} is no type of the contract: {', '.join(sorted(letters))}")


def _check_rule(tag: _Tag) -> None:
    for rule, own in _pairs(tag.text.split()):
        forms = [name for name in contracts.rules() if name == rule or name.startswith(f"{rule}_")]
        if not forms:
            raise tag.wrong(f"{rule} is no rule: no header has ek_requantize_{rule}")
        if not any(name.startswith(f"{own or rule}_") for name in contracts.rules()):
            raise tag.wrong(f"no header has ek_requantize_{own or rule}_...")


def _expressions(tag: _Tag, tags: Sequence[_Tag]) -> Iterator[str]:
    """Of a tag; what several tags `scratch` say is one."""
    scratch = [other for other in tags if other.word == "scratch"]
    if tag.word == "when":
        yield tag.text
    elif tag.word == "split":
        yield from filter(None, re.split(r"/| >= ", tag.text, maxsplit=1)[1:])
    elif tag.word in ("pack", "order"):
        yield from _BRACES.findall(tag.text)
    elif scratch and tag is scratch[0]:
        yield " ".join(other.text for other in scratch)


def _check_expression(tag: _Tag, text: str, names: frozenset[str]) -> None:
    try:
        unknown = sorted(frozenset().union(*(part.names for part in conjuncts(text))) - names)
    except ExpressionError as error:
        raise tag.wrong(str(error)) from None
    if unknown:
        near = get_close_matches(unknown[0], names, 1)
        hint = f", is it {near[0]}?" if near else ""
        raise tag.wrong(f"{unknown[0]} is no parameter of the contract and no fact{hint}")


def _unique(tags: Sequence[_Tag], mark: str) -> Iterator[tuple[str, str]]:
    """Names and what is said of each, once."""
    seen: set[str] = set()
    for tag in tags:
        parts = [tag.text] if mark == ":" else tag.text.split()
        for name, text in _pairs(parts, mark):
            if name in seen:
                raise tag.wrong(f"{name} is said twice")
            seen.add(name)
            yield name, text


def _pairs(parts: Sequence[str], mark: str = "=") -> Iterator[tuple[str, str]]:
    for part in parts:
        name, _, text = part.partition(mark)
        yield name, text


def _short(path: Path) -> str:
    return f"kernels/{path.parent.name}/{path.name}"

"""Kernel files: what each says of itself and of the kernels that its code serves, in tags, parsed strictly.

The comment at the head of a file says in sentences what the kernel is, then by tags. Short ones share a line:

    @for X=s8 W=s8           what the type letters must stand for
    @rule e tfl=tfl_down     the requantization rules that it knows, and by which name it calls them
    @when k_h == 1 and ...   a condition on parameters and facts of the call (expressions.py)
    @pack w: O/8! I o8       the layout of a constant operand (pack.py)
    @fold b: -128 w          what is added to a bias: so many times the sum of the weights of its output
    @scratch 4 * in_c        bytes of working memory: an argument behind the result
    @order pixels 16         when a result is written, which inputs are still read (../memory/inplace.py)
    @also conv2d_add         another contract that the text fulfils: EK_IF_R(text) is for operand r
    @apart                   results lie over no operand, as some are written twice
    @split out_h/4           parts of a call start at multiples of so many rows (splits.py)
    @split rows >= 8         parts have at least so many; never: there are no parts
    @work products 0.3, calls 90  instructions for a unit of each kind of work (../cost/cost_features.py), or
                             no numbers, where they are fitted for each processor (targets/costs)
    @count pairs: out_h * (out_w // 2)  a kind of work of its own
    @loads w: out_h * out_w  how often a call loads all of a constant operand (../cost/weight_loads.py)

Rows for more kernels of the same code follow, in this comment or in others before the code. Each is like
another kernel, and says how it differs:

    @as neon/dense.bf16 W=bf16 f32=bf16  its instruction set and name, types, and helpers: ek_bf16_... stands
                             for ek_f32_... in its code. It is like the file's first kernel
    @as neon32/dense.f16 like neon/dense.f16  it is like that one, which stands before it
    @as neon/norm_s8, wasm/norm_s8  several that are alike
    @without order, when k_h == 1  what it does not have of that kernel

The tags behind @as are those of a row. It replaces types, operands and @count one by one, adds conditions,
and has its own in place of all else that it says; @work, which is what one kernel costs, it does not inherit.
A @count, and what stands behind @loads, may name those above it that are a single word, as this kernel
counts them.
Sentences of a comment are for all of its rows; without any, a row has those of the kernel that it is like.
`<kernel>` names the general kernel of an instruction set, `<kernel>.<variant>` a special one. Users get the
sentences only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.expressions import KNOWN, Expression, ExpressionError, conjuncts, expression
from edgekit.codegen.kernels.kernel_rows import FORMS, KernelFileError, Row, Tag, code, rows
from edgekit.core.ops import Call

KERNELS = Path(str(files("edgekit.runtime_c"))) / "kernels"
_AS = re.compile(r"@as ([^@\n]*)")
_PLACE = re.compile(r"(\w+)/(\w+)")
_ALSO = re.compile(r"@also +(\w+)")
_INCLUDE = re.compile(r'^#include "edgekit/contracts/(\w+)\.h"', re.MULTILINE)
_BRACES = re.compile(r"\{(.*?)\}")
_NUMBER = re.compile(r"(.+?)(?: (\d[\d.e-]*))?")
MOST_KINDS = 8  # of work, in a tag


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
    kinds: tuple[str, ...] = ()  # of work, for which there are numbers here or in targets/costs
    counts: Mapping[str, Expression] = field(default_factory=dict)  # kinds of its own
    loads: Mapping[str, Expression] = field(default_factory=dict)  # of constant operands, in a call

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

    @cached_property
    def digest(self) -> str:
        """Of its code, without what comments say of it."""
        return hashlib.sha256(self.source().removeprefix(self.words).encode()).hexdigest()[:6]

    def order_of(self, call: Call) -> str:
        """The order with the numbers that braces stand for."""
        return _BRACES.sub(lambda braces: str(expression(braces[1]).of(call)), self.order)

    def source(self) -> str:
        """Its text: the sentences on it, and the code."""
        text = code(self.path.read_text(encoding="utf-8"))
        for old, new in self.changes.items():
            text = re.sub(rf"\bek_{old}(?![a-z\d])", f"ek_{new}", text)
            text = re.sub(rf"\bEK_{old.upper()}_", f"EK_{new.upper()}_", text)
            text = re.sub(rf"\b(EK_RULE|EK_MATH_\w)\({old}\)", rf"\1({new})", text)
        return self.words + text


@cache
def all_variants() -> tuple[Variant, ...]:
    """Of all instruction sets, in the order of their names."""
    return _in_order(variant for path in KERNELS.glob("*/*.c") for variant in read(path))


@cache
def variants_of(isa: str, kernel: str) -> tuple[Variant, ...]:
    """Those of an instruction set for a contract, in the order of their names. Other files are not parsed,
    nor rows of other sets."""
    own = ((path, row) for path in _files().get((isa, kernel), ()) for row in _rows(path))
    found = (_variant(path, row) for path, row in own if row.isa == isa)
    return _in_order(variant for variant in found if kernel in variant.kernels)


def _in_order(variants: Iterable[Variant]) -> tuple[Variant, ...]:
    found = sorted(variants, key=lambda variant: (variant.isa, f"{variant.stem}.c"))
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


def read(path: Path) -> tuple[Variant, ...]:
    """The kernel of a file, and all others that its code serves."""
    return tuple(_variant(path, row) for row in _rows(path))


@cache
def _rows(path: Path) -> tuple[Row, ...]:
    return rows(path, path.read_text(encoding="utf-8"))


@cache
def _included(path: Path) -> str:
    """The contract that its code includes; empty without one."""
    found = _INCLUDE.search(path.read_text(encoding="utf-8"))
    return found[1] if found else ""


@cache
def _variant(path: Path, row: Row) -> Variant:
    stem = row.name.partition("/")[2]
    said = {word: [tag for tag in row.tags if tag.word == word] for word in FORMS}
    kernels = (stem.partition(".")[0], *(tag.text for tag in said["also"]))
    contract = f"{kernels[0]}.h" if f"{kernels[0]}.h" in contracts.headers() else f"{_included(path)}.h"
    if contract not in contracts.headers():
        raise KernelFileError(f"{_short(path)}:1: no contract include/edgekit/contracts/{kernels[0]}.h")
    _check(row, contracts.header(contract))
    scratch = " ".join(tag.text for tag in said["scratch"])
    fold = {operand: text.split() for operand, text in _unique(said["fold"], ":")}
    units = [*_units(said["work"])]
    if len(units) > MOST_KINDS:
        raise said["work"][0].wrong(f"more than {MOST_KINDS} kinds of work")
    return Variant(
        row.isa,
        stem,
        path,
        kernels,
        row.words,
        dict(_unique(said["for"], "=")),
        {rule: own or rule for rule, own in _unique(said["rule"], "=")},
        tuple(part for tag in said["when"] for part in tag.conditions),
        {operand: text.strip() for operand, text in _unique(said["pack"], ":")},
        {operand: (int(factor), weights) for operand, (factor, weights) in fold.items()},
        expression(scratch) if scratch else None,
        said["order"][0].text if said["order"] else "",
        row.changes,
        bool(said["apart"]),
        tuple(map(_limit, said["split"])),
        {name: float(factor) for name, factor in units if factor},
        tuple(name for name, _ in units),
        {name: expression(text) for name, text in _counts(said["count"]).items()},
        {operand: expression(text.strip()) for operand, text in _unique(said["loads"], ":")},
    )


def _units(tags: Sequence[Tag]) -> Iterator[tuple[str, str]]:
    for tag in tags:
        for part in tag.text.split(", "):
            found = _NUMBER.fullmatch(part)
            assert found
            yield found[1], found[2] or ""


def _counts(tags: Iterable[Tag]) -> Mapping[str, str]:
    """By kind of work the expression, which several lines may hold."""
    lines: dict[str, str] = {}
    for tag in tags:
        if tag.word == "count":
            name, _, text = tag.text.partition(":")
            lines[name] = f"{lines.get(name, '')} {text.strip()}".strip()
    return lines


def _limit(tag: Tag) -> SplitLimit:
    head, _, least = tag.text.partition(" >= ")
    axis, _, block = head.partition("/")
    return SplitLimit(axis, expression(block) if block else None, expression(least) if least else None)


def _check(row: Row, contract: str) -> None:
    """Are names those of the contract's parameters, operands and types, and of the facts of calls?"""
    operands, letters = contracts.operands(contract), contracts.letters(contract)
    names = contracts.fields(contract) | KNOWN
    for tag in row.tags:
        for text in _expressions(tag, row.tags):
            _check_expression(tag, text, names)
        if tag.word == "count":
            names |= {tag.text.partition(":")[0]}
    for tag in row.own:
        name = re.split("[:=]", tag.text)[0]
        if tag.word in ("pack", "fold", "loads") and name not in operands:
            raise tag.wrong(f"{name} is no operand: {', '.join(operands)}")
        if tag.word == "rule":
            _check_rule(tag)
        if tag.word == "for" and name not in letters:
            raise tag.wrong(f"{name} is no type of the contract: {', '.join(sorted(letters))}")


def _check_rule(tag: Tag) -> None:
    for rule, own in _pairs(tag.text.split()):
        forms = [name for name in contracts.rules() if name == rule or name.startswith(f"{rule}_")]
        if not forms:
            raise tag.wrong(f"{rule} is no rule: no header has ek_requantize_{rule}")
        if not any(name.startswith(f"{own or rule}_") for name in contracts.rules()):
            raise tag.wrong(f"no header has ek_requantize_{own or rule}_...")


def _expressions(tag: Tag, tags: Sequence[Tag]) -> Iterator[str]:
    """Of a tag; what several tags `scratch` say is one."""
    scratch = [other for other in tags if other.word == "scratch"]
    if tag.word == "when":
        yield tag.text
    elif tag.word == "count":
        yield _counts(tags)[tag.text.partition(":")[0]]
    elif tag.word == "loads":
        yield tag.text.partition(":")[2].strip()
    elif tag.word == "split":
        yield from filter(None, re.split(r"/| >= ", tag.text, maxsplit=1)[1:])
    elif tag.word in ("pack", "order"):
        yield from _BRACES.findall(tag.text)
    elif scratch and tag is scratch[0]:
        yield " ".join(other.text for other in scratch)


def _check_expression(tag: Tag, text: str, names: frozenset[str]) -> None:
    try:
        unknown = sorted(frozenset().union(*(part.names for part in conjuncts(text))) - names)
    except ExpressionError as error:
        raise tag.wrong(str(error)) from None
    if unknown:
        near = get_close_matches(unknown[0], names, 1)
        hint = f", is it {near[0]}?" if near else ""
        raise tag.wrong(f"{unknown[0]} is no parameter of the contract and no fact{hint}")


def _unique(tags: Sequence[Tag], mark: str) -> Iterator[tuple[str, str]]:
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

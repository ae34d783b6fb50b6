"""Kernel sources: finds the file for a call, and turns generic text into the plain C of one instance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, cached_property

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.contracts import COMMENT, FIELD
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.pack import stored_dtype
from edgekit.codegen.kernels.selection import cheapest
from edgekit.codegen.kernels.support_headers import INCLUDE, support_files, supports
from edgekit.codegen.kernels.symbols import by_first_rule, instance_name, kernel_id
from edgekit.codegen.kernels.variants import fitting, layouts, variant_named
from edgekit.core.ops import Call
from edgekit.core.ops._map import compute_type
from edgekit.core.ops._strided import RANK
from edgekit.core.target import Target
from edgekit.core.types import DType

_BYTES = {dtype.c: dtype.bytes for dtype in DType}
_PUSHED = re.compile(r"^ ?\*? ?stack (\d+)\b", re.MULTILINE)
_ASSEMBLY = re.compile(r"^static EK_ASSEMBLY \w+ \*?(\w+)\(", re.MULTILINE)
_SCRATCH = re.compile(r"(?<!\bscratch)(,\s*const struct EK_STRUCT \*p\);)")  # unless it has some
_MEETING = re.compile(r"\bEK_RESTRICT (?=(?:x|y|image)\b)")
_RULE = re.compile(r"ek_requantize_(e|tfl|once)(?:_wide|_long)?\(")
_RULES = {
    "e": "(acc m + 2^(e-1)) >> e",
    "tfl": "acc m / 2^31 2^e with two roundings",
    "once": "acc m / 2^31 2^e with one rounding, halves away from zero",
}
# Kernels by the content of their calls, within `selected_once`.
_SELECTED: ContextVar[dict[tuple[object, ...], Variant] | None] = ContextVar("_SELECTED", default=None)


@dataclass(frozen=True)
class Kernel:
    """One kernel instance: C text with types filled in, and what codegen must know of it."""

    name: str  # add_f32; its files are <name>.h and <name>.c, its parameters are struct ek_<name>
    function: str  # ek_add_f32__ref
    header: str
    source: str
    fields: tuple[Field, ...]  # of the parameter struct, in order
    pack: Mapping[str, str]  # weight layout by operand name, as the kernel's file states it
    pointers: tuple[Pointer, ...]  # the arguments before the parameters, in order
    supports: tuple[str, ...]  # headers of the runtime that its text needs
    interface: str  # a hash of what its callers and their plan of memory must know

    @property
    def macro(self) -> str:
        """What its header defines as the hash of its interface."""
        return f"EDGEKIT_{self.name.upper()}_INTERFACE"

    @cached_property
    def symbol(self) -> str:
        """Of the function in libraries for size: libraries of one program share one copy of each text."""
        texts = [self.header, self.source, *(text for _, text in sorted(support_files(self.supports)))]
        return f"{self.function}_{_hash(*texts)}"

    @property
    def shared_header(self) -> str:
        """The header in such a library. Its prototype is not weak: that would ask for no copy."""
        note = "/* A hash of the text: libraries in one program share a kernel where it is the same. */"
        text = self.header.replace("EK_KERNEL void", "EK_DECLARED void")
        return _behind_includes(text, f"\n{note}\n#define {self.function} {self.symbol}\n")

    @property
    def stack(self) -> int:
        """Bytes that inline assembly pushes, which no compiler sees: headers say so in a line `stack N`."""
        return max((int(size) for text in self._texts() for size in _PUSHED.findall(text)), default=0)

    @property
    def assembly(self) -> tuple[str, ...]:
        """The functions that do that: all of them is assembly."""
        texts = [text + "\n" + contracts.made(text) for text in self._texts() if _PUSHED.search(text)]
        return tuple(name for text in texts for name in _ASSEMBLY.findall(text))

    def _texts(self) -> tuple[str, ...]:
        return (self.source, *map(contracts.header, self.supports))


@dataclass(frozen=True)
class Pointer:
    """One pointer argument of a kernel."""

    name: str
    ctype: str
    const: bool

    @property
    def element_bytes(self) -> int:
        """Of what it points to."""
        return _BYTES[self.ctype]


@dataclass(frozen=True)
class Field:
    """One field of a parameter struct."""

    name: str
    ctype: str
    count: int  # elements of an array, 0 for a scalar


def instantiate(call: Call, target: Target) -> Kernel:
    """The kernel of a call on a target."""
    return instance_of(variant_of(call, target), call, target)


def instance_of(variant: Variant, call: Call, target: Target) -> Kernel:
    """The instance of a kernel file that computes a call."""
    name, call = kernel_id(call, variant, target.isa).name, by_first_rule(call, variant)
    kernel = _instantiate(
        call.kernel, name, tuple(call.types.items()), call.expr, call.tail, call.rule, variant, target.isa
    )
    return replace(kernel, pack=layouts(variant, call)) if "{" in "".join(kernel.pack.values()) else kernel


def variant_of(call: Call, target: Target) -> Variant:
    """The kernel file for a call on a target: the one that was selected before, if any."""
    if call.file:
        return variant_named(call.file, (instance_name(call), call.kernel))
    known = _SELECTED.get()
    key = () if known is None else (*call.content, target.core, target.isa)
    if known is not None and key in known:
        return known[key]
    found, operands = candidates(call, target)
    variant = cheapest(call, found, target, operands)
    if known is not None:
        known[key] = variant
    return variant


@contextmanager
def selected_once() -> Iterator[None]:
    """Within it, calls of the same content take the same kernel, which is selected once: for a model that is
    planned several times. Outside nothing is kept, as benchmarks and tests select other kernels in turn."""
    token = _SELECTED.set({})
    try:
        yield
    finally:
        _SELECTED.reset(token)


def candidates(call: Call, target: Target) -> tuple[Sequence[Variant], Sequence[str]]:
    """The kernel files that fit a call on a target, and the names of its operands in C."""
    name = instance_name(call)
    operands = contracts.operands_of(call.kernel, name)
    return fitting(call, name, target.isa, operands), operands


@cache
def _instantiate(
    kernel: str,
    name: str,
    types: tuple[tuple[str, DType], ...],
    expr: str,
    tail: str,
    rule: str,
    variant: Variant,
    isas: tuple[str, ...],
) -> Kernel:
    contract = contracts.contract(kernel, name)
    tokens = _tokens(types, name, variant.isa) | {"EK_EXPR": expr, "EK_TAIL": tail}
    forms = _forms(types, variant.rules.get(rule, rule))
    text = variant.source()
    header = contracts.header(contract)
    if variant.scratch:
        header = _SCRATCH.sub(r", uint8_t *EK_RESTRICT scratch\1", header)
    if variant.order:
        text, header = may_meet(text), may_meet(header)
    included = INCLUDE.findall(text)
    text = _with_operands(text, contracts.operands(header))
    tokens |= _stored_types(variant.pack, header)
    text, header = _substitute(text, tokens, forms), _substitute(_in_words(header, expr), tokens, forms)
    guard = f"EDGEKIT_{name.upper()}_H"
    header = header.replace(f"EDGEKIT_{contract[:-2].upper()}_H", guard)
    needed = tuple(sorted(supports(header + text, included, (variant.isa, *isas))))
    includes = "".join(f'#include "{h}"\n' for h in needed)
    header = _place_includes(header, contract, includes)
    text = _place_includes(text, contract, f'#include "{name}.h"\n')
    pointers, fields = _signature(header, name)
    operands = {
        pointer.name for pointer in pointers
    }  # of this contract: the text may serve another with more
    pack = {operand: tag for operand, tag in variant.pack.items() if operand in operands}
    interface = _interface(header, variant)
    if notes := _layout_notes(pack, variant.fold):
        header = header.replace("EK_KERNEL void", f"{notes}EK_KERNEL void", 1)
    header = _behind_includes(header, f"\n#define EDGEKIT_{name.upper()}_INTERFACE 0x{interface}\n")
    return Kernel(name, f"ek_{name}__{variant.isa}", header, text, fields, pack, pointers, needed, interface)


def _in_words(header: str, expr: str) -> str:
    """The header, whose comments say what a rule of requantization computes: its kernel may have it in
    assembly, and its library no function for it."""
    if not (rule := _RULE.match(expr)):
        return header
    return COMMENT.sub(lambda comment: comment[0].replace("EK_EXPR", _RULES[rule[1]]), header)


def _stored_types(layouts: Mapping[str, str], header: str) -> Iterator[tuple[str, str]]:
    """The letters of packed operands stand for what is stored."""
    for operand, layout in layouts.items():
        letter = re.search(rf"\bconst (EK_\w) \*EK_RESTRICT {operand}\b", header)
        dtype = stored_dtype(layout)
        if letter and dtype:
            yield letter[1], dtype.c


def _layout_notes(layouts: Mapping[str, str], folds: Mapping[str, tuple[int, str]]) -> str:
    """A comment that says how operands lie, and what is in them beside their numbers in the model."""
    lines = [f"{operand}: {layout}" for operand, layout in layouts.items()]
    lines += [
        f"{operand} holds {factor} times the sum of an output's {w}, too"
        for operand, (factor, w) in folds.items()
    ]
    if not lines:
        return ""
    title = (
        "How operands lie, in the words of the library's weights header; braces differ from layer to layer:"
    )
    return "/* " + "\n * ".join([title, *lines]) + " */\n"


def _interface(header: str, variant: Variant) -> str:
    """A hash of the contract's code, of layouts, and of what a plan of memory relies on."""
    code = " ".join(INCLUDE.sub("", COMMENT.sub("", header)).split())
    promises = (variant.pack, variant.fold, variant.scratch, variant.order, variant.apart)
    return _hash(code, *map(repr, promises))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _behind_includes(header: str, text: str) -> str:
    """The header with text behind its last include."""
    at = [match.end() for match in re.finditer(r"^#include .*\n", header, re.MULTILINE)][-1]
    return header[:at] + text + header[at:]


def may_meet(text: str) -> str:
    """C in which x, or the image as helpers call it, is not said to be apart from y."""
    return _MEETING.sub("", text)


def _tokens(types: Sequence[tuple[str, DType]], name: str, isa: str) -> dict[str, str]:
    """What each token of a generic kernel stands for."""
    tokens = {"EK_FN": f"ek_{name}__{isa}", "EK_FN_block": f"ek_{name}_block", "EK_STRUCT": f"ek_{name}"}
    for letter, dtype in types:
        tokens[f"EK_{letter}"] = dtype.c
        tokens[f"EK_{letter}_ACC"] = compute_type(dtype).c
        tokens[f"EK_KIND_{letter}"] = f"EK_{dtype.value.upper()}_KIND"
        for verb in ("LOAD", "STORE", "PAIR", "AT"):
            tokens[f"EK_{verb}_{letter}"] = f"EK_{verb}_{dtype.value}"
    of = dict(types)
    for letter in "WZ":  # integers of weights, and their zero points, become what they are multiplied in
        if {"T", letter} <= of.keys() and of[letter].is_integer and of[letter] is not of["T"]:
            tokens[f"EK_LOAD_{letter}"] = f"ek_{of[letter].value}_as_{compute_type(of['T']).value}"
    return tokens


def _forms(types: Sequence[tuple[str, DType]], rule: str) -> dict[str, str]:
    """Which functions tokens with a word in brackets name, such as EK_MATH_T(exp)."""
    forms = {f"EK_MATH_{letter}": f"ek_{{}}_{compute_type(dtype).value}" for letter, dtype in types}
    return forms | {"EK_RULE": f"ek_requantize_{rule}_{{}}"}


# Storing as the type that was computed is no conversion: the macro would only hide the formula.
_TRIVIAL = re.compile(r"\bEK_(?:LOAD|STORE)_(?:f32|f64)\(")
# EK_IF_R(text): the text, in contracts with the operand r.
_OPTIONAL = re.compile(r"\bEK_IF_(\w+)\(")
_FORM = re.compile(r"\b(EK_\w+)\((\w+)\)")
# Elements of a byte and more are those of an array.
_ELEMENT = re.compile(r"\bEK_AT_(?!s4\b)\w+\((\w+), ([^()]+)\)")


def _substitute(text: str, tokens: Mapping[str, str], forms: Mapping[str, str]) -> str:
    text = _FORM.sub(lambda m: forms.get(m[1], m[0]).format(m[2]), text)
    # Names derived from the function's (EK_FN_block) belong to the instance as well.
    function, struct = tokens["EK_FN"], tokens["EK_STRUCT"]
    text = re.sub(r"\bEK_FN_(\w+)\b", rf"{struct}_\1", text)
    text = re.sub(r"\bEK_\w+\b", lambda m: tokens.get(m[0], m[0]), text)
    assert function in text
    return _drop_trivial(_ELEMENT.sub(r"\1[\2]", text))


def _with_operands(text: str, operands: Sequence[str]) -> str:
    """The text for a contract with these operands; a line that is for another one goes as a whole."""
    while match := _OPTIONAL.search(text):
        start, end = match.start(), _closing(text, match.end())
        inner = text[match.end() : end].removesuffix(" ") if match[1].lower() in operands else ""
        if not inner:
            line = text.rfind("\n", 0, start) + 1
            is_line = not text[line:start].strip() and text[end + 1] == "\n"
            start, end = (line if is_line else start), end + (is_line or text[end + 1] == " ")
        text = text[:start] + inner + text[end + 1 :]
    return text


def _drop_trivial(text: str) -> str:
    """EK_LOAD_f32(x[i]) -> x[i]; a compound argument keeps its brackets."""
    while match := _TRIVIAL.search(text):
        end = _closing(text, match.end())
        inner = text[match.end() : end]
        simple = re.fullmatch(r"[\w\[\]*+> .-]*\]|\w+", inner) is not None or text[end + 1 : end + 2] == ";"
        text = text[: match.start()] + (inner if simple else f"({inner})") + text[end + 1 :]
    return text


def _closing(text: str, at: int) -> int:
    """Where the bracket closes that opens before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _place_includes(text: str, contract: str, includes: str) -> str:
    """Replace the includes of a generic file by those that the instance needs."""
    found = list(INCLUDE.finditer(text))
    assert found, f"{contract}: no #include of an edgekit header"
    head, tail = text[: found[0].start()], text[found[0].start() :]
    return head + includes + INCLUDE.sub("", tail)


_ARGUMENT = re.compile(r"(const )?(\w+) \*\s*(?:EK_RESTRICT )?(\w+)$")
_RANK = {"EK_RANK": RANK}


def _signature(header: str, name: str) -> tuple[tuple[Pointer, ...], tuple[Field, ...]]:
    """Arguments and struct fields, read from the contract itself: they are stated once."""
    text = COMMENT.sub("", header)
    body = _between(text, f"struct ek_{name} {{", "};")
    fields = [
        Field(field, ctype, _RANK[count] if count in _RANK else int(count or 0))
        for ctype, field, count in FIELD.findall(body)
    ]
    prototype = _between(text, f"ek_{name}__", ");").partition("(")[2]
    assert prototype, f"{name}: no prototype in its contract"
    pointers = []
    for argument in prototype.split(","):
        if argument.strip().startswith("const struct"):
            continue
        match = _ARGUMENT.match(" ".join(argument.split()))
        assert match, f"{name}: argument {argument!r} is no pointer"
        pointers.append(Pointer(match[3], match[2], bool(match[1])))
    return tuple(pointers), tuple(fields)


def _between(text: str, start: str, end: str) -> str:
    """What stands behind the first of these words and before the next end; empty where they do not occur."""
    return text.partition(start)[2].partition(end)[0]

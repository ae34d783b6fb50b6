"""Kernel sources: finds the file for a call, and turns generic text into the plain C of one instance."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
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

_PUSHED = re.compile(r"^ ?\*? ?stack (\d+)\b", re.MULTILINE)
_ASSEMBLY = re.compile(r"^static EK_ASSEMBLY \w+ \*?(\w+)\(", re.MULTILINE)
_SCRATCH = re.compile(r"(?<!\bscratch)(,\s*const struct EK_STRUCT \*p\);)")  # unless it has some
_MEETING = re.compile(r"\bEK_RESTRICT (?=(?:x|y|image)\b)")


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
        """Of the function in libraries for size: programs have one copy of each text, whoever brings it."""
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
        texts = [text for text in self._texts() if _PUSHED.search(text)]
        return tuple(name for text in texts for name in _ASSEMBLY.findall(text))

    def _texts(self) -> tuple[str, ...]:
        return (self.source, *map(contracts.header, self.supports))


@dataclass(frozen=True)
class Pointer:
    """One pointer argument of a kernel."""

    name: str
    ctype: str
    const: bool


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
    name = instance_name(call)
    if call.file:
        return variant_named(call.file, (name, call.kernel))
    contract = contracts.header(contracts.contract(call.kernel, name))
    operands = contracts.operands(contract)
    return cheapest(call, fitting(call, name, target.isa, operands), target, operands)


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
    tokens = _tokens(types, expr, name, variant.isa) | {"EK_RULE": variant.rules.get(rule, rule)}
    tokens["EK_TAIL"] = tail
    text = variant.source()
    header = contracts.header(contract)
    if variant.scratch:
        header = _SCRATCH.sub(r", uint8_t *EK_RESTRICT scratch\1", header)
    if variant.order:
        text, header = may_meet(text), may_meet(header)
    included = INCLUDE.findall(text)
    given = [macro for macro, operand in _OPTIONAL.items() if operand.search(header)]
    tokens |= _stored_types(variant.pack, header)
    text, header = _substitute(text, tokens, given), _substitute(header, tokens, given)
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


def _tokens(types: Sequence[tuple[str, DType]], expr: str, name: str, isa: str) -> dict[str, str]:
    """What each token of a generic kernel stands for."""
    tokens = {"EK_FN": f"ek_{name}__{isa}", "EK_FN_block": f"ek_{name}_block", "EK_STRUCT": f"ek_{name}"}
    tokens["EK_EXPR"] = expr
    for letter, dtype in types:
        compute = compute_type(dtype)
        tokens[f"EK_{letter}"] = dtype.c
        tokens[f"EK_{letter}_ACC"] = compute.c
        tokens[f"EK_LOAD_{letter}"] = f"EK_LOAD_{dtype.value}"
        tokens[f"EK_STORE_{letter}"] = f"EK_STORE_{dtype.value}"
        tokens[f"EK_PAIR_{letter}"] = f"EK_PAIR_{dtype.value}"
        tokens[f"EK_AT_{letter}"] = f"EK_AT_{dtype.value}"
        tokens[f"EK_KIND_{letter}"] = f"EK_{dtype.value.upper()}_KIND"
        tokens[f"EK_MATH_{letter}"] = compute.value
    of = dict(types)
    for letter in "WZ":  # integers of weights, and their zero points, become what they are multiplied in
        if {"T", letter} <= of.keys() and of[letter].is_integer and of[letter] is not of["T"]:
            tokens[f"EK_LOAD_{letter}"] = f"ek_{of[letter].value}_as_{compute_type(of['T']).value}"
    return tokens


# Storing as the type that was computed is no conversion: the macro would only hide the formula.
_TRIVIAL = re.compile(r"\bEK_(?:LOAD|STORE)_(?:f32|f64)\(")
# Operands that some contracts of a text have: what is added to the result, scales of weights, zero points.
# What these macros hold is for contracts with that operand; and what brackets hold that hold brackets.
_OPTIONAL = {
    "EK_ADD": re.compile(r"\*r\b"),
    "EK_SCALE": re.compile(r"\bEK_RESTRICT scale\b"),
    "EK_ZERO": re.compile(r"\bEK_RESTRICT zero\b"),
}
_INSIDE = r"((?:[^()]|\([^()]*(?:\([^()]*\)[^()]*)*\))*?)"
# Elements of a byte and more are those of an array.
_ELEMENT = re.compile(r"\bEK_AT_(?!s4\b)\w+\((\w+), ([^()]+)\)")


def _substitute(text: str, tokens: Mapping[str, str], given: Sequence[str]) -> str:
    for macro in (m for m in _OPTIONAL if m in text):
        if macro in given:
            text = re.sub(rf"\b{macro}\({_INSIDE} ?\)", r"\1", text)
        else:
            without = rf"^ *{macro}\({_INSIDE}\)\n|\b{macro}\({_INSIDE}\) ?"
            text = re.sub(without, "", text, flags=re.MULTILINE)
    text = re.sub(r"\bEK_RULE\((\w+)\)", rf"ek_requantize_{tokens['EK_RULE']}_\1", text)
    for token in (t for t in tokens if t.startswith("EK_MATH_") and t in text):
        text = re.sub(rf"\b{token}\((\w+)\)", rf"ek_\1_{tokens[token]}", text)
    # Names derived from the function's (EK_FN_block) belong to the instance as well.
    function, struct = tokens["EK_FN"], tokens["EK_STRUCT"]
    text = re.sub(r"\bEK_FN_(\w+)\b", rf"{struct}_\1", text)
    text = re.sub(r"\bEK_\w+\b", lambda m: tokens.get(m[0], m[0]), text)
    assert function in text
    return _drop_trivial(_ELEMENT.sub(r"\1[\2]", text))


def _drop_trivial(text: str) -> str:
    """EK_LOAD_f32(x[i]) -> x[i]; a compound argument keeps its brackets."""
    while match := _TRIVIAL.search(text):
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inner = text[match.end() : end - 1]
        simple = re.fullmatch(r"[\w\[\]*+> .-]*\]|\w+", inner) is not None or text[end : end + 1] == ";"
        text = text[: match.start()] + (inner if simple else f"({inner})") + text[end:]
    return text


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

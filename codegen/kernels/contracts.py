"""Contract headers of kernels, as text: which one is a kernel's, and what it declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

HEADERS = Path(str(files("edgekit.runtime_c"))) / "include" / "edgekit"
_FIELDS = HEADERS / "contracts" / "fields"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FIELD = re.compile(r"(\w+) (\w+)(?:\[(\w+)\])?;")
_STRUCT = re.compile(r"struct EK_STRUCT \{(.*?)\};", re.DOTALL)
_REQUANTIZE = "ek_requantize_"
_RULE = re.compile(rf"{_REQUANTIZE}(\w+)")
_SPLIT = re.compile(r"\n \* @split (.+?)(?= \*/|\n)")
_SHARED = re.compile(r'^#include "edgekit/contracts/fields/(\w+\.h)"\n', re.MULTILINE)
_MACRO = re.compile(r"^#define (EK_\w+)\((.*?)\) +\\\n((?:.*\\\n)*.*)", re.MULTILINE)
_USED = re.compile(r"^(EK_\w+)\((.*)\)$", re.MULTILINE)
_ARGUMENT = re.compile(r"(?:[^,()]|\((?:[^()]|\([^()]*\))*\))+")  # commas in parentheses are its own
_INDENTED = re.compile(r"^ {4}| *\\$", re.MULTILINE)  # as lines of a macro are
_LETTER = re.compile(r"\bEK_([A-Z])\b")


def contract(kernel: str, name: str) -> str:
    """The header of a kernel: that of this instance, where it has its own."""
    for file in (f"{name}.h", f"{kernel}.h"):
        if file in headers():
            return file
    raise AssertionError(f"kernel {kernel} has no contract include/edgekit/contracts/{kernel}.h")


@cache
def headers() -> Mapping[str, Path]:
    """All headers of the runtime by name, in order. Names are unique: libraries have one folder for all."""
    paths = sorted({*HEADERS.rglob("*.h")} - {*_FIELDS.iterdir()}, key=lambda path: path.name)
    found = {path.name: path for path in paths}
    assert len(found) == len(paths), "two headers of one name"
    return found


@cache
def header(name: str) -> str:
    """Its text, without the tags that only we read, and with the fields that it shares with others."""
    return _with_fields(_SPLIT.sub("", headers()[name].read_text(encoding="utf-8")), " " * 4)


def _with_fields(text: str, indent: str = "") -> str:
    """The text with the fields that it includes; the first line of their file says what they are."""

    def fields_of(include: re.Match[str]) -> str:
        _, _, lines = (_FIELDS / include[1]).read_text(encoding="utf-8").partition("\n")
        return "".join(indent + line for line in _with_fields(lines).splitlines(keepends=True))

    return _SHARED.sub(fields_of, text)


@cache
def splits(name: str) -> tuple[str, ...]:
    """How calls of a kernel can be split, as the tags of its contract say: splits.py."""
    return tuple(_SPLIT.findall(headers()[name].read_text(encoding="utf-8")))


@cache
def rules() -> frozenset[str]:
    """What stands behind ek_requantize_ in headers: a rule, or the rule and a form of it."""
    texts = (text for text in map(header, headers()) if _REQUANTIZE in text)
    return frozenset(rule for text in texts for part in (text, made(text)) for rule in _RULE.findall(part))


def made(text: str) -> str:
    """The functions that macros define where the text uses them."""
    macros = {name: (parameters.split(", "), body) for name, parameters, body in _MACRO.findall(text)}
    functions = []
    for name, arguments in _USED.findall(text):
        parameters, body = macros.get(name, ((), ""))
        for parameter, argument in zip(parameters, _ARGUMENT.findall(arguments), strict=False):
            body = re.sub(rf"(?:##)?\b{parameter}\b(?:##)?", argument.strip(), body)
        functions.append(_INDENTED.sub("", body))
    return "\n".join(functions)


@cache
def operands(text: str) -> tuple[str, ...]:
    """The names of the operands in a contract, in order."""
    prototype = re.search(r"\bEK_FN\((.*?)\);", COMMENT.sub("", text), re.DOTALL)
    assert prototype, "a contract without a prototype"
    return tuple(a.split("*")[-1].split()[-1] for a in prototype[1].split(",") if "const struct" not in a)


def operands_of(kernel: str, name: str) -> tuple[str, ...]:
    """The same of a kernel, for this instance of it."""
    return operands(header(contract(kernel, name)))


@cache
def fields(text: str) -> frozenset[str]:
    """The names of the parameters in a contract."""
    body = _STRUCT.search(COMMENT.sub("", text))
    return frozenset(name for _, name, _ in FIELD.findall(body[1])) if body else frozenset()


@cache
def letters(text: str) -> frozenset[str]:
    """The letters that stand for types in a contract."""
    return frozenset(_LETTER.findall(COMMENT.sub("", text)))

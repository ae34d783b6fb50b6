"""Names of classes in packages: what may be one, and which output has them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import edgekit
from edgekit.codegen.printing.render import environment
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError

MAX_LENGTH = 256  # characters of a name
_LONGEST_IN_JAVA = (1 << 16) - 1  # bytes of a string of Java
_CONTROL = ("Cc", "Cs", "Zl", "Zp")  # Unicode's control characters, surrogates, and separators of lines


def by_output(program: Program, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The names of an output's values, by the output's name in C: of the first one that has as many."""
    if not names:
        return {}
    check_names(names)
    fitting = next((port.c for port in program.outputs if port.type.size == len(names)), None)
    if fitting is None:
        sizes = ", ".join(f"{port.name} has {port.type.size:,}" for port in program.outputs)
        words = (
            f"there {'is' if len(names) == 1 else 'are'} {len(names):,} class name{'s'[: len(names) != 1]}"
        )
        raise EdgeKitError(
            "E0103",
            f"{words}, and no output of {program.name} has as many values: {sizes}",
            hint="a name for each value, in their order: one on each line of the file",
        )
    return {fitting: tuple(names)}


def header(program: Program, names: Sequence[str]) -> bytes:
    """The same for C."""
    known = {
        "name": program.name,
        "guard": program.name.upper(),
        "version": edgekit.__version__,
        "classes": by_output(program, names),
    }
    return environment().get_template("classes.h.j2").render(known).encode()


def in_java(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in groups that are a string each, with a line for each name."""
    part: list[str] = []
    size = 0
    for name in names:
        own = 3 * len(name.encode("utf-16-le")) // 2 + 1  # bytes in a class file, at most
        if size + own > _LONGEST_IN_JAVA:
            yield part
            part, size = [], 0
        part.append(name)
        size += own
    if part:
        yield part


def check_names(names: Sequence[str]) -> None:
    """EdgeKitError where a name would not be one in every language."""
    for number, name in enumerate(names):
        if not name.strip():
            reason, hint = "is empty", "write a word for it, such as unused"
        elif any(unicodedata.category(ch) in _CONTROL for ch in name):
            reason, hint = "has control characters", "a name is printable text, such as café or it's"
        elif len(name) > MAX_LENGTH:
            reason, hint = f"has {len(name):,} characters", f"a name has {MAX_LENGTH} at most"
        else:
            continue
        raise EdgeKitError("E0103", f"the name of class {number} {reason}", hint=hint)

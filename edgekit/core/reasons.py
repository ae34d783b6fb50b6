"""What users are told of exceptions: sentences that EdgeKit wrote, never those of Python or of a library."""

from __future__ import annotations

import json
import re
import struct
import tomllib

_AT = re.compile(r"\(at line (\d+), column (\d+)\)$")
# Of the first class that an exception belongs to. "it" is what the message names before.
_CLAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (RecursionError, "it is nested without end"),
    (MemoryError, "it takes more memory than there is"),
    (KeyError, "it refers to something that is not there"),
    (IndexError, "it counts past the end of what is there"),
    (ZeroDivisionError, "a size or a step in it is 0"),
    (OverflowError, "a number in it is too large"),
    (struct.error, "it ends too early"),
    (EOFError, "it ends too early"),
    (NotImplementedError, "it is of a kind that is not supported"),
    (TypeError, "a value in it is of another kind than its place asks for"),
    (AttributeError, "a value in it is of another kind than its place asks for"),
    (ValueError, "numbers, shapes or types in it contradict each other"),
    (AssertionError, "it contradicts itself"),
)


class OwnWordsError(Exception):
    """An exception whose text EdgeKit wrote, so that it may be part of a message."""


class OperandError(OwnWordsError, TypeError):
    """Operands, or attributes, for which an operator has no result."""


class DamageError(OwnWordsError, ValueError):
    """Bytes or records that contradict themselves."""


def reason_of(error: BaseException) -> str:
    """A clause about what went wrong: with positions in text, without whatever a library says of it."""
    match error:
        case OwnWordsError():
            return str(error)
        case json.JSONDecodeError():
            return f"it is not valid JSON at line {error.lineno}, column {error.colno}"
        case tomllib.TOMLDecodeError():
            found = _AT.search(str(error))
            where = f"line {found[1]}, column {found[2]}" if found else "its end"
            return f"it is no TOML at {where}"
        case UnicodeDecodeError():
            return f"byte {error.start} of it is not valid {error.encoding.upper()}"
        case OSError():
            return error.strerror or "the system refuses it"
    clauses = (clause for kind, clause in _CLAUSES if isinstance(error, kind))
    return next(clauses, "it cannot be read")

"""Foreign exceptions in messages: positions and a clause of ours, and none of their text."""

from __future__ import annotations

import json
import struct
import tomllib
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgekit.converters.blame import blame
from edgekit.converters.frontend import unbound
from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import DamageError, OperandError, reason_of


def raised(work: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # any
        work()
    return caught.value


def fail(error: Exception) -> None:
    raise error


FOREIGN: dict[str, tuple[str, Callable[[], object]]] = {
    "a key": ("refers to something", lambda: {}["lost"]),  # type: ignore[index]  # on purpose, as all below
    "an index": ("counts past the end", lambda: list(range(3))[7]),
    "bytes": ("ends too early", lambda: struct.unpack("<I", b"12")),
    "text": ("byte 1 of it is not valid UTF-8", lambda: b"a\xff".decode()),
    "JSON": ("not valid JSON at line 2, column 3", lambda: json.loads("{\n  x}")),
    "TOML": ("no TOML at line 2, column 5", lambda: tomllib.loads("a = 1\nb = = 2")),
    "TOML that ends": ("no TOML at its end", lambda: tomllib.loads("a = [1,")),
    "a division": ("is 0", lambda: 1 // 0),
    "a number": ("too large", lambda: float(10**400)),
    "shapes": ("contradict each other", lambda: np.zeros(3) + np.zeros(4)),
    "another kind": ("of another kind", lambda: "1" + 1),  # type: ignore[operator]
    "no attribute": ("of another kind", lambda: (1).items()),  # type: ignore[attr-defined]
    "an archive": (
        "cannot be read",
        lambda: fail(zipfile.BadZipFile("File is not a zip file")),
    ),
    "a file": ("No such file", lambda: open("/nowhere/at/all")),  # noqa: SIM115  # it is not there
    "a refusal without words": ("the system refuses it", lambda: fail(OSError("odd text"))),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_none_of_its_text_is_repeated(what: str) -> None:
    words, work = FOREIGN[what]
    error = raised(work)
    assert words in reason_of(error)
    assert isinstance(error, OSError) or str(error) not in reason_of(error)
    with pytest.raises(EdgeKitError) as caught, blame("node x"):
        raise error
    assert words in caught.value.message
    assert (caught.value.where, caught.value.code) == ("node x", "E0403")
    assert caught.value.hint
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", [DamageError, OperandError])
def test_own_words_are_kept(kind: type[Exception]) -> None:
    assert reason_of(kind("its parts overlap")) == "its parts overlap"


def handler(x: int, y: int, z: int = 0, *, rate: float, size: int = 1) -> None:
    """Like those of readers."""


@pytest.mark.parametrize(
    ("operands", "attributes", "words"),
    [
        (2, {"rate"}, ""),
        (3, {"rate", "size"}, ""),
        (1, {"rate", "y"}, ""),
        (4, {"rate"}, "takes 3 operands at most, there are 4"),
        (1, {"rate"}, "operand y is missing"),
        (2, set(), "attribute rate is missing"),
        (2, {"rate", "x"}, "x is there twice, as an operand and as an attribute"),
    ],
)
def test_why_a_node_does_not_fit_its_handler(operands: int, attributes: set[str], words: str) -> None:
    assert unbound(handler, operands, attributes) == words
    given: dict[str, Any] = dict.fromkeys(attributes, 1)
    if words:
        with pytest.raises(TypeError):
            handler(*[1] * operands, **given)
    else:
        handler(*[1] * operands, **given)


def test_any_number_of_operands_may_be_asked_for() -> None:
    def several(*xs: int, axis: int) -> None: ...

    assert unbound(several, 9, {"axis"}) == ""

"""The one exception that users see: a code, what is wrong, where, and what to do about it."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path


class Exit(IntEnum):
    """Exit codes of the command line; a script may rely on them."""

    OK = 0
    GATE = 1  # accuracy, budget or verification missed
    USAGE = 2
    UNSUPPORTED = 3
    MALFORMED = 4
    TOOLCHAIN = 5
    UNDECIDED = 6  # too few samples to say whether a gate is passed
    BUG = 70


# The hundreds digit of a code is its kind, which decides the exit code; a few codes have one of their own.
_EXIT_OF = {
    "E01": Exit.USAGE,
    "E02": Exit.UNSUPPORTED,
    "E03": Exit.UNSUPPORTED,
    "E04": Exit.MALFORMED,
    "E05": Exit.TOOLCHAIN,
    "E06": Exit.GATE,
    "E0608": Exit.UNDECIDED,
}


MAX_CHARACTERS = 1000  # of a message or place: names in model files may be longer than a screen


@dataclass
class EdgeKitError(Exception):
    """A fault that the user can do something about. `E01xx` usage, `E02xx` unsupported, `E03xx` needs a
    constant or a shape, `E04xx` malformed or unsafe input, `E05xx` toolchain, `E06xx` a gate was missed."""

    code: str
    message: str
    where: str = ""
    hint: str = ""
    # The graph inputs that would have to be constant for this model to convert (E03xx only).
    inputs: tuple[str, ...] = ()
    also: list[EdgeKitError] = field(default_factory=list)

    @property
    def exit_code(self) -> Exit:
        return _EXIT_OF.get(self.code, _EXIT_OF.get(self.code[:3], Exit.BUG))

    def lines(self) -> list[str]:
        """The error as it is printed: one line, then the hint, then its fellows."""
        where = f"   {without_middle(self.where)}" if self.where else ""
        first = f"{self.code} {without_middle(self.message)}{where}"
        own = [first] + ([f"      hint: {self.hint}"] if self.hint else [])
        return own + [line for other in self.also for line in other.lines()]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def bug(error: Exception, hint: str) -> EdgeKitError:
    """An exception that is no fault of the user, as a sentence."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".partition("\n")[0]
    return EdgeKitError(
        "E7001", f"a bug of EdgeKit: {what:.300}", f"{Path(place.filename).name}:{place.lineno}", hint
    )


def without_middle(text: str, longest: int = MAX_CHARACTERS) -> str:
    """Text without the middle of what is too long to read."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} [...] {text[-half:]}"


def raise_all(errors: Sequence[EdgeKitError]) -> None:
    """Raise the first error with the others attached, so that a user sees all of them at once."""
    if errors:
        first, *rest = errors
        first.also.extend(rest)
        raise first

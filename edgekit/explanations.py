"""What error codes mean: a section of errors.md for each, which is the page of the documentation, too."""

from __future__ import annotations

import re
from functools import cache

from edgekit.core import suggest
from edgekit.core.distribution import data_file
from edgekit.core.errors import EdgeKitError

_SECTION = re.compile(r"^## (E\d{4}): (.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_MARKS = re.compile(r"\*\*|`(?=[^`])|(?<=[^`])`")


@cache
def sections() -> dict[str, str]:
    """The section of each code as Markdown, without its heading's marks."""
    page = data_file("errors.md").read_text(encoding="utf-8")
    return {code: f"{code}: {text.strip()}" for code, text in _SECTION.findall(page)}


def explain(code: str) -> str:
    """What a code means, an example, and what to do, as text for a terminal."""
    wanted = code.upper()
    wanted = wanted if wanted.startswith("E") else f"E{wanted}"
    if wanted not in sections():
        raise EdgeKitError("E0103", f"unknown error code {code}", hint=suggest.hint(wanted, sections()))
    text, *rest = re.split(r"^```(?:console|text)?\n", sections()[wanted], flags=re.MULTILINE)
    example, after = rest
    indented = "".join(f"    {line}\n" for line in example.splitlines())
    return f"{_plain(text)}{indented}{_plain(after)}"


def _plain(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", text))

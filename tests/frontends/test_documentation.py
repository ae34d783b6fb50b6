"""The page of formats names what is read."""

import re

import pytest
from support.tools import ROOT

from edgekit.converters import read, torch_ops
from edgekit.converters.frontend import handlers

PAGE = (ROOT / "docs" / "frontends.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("reader", list(read.readers()), ids=lambda reader: reader.FORMAT)
def test_every_format_has_a_row(reader: read.Reader) -> None:
    table = PAGE.partition("\n## ")[0]
    rows = re.findall(r"^\| *([^|]*?) *\| *([^|]*?) *\|", table, re.MULTILINE)
    files = dict(rows)
    assert reader.FORMAT in files, "add the format to docs/frontends.md"
    assert f"`{reader.SUFFIXES[0]}`" in files[reader.FORMAT]


def test_operators_of_torch_are_listed() -> None:
    listed = PAGE.partition("Operators of ATen and of `quantized_decomposed`:")[2].partition(".\n\n")[0]
    names = sorted(handlers(torch_ops), key=str.lower)
    assert re.findall(r"`(\w+)`", listed) == names, ", ".join(f"`{name}`" for name in names)

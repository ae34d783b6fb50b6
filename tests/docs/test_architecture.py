"""docs/architecture.md follows a layer through all stages: what it shows is so."""

import doctest
import re

import pytest
from support.tools import ROOT, require, require_module

PATH = ROOT / "docs" / "architecture.md"


def test_every_line_gives_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    require_module("ziglang")
    require("qemu-system-arm")
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(PATH), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 30
    assert result.failed == 0


def test_every_stage_is_in_the_table() -> None:
    table = PATH.read_text(encoding="utf-8").partition("| folder |")[2].partition("\n\n")[0]
    stages = {link.name for link in (ROOT / "edgekit").iterdir() if link.is_symlink() and link.is_dir()}
    assert stages | {"edgekit", "edgekit/core"} == set(re.findall(r"^\| \[(.*?)\]", table, re.MULTILINE))

"""docs/new-target.md adds a target: this test does it, in a copy."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from support import page_steps
from support.page_steps import pytest_in, python
from support.tools import ROOT, require, require_module

from edgekit import Target

PAGE = (ROOT / "docs" / "new-target.md").read_text(encoding="utf-8")
FILES = page_steps.files(page_steps.section(PAGE, "Add a target in 3 steps"))
OWN = {"name", "core", "layer_hook", "least_ram", "ram_limit"}  # not for files


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the three steps done."""
    folder = page_steps.copied(tmp_path_factory.mktemp("checkout"))
    page_steps.follow(FILES, folder)
    return folder


@pytest.mark.slow
def test_its_test_passes(checkout: Path) -> None:
    require_module("ziglang")
    require("qemu-riscv32")
    (command,) = re.findall(r"^`pytest (.*?)`", PAGE, re.MULTILINE)
    done = pytest_in(checkout, *command.split())
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout


def test_targets_are_listed(checkout: Path) -> None:
    done = python(checkout, "-m", "edgekit", "targets")
    assert done.returncode == 0, done.stderr
    assert {"rv-module", "riscv32-embedded"} <= {line.split()[0] for line in done.stdout.splitlines() if line}


@pytest.mark.slow
def test_the_table_of_readme_has_them(checkout: Path) -> None:
    done = python(checkout, "scripts/readme.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "`rv-module`" in (checkout / "README.md").read_text(encoding="utf-8")


def test_the_files_keep_the_rules(checkout: Path) -> None:
    page_steps.rules({path: text for path, text in FILES.items() if path.endswith(".py")}, checkout)


def test_every_key_is_described() -> None:
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert described == {field.name for field in fields(Target)} - OWN | {"base"}

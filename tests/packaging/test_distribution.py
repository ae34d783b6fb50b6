"""No text installs the package of a stranger: `edgekit` on PyPI is not this project."""

import re
import tomllib

import pytest
from support.tools import ROOT
from test_repository import files

from edgekit.checkup import Checkup, InstalledPackage
from edgekit.core import distribution
from edgekit.reports.results import checkup

# An install command to the end of its line or quotation; the package of a stranger; the same with an extra.
_COMMAND = re.compile(
    r"\b(?:pip3? (?:install|download)|pipx (?:install|run)|poetry add|uvx|uv (?:add|(?:pip|tool) install))\s"
    r"(?P<what>[^`|&;\n]*(?:\n[^`|&;\n]*(?=`))?)"
)
_STRANGER = re.compile(
    r"""(?<![\w./:-])edgekit(?![\w./-])(?:\s*(?:[=<>~!@]|\[)|(?=['"\s,)]|$))""", re.IGNORECASE
)
_EXTRA = re.compile(r"(?<![\w./-])edgekit\[(?!['\"\d])", re.IGNORECASE)


def strangers(text: str) -> list[str]:
    """The commands of a text that name the other project's package."""
    commands = [m[0] for m in _COMMAND.finditer(text) if _STRANGER.search(m["what"])]
    return commands + [text[m.start() : m.start() + 40] for m in _EXTRA.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        "pip" + " install edgekit",
        "`pip" + " install\n'edgekit'`",
        "pip" + " install -U 'edgekit==1.0'",
        "uv" + " add numpy edgekit",
        "pip" + " install numpy EdgeKit\nnext line",
        "the extra edgekit" + "[torch]",
        "f\"'edgekit" + "[{extra}]'\"",
    ],
)
def test_commands_for_a_stranger_are_seen(text: str) -> None:
    assert strangers(text)


@pytest.mark.parametrize(
    "text",
    [
        f"pip install '{distribution.NAME}[torch]'",
        "pip install '.[toolchain]'\nedgekit demo",
        "pip install -e . # then run\n`edgekit demo`",
        "parts = edgekit['name']",
        "pip install ./edgekit/wheel.whl",
    ],
)
def test_other_commands_are_let_through(text: str) -> None:
    assert not strangers(text)


def test_no_text_installs_a_strangers_package() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files()}
    found = {name: commands for name, text in texts.items() if (commands := strangers(text))}
    assert found == {}


def test_the_name_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == distribution.NAME
    assert project["scripts"] == {"edgekit": "edgekit.cli:main"}


def test_doctor_names_our_package() -> None:
    found = Checkup("1", "3", "here", (InstalledPackage("wasmtime", "", "emulate"),), ())
    assert any(distribution.install_command("emulate") in line for line in checkup(found))

"""docs/new-front-end.md adds a front end: this test does it, in a copy."""

import re
from pathlib import Path

import pytest
from support import page_steps
from support.page_steps import pytest_in, python
from support.tools import ROOT, require

PAGE = (ROOT / "docs" / "new-front-end.md").read_text(encoding="utf-8")
STEPS = page_steps.section(PAGE, "Add a front end in 5 steps")
FILES = page_steps.files(STEPS)
NET = "mlp 1\ninput size=2\ndense outputs=1  1 2  0.5\nrelu\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the five steps done."""
    folder = page_steps.copied(tmp_path_factory.mktemp("checkout"))
    page_steps.follow(FILES, folder)
    (row,) = re.findall(r"^   (\| MLP text .*)$", STEPS, re.MULTILINE)
    page = folder / "docs" / "frontends.md"
    text = page.read_text(encoding="utf-8")
    last = re.findall(r"^\| .* \|$", text.partition("\n## ")[0], re.MULTILINE)[-1]
    page.write_text(text.replace(last, f"{last}\n{row}"), encoding="utf-8")
    return folder


@pytest.mark.slow
def test_its_tests_pass(checkout: Path) -> None:
    (command,) = re.findall(r"`pytest (.*?)`", STEPS)
    done = pytest_in(checkout, *command.split())
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_the_packages_are_found_and_readme_gets_a_row(checkout: Path) -> None:
    done = pytest_in(checkout, "tests/packaging/test_layout.py", "-k", "not dependencies")
    assert done.returncode == 0, done.stdout[-3000:]
    done = python(checkout, "scripts/readme.py")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "| MLP text | `.mlp` | - |" in (checkout / "README.md").read_text(encoding="utf-8")


def test_a_file_becomes_c(checkout: Path) -> None:
    require("cc")
    (checkout / "net.mlp").write_text(NET)
    done = python(checkout, "-m", "edgekit", "build", "net.mlp", "--verify", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout
    assert (checkout / "out" / "net.c").is_file()


def test_the_files_keep_the_rules(checkout: Path) -> None:
    page_steps.rules(FILES, checkout)

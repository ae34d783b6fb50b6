"""The stages are reachable as edgekit.<stage>, are listed for installation, and depend in one direction."""

import ast
import importlib
import re
import runpy
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from support.tools import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = SETTINGS["tool"]["setuptools"]
CORE = "edgekit.core"
STAGES = sorted(set(SETUPTOOLS["package-dir"]) - {"edgekit"})


def test_setup_finds_every_package() -> None:
    """Through the folders that are mapped, as in an archive, where there are no links."""
    found = {
        ".".join(("edgekit", *folder.relative_to(ROOT / "edgekit").parts))
        for folder in walk(ROOT / "edgekit")
        if (folder / "__init__.py").exists()
    }
    given: dict[str, object] = {}
    with patch("setuptools.setup", lambda **keywords: given.update(keywords)):
        runpy.run_path(str(ROOT / "setup.py"))
    assert given["packages"] == sorted(found)


def test_every_folder_of_python_files_is_a_package() -> None:
    for folder in walk(ROOT / "edgekit"):
        if any(folder.glob("*.py")):
            assert (folder / "__init__.py").exists(), f"{folder} has Python files and no __init__.py"


@pytest.mark.parametrize("stage", STAGES)
def test_link_leads_to_the_stage(stage: str) -> None:
    folder = SETUPTOOLS["package-dir"][stage]
    link = ROOT / "edgekit" / folder
    assert stage == f"edgekit.{folder}"
    assert link.is_symlink(), f"{link} should be a link to ../{folder}"
    assert link.readlink() == Path("..", folder)
    assert link.samefile(ROOT / folder)


@pytest.mark.parametrize("stage", STAGES)
def test_bare_import_of_a_stage_is_banned(stage: str) -> None:
    banned = SETTINGS["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    assert banned[stage.removeprefix("edgekit.")]["msg"] == f"import {stage}"


def test_core_imports_nothing_else_of_edgekit() -> None:
    shared = [name for name in modules() if layer(name) == CORE]
    assert shared
    for name in shared:
        others = {used for used in imports(modules()[name]) if layer(used) != CORE} - {"edgekit"}
        assert not others, f"{name} imports {sorted(others)}"


def test_core_has_no_import_circle() -> None:
    """Imports for type checkers alone count, too: a module is understood after those that it imports."""
    uses = {name: imports(path) - {name} for name, path in modules().items() if layer(name) == CORE}
    while clear := [name for name, used in uses.items() if not used & set(uses)]:
        for name in clear:
            del uses[name]
    assert not uses, f"these import each other: {sorted(uses)}"


def test_stages_import_core_and_themselves_only() -> None:
    """Neither another stage nor the application, such as the API, commands and reports."""
    for name in modules():
        if layer(name) in STAGES:
            others = {used for used in imports(modules()[name]) if layer(used) not in (CORE, layer(name))}
            assert not others - {"edgekit"}, f"{name} imports {sorted(others)}"


def test_formats_share_semantics_and_not_each_other() -> None:
    """A default that changes for one format must not change another: what several mean is in semantics, which
    knows no format. Another container of the same models says so: a MediaPipe bundle HOLDS TFLite."""
    folder = "edgekit.converters"
    formats = {name.rpartition(".")[0] for name in modules() if re.fullmatch(rf"{folder}\.\w+\.reader", name)}
    assert len(formats) > 5

    def room(name: str) -> str:
        return ".".join(name.split(".")[:3])

    for name, path in modules().items():
        if room(name) in formats or room(name) == f"{folder}.semantics":
            others = {room(used) for used in imports(path)} & formats - {room(name)}
            held = {f"{folder}.{one}" for one in getattr(importlib.import_module(room(name)), "HOLDS", ())}
            assert others <= held, f"{name} imports {sorted(others)}"
            assert not any(hasattr(importlib.import_module(one), "HOLDS") for one in held)


def test_top_level_imports_are_dependencies() -> None:
    """What an extra brings is imported inside the function that needs it, or in the package named after it,
    which nobody else imports."""
    brought = {"onnx": {"google", "ml_dtypes"}, "typer": {"rich"}}
    declared = {re.split(r"\W", text)[0] for text in SETTINGS["project"]["dependencies"]}
    allowed = {"edgekit", *declared, *sys.stdlib_module_names}.union(*(brought.get(d, ()) for d in declared))
    for name, path in modules().items():
        if layer(name) == "edgekit.torch":
            continue
        assert not any(used.startswith("edgekit.torch") for used in imports(path))
        used = {imported.partition(".")[0] for imported in named(ast.parse(path.read_text()).body)}
        assert used <= allowed, f"{name} imports {sorted(used - allowed)} for everybody"


@pytest.mark.parametrize(
    "text",
    [
        "import edgekit.codegen",
        "import numpy, edgekit.codegen as c",
        "from edgekit import codegen",
        "from edgekit.codegen import anything",
        "def late():\n    import edgekit.codegen",
    ],
)
def test_every_form_of_import_is_seen(text: str, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(text)
    assert "edgekit.codegen" in imports(path)


def walk(folder: Path) -> Iterator[Path]:
    """The folder and those below it, through the links of the stages."""
    yield folder
    for child in sorted(folder.iterdir()):
        if child.is_dir() and child.name != "__pycache__":
            yield from walk(child)


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the package by its name."""
    found = {}
    for folder in walk(ROOT / "edgekit"):
        for path in folder.glob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


def layer(module: str) -> str:
    """edgekit.codegen for everything in codegen, edgekit.core for every operator."""
    return ".".join(module.split(".")[:2])


def named(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every name that may be a module in the import statements among these nodes."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (module, *(f"{module}.{name.name}" for name in names))


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules of EdgeKit that a file imports, on top or inside a function."""
    return frozenset(named(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))) & set(modules())

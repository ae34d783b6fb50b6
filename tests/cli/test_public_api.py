"""The public API is exactly what is exported, and what the documentation of the commands promises."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import edgekit
from edgekit import api, cli
from edgekit.core.builder import Builder
from edgekit.core.ops.arithmetic import Add
from edgekit.core.types import DType, Type


def test_the_package_exports_the_api_and_its_version() -> None:
    assert edgekit.__all__ == sorted(edgekit.__all__)
    assert set(edgekit.__all__) == {"__version__", *api.__all__}
    assert dir(edgekit) == edgekit.__all__
    for name in api.__all__:
        assert getattr(edgekit, name) is getattr(api, name)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(edgekit.__file__).read_text(encoding="utf-8"))
    block = next(
        node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {
        alias.name for node in ast.walk(block) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == set(api.__all__)


def test_names_come_from_where_type_checkers_look() -> None:
    """They are searched for at run time, in several modules."""
    block = next(node for node in ast.parse(Path(api.__file__).read_text()).body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    places = {alias.name: node.module for node in imports for alias in node.names}
    assert set(places) == set(api.__all__)
    for name, place in places.items():
        assert place is not None
        assert getattr(api, name) is getattr(import_module(place), name), name


def test_a_build_imports_nothing_of_pruning_and_tuning() -> None:
    look = "import sys, edgekit, edgekit.reports.results; edgekit.convert; edgekit.build; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert "edgekit.codegen.compilation.build" in found
    assert not found & {
        "edgekit.quantize.pruning",
        "edgekit.tuning",
        "multiprocessing",
        "http.server",
        "torch",
    }


def test_no_public_name_is_hidden_by_a_module() -> None:
    """`import edgekit.x` would put the module in the place of the function x."""
    folder = Path(edgekit.__file__).parent
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not modules & set(edgekit.__all__)


def test_everything_public_explains_itself() -> None:
    for name in api.__all__:
        thing = getattr(edgekit, name)
        assert inspect.getdoc(thing), name
        assert not (inspect.getdoc(thing) or "").startswith(f"{name}("), f"{name} has no docstring of its own"


def test_every_command_is_a_verb_of_the_api() -> None:
    commands = {command.callback.__name__ for command in cli.app.registered_commands if command.callback}
    # For people alone; list_targets and quantize_model, because of the folders of these names. What exports
    # in Python is torch.export.
    told_otherwise = {"demo", "explain", "export", "targets", "quantize"}
    assert commands - told_otherwise <= set(api.__all__)


def test_importing_the_package_imports_nothing_else() -> None:
    look = "import sys, edgekit; print([m for m in sys.modules if m.startswith(('edgekit.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_unknown_names_are_attribute_errors() -> None:
    assert not hasattr(edgekit, "nonsense")


def test_what_progress_was_called_before_works_with_a_warning() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (3,)))
    graph = b.graph("twice", [x], [b.one(Add(), x, x)])
    heard: list[str] = []
    with pytest.warns(DeprecationWarning, match="tell= is called progress= now"):
        edgekit.diff(graph, graph, {"x": np.ones((2, 3), np.float32)}, tell=heard.append)  # type: ignore[arg-type]  # the old name
    assert heard


def test_the_simulator_is_still_found_where_it_was() -> None:
    with pytest.warns(DeprecationWarning, match=r"use edgekit\.core\.simulate\.run"):
        assert import_module("edgekit.simulate").run is import_module("edgekit.core.simulate").run

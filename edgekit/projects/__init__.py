"""`edgekit new`: a folder of templates with a model's library becomes a project that builds at once.

A folder in `templates` is a kind of project. project.toml says what it is, which package of the library it
uses, and which commands build it; PROJECT and NAME in paths are the names of the project and of the model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from edgekit.codegen import packages
from edgekit.codegen.compilation import build as library
from edgekit.codegen.compilation import publish
from edgekit.codegen.execution import processor
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages import NO_CONTENT, Content
from edgekit.codegen.program import Program
from edgekit.core import ek_file, suggest, templating
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType
from edgekit.reports import results
from edgekit.samples import arrays

_ABOUT = "project.toml"
_FOR_ALL = "_all"  # the folder with files of every project
LIBRARY = "model"  # the folder of a project that `edgekit build` writes
# What `edgekit build` reads there: names of classes, and a sample of the inputs.
_CLASSES, _SAMPLE = "classes.txt", "sample.npz"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")


@dataclass(frozen=True)
class Template:
    """A kind of project."""

    name: str

    @cached_property
    def about(self) -> dict[str, Any]:
        return tomllib.loads((_folder() / self.name / _ABOUT).read_text(encoding="utf-8"))

    @property
    def package(self) -> str:
        """The package of the library that it uses."""
        return str(self.about["package"])

    @property
    def target(self) -> str:
        """What it is built for, if its user names no target."""
        return str(self.about["target"])


@dataclass(frozen=True)
class Project:
    """What was made, and what its user does next."""

    folder: str
    template: str
    target: str
    files: tuple[str, ...]  # beside the library
    commands: tuple[str, ...]  # in its folder
    library: library.Report


def templates() -> list[Template]:
    """The kinds of projects that there are."""
    entries = (entry.name for entry in _folder().iterdir() if (entry / _ABOUT).is_file())
    return [Template(name) for name in sorted(entries)]


def find(name: str) -> Template:
    """The kind of project of this name."""
    known = {template.name: template for template in templates()}
    if name not in known:
        raise EdgeKitError("E0103", f"unknown template {name}", hint=suggest.hint(name, known))
    return known[name]


def check(folder: Path) -> None:
    """EdgeKitError where no project can be made of this name; asked before the work is done."""
    if not _NAME.fullmatch(folder.name):
        hint = "a letter, and then letters, digits, _ and -, such as my-project"
        raise EdgeKitError("E0103", f"{folder.name!r} cannot be the name of a project", hint=hint)
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        raise EdgeKitError("E0109", f"{folder} is there already", hint="edgekit new makes a new folder")


def create(
    folder: Path,
    graph: Graph,
    template: Template,
    *,
    target: str = "",
    optimize: Optimize = "speed",
    content: Content = NO_CONTENT,
    samples: Sequence[Mapping[str, Array]] = (),
    verify: bool | None = None,
    progress: Progress = lambda step: None,
) -> Project:
    """Make the folder: the model, its library, and a program around it."""
    check(folder)
    wanted = processor.load(target or template.target)
    packages.check((template.package,), (), wanted)
    program = fit(graph, wanted, optimize=optimize)
    helpers = packages.helpers_that_fit(template.package, program)
    report = library.build(
        graph,
        wanted,
        folder / LIBRARY,
        optimize=optimize,
        check=verify,
        package=(template.package,),
        helpers=helpers,
        content=content,
        samples=samples,
        progress=progress,
    )
    known = {
        **packages.description(template.package, program, _types(template), _keywords(template), content),
        "project": folder.name,
        "optimize": optimize,
        "package": template.package,
        "helpers": helpers,
        "library": LIBRARY,
        "class_file": _CLASSES,
        "sample_file": _SAMPLE if content.sample else "",
        "stack": report.stack_bytes,
    }
    named = partial(_named, project=folder.name, model=program.name)
    known |= {
        "description": template.about["description"],
        "parts": [(named(path), words) for path, words in template.about["parts"].items()],
        "commands": [Code(named(line)) for line in template.about["commands"]],
    }
    made = dict(_rendered(template, known)) | _copied(template, folder / LIBRARY, program)
    if content.classes:
        made[_CLASSES] = "".join(f"{name}\n" for name in content.classes).encode()
    publish.write({named(path): data for path, data in made.items()}, folder)
    ek_file.save(graph, folder / f"{program.name}.ek")
    if content.sample:
        arrays.save(folder / _SAMPLE, content.sample)
    listed = (*sorted(map(named, made)), *[_SAMPLE] * bool(content.sample), f"{program.name}.ek")
    return Project(str(folder), template.name, wanted.name, listed, tuple(known["commands"]), report)


def in_words(found: Project) -> list[str]:
    """The project and its library, and the commands that build it."""
    told = results.build(found.library, verbose=False)
    own = results.table([("project", f"{found.folder}: {', '.join(found.files)}")])
    return [*told, *own, "", f"cd {found.folder}", *found.commands]


def _folder() -> Traversable:
    return files("edgekit.projects") / "templates"


def _types(template: Template) -> Mapping[str, str]:
    """What elements are called: as in C, if the template says nothing."""
    own: dict[str, str] = template.about.get("types", {})
    return {dtype.c: dtype.c for dtype in DType} | own


def _keywords(template: Template) -> frozenset[str]:
    return frozenset(template.about.get("keywords", "").split())


def _named(text: str, *, project: str, model: str) -> str:
    """A path or command of a template, with the names of this project."""
    return text.replace("PROJECT", project).replace("NAME", model)


def _rendered(template: Template, known: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The files of the template, and those that all projects have."""
    environment = templating.environment("edgekit.projects")
    for folder in (_FOR_ALL, template.name):
        for path in _files(_folder() / folder):
            if path.endswith(".j2"):
                text = environment.get_template(f"{folder}/{path}").render(known)
                yield path.removesuffix(".j2"), text.encode()
            elif path != _ABOUT:
                yield path, (_folder() / folder / path).read_bytes()


def _copied(template: Template, library: Path, program: Program) -> dict[str, bytes]:
    """What the template takes over from the package: its example, for instance, to be changed."""
    inside = library / template.package / program.name
    return {path: (inside / of).read_bytes() for path, of in template.about.get("copies", {}).items()}


def _files(place: Traversable, path: str = "") -> tuple[str, ...]:
    """The files in a folder and below, by their paths in it."""
    found: list[str] = []
    for entry in place.iterdir():
        inner = f"{path}{entry.name}"
        found += _files(entry, f"{inner}/") if entry.is_dir() else [inner]
    return tuple(sorted(found))

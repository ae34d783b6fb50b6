"""Packages for other ecosystems: each kind is a file of this folder, or a folder of templates/languages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from edgekit.codegen.compilation.toolchain import Sizes
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing.render import Weights
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array


@dataclass(frozen=True)
class Content:
    """What a user knows of a model's data, for the examples of packages."""

    classes: tuple[str, ...] = ()  # names of an output's values
    sample: Mapping[str, Array] | None = None  # an array for each input; None: inputs of the self-test


NO_CONTENT = Content()


@dataclass(frozen=True)
class PackageRequest:
    """What a package is made of, and what its user asked for."""

    program: Program
    optimize: Optimize
    weights: Weights
    check: bool | None  # as in build: False leaves the comparison with the simulator out, True insists on it
    helpers: tuple[str, ...] = ()
    sizes: Sizes | None = None  # of the compiled library, and what compiled it
    compiler: str = ""
    sbom: bool = False  # a software bill of materials in the package
    progress: Progress = lambda step: None
    test: SelfTest | None = None  # None: one is made
    content: Content = NO_CONTENT


@dataclass(frozen=True)
class Packaged:
    """What a report says of a package."""

    kind: str  # and its folder
    bytes: int  # of all files
    notes: tuple[tuple[str, str], ...]  # (what, how much): rows of the report


@dataclass(frozen=True)
class Package:
    """Files to publish, by path inside the package's folder, and what a user wants to know of them."""

    kind: str
    files: Mapping[str, bytes]
    notes: tuple[tuple[str, str], ...]

    @property
    def summary(self) -> Packaged:
        return Packaged(self.kind, sum(map(len, self.files.values())), self.notes)


class Kind(Protocol):
    """What a file of this folder defines."""

    HELPERS: tuple[str, ...]  # that it can add

    def check(self, target: Target) -> None:
        """EdgeKitError where there is no such package for this target."""

    def make(self, request: PackageRequest) -> Package: ...


def kinds() -> list[str]:
    """The kinds of packages that there are."""
    names = (m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    return sorted([*(name.replace("_", "-") for name in names), *_languages().languages()])


def check(
    names: Sequence[str], helpers: Sequence[str], target: Target, content: Content = NO_CONTENT
) -> None:
    """Refuse what no kind can make; asked before the work is done."""
    if not names and content != NO_CONTENT:
        raise EdgeKitError(
            "E0103", "class names belong to a package", hint="add --package python, or another one"
        )
    for name in names:
        if name not in kinds():
            raise EdgeKitError("E0103", f"unknown package {name}", hint=suggest.hint(name, kinds()))
    known = {helper for name in names for helper in _kind(name).HELPERS}
    for helper in helpers:
        if helper not in known:
            hint = suggest.hint(helper, sorted(known)) if known else "helpers belong to --package npm"
            raise EdgeKitError("E0103", f"unknown helper {helper}", hint=hint)
    for name in names:
        _kind(name).check(target)


def check_pointer(names: Sequence[str], target: Target) -> None:
    """Refuse weights at run time where kernels or packages have them inside."""
    if names:
        reason = "its examples, self-test and classes call a run that needs no address of weights"
        hint = "without --package, the folder has C files for any build system, and a CMakeLists.txt"
        message = (
            f"a package {names[0]} has its weights inside, and {reason}: --weights pointer is not for it"
        )
        raise EdgeKitError("E0103", message, hint=hint)
    if target.gpu:
        message = f"a library for target {target.name} has its weights inside, which it copies to the device"
        raise EdgeKitError("E0103", f"{message}: --weights pointer is not for it", hint="leave it out")


def check_ports(names: Sequence[str], ports: Ports) -> None:
    """Refuse inputs that arrive row by row where packages pass whole ones."""
    if names and ports == "rows":
        message = f"a package {names[0]} gives each run whole inputs: --ports rows is not for it"
        hint = "without --package, the folder has C files for any build system, and a CMakeLists.txt"
        raise EdgeKitError("E0103", message, hint=hint)


def check_entries(names: Sequence[str], entries: Collection[str]) -> None:
    """Refuse packages that would not show what a library has beside its main entry."""
    for name in names if entries else ():
        if name in _languages().languages() and not _languages().Language(name).about.get("entries"):
            message = f"a package {name} has one run function, and cannot have --entry {min(entries)}"
            hint = "npm and packages for boards and cmake have all entries; or call the C functions"
            raise EdgeKitError("E0103", message, hint=hint)


def check_content(program: Program, content: Content) -> None:
    """Refuse names that no output has or no language can print, and numbers that C cannot write."""
    _file("_classes").by_output(program, content.classes)
    _file("_sample").check(program, content.sample)


def make(name: str, request: PackageRequest) -> Package:
    """The package of this kind."""
    return _kind(name).make(request)


def description(
    name: str,
    program: Program,
    types: Mapping[str, str],
    keywords: Collection[str] = (),
    content: Content = NO_CONTENT,
) -> dict[str, Any]:
    """What templates get to know of a model: see _ports.py. Names are those that a package of this kind has,
    and none of `keywords`."""
    kind: Any = _kind(name)
    taken = frozenset(keywords) | getattr(kind, "keywords", frozenset())
    request = PackageRequest(program, "speed", "auto", None, content=content)
    values: dict[str, Any] = _file("_ports").values(request, types, taken)
    return values | {
        "module": kind.module(program) if name in _languages().languages() else program.name,
        "chip": _file("esp_idf").chip_of(program.target),
        "needs_fpu": _file("_board").needs_fpu(program),
        "has_sample_header": _file("_sample").fits_header(program),
        "image": _file("_helpers").image_input(program),
    }


def helpers_that_fit(name: str, program: Program) -> tuple[str, ...]:
    """The helpers of a package of this kind that the model has an input for, images before sound."""
    if "image" not in _kind(name).HELPERS:
        return ()
    return ("image",) if _file("_helpers").image_input(program) else ()


def _file(name: str) -> Any:
    """A module of this folder, which imports this one."""
    return importlib.import_module(f"{__name__}.{name}")


def _languages() -> Any:
    """The module of languages."""
    return _file("_language")


def _kind(name: str) -> Kind:
    if name in _languages().languages():
        language: Kind = _languages().Language(name)
        return language
    module: Kind = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return module

"""Packages for programming languages: each is a folder of templates, which know the model's ports.

A folder of templates/languages becomes a package as it is: NAME in a path is the model's name, and
package.toml says where the C of the library goes, or the compiled library, and what elements are called.
Nothing else knows of a language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol

from edgekit.codegen.compilation import build, sbom
from edgekit.codegen.execution.runner import is_wasm
from edgekit.codegen.packages import Package, PackageRequest, _aar, _shared_library, _xcframework
from edgekit.codegen.packages._classes import header
from edgekit.codegen.packages._ports import VERSION, identifier, public_headers, values
from edgekit.codegen.packages._sample import sample_of, test_of
from edgekit.codegen.packages._wheel import wheel
from edgekit.codegen.printing.render import environment, model_origin, sources
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

_ABOUT = "package.toml"
_SPELLING = ("keywords", "types", "class_names")  # what packages for one language have in common


class MultiPlatform(Protocol):
    """A package with compiled libraries for several systems or processors."""

    def check(self, target: Target) -> None:
        """EdgeKitError where there is none for this target, or no tools for it."""

    def programs_of(self, program: Program) -> Mapping[Any, Program]:
        """The program for each of them."""

    def values(self, programs: Mapping[Any, Program]) -> dict[str, Any]:
        """What templates know beside a model's ports."""

    def packed(
        self, request: PackageRequest, programs: Mapping[Any, Program], rendered: Mapping[str, bytes]
    ) -> dict[str, bytes]:
        """The files of the package, of rendered templates."""


_MULTI_PLATFORM: Mapping[str, MultiPlatform] = {"aar": _aar, "xcframework": _xcframework}


def folder() -> Traversable:
    """Where the languages are."""
    return files("edgekit.codegen.printing") / "templates" / "languages"


def languages() -> list[str]:
    """The languages that there are templates for."""
    return sorted(entry.name for entry in folder().iterdir() if (entry / _ABOUT).is_file())


@dataclass(frozen=True)
class Language:
    """A kind of package."""

    name: str
    HELPERS: tuple[str, ...] = ()

    @cached_property
    def about(self) -> dict[str, Any]:
        own = tomllib.loads((folder() / self.name / _ABOUT).read_text(encoding="utf-8"))
        if "like" not in own:
            return own
        other = Language(own["like"]).about
        return {key: other[key] for key in _SPELLING} | own

    @cached_property
    def keywords(self) -> frozenset[str]:
        """Names that mean something else in this language."""
        return frozenset(self.about.get("keywords", "").split())

    def module(self, program: Program) -> str:
        """What programs import: the model's name, but for what this language or its library has."""
        return identifier(program.name, self.keywords | {*self.about.get("modules", "").split()})

    @property
    def _multi_platform(self) -> MultiPlatform | None:
        return _MULTI_PLATFORM.get(self.about.get("archive", ""))

    def check(self, target: Target) -> None:
        """EdgeKitError where programs of this language do not run."""
        if self._multi_platform:
            self._multi_platform.check(target)
            return
        on_boards = self.about.get("boards", False) and not is_wasm(target)
        place = _shared_library.platform_of(target)
        fits = on_boards or (place and ("sources" in self.about or place.has_libraries))
        if target.gpu or not fits:
            hint = "--target host, x86-64, aarch64 or another of a PC or phone; edgekit targets lists them"
            what = f"there is no package {self.name} for target {target.name}"
            raise EdgeKitError("E0103", what, hint=hint)

    def make(self, request: PackageRequest) -> Package:
        """The folder's templates with the library, a sample of each input, and a self-test."""
        program = request.program
        if program.ports != "caller":
            what = f"a package {self.name} passes inputs and outputs to the library"
            raise EdgeKitError("E0103", what, hint="leave out --ports arena")
        made = build.generate(program, request.optimize, "c", test_of(request))
        sample = sample_of(request)
        multi_platform = self._multi_platform
        library = {} if multi_platform else self._library(request, made)
        programs = multi_platform.programs_of(program) if multi_platform else {}
        more = multi_platform.values(programs) if multi_platform else {}
        inside = {
            **library,
            **self._rendered(request, made, min(library, default=""), more),
            **{
                f"{self._path('sample', program)}/{p.c}.bin": sample[p.name].tobytes() for p in program.inputs
            },
        }
        if multi_platform:
            inside = multi_platform.packed(request, programs, inside)
        if self.about.get("archive") == "wheel":
            inside = self._in_wheel(request, inside)
        if request.sbom:
            inside |= sbom.file(program, inside, request.optimize, request.compiler, self.name)
        size = sum(map(len, inside.values()))
        where = f"{self.name}/{program.name}"
        words = f"{where}: {len(inside)} files, {size:,} B; its README.md says how to use it"
        found = {f"{program.name}/{path}": inside[path] for path in sorted(inside)}
        return Package(self.name, found, (("package", words),))

    def _path(self, key: str, program: Program) -> str:
        """A path of package.toml."""
        path = str(self.about[key]).replace("NAME", self.module(program))
        place = _shared_library.platform_of(program.target)
        if place and (words := self.about.get("platforms")):
            path = path.replace("PLATFORM", f"{words[place.system]}-{words[place.machine]}")
        return path

    def _library(self, request: PackageRequest, made: Mapping[str, bytes]) -> dict[str, bytes]:
        """The library as C, or compiled."""
        if "sources" in self.about:
            below = self._path("sources", request.program)
            return {f"{below}/{path}": data for path, data in made.items() if path.endswith((".c", ".h"))}
        data, suffix = _shared_library.compiled(request, made)
        return {f"{self._path('library', request.program)}{suffix}": data}

    def _rendered(
        self, request: PackageRequest, made: Mapping[str, bytes], library: str, more: dict[str, Any]
    ) -> dict[str, bytes]:
        """The templates; `library` is the path of the compiled one."""
        program = request.program
        known = values(request, self.about["types"], self.keywords) | {"id": self.module(program)} | more
        below = self.about.get("sources", "")
        known["compiled"] = [f"{below}/{p}" for p in sources(made) if p.endswith(".c")]
        known["library"] = library
        place = _shared_library.platform_of(program.target)
        # Portable C is for every machine.
        known["machine"] = place.machine if place and program.target.isa != ("ref",) else ""
        known["entries"] = [entry.name for entry in program.entries]
        headers = [f"{name}.h" for name in (program.name, *known["entries"])]
        known["public"] = sorted({path for header in headers for path in public_headers(made, header)})
        for port in known["outputs"]:
            port["class_names"] = _class_names(str(self.about.get("class_names", "")), known, port)
        found: dict[str, bytes] = {}
        if request.content.classes and "class_header" in self.about:
            where = f"{self.about['class_header']}/{program.name}_classes.h"
            found[where] = header(program, request.content.classes)
        for path in _files(folder() / self.name):
            if path.endswith(".j2"):
                template = environment().get_template(f"languages/{self.name}/{path}")
                found[path.removesuffix(".j2")] = template.render(known).encode()
            elif path != _ABOUT:
                found[path] = (folder() / self.name / path).read_bytes()
        return {path.replace("NAME", known["id"]): data for path, data in found.items()}

    def _in_wheel(self, request: PackageRequest, inside: Mapping[str, bytes]) -> dict[str, bytes]:
        """The files that belong together as a wheel, and the others beside it."""
        name = self.module(request.program)
        within = {path: data for path, data in inside.items() if path.startswith(f"{name}/")}
        tag = _shared_library.wheel_tag(request.program.target)
        summary = f"The neural network {request.program.name} of {model_origin(request.program)}"
        path, data = wheel(name, VERSION, summary, tag, within)
        return {p: d for p, d in inside.items() if p not in within} | {path: data}


def _class_names(words: str, known: Mapping[str, Any], port: Mapping[str, Any]) -> str:
    """What the names of an output's values are called: package.toml has it for an output PORT of NAME, or of
    the namespace SPACE, or as the language writes it, Port or port."""
    spelled = {
        "NAME": known["id"],
        "SPACE": known["namespace"],
        "PORT": port["c"].upper(),
        "Port": port["pascal"],
        "port": port["c"],
    }
    return re.sub("|".join(spelled), lambda word: spelled[word[0]], words)


def _files(place: Traversable, path: str = "") -> tuple[str, ...]:
    """The files of a language, by their paths in its folder."""
    found: list[str] = []
    for entry in place.iterdir():
        inner = f"{path}{entry.name}"
        found += _files(entry, f"{inner}/") if entry.is_dir() else [inner]
    return tuple(sorted(found))

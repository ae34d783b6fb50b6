"""A model file of any known format -> Graph: content decides, the suffix only says which reader to ask first.

A format is a folder: `__init__.py` states FORMAT (its name for people) and SUFFIXES, and reader.py has
`sniff(path, head)` and `convert(path, shapes=, dims=, name=)`; where the reader has PROFILES, `convert`
takes `profile=`, too, where it has HAS_SIGNATURES, `signature=`, where it has KEEPS_LOOPS, `max_iterations=`,
and where it has TAKES_OUTPUTS, `outputs=`.
A format that is another container for models of others says so in `__init__.py`: HOLDS, those that it uses.
Nothing lists the formats: a new front end is a new folder. `read` asks every graph that readers make for the
rules of well-formed ones, so that no reader has to.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from edgekit import converters
from edgekit.converters import unsupported_formats
from edgekit.converters.inputs import fix_inputs, keep_states, told_batches
from edgekit.converters.named_outputs import ended_at
from edgekit.core import files
from edgekit.core.attributes import encode_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.reasons import reason_of
from edgekit.core.types import Array
from edgekit.core.wellformed import faults

_HEAD = 4096


class Reader(Protocol):
    """What reader.py in the folder of a format offers."""

    FORMAT: str
    SUFFIXES: tuple[str, ...]

    def sniff(self, path: Path, head: bytes) -> bool:
        """Is this file, which starts with these bytes, of this format? Or this folder, which has no bytes?"""
        ...

    def convert(
        self,
        model: Path,
        *,
        shapes: Mapping[str, Sequence[int]] | None = None,
        dims: Mapping[str, int] | None = None,
        name: str = "",
        **options: Any,
    ) -> Graph:
        """The graph of the model, not simplified yet."""
        ...


def read(
    path: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, float | Array] | None = None,
    states: Mapping[str, str] | None = None,
    name: str = "",
    profile: str | None = None,
    signature: str = "",
    max_iterations: int | None = None,
    outputs: Sequence[str] = (),
) -> Graph:
    """Convert a model file of any format. `shapes` binds dynamic inputs, `dims` dimensions by name,
    `constants` fixes inputs to values, `states` keeps inputs that are an output of the last run. `profile` is
    for formats whose engines differ: one of the reader's PROFILES, the first of which holds without being
    asked for. `signature` names an entry of a file that has several. `max_iterations` bounds loops whose end
    data decide. The network ends at `outputs`, tensors by the names of the file."""
    shapes = {key: [int(each) for each in shape] for key, shape in (shapes or {}).items()}
    dims = {key: int(length) for key, length in (dims or {}).items()}  # which may be numpy's integers
    head = first_bytes(path)
    reader = next((r for r in readers(path.suffix) if r.sniff(path, head)), None)
    if reader is None and (unsupported := unsupported_formats.recognise(path, head)):
        raise unsupported
    if reader is None and _is_inside_file(path):
        raise EdgeKitError("E0104", f"cannot read {path}: only bundles of TFLite models have members")
    if reader is None and not path.is_dir():  # damaged, it seems: the reader of that suffix says how
        reader = next((r for r in readers(path.suffix) if path.suffix.lower() in r.SUFFIXES), None)
    if reader is not None:
        options: dict[str, Any] = {}
        if profile is not None:
            options["profile"] = _known_profile(path, reader, profile)
        if signature:
            options["signature"] = _signature(path, reader, signature)
        if max_iterations is not None and getattr(reader, "KEEPS_LOOPS", False):
            options["max_iterations"] = max_iterations
        folds_constants = getattr(reader, "TAKES_CONSTANTS", False)
        if folds_constants:
            options["constants"] = constants
        cuts_itself = getattr(reader, "TAKES_OUTPUTS", False)
        if outputs and cuts_itself:
            options["outputs"] = outputs
        with told_batches():
            graph = reader.convert(path, shapes=shapes, dims=dims, name=name, **options)
        graph = graph if cuts_itself or not outputs else ended_at(graph, outputs)
        graph = graph if folds_constants or not constants else fix_inputs(graph, constants)
        return _well_formed(keep_states(graph, states) if states else graph, path)
    what = "is a folder" if path.is_dir() else "is of no known format"
    raise EdgeKitError("E0206", f"{path} {what}", hint=f"EdgeKit reads {', '.join(formats())}")


def _well_formed(graph: Graph, path: Path) -> Graph:
    """The graph as it came, if it keeps the rules of every graph: readers cannot foresee all that damaged
    files combine, and passes, planners and kernels rely on these rules."""
    if fault := next(chain(faults(graph), _misfits(graph)), None):
        hint = "check the file with the software that wrote it; if it runs there, this is a fault of EdgeKit"
        raise EdgeKitError("E0401", f"{path.name} holds no valid network: {fault:.300}", hint=hint)
    return graph


def _misfits(graph: Graph) -> Iterator[str]:
    """Attributes of another type than their operator declares, such as a number for a flag."""
    for node in graph.nodes:
        try:
            encode_fields(node.op)
        except TypeError as error:
            yield reason_of(error)


def _known_profile(path: Path, reader: Reader, profile: str) -> str:
    known = _profiles(reader)
    if known and profile not in known:
        hint = f"those of {reader.FORMAT} models are {', '.join(known)}"
        raise EdgeKitError("E0103", f"unknown profile {profile}", hint=hint)
    if not known:
        others = ", ".join(r.FORMAT for r in readers() if _profiles(r))
        raise EdgeKitError(
            "E0103",
            f"{path.name} is of the format {reader.FORMAT}, which has no profile {profile}",
            hint=f"profiles are for formats whose engines differ: {others}",
        )
    return profile


def _signature(path: Path, reader: Reader, signature: str) -> str:
    if not getattr(reader, "HAS_SIGNATURES", False):
        message = f"{path.name} is of the format {reader.FORMAT}, which has no signatures"
        raise EdgeKitError("E0103", message, hint="leave --signature out")
    return signature


def _profiles(reader: Reader) -> tuple[str, ...]:
    return tuple(getattr(reader, "PROFILES", ()))


def first_bytes(path: Path) -> bytes:
    """The start of a plain file, or of nothing where it is a folder of a format that is one."""
    try:
        if path.is_dir() or _is_inside_file(path):
            return b""
        with files.opened(path) as file:
            return file.read(_HEAD)
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None


def _is_inside_file(path: Path) -> bool:
    """Does the path go on behind the name of a file, as to a member of an archive?"""
    return not path.exists() and any(parent.is_file() for parent in path.parents)


def readers(suffix: str = "") -> Iterator[Reader]:
    """All readers; those of formats with this suffix come first, before the others are even imported."""
    packages = _packages(tuple(converters.__path__))
    for package in sorted(packages, key=lambda package: suffix.lower() not in package.SUFFIXES):
        yield cast(Reader, importlib.import_module(f"{package.__name__}.reader"))


@cache
def _packages(folders: tuple[str, ...]) -> tuple[ModuleType, ...]:
    """The folders of formats, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(folders) if module.ispkg)
    found = (importlib.import_module(f"{converters.__name__}.{name}") for name in names)
    return tuple(package for package in found if hasattr(package, "SUFFIXES"))


def formats() -> list[str]:
    """Each format with its suffixes, for people."""
    return [f"{reader.FORMAT} ({' '.join(reader.SUFFIXES)})" for reader in readers()]

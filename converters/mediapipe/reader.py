"""MediaPipe task bundle -> Graph: a TFLite model in a zip, or in a zip in it, as if these were folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from edgekit.converters.file_formats.archive import SIGNATURE, Archive, opened
from edgekit.converters.mediapipe import FORMAT as FORMAT
from edgekit.converters.mediapipe import SUFFIXES as SUFFIXES
from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph

KEEPS_LOOPS = True
PROFILES = tflite_reader.PROFILES
HAS_SIGNATURES = True


@dataclass(frozen=True)
class _Model:
    archive: Archive
    name: str


def sniff(path: Path, head: bytes) -> bool:
    """A zip that holds TFLite models, or a path that goes on behind the name of one."""
    bundle, _ = _split(path)
    try:
        if not bundle.is_file() or (bundle == path and not head.startswith(SIGNATURE)):
            return False
        with opened(bundle) as archive:
            return bool(_models(archive))
    except (OSError, EdgeKitError):
        return False


def convert(
    model: Path,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
    name: str = "",
    profile: str = "litert",
    signature: str = "",
    max_iterations: int | None = None,
) -> Graph:
    """Convert one model of the bundle: the only one, or that of a path such as hand.task/detector.tflite."""
    bundle, member = _split(model)
    with opened(bundle) as archive:
        found = _models(archive)
        if not member and len(found) == 1:
            (member,) = found
        if member not in found:
            raise _unknown(bundle, member, found, list(archive.members))
        data = found[member].archive.read(found[member].name)
    return tflite_reader.convert_bytes(
        data,
        Path(member),
        shapes=shapes,
        dims=dims,
        name=name,
        profile=profile,
        signature=signature,
        max_iterations=max_iterations,
    )


def _split(path: Path) -> tuple[Path, str]:
    """The bundle, and the member that the path names behind it."""
    bundle = next((parent for parent in path.parents if parent.is_file()), path)
    return bundle, "" if bundle == path else path.relative_to(bundle).as_posix()


def _models(archive: Archive, folder: str = "") -> dict[str, _Model]:
    """What is a TFLite model by its first bytes, by path. Bundles of a task may hold those of its steps."""
    found: dict[str, _Model] = {}
    for name in archive.members:
        start = archive.start(name)
        if tflite_reader.sniff(Path(name), start):
            found[folder + name] = _Model(archive, name)
        elif start.startswith(SIGNATURE) and not folder:
            found |= _models(archive.inner(name), f"{name}/")
    return found


def _unknown(bundle: Path, member: str, found: Iterable[str], members: Sequence[str]) -> EdgeKitError:
    names = list(found)
    if not names:
        hint = f"it holds {', '.join(members[:20])}" if members else "it is empty"
        return EdgeKitError("E0103", f"{bundle.name} holds no TFLite model", hint=hint)
    paths = ", ".join(quote(str(bundle / name)) for name in names[:20])
    if not member:
        message = f"{bundle.name} holds {len(names)} models"
        return EdgeKitError("E0103", message, hint=f"name one of them: {paths}")
    message = f"{bundle.name} holds no model {member:.100}"
    return EdgeKitError("E0103", message, hint=suggest.hint(member, names, "models"))

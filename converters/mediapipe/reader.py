"""MediaPipe task bundle -> Graph: one of the TFLite models in a zip, by a path as if that were a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from zipfile import BadZipFile

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
            raise _unknown(bundle, member, found)
        data = archive.read(member)
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


def _models(archive: Archive) -> list[str]:
    """The members that are TFLite models, by their first bytes."""
    return [name for name in archive.members if tflite_reader.sniff(Path(name), _start(archive, name))]


def _start(archive: Archive, name: str) -> bytes:
    try:
        with archive.zip.open(archive.members[name]) as stream:
            return stream.read(8)
    except (BadZipFile, EOFError, OSError, ValueError):  # damaged: said when the member is read
        return b""


def _unknown(bundle: Path, member: str, found: Sequence[str]) -> EdgeKitError:
    if not found:
        return EdgeKitError("E0103", f"{bundle.name} holds no TFLite model")
    paths = ", ".join(quote(str(bundle / name)) for name in found[:20])
    if not member:
        message = f"{bundle.name} holds {len(found)} models"
        return EdgeKitError("E0103", message, hint=f"name one of them: {paths}")
    message = f"{bundle.name} holds no model {member:.100}"
    near = suggest.hint(member, list(found), "models")
    return EdgeKitError("E0103", message, hint=near or f"its models: {paths}")

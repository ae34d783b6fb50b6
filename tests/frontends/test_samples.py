"""Whatever a framework exported is read, belongs to a file that is read, or is refused with the way on."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.exports import SAMPLES, Export, who_reads
from support.tools import require_shared

from edgekit.converters import read
from edgekit.core.errors import EdgeKitError, Exit

# Recordings of inputs and outputs, and weights that another file of the folder asks for.
BESIDE = (".npz", ".caffemodel", ".params", ".pdiparams", ".pdiparams.info")
FILES = [p for p in sorted(SAMPLES.rglob("*")) if p.is_file() and not p.name.endswith(BESIDE)]


def name(path: Path) -> str:
    return str(path.relative_to(SAMPLES))


@pytest.mark.parametrize("path", [p for p in FILES if who_reads(p)], ids=name)
def test_file_of_a_known_format_is_read(path: Path) -> None:
    export = Export(path, str(who_reads(path)))
    assert read.read(path, shapes=export.shapes).nodes


@pytest.mark.parametrize("path", [p for p in FILES if not who_reads(p)], ids=name)
def test_any_other_file_is_refused_with_a_hint(path: Path) -> None:
    with pytest.raises(EdgeKitError) as caught:
        read.read(path)
    assert caught.value.hint
    assert caught.value.exit_code in (Exit.UNSUPPORTED, Exit.MALFORMED)


@pytest.mark.parametrize(
    ("option", "value"), [("profile", "tflm"), ("signature", "serving_default")], ids=["profile", "signature"]
)
def test_options_of_other_formats_are_refused(option: str, value: str) -> None:
    message = f"net.pt2 is of the format PyTorch, which has no {option}"
    with pytest.raises(EdgeKitError, match=message) as caught:
        read.read(SAMPLES / "torch" / "net.pt2", **{option: value})
    assert caught.value.exit_code is Exit.USAGE


def test_samples_are_all_that_there_are() -> None:
    shared = require_shared("frontends/samples")
    assert {p.relative_to(shared) for p in shared.rglob("*")} <= {
        p.relative_to(SAMPLES) for p in SAMPLES.rglob("*")
    }


@pytest.mark.parametrize(
    "path", sorted(SAMPLES.with_name("recorded").glob("*.zip")), ids=lambda path: path.stem
)
def test_recordings_hold_no_path_of_the_machine_that_made_them(path: Path) -> None:
    """Exporters write where the source of a layer lies."""
    with ZipFile(path) as archive:
        found = {
            name: re.findall(rb"/(?:home|root|Users|work)/[\w./-]*", archive.read(name))
            for name in archive.namelist()
        }
    assert {name: paths[0] for name, paths in found.items() if paths} == {}

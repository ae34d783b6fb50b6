"""Builds the wheel and the sdist under different circumstances, and says whether their bytes are the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from support.packages import built, built_elsewhere, copied

from benchmarks.results import RELIABILITY, table, write_section

_SDIST = "from the unpacked sdist"


def builds(scratch: Path) -> Mapping[str, Path]:
    """The folders with archives, by how they were built."""
    made = {name: scratch / name for name in ("plain", "elsewhere", "sdist")}
    built(copied(scratch / "source"), made["plain"])
    built_elsewhere(scratch / "other", made["elsewhere"])
    shutil.unpack_archive(next(made["plain"].glob("*.tar.gz")), scratch / "unpacked")
    built(next((scratch / "unpacked").iterdir()), made["sdist"])
    return {
        "from a copy of the checkout": made["plain"],
        "in another folder, time, time zone, locale and umask": made["elsewhere"],
        _SDIST: made["sdist"],
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        made = {how: digests(folder) for how, folder in builds(Path(scratch)).items()}
    first = next(iter(made.values()))
    rows = []
    for how, found in made.items():
        words = [["other bytes", "the same bytes"][found[kind] == first[kind]] for kind in ("whl", "gz")]
        rows.append([how, words[0], words[1] if how != _SDIST else "not compared"])
    rows[0][1:] = ["built", "built"]
    text = f"""\
Wheel and sdist, compared by SHA-256 with those of the first row; setuptools {version("setuptools")}. The
build backend of the repository writes both with sorted members, a fixed timestamp (SOURCE_DATE_EPOCH, if
set), no owner, and permissions that do not depend on the umask. The sdist built from an sdist is not
compared, because it lists the files of the first.

{table(["", "wheel", "sdist"], rows)}"""
    write_section("reliability.reproducible", "Reproducible packages", text, on=RELIABILITY)


def digests(folder: Path) -> Mapping[str, str]:
    """The sha256 of each archive, by the end of its name."""
    files = (path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.suffix[1:]: sha256(path.read_bytes()).hexdigest() for path in files}


if __name__ == "__main__":
    main()

"""Packs recorded models into one archive for the tests, the same bytes each time: pack.py FOLDER ARCHIVE."""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_ASIDE = (".info",)  # what training would go on with


def pack(folder: Path, archive: Path) -> None:
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix not in _ASIDE)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(archive, "w") as made:
        for path in files:
            info = ZipInfo(path.relative_to(folder).as_posix())
            info.compress_type = ZIP_DEFLATED
            made.writestr(info, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]))

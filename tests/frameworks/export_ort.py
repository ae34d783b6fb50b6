"""Exports the shared net with the installed ONNX Runtime: export_ort.py FOLDER."""

import sys
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.exports import SAMPLES  # the path comes first
from support.ort_files import LEVELS, saved


def export(folder: Path) -> None:
    """As the optimizer leaves it at the level that fuses layers for any processor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "net.ort").write_bytes(saved(onnx.load(SAMPLES / "torch" / "net.onnx"), LEVELS[2]))


if __name__ == "__main__":
    export(Path(sys.argv[1]))

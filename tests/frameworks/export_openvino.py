"""Exports the shared net with the installed OpenVINO: export_openvino.py FOLDER."""

import sys
from pathlib import Path

import openvino as ov

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import SAMPLES  # the path comes first


def export(folder: Path) -> None:
    """With weights in 32 bits, as those of the other exports."""
    folder.mkdir(parents=True, exist_ok=True)
    model = ov.convert_model(SAMPLES / "torch" / "net.onnx")
    ov.save_model(model, folder / "net.xml", compress_to_fp16=False)


if __name__ == "__main__":
    export(Path(sys.argv[1]))

"""Saves nets in the format of the installed ONNX Runtime, and what it computes: record_ort.py FOLDER.

ONNX Runtime 1.32 wrote what the tests read.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.ort_files import (  # the path comes first
    LEVELS,
    inputs,
    model,
    network,
    node,
    numbers,
    saved,
    tensor,
)
from support.quantized_models import reference


def record(folder: Path, name: str) -> None:
    net = network(name)
    given = inputs(net)
    arrays = {f"x{i}": x for i, x in enumerate(given.values())}
    arrays |= {f"y{i}": y for i, y in enumerate(reference(net, [given])[0])}
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "net.ort").write_bytes(saved(net, LEVELS[2]))
    np.savez(folder / name / "io.npz", **arrays)


def record_blocked(folder: Path) -> None:
    """A convolution that x86-64 computes on blocks of channels (NCHWc)."""
    nodes = [node("Conv", "x w", "y")]
    net = model(nodes, {"w": numbers(16, 16, 1, 1)}, inputs=[tensor("x", [1, 16, 4, 4])])
    (folder / "blocked.ort").write_bytes(saved(net, LEVELS[3], blocked=True))


if __name__ == "__main__":
    for chosen in ("activations", "products", "branches"):
        record(Path(sys.argv[1]), chosen)
    record_blocked(Path(sys.argv[1]))

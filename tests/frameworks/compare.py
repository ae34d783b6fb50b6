"""Says whether EdgeKit reads new exports of the shared net as the same graph: compare.py FOLDER."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.canonical import canonical  # the path comes first
from support.exports import SAMPLES, open_inputs, who_reads  # the path comes first

from edgekit.converters import read  # the path comes first
from edgekit.core import simulate  # the path comes first


def compare(folder: Path) -> list[str]:
    """A line for each file; raises where one is another net, or none is known."""
    reference = canonical(read.read(SAMPLES / "torch" / "net.onnx"))
    with np.load(SAMPLES / "torch" / "io.npz") as stored:
        image, answer = stored["x"], stored["y"]
    lines = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if format := who_reads(path):
            graph = read.read(path, shapes=dict.fromkeys(open_inputs(path), image.shape))
            canonical(graph).assert_same(reference)
            (name,) = graph.inputs
            channels_first = graph.type(name).shape[1] == image.shape[1]
            x = image if channels_first else np.ascontiguousarray(image.transpose(0, 2, 3, 1))
            (found,) = simulate.run(graph, {name: x}).values()
            np.testing.assert_allclose(found.reshape(answer.shape), answer, atol=1e-5)
            lines.append(f"{path.relative_to(folder)}: {format}, the same graph, weights and outputs")
    if not lines:
        raise FileNotFoundError(f"nothing in {folder} is of a known format")
    return lines


if __name__ == "__main__":
    print("\n".join(compare(Path(sys.argv[1]))))

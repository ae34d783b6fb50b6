"""ncnn's files compute what ncnn does: nets of each layer were recorded."""

from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from support.exports import SAMPLES
from support.ncnn_files import HALVES, Net, one, random
from support.recorded import names, unpacked

from edgekit.converters import read
from edgekit.converters.frontend import handlers
from edgekit.converters.ncnn import ops
from edgekit.converters.ncnn.file import Weights, layers
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError

RECORDED = SAMPLES.parent / "recorded" / "ncnn.zip"


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_ncnn_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def test_every_layer_is_in_a_recorded_net() -> None:
    with ZipFile(RECORDED) as zip:
        texts = [zip.read(name).decode() for name in zip.namelist() if name.endswith(".param")]
    found = {line.split()[0] for text in texts for line in text.splitlines()[2:]}
    assert set(handlers(ops)) <= found


def test_settings_are_numbers_and_arrays_in_both_forms() -> None:
    net = (
        Net()
        .input("in0", 4, 5, 6)
        .layer("Convolution", "in0", "out0", "0=3 1=-2 9=1.5e1 10=0.5,-1 -23311=2,7,8")
    )
    _, layer = layers(net.text, "net.param")
    assert (layer.integer(0), layer.integer(1), layer.integer(7, 9)) == (3, -2, 9)
    assert (layer.number(9), layer.numbers(10), layer.integers(11), layer.numbers(12)) == (
        15,
        [0.5, -1],
        [7, 8],
        [],
    )


@pytest.mark.parametrize("stored", ["floats", "halves", "table"])
def test_weights_say_how_they_are_stored(stored: str) -> None:
    data = np.array([0.5, -1, 2], np.float32)
    made = Net()
    if stored == "table":
        table = np.zeros(256, np.float32)
        table[[3, 200, 255]] = data
        made.weights = b"\1\0\0\0" + table.tobytes() + bytes([3, 200, 255, 0])
    else:
        made.tagged(data, tag=HALVES if stored == "halves" else 0)
    weights = Weights(made.weights, "net.bin")
    np.testing.assert_array_equal(weights.tagged(3), data)
    assert weights.at == len(made.weights), "to four bytes"


def test_open_inputs_are_bound(tmp_path: Path) -> None:
    made = one("ReLU", "", (4, 5, 6))
    made.lines[0] = "Input in0 0 1 in0"
    path = made.write(tmp_path)
    with pytest.raises(EdgeKitError, match="--shape"):
        read.read(path)
    graph = read.read(path, shapes={"in0": (3, 8, 8)})
    assert graph.type(graph.outputs[0]).shape == (3, 8, 8)


def test_blobs_that_nothing_reads_are_outputs(tmp_path: Path) -> None:
    made = one("Split", "", (4,), outputs=2).layer("ReLU", "out0", "y")
    graph = read.read(made.write(tmp_path))
    assert graph.outputs == ("out1", "y")
    x = random(4)
    found = simulate.run(graph, {"in0": x})
    np.testing.assert_array_equal(found["y"], np.maximum(x, 0))

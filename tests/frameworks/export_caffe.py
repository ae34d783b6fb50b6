"""Exports the shared net with the installed Caffe: export_caffe.py FOLDER."""

import shutil
import sys
from pathlib import Path

import caffe

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import SAMPLES, weights  # the path comes first


def export(folder: Path) -> None:
    """The text of the sample, with weights that Caffe writes."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / "caffe" / "net.prototxt", folder)
    net = caffe.Net(str(folder / "net.prototxt"), caffe.TEST)
    given = weights()
    blobs = {
        "conv": [given["conv/W"], given["conv/b"]],
        "bn": [given["bn/avg_mean"], given["bn/avg_var"], 1],
        "scale": [given["bn/gamma"], given["bn/beta"]],
        "fc": [given["fc/W"], given["fc/b"]],
    }
    for layer, arrays in blobs.items():
        for blob, array in zip(net.params[layer], arrays, strict=True):
            blob.data[...] = array
    net.save(str(folder / "net.caffemodel"))


if __name__ == "__main__":
    export(Path(sys.argv[1]))

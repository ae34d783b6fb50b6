"""Exports the shared net with the installed MXNet: export_mxnet.py FOLDER. It asks for numpy<1.24."""

import sys
from pathlib import Path

import mxnet as mx
from mxnet.gluon import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, recorded, weights  # the path comes first


def export(folder: Path) -> None:
    """From gluon, as epoch 0."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {name: mx.nd.array(array) for name, array in weights().items()}
    conv = nn.Conv2D(8, 3, padding=1, in_channels=3)
    norm = nn.BatchNorm(epsilon=EPSILON, in_channels=8)
    full = nn.Dense(10, in_units=512)
    net = nn.HybridSequential()
    net.add(conv, norm, nn.Activation("relu"), nn.MaxPool2D(2, 2), nn.Flatten(), full)
    net.initialize()
    for parameter, name in (
        (conv.weight, "conv/W"),
        (conv.bias, "conv/b"),
        (norm.gamma, "bn/gamma"),
        (norm.beta, "bn/beta"),
        (norm.running_mean, "bn/avg_mean"),
        (norm.running_var, "bn/avg_var"),
        (full.weight, "fc/W"),
        (full.bias, "fc/b"),
    ):
        parameter.set_data(given[name])
    net.hybridize()
    net(mx.nd.array(recorded()[0]))
    net.export(str(folder / "net"), epoch=0)


if __name__ == "__main__":
    export(Path(sys.argv[1]))

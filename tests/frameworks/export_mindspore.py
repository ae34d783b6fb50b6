"""Exports the shared net with the installed MindSpore: export_mindspore.py FOLDER."""

import sys
from pathlib import Path

import mindspore as ms
from mindspore import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, recorded, weights  # the path comes first

# Of MindSpore's parameters, among the weights.
NAMES = {
    "conv.weight": "conv/W",
    "conv.bias": "conv/b",
    "bn.gamma": "bn/gamma",
    "bn.beta": "bn/beta",
    "bn.moving_mean": "bn/avg_mean",
    "bn.moving_variance": "bn/avg_var",
    "fc.weight": "fc/W",
    "fc.bias": "fc/b",
}


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, pad_mode="pad", padding=1, has_bias=True)
        self.bn, self.relu = nn.BatchNorm2d(8, eps=EPSILON), nn.ReLU()
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc = nn.Dense(512, 10)

    def construct(self, x):  # type: ignore[no-untyped-def]  # MindSpore reads the source
        return self.fc(self.flatten(self.pool(self.relu(self.bn(self.conv(x))))))


def export(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    net = Net()
    net.set_train(False)
    given = weights()
    for parameter in net.get_parameters():
        parameter.set_data(Tensor(given[NAMES[parameter.name]]))
    ms.export(net, Tensor(recorded()[0]), file_name=str(folder / "net"), file_format="MINDIR")


if __name__ == "__main__":
    export(Path(sys.argv[1]))

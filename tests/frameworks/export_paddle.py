"""Exports the shared net with the installed Paddle: export_paddle.py FOLDER."""

import sys
import zlib  # noqa: F401 - before Paddle 2, whose own zlib would be taken and fails
from pathlib import Path

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as f

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, weights  # the path comes first

# Of Paddle's parameters and buffers, among the weights; full layers have (inputs, outputs).
NAMES = {
    "conv.weight": "conv/W",
    "conv.bias": "conv/b",
    "bn.weight": "bn/gamma",
    "bn.bias": "bn/beta",
    "bn._mean": "bn/avg_mean",
    "bn._variance": "bn/avg_var",
    "fc.weight": "fc/W",
    "fc.bias": "fc/b",
}


class Net(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2D(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2D(8, epsilon=EPSILON)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(paddle.flatten(f.max_pool2d(f.relu(self.bn(self.conv(x))), 2), 1))


def export(folder: Path) -> None:
    """As it is, and with a batch of any size. Paddle 3 writes .json, Paddle 2 .pdmodel."""
    folder.mkdir(parents=True, exist_ok=True)
    net = Net()
    net.eval()
    given = weights()
    for name, key in NAMES.items():
        array = given[key].T.copy() if key == "fc/W" else given[key]
        net.state_dict()[name].set_value(array)
    for name, batch in (("net", 1), ("net_dyn", None)):
        spec = paddle.static.InputSpec([batch, 3, 16, 16], "float32", "x")
        paddle.jit.save(net, str(folder / name), input_spec=[spec])


if __name__ == "__main__":
    export(Path(sys.argv[1]))

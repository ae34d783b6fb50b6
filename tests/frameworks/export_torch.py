"""Exports the shared net with the installed PyTorch: export_torch.py FOLDER."""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, recorded, weights  # the path comes first

# Of PyTorch's parameters, among the weights.
NAMES = {
    "conv.weight": "conv/W",
    "conv.bias": "conv/b",
    "bn.weight": "bn/gamma",
    "bn.bias": "bn/beta",
    "bn.running_mean": "bn/avg_mean",
    "bn.running_var": "bn/avg_var",
    "fc.weight": "fc/W",
    "fc.bias": "fc/b",
}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8, EPSILON)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = nn.functional.max_pool2d(torch.relu(self.bn(self.conv(x))), 2)
        return self.fc(torch.flatten(y, 1))


def export(folder: Path) -> None:
    """As it is, decomposed, and with a batch of any size."""
    folder.mkdir(parents=True, exist_ok=True)
    net = Net().eval()
    given = weights()
    state = {name: torch.from_numpy(given[key]) for name, key in NAMES.items()}
    net.load_state_dict({**net.state_dict(), **state})
    x = torch.from_numpy(recorded()[0])
    program = torch.export.export(net, (x,))
    torch.export.save(program, folder / "net.pt2")
    torch.export.save(program.run_decompositions(), folder / "net_core.pt2")
    batch = torch.export.Dim("batch", max=64)
    dynamic = torch.export.export(net, (x.repeat(2, 1, 1, 1),), dynamic_shapes={"x": {0: batch}})
    torch.export.save(dynamic, folder / "net_dynbatch.pt2")


if __name__ == "__main__":
    export(Path(sys.argv[1]))

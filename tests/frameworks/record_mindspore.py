"""Exports nets with the installed MindSpore, and what it computes: record_mindspore.py FOLDER [NAME ...].

Without names these are the small nets of nets_mindspore.py; other names are those of models of mindcv.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_mindspore import NETS  # the path comes first


def record(folder: Path, name: str) -> None:
    """The model, and its input and outputs in io.npz."""
    ms.set_seed(1)
    random = np.random.default_rng(1)
    net, shape = made(name)
    net.set_train(False)
    spread(net, random)
    x = random.standard_normal(shape).astype(np.float32)
    results = net(Tensor(x))
    (folder / name).mkdir(parents=True, exist_ok=True)
    ms.export(net, Tensor(x), file_name=str(folder / name / "net"), file_format="MINDIR")
    ys = results if isinstance(results, list | tuple) else [results]
    np.savez(folder / name / "io.npz", x0=x, **{f"y{i}": y.asnumpy() for i, y in enumerate(ys)})


def made(name: str) -> tuple[nn.Cell, Sequence[int]]:
    """A net and the shape of its input."""
    if name in NETS:
        make, shape = NETS[name]
        return make(), shape
    import mindcv

    return mindcv.create_model(name, num_classes=10), (1, 3, 224, 224) if "vit" in name else (1, 3, 64, 64)


def spread(net: nn.Cell, random: np.random.Generator) -> None:
    """Weights other than 0, and batch norms as if they had been trained."""
    for parameter in net.get_parameters():
        if parameter.name.endswith("moving_variance"):
            value = random.uniform(0.5, 2.0, parameter.shape)
        elif not parameter.asnumpy().any():
            value = random.uniform(-0.2, 0.2, parameter.shape)
        else:
            continue
        parameter.set_data(Tensor(value.astype(np.float32)))


if __name__ == "__main__":
    for name in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), name)

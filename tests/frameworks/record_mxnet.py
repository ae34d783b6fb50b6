"""Exports nets with the installed MXNet, and what it computes: record_mxnet.py FOLDER [NAME ...].

Without names these are the small nets of nets_mxnet.py; gluon's zoo has the others. MXNet 1.9.1 asks for
numpy<1.24.
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np
from mxnet.gluon import HybridBlock
from mxnet.gluon.model_zoo import vision

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_mxnet import NETS  # the path comes first

_SIZES = {"inceptionv3": 299, "densenet121": 224, "squeezenet1.0": 224, "squeezenet1.1": 224, "alexnet": 224}


def record(folder: Path, name: str) -> None:
    """The graph and the arrays, and the input and the output in io.npz."""
    mx.random.seed(1)
    size = _SIZES.get(name, 64)
    make, shape = NETS.get(name, (lambda: vision.get_model(name), (1, 3, size, size)))
    x = mx.nd.array(np.random.default_rng(1).standard_normal(shape))
    net = make()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    net(x)
    settle(net)
    y = net(x)
    (folder / name).mkdir(parents=True, exist_ok=True)
    net.export(str(folder / name / "net"))
    np.savez(folder / name / "io.npz", x0=x.asnumpy(), y0=y.asnumpy())


def settle(net: HybridBlock) -> None:
    """Weights as training leaves them: no scale is 1, no offset and no mean is 0."""
    for name, parameter in net.collect_params().items():
        if name.endswith(("gamma", "running_var")):
            parameter.set_data(mx.nd.random.uniform(0.5, 1.5, shape=parameter.shape))
        elif name.endswith(("beta", "bias", "running_mean")):
            parameter.set_data(mx.nd.random.normal(0, 0.1, shape=parameter.shape))


if __name__ == "__main__":
    for chosen in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), chosen)

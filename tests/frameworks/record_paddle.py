"""Exports nets with the installed Paddle, and what it computes: record_paddle.py FOLDER [NAME ...].

Without names these are the small nets of nets_paddle.py; `paddle.vision.models` has the others.
"""

import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.vision import models

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_paddle import NETS  # the path comes first

_SIZES = {"LeNet": [1, 1, 28, 28], "alexnet": [1, 3, 224, 224], "googlenet": [1, 3, 224, 224]}


def record(folder: Path, name: str) -> None:
    """The model, and its inputs and outputs in io.npz."""
    paddle.seed(1)
    random = np.random.default_rng(1)
    net, shapes = made(name)
    net.eval()
    spread_statistics(net, random)
    xs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    spec = [paddle.static.InputSpec(list(x.shape), "float32", f"x{i}") for i, x in enumerate(xs)]
    paddle.jit.save(net, str(folder / name / "net"), input_spec=spec)
    forget_places(folder / name / "net.pdmodel")
    results = net(*map(paddle.to_tensor, xs))
    ys = results if isinstance(results, list | tuple) else [results]
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": y.numpy() for i, y in enumerate(flat(ys))}
    np.savez(folder / name / "io.npz", **arrays)


def made(name: str) -> tuple[nn.Layer, Sequence[Sequence[int]]]:
    """A net and the shapes of its inputs."""
    if name in NETS:
        make, shapes = NETS[name]
        return make(), shapes
    model = getattr(models, name)
    takes_classes = "num_classes" in inspect.signature(model).parameters or name[0].islower()
    return (model(num_classes=10) if takes_classes else model()), [_SIZES.get(name, [1, 3, 64, 64])]


def spread_statistics(net: nn.Layer, random: np.random.Generator) -> None:
    """Batch norms as if they had been trained."""
    for name, buffer in net.named_buffers():
        if name.endswith(("_mean", "_variance")):
            low, high = (0.5, 2.0) if name.endswith("_variance") else (-0.2, 0.2)
            buffer.set_value(random.uniform(low, high, buffer.shape).astype(np.float32))


def flat(results: Iterable[Any]) -> Iterator[Any]:
    """States are tuples among the results."""
    for result in results:
        yield from flat(result) if isinstance(result, list | tuple) else [result]


def forget_places(path: Path) -> None:
    """Older programs say of each operator where in which files it was made."""
    if not path.exists():
        return
    paddle.enable_static()
    program = paddle.static.deserialize_program(path.read_bytes())
    paddle.disable_static()
    for operator in program.global_block().ops:
        if operator.has_attr("op_callstack"):
            operator._remove_attr("op_callstack")
    path.write_bytes(program.desc.serialize_to_string())


if __name__ == "__main__":
    for name in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), name)

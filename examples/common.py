"""What the example trainings share: seeding, the training loop, the ONNX export and the sample files."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.numpy_helper
import torch
from torch import nn

FloatArray = npt.NDArray[np.float32]


def seed_everything(seed: int) -> None:
    """Same numbers on every run. One thread, because the order of float sums depends on their count."""
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)


def fit(
    net: nn.Module, loss: nn.Module, x: torch.Tensor, target: torch.Tensor, *, epochs: int, rate: float
) -> None:
    """One-cycle training with Adam on the arrays given; leaves the network in evaluation mode."""
    batch = 64
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=1e-2)
    steps = epochs * -(-len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps)
    net.train()
    for _ in range(epochs):
        for chosen in torch.split(torch.randperm(len(x)), batch):
            optimizer.zero_grad()
            loss(net(x[chosen]), target[chosen]).backward()
            optimizer.step()
            schedule.step()
    net.eval()


def predict(net: nn.Module, x: FloatArray) -> FloatArray:
    """The network's answers to a whole data set."""
    with torch.no_grad():
        answers: FloatArray = net(torch.from_numpy(x)).numpy()
    return answers


def export_onnx(net: nn.Module, shape: tuple[int, ...], path: Path, *, any_batch: bool = False) -> None:
    """Write the network as torch traced it: batch normalization and shape arithmetic are left for EdgeKit.

    With `any_batch` the first dimension stays open, as in most published models. The exporter notes the
    Python stack of every node; that is dropped, as it names folders of this machine.
    """
    program = torch.onnx.export(
        net.eval(),
        (torch.zeros(shape),),
        dynamo=True,
        optimize=False,
        opset_version=18,
        input_names=["x"],
        output_names=["y"],
        dynamic_shapes=({0: torch.export.Dim("batch")},) if any_batch else None,
        verbose=False,
    )
    assert program is not None, "the dynamo exporter returns a program"
    model = program.model_proto
    for noted in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.initializer):
        del noted.metadata_props[:]
        noted.ClearField("doc_string")
    onnx.save(model, path)


def restore(net: nn.Module, path: Path) -> nn.Module:
    """Give a network the weights that `export_onnx` wrote of a classifier around it."""
    stored = {t.name.partition(".")[2]: t for t in onnx.load(path).graph.initializer}
    state = {
        name: torch.from_numpy(onnx.numpy_helper.to_array(stored[name]).copy()) if name in stored else tensor
        for name, tensor in net.state_dict().items()
    }
    net.load_state_dict(state)
    return net.eval()


def write_samples(path: Path, about: str, samples: npt.NDArray[np.integer], more: str = "") -> None:
    """Write a C header that holds one sample per row, in the numpy type's C namesake."""
    rows = "".join(f"    {{{', '.join(map(str, sample.ravel().tolist()))}}},\n" for sample in samples)
    path.write_text(
        f"/* {about}, written by train.py. */\n"
        "/* clang-format off */\n"
        "#include <stdint.h>\n\n"
        f"{more}"
        f"static const {samples.dtype}_t samples[{len(samples)}][{samples[0].size}] = {{\n{rows}}};\n"
    )

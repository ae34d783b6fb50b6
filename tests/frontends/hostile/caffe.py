"""Pairs of Caffe's files made to do harm: nested text, missing or lying weights, nets that make no sense."""

from collections.abc import Callable
from pathlib import Path

from support.caffe_files import blob, part, text
from support.hostile_files import Case, file, sample

WEIGHTS = sample("caffe/net.caffemodel")
FC = 'name: "fc" type: "InnerProduct" bottom: "x" top: "y" inner_product_param { num_output: 2 }'
NET = text({"x": (1, 3)}, FC)


def net(content: str, weights: bytes = WEIGHTS) -> Callable[[Path], Path]:
    return file("net.prototxt", content, net__caffemodel=weights)


def layer(body: str) -> Callable[[Path], Path]:
    """One layer on an input of 1 x 4 x 5 x 5."""
    return net(text({"x": (1, 4, 5, 5)}, f'name: "l" bottom: "x" top: "y" {body}'))


def stored(made: bytes) -> Callable[[Path], Path]:
    """A fully connected layer whose weight is this blob."""
    return net(NET, part(100, part(1, b"fc") + part(7, made)))


def linked(folder: Path) -> Path:
    (folder / "other").write_bytes(WEIGHTS)
    (folder / "net.caffemodel").symlink_to(folder / "other")
    (folder / "net.prototxt").write_text(NET)
    return folder / "net.prototxt"


CASES = {
    "no weights": Case("E0104", "belongs beside", file("net.prototxt", NET)),
    "no text": Case("E0104", "net.prototxt belongs beside", file("net.caffemodel", WEIGHTS)),
    "weights are a link": Case("E0404", "copy the file", linked),
    "nested without end": Case("E0402", "nested", net("layer { a " + "{ a " * 100000)),
    "ends in a layer": Case("E0401", "line 2", net(NET[:-3])),
    "string without end": Case("E0401", "makes no sense", net('layer { name: "a\n }')),
    "input beyond reason": Case("E0402", "absurd", net(text({"x": (1 << 30, 1 << 30)}, FC))),
    "blob beyond reason": Case("E0402", "absurd", stored(blob(bytes(8), (1 << 30, 1 << 30)))),
    "blob that is short": Case("E0401", "there are 8", stored(blob(bytes(8), (2, 3)))),
    "blob of another size": Case("E0401", "do not make 2 of 3", stored(blob(bytes(16), (2, 2)))),
    "layer without weights": Case("E0401", "operand w is missing", net(NET, part(1, b"net"))),
    "weights are no message": Case("E0401", "damaged", net(NET, b"\xff" * 64)),
    "reads what is not there": Case(
        "E0401", "computed by nothing", net(NET.replace('bottom: "x"', 'bottom: "z"'))
    ),
    "window of nothing": Case("E0401", "window", layer('type: "Pooling" pooling_param { kernel_size: 0 }')),
    "stride of nothing": Case(
        "E0401", "stride 0", layer('type: "Pooling" pooling_param { kernel_size: 2 stride: 0 }')
    ),
    "losses": Case("E0201", "deploy.prototxt", layer('type: "SoftmaxWithLoss"')),
    "setting of no layer": Case("E0203", "gamma", layer('type: "ReLU" relu_param { gamma: 1 }')),
    "old form": Case(
        "E0205",
        "upgrade_net_proto_text",
        net('layers { layer { name: "a" type: "relu" } bottom: "x" top: "y" }'),
    ),
    "nothing computed": Case("E0401", "computes nothing", net(text({"x": (1, 2)}))),
    "two inputs of one name": Case(
        "E0401", "two inputs are called x", net(text({"x": (1, 2)}) + "\n" + text({"x": (1, 2)}))
    ),
    "order with a dimension twice": Case(
        "E0401", "Permute", layer('type: "Permute" permute_param { order: [1, 1] }')
    ),
}

"""Models of Keras made to do harm: layers that are code, weights that lie, graphs and HDF5 without end."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.hostile_files import Case, archive, changed_json, file, members, sample

NET = members("tf/net.keras")
WHOLE = sample("tf/net.h5")
WEIGHTS = NET["model.weights.h5"]
SYMBOLS = WEIGHTS.index(b"SNOD")
FULL = WEIGHTS.index(struct.pack("<QQ", 512, 10))  # the shape of the weights of the full layer


def net(**changes: Any) -> Callable[[Path], Path]:
    """The sample with other members (__ for the point), or without them."""
    content = NET | {key.replace("__", "."): value for key, value in changes.items()}
    return file("net.keras", archive({k: v for k, v in content.items() if v is not None}))


def config(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    return net(config__json=changed_json(NET["config.json"], change))


def layer(number: int, **fields: Any) -> Callable[[Path], Path]:
    """The sample with fields of a layer set: 1 is the convolution, 6 the full layer."""
    return config(lambda top: top["config"]["layers"][number].update(fields))


def setting(number: int, **fields: Any) -> Callable[[Path], Path]:
    return config(lambda top: top["config"]["layers"][number]["config"].update(fields))


def weights(at: int, content: bytes) -> Callable[[Path], Path]:
    """The sample with bytes of its HDF5 replaced."""
    return net(model__weights__h5=WEIGHTS[:at] + content + WEIGHTS[at + len(content) :])


def read_from(history: list[Any]) -> Callable[[Path], Path]:
    """The convolution reads another result."""

    def change(top: Any) -> None:
        node = top["config"]["layers"][1]["inbound_nodes"][0]
        node["args"][0]["config"]["keras_history"] = history

    return config(change)


def doll(depth: int) -> Callable[[Path], Path]:
    """Models within models."""
    inner: dict[str, Any] = {"class_name": "Dense", "config": {"name": "d", "trainable": True, "units": 1}}
    for i in range(depth):
        inner = {"class_name": "Sequential", "config": {"name": f"s{i}", "layers": [inner]}}
    inner["build_config"] = {"input_shape": [1, 1]}
    return net(config__json=json.dumps(inner))


LAMBDA = {"class_name": "Lambda", "config": {"name": "l", "function": {"class_name": "__lambda__"}}}
EVIL = {"class_name": "Evil", "module": "os", "registered_name": "evil>Evil"}


def masked_softmax(top: Any) -> None:
    """Of what is masked where it is 0."""
    for number, kind in ((1, "Masking"), (2, "Softmax")):
        top["config"]["layers"][number].update(class_name=kind, config={"name": ("conv", "bn")[number - 1]})


def masked_by_another(top: Any) -> None:
    """A mean over steps, given a mask of four dimensions."""
    pool = top["config"]["layers"][2]
    pool.update(class_name="GlobalAveragePooling1D", config={"name": "bn"})
    pool["inbound_nodes"][0]["kwargs"] = {"mask": pool["inbound_nodes"][0]["args"][0]}


CASES = {
    "Lambda": Case("E0404", "holds code", layer(1, **LAMBDA)),
    "Lambda within a layer": Case(
        "E0404",
        "holds code",
        layer(1, class_name="TimeDistributed", config={"name": "t", "layer": LAMBDA}),
    ),
    "custom class": Case("E0201", "is a custom class", layer(1, **EVIL)),
    "class with a known name": Case("E0201", "is a custom class", layer(1, module="os.path")),
    "custom activation": Case(
        "E0203",
        "is not supported",
        setting(1, activation={"class_name": "function", "module": "os", "config": "system"}),
    ),
    "model that is code": Case(
        "E0205", "of its own class", config(lambda top: top.update(class_name="Mine"))
    ),
    "version of the future": Case("E0205", "Keras 4.0", net(metadata__json='{"keras_version": "4.0"}')),
    "no configuration": Case("E0401", "config.json", net(config__json=None)),
    "weights are no HDF5": Case("E0401", "no HDF5", net(model__weights__h5=b"PK\3\4" + bytes(99))),
    "weights that end": Case("E0401", "complete", net(model__weights__h5=WEIGHTS[:3000])),
    "weights of a new form": Case("E0205", "save it again", weights(8, b"\3")),
    "array beyond reason": Case("E0402", "absurd", weights(FULL, struct.pack("<QQ", 1 << 40, 1 << 40))),
    "array that is larger than said": Case(
        "E0401", "do not make", weights(FULL, struct.pack("<QQ", 256, 10))
    ),
    "group of a million": Case("E0401|E0402|E0404", "", weights(SYMBOLS + 6, b"\xff\xff")),
    "tree that is its own child": Case("E0401", "no members", weights(0x88 + 32, struct.pack("<Q", 0x88))),
    "link to elsewhere": Case("E0404", "link", weights(SYMBOLS + 8 + 16, struct.pack("<I", 2))),
    "weights in pieces": Case("E0205", "several files", net(model__weights__json="{}")),
    "reads what is not there": Case("E0401", "computed by nothing", read_from(["nowhere", 0, 0])),
    "reads a call that is not made": Case("E0401", "computed by nothing", read_from(["x", 7, 0])),
    "reads itself": Case("E0401", "own result", read_from(["conv", 0, 0])),
    "reads a later layer": Case("E0401", "own result", read_from(["fc", 0, 0])),
    "reads nonsense": Case("E0401", "two numbers", read_from(["x", "0", None])),
    "two layers of a name": Case("E0401", "two layers", layer(2, name="conv", config={"name": "conv"})),
    "models nested without end": Case("E0402", "nested", doll(60)),
    "input beyond reason": Case("E0402", "absurd", setting(0, batch_shape=[1 << 30, 1 << 30, 3])),
    "window of nothing": Case("E0401", "", setting(4, pool_size=[0, 0])),
    "stride of nothing": Case("E0401", "", setting(1, strides=[0, 0])),
    "outputs without a place": Case(
        "E0401", "begins and ends", config(lambda top: top["config"].update(output_layers=7))
    ),
    "quantized layer": Case(
        "E0205", "edgekit quantize", setting(6, dtype={"class_name": "QuantizedDTypePolicy", "config": {}})
    ),
    "mask of a softmax": Case("E0203", "mask is not supported", config(masked_softmax)),
    "mask of another shape": Case("E0401", "", config(masked_by_another)),
    "HDF5 without a model": Case("E0205", "model.save", file("weights.h5", WEIGHTS)),
    "HDF5 whose model is damaged": Case(
        "E0401",
        "not valid JSON",
        file("net.h5", WHOLE.replace(b'{"class_name": "Functional"', b'}"class_name": "Functional"')),
    ),
    "HDF5 that ends": Case("E0401", "complete", file("net.h5", WHOLE[:5000])),
}

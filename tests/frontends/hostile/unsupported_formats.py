"""Formats that are known but not read, above all those that run code as they are loaded."""

import io
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path

from support.exports import SAMPLES
from support.hostile_files import Case, archive, file

HARM = "raise SystemExit('the pickle was loaded')"


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (HARM,)


def pickled(protocol: int) -> bytes:
    made = io.BytesIO()
    pickle.dump(_Bomb(), made, protocol)
    return made.getvalue()


def naming(*names: str) -> bytes:
    """A pickle of classes, by their names in full; nothing of it can be loaded without them."""
    every = (name.rpartition(".") for name in names)
    return b"\x80\x02(" + b"".join(f"c{module}\n{name}\n".encode() for module, _, name in every) + b"t."


LINEAR, TENSOR = "torch.nn.modules.linear.Linear", "torch._utils._rebuild_tensor_v2"
STATE = ("collections.OrderedDict", "torch.FloatStorage", TENSOR)
OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}."


def folder_of_nothing(folder: Path) -> Path:
    return folder


def weights_alone(suffix: str) -> Callable[[Path], Path]:
    """A file of weights, beside the graph that they belong to."""

    def make(folder: Path) -> Path:
        (folder / f"net{suffix}").write_text("")
        return file("net.bin", bytes(8))(folder)

    return make


CASES = {
    **{
        f"pickle of protocol {n} called {name}": Case("E0404", "never reads one", file(name, pickled(n)))
        for n, name in ((2, "net.pt"), (3, "net.pth"), (4, "net.pkl"), (5, "net.onnx"))
    },
    "weights of Paddle": Case("E0404", "paddle.jit.save", file("net.pdparams", pickled(4))),
    "checkpoint of MindSpore": Case(
        "E0206", "mindspore.export", file("net.ckpt", (SAMPLES / "mindspore/net.ckpt").read_bytes())
    ),
    "layers of Keras": Case(
        "E0205",
        "its weights are in another file",
        file("net.json", b'{"class_name": "Functional", "config": {"name": "m", "layers": []}}'),
    ),
    "layers of Keras 3": Case(
        "E0205",
        "net.weights.h5",
        file("net.json", b'{"module": "keras", "class_name": "Sequential", "config": {}}'),
    ),
    "pickle called .pt2": Case("E0404", "torch.export.save", file("net.pt2", pickled(2))),
    "state of torch": Case(
        "E0404", "never reads one", file("net.pth", archive({"net/data.pkl": pickled(2), "net/version": "3"}))
    ),
    "TorchScript": Case(
        "E0404",
        "TorchScript",
        file(
            "net.pt",
            archive({"net/constants.pkl": pickled(2), "net/code/__torch__.py": "", "net/data.pkl": ""}),
        ),
    ),
    "network of torch": Case(
        "E0404",
        "net.pt --trust",
        file("net.pt", archive({"net/data.pkl": naming(*STATE, LINEAR), "net/version": "3"})),
    ),
    "network of an old torch": Case(
        "E0404", "of a PyTorch network", file("net.pt", OLD_TORCH + naming(*STATE, LINEAR))
    ),
    "state dict": Case(
        "E0404",
        "load_state_dict",
        file("net.pth", archive({"net/data.pkl": naming(*STATE), "net/version": "3"})),
    ),
    "state dict of an old torch": Case(
        "E0404", "load_state_dict", file("net.pth", OLD_TORCH + naming(*STATE))
    ),
    "Ultralytics": Case(
        "E0404",
        "of an Ultralytics network",
        file("net.pt", archive({"net/data.pkl": naming(LINEAR, "ultralytics.nn.tasks.DetectionModel")})),
    ),
    "scikit-learn": Case(
        "E0404", "edgekit export", file("net.joblib", naming("sklearn.linear_model._base.LinearRegression"))
    ),
    "scikit-learn, packed": Case(
        "E0404", "edgekit export", file("net.joblib", zlib.compress(naming("sklearn.svm._classes.SVC")))
    ),
    "pickle cut off": Case("E0404", "never reads one", file("net.pkl", naming("sklearn.svm.SVC")[:5])),
    "packed zeros": Case("E0206", "no known format", file("net.joblib", zlib.compress(bytes(1 << 24)))),
    "packed and cut off": Case("E0206", "no known format", file("net.joblib", b"\x78\x9c\x01")),
    "damaged archive with a pickle": Case(
        "E0404",
        "never reads one",
        file(
            "net.pt",
            archive({"net/data.pkl": naming(LINEAR)}).replace(b"Linear\nt.", b"Linear\nt!"),
        ),
    ),
    "ExecuTorch": Case("E0206", "torch.export.save", file("net.pte", b"\0\0\0\0ET12")),
    "folder of nothing": Case("E0206", "is a folder", folder_of_nothing),
    "nothing": Case("E0206", "no known format", file("net.unknown", b"")),
    "StableHLO bytecode": Case(
        "E0206", "save the text", file("net.bc", (SAMPLES / "jax/net.stablehlo.bc").read_bytes())
    ),
    "weights of OpenVINO": Case("E0206", "convert net.xml", weights_alone(".xml")),
    "weights of ncnn": Case("E0206", "convert net.param", weights_alone(".param")),
    "safetensors": Case(
        "E0206", "without the graph", file("net.safetensors", b"\x40" + bytes(7) + b'{"a":{}}')
    ),
}

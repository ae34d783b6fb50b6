"""Formats that are known but not read, above all those that run code as they are loaded."""

import io
import pickle
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

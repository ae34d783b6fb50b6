"""Formats that EdgeKit knows by sight but does not read, and the way from each to one that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgekit.converters.archive import SIGNATURE, member_names
from edgekit.errors import EdgeKitError

# Pickles of protocol 2 and later open with these bytes; files of torch before 1.6 are such.
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_TO_PT2 = "load it where it was made: torch.export.save(torch.export.export(model.eval(), (x,)), 'net.pt2')"


@dataclass(frozen=True)
class Stranger:
    """A format, why it is not read, and what to do instead."""

    what: str
    hint: str
    code: str = "E0206"

    def error(self, path: Path) -> EdgeKitError:
        return EdgeKitError(self.code, f"{path} is {self.what}", hint=self.hint)


_PICKLE = Stranger(
    "a pickle, which can run any code as it is loaded: EdgeKit never reads one", _TO_PT2, "E0404"
)
_SAVED_MODEL = Stranger(
    "a TensorFlow SavedModel",
    "python -c \"import tensorflow as tf; open('net.tflite', 'wb').write("
    "tf.lite.TFLiteConverter.from_saved_model('{path}').convert())\", then convert net.tflite",
)


def recognise(path: Path, head: bytes) -> EdgeKitError | None:
    """The error for a file of a known format that no reader is for."""
    if path.is_dir():
        if (path / "saved_model.pb").is_file() or (path / "saved_model.pbtxt").is_file():
            return Stranger(_SAVED_MODEL.what, _SAVED_MODEL.hint.format(path=path.name)).error(path)
        return None
    found = _archive(path) if head.startswith(SIGNATURE) else _file(path, head)
    return found.error(path) if found else None


def _archive(path: Path) -> Stranger | None:
    names = {name.partition("/")[2] or name for name in member_names(path)}
    if any(name.startswith("code/") for name in names) and "constants.pkl" in names:
        return Stranger("a TorchScript archive, which holds pickles: EdgeKit reads none", _TO_PT2, "E0404")
    if "data.pkl" in names:
        return _PICKLE
    return None


def _file(path: Path, head: bytes) -> Stranger | None:
    if head.startswith(_PICKLES):
        return _PICKLE
    if path.name == "saved_model.pb":
        return Stranger(_SAVED_MODEL.what, _SAVED_MODEL.hint.format(path=path.resolve().parent.name))
    if head.startswith(b"ML\xefR"):
        return Stranger(
            "MLIR bytecode",
            "save the text: open('net.mlir', 'w').write(jax.export.export(jax.jit(f))(x).mlir_module())",
        )
    if head.startswith(b"GGUF"):
        return Stranger("GGUF, which holds the weights of a network without its graph", "export the model")
    if head.startswith(b"\x89HDF\r\n\x1a\n"):
        return Stranger(
            "HDF5; of Keras' files EdgeKit reads the newer kind",
            "keras.models.load_model('net.h5').save('net.keras')",
        )
    if len(head) > 9 and int.from_bytes(head[:8], "little") < 1 << 27 and head[8:10] == b'{"':
        return Stranger(
            "safetensors, which hold weights without the graph", "load them into the model and export it"
        )
    return None

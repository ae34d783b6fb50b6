"""Formats that EdgeKit knows by sight but does not read, and the way from each to one that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from shlex import quote

from edgekit.converters.file_formats.archive import SIGNATURE, member_names, opened
from edgekit.converters.file_formats.pickle_names import MOST, pickle_names, unpacked_start
from edgekit.core import files
from edgekit.core.errors import EdgeKitError

# Pickles of protocol 2 and later open with these bytes; files of torch before 1.6 are such.
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_ZLIB = tuple(bytes((0x78, level)) for level in (0x01, 0x5E, 0x9C, 0xDA))  # as joblib packs with compress=
_TO_PT2 = "load it where it was made: torch.export.save(torch.export.export(model.eval(), (x,)), 'net.pt2')"


class Loader(StrEnum):
    """What `edgekit export` loads a pickle with, in a Python that has it."""

    TORCHSCRIPT = "torchscript"
    MODULE = "module"
    ULTRALYTICS = "ultralytics"
    SKLEARN = "sklearn"


@dataclass(frozen=True)
class UnsupportedFormat:
    """A format, why it is not read, and what to do instead."""

    what: str
    hint: str
    code: str = "E0206"
    loader: Loader | None = None  # of a pickle that `edgekit export` makes a model file of

    def error(self, path: Path) -> EdgeKitError:
        hint = self.hint
        if self.loader:
            hint = f"if you trust who made it: edgekit export {quote(str(path))} --trust; {hint}"
        return EdgeKitError(self.code, f"{path} is {self.what}", hint=hint)


def _pickle(of: str, hint: str, loader: Loader | None = None) -> UnsupportedFormat:
    what = f"a pickle{of}, which can run any code as it is loaded: EdgeKit never reads one"
    return UnsupportedFormat(what, hint, "E0404", loader)


_PICKLE = _pickle("", _TO_PT2)
_TORCHSCRIPT = UnsupportedFormat(
    "a TorchScript archive, which holds pickles: EdgeKit reads none", _TO_PT2, "E0404", Loader.TORCHSCRIPT
)
_MODULE = _pickle(" of a PyTorch network", _TO_PT2, Loader.MODULE)
_STATE_DICT = _pickle(
    " of weights without their network (a state dict)",
    "in the code of the network: net.load_state_dict(torch.load('net.pt', weights_only=True)); "
    "torch.export.save(torch.export.export(net.eval(), (x,)), 'net.pt2')",
)
_ULTRALYTICS = _pickle(
    " of an Ultralytics network",
    "where it was made: YOLO('net.pt').export(format='onnx')",
    Loader.ULTRALYTICS,
)
_SKLEARN = _pickle(
    " of a scikit-learn model", "where it was made: skl2onnx.to_onnx(model, x)", Loader.SKLEARN
)
_PADDLE_WEIGHTS = _pickle(
    " of the weights of a Paddle model",
    "save the network: paddle.jit.save(net, 'net', input_spec=[InputSpec([1, 3, 224, 224], 'float32', 'x')])",
)
_MINDSPORE_WEIGHTS = UnsupportedFormat(
    "a checkpoint of MindSpore, which holds weights without the graph",
    "load it into the net and export that: mindspore.export(net, x, file_name='net', file_format='MINDIR')",
)
# A message of a name and a tensor, which says its shape and type.
_CHECKPOINT = re.compile(
    rb"\n[\x80-\xff]*[\x00-\x7f]\n.[\w.]+\x12[\x80-\xff]*[\x00-\x7f]\x08.*\x12.(Float|Int|Bool)"
)
# What a pickle of tensors in dictionaries names: no class of a network is among it.
_OF_WEIGHTS = re.compile(
    r"torch\.(_utils|storage|_tensor|serialization|nn\.parameter)\..*"
    r"|torch\.(\w+Storage|Size|Tensor|device|dtype|bool|\w+\d)"
    r"|(collections|builtins|__builtin__|numpy|_codecs|argparse|copyreg|pathlib)\..*"
)
_GRAPHS = (".xml", ".param")  # of formats whose weights are a .bin beside it
_WEIGHTS = "load the weights into the model that they belong to, and export it"
# (where, bytes that stand there): what it is.
_BY_BYTES: Mapping[tuple[int, bytes], UnsupportedFormat] = {
    (0, b"ML\xefR"): UnsupportedFormat(
        "MLIR bytecode",
        "save the text: open('net.mlir', 'w').write(jax.export.export(jax.jit(f))(x).mlir_module())",
    ),
    (8, b'{"'): UnsupportedFormat(
        "safetensors, which hold weights without the graph",
        f"config.json belongs beside those of a language model; else {_WEIGHTS}",
    ),
    (4, b"ET12"): UnsupportedFormat("an ExecuTorch program", _TO_PT2),
}


def recognise(path: Path, head: bytes) -> EdgeKitError | None:
    """The error for a file of a known format that no reader is for."""
    if path.is_dir():
        return None
    if graph := next(
        (g for g in map(path.with_suffix, _GRAPHS) if path.suffix == ".bin" and g.exists()), None
    ):
        message = f"{path} has the weights of {graph.name} alone"
        return EdgeKitError("E0206", message, hint=f"convert {graph.name}, which reads them")
    found = known(path, head)
    return found.error(path) if found else None


def known(path: Path, head: bytes) -> UnsupportedFormat | None:
    """The format of a file, by its content."""
    if head.startswith(SIGNATURE):
        return _archive(path)
    if head.startswith(_PICKLES) and path.suffix in (".pdparams", ".pdopt"):
        return _PADDLE_WEIGHTS
    if head.startswith((*_PICKLES, *_ZLIB)):
        return _pickled(path)
    return _file(head)


def _archive(path: Path) -> UnsupportedFormat | None:
    names = {name.partition("/")[2] or name: name for name in member_names(path)}
    if any(name.startswith("code/") for name in names) and "constants.pkl" in names:
        return _TORCHSCRIPT
    if "data.pkl" not in names:
        return None
    try:
        with opened(path) as archive:
            return _by_names(pickle_names(archive.read(names["data.pkl"])[:MOST]))
    except EdgeKitError:  # damaged
        return _PICKLE


def _pickled(path: Path) -> UnsupportedFormat | None:
    """A pickle in a file of its own, as it is or packed."""
    try:
        with files.opened(path) as file:
            raw = file.read(MOST)
    except (EdgeKitError, OSError):
        return None
    if raw.startswith(_ZLIB):
        raw = unpacked_start(raw)
    return _by_names(pickle_names(raw)) if raw.startswith(_PICKLES) else None


def _by_names(names: frozenset[str]) -> UnsupportedFormat:
    """What a pickle holds, by the classes that it names."""

    def has(*packages: str) -> bool:
        return any(name.startswith(packages) for name in names)

    if has("ultralytics."):
        return _ULTRALYTICS
    if has("sklearn."):
        return _SKLEARN
    if not has("torch."):
        return _PICKLE
    holds_weights_alone = all(map(_OF_WEIGHTS.fullmatch, names))
    return _STATE_DICT if holds_weights_alone else _MODULE


def _file(head: bytes) -> UnsupportedFormat | None:
    if _CHECKPOINT.match(head):
        return _MINDSPORE_WEIGHTS
    found = (
        unsupported for (at, text), unsupported in _BY_BYTES.items() if head[at : at + len(text)] == text
    )
    return next(found, None)

"""Formats that EdgeKit knows by sight but does not read, and the way from each to one that it reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgekit.converters.file_formats.archive import SIGNATURE, member_names
from edgekit.core.errors import EdgeKitError

# Pickles of protocol 2 and later open with these bytes; files of torch before 1.6 are such.
_PICKLES = tuple(bytes((0x80, protocol)) for protocol in range(2, 6))
_TO_PT2 = "load it where it was made: torch.export.save(torch.export.export(model.eval(), (x,)), 'net.pt2')"


@dataclass(frozen=True)
class UnsupportedFormat:
    """A format, why it is not read, and what to do instead."""

    what: str
    hint: str
    code: str = "E0206"

    def error(self, path: Path) -> EdgeKitError:
        return EdgeKitError(self.code, f"{path} is {self.what}", hint=self.hint)


_PICKLE = UnsupportedFormat(
    "a pickle, which can run any code as it is loaded: EdgeKit never reads one", _TO_PT2, "E0404"
)
_PADDLE_WEIGHTS = UnsupportedFormat(
    "a pickle of the weights of a Paddle model: EdgeKit never reads one",
    "save the network: paddle.jit.save(net, 'net', input_spec=[InputSpec([1, 3, 224, 224], 'float32', 'x')])",
    "E0404",
)
_MINDSPORE_WEIGHTS = UnsupportedFormat(
    "a checkpoint of MindSpore, which holds weights without the graph",
    "load it into the net and export that: mindspore.export(net, x, file_name='net', file_format='MINDIR')",
)
# A message of a name and a tensor, which says its shape and type.
_CHECKPOINT = re.compile(
    rb"\n[\x80-\xff]*[\x00-\x7f]\n.[\w.]+\x12[\x80-\xff]*[\x00-\x7f]\x08.*\x12.(Float|Int|Bool)"
)
_GRAPHS = (".xml", ".param")  # of formats whose weights are a .bin beside it
_WEIGHTS = "load the weights into the model that they belong to, and export it"
# (where, bytes that stand there): what it is.
_BY_BYTES: Mapping[tuple[int, bytes], UnsupportedFormat] = {
    **{(0, start): _PICKLE for start in _PICKLES},
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
    found = _archive(path) if head.startswith(SIGNATURE) else _file(head)
    if found is _PICKLE and path.suffix in (".pdparams", ".pdopt"):
        found = _PADDLE_WEIGHTS
    return found.error(path) if found else None


def _archive(path: Path) -> UnsupportedFormat | None:
    names = {name.partition("/")[2] or name for name in member_names(path)}
    if any(name.startswith("code/") for name in names) and "constants.pkl" in names:
        return UnsupportedFormat(
            "a TorchScript archive, which holds pickles: EdgeKit reads none", _TO_PT2, "E0404"
        )
    return _PICKLE if "data.pkl" in names else None


def _file(head: bytes) -> UnsupportedFormat | None:
    if _CHECKPOINT.match(head):
        return _MINDSPORE_WEIGHTS
    found = (
        unsupported for (at, text), unsupported in _BY_BYTES.items() if head[at : at + len(text)] == text
    )
    return next(found, None)

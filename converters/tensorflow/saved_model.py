"""A SavedModel: a graph with signatures, whose variables lie in a checkpoint beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote

from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.tensorflow import graph
from edgekit.converters.tensorflow.attributes import shape, type_code
from edgekit.converters.tensorflow.checkpoint import bundle
from edgekit.converters.tensorflow.graph import Reference
from edgekit.converters.tensorflow.net import Net, Port, Restore
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError

FILE, TEXT = "saved_model.pb", "saved_model.pbtxt"
_SERVE = "serve"
_USUAL = "serving_default"


def saved_net(folder: Path, top: Message, signature: str) -> Net:
    """An entry of the graph for serving, or of the only one, with inputs and outputs sorted by name."""
    metas = top.messages(2)
    serving = [meta for meta in metas if _SERVE in meta.message(1).texts(4)] or metas
    if len(serving) != 1:
        raise EdgeKitError("E0401", f"the file holds {len(serving)} graphs for {_SERVE}", top.where)
    (meta,) = serving
    body, functions = graph.graph(meta.message(2))
    chosen = _signature(meta.entries(5), signature)
    outputs = {port.name: port.tensor for port in ports(chosen.entries(2))}
    restore = _restore(folder, meta.message(3))
    contents = [] if restore is None else [restore.bundle.index, *restore.bundle.shards]
    producer = f"TensorFlow {meta.message(1).text(5)}".strip()
    inputs = list(ports(chosen.entries(1)))
    return Net(body, functions, inputs, outputs, restore, contents, producer=producer)


def _signature(stored: Mapping[str, Message], wanted: str) -> Message:
    """An entry; by default the usual one, or the only one."""
    found = {name: entry for name, entry in stored.items() if not name.startswith("__")}
    names = sorted(found)
    if not found:
        hint = "save it with signatures: tf.saved_model.save(module, folder, signatures=module.f)"
        raise EdgeKitError("E0205", "the model has no signature", hint=hint)
    if not wanted and len(found) > 1 and _USUAL not in found:
        options = " or ".join(f"--signature {quote(name)}" for name in names[:20])
        message = f"the model has {len(found)} signatures: {', '.join(names[:20])}"
        raise EdgeKitError("E0103", message, hint=f"choose one: {options}")
    chosen = wanted or (_USUAL if _USUAL in found else names[0])
    if chosen not in found:
        message = f"--signature names {wanted}, which is no signature of the model"
        raise EdgeKitError("E0103", message, hint=suggest.hint(wanted, names, "signatures"))
    return found[chosen]


def ports(stored: Mapping[str, Message]) -> Iterator[Port]:
    """What a signature names, sorted by name."""
    for name in sorted(stored):
        info = stored[name]
        if 1 not in info:
            raise EdgeKitError("E0205", f"{name[:80]} is no plain tensor: it is sparse, or of several parts")
        dims = shape(info.message(3)) if 3 in info else None
        yield Port(name, Reference.of(info.text(1)), type_code(info.integer(2)), dims)


def _restore(folder: Path, saver: Message) -> Restore | None:
    variables = folder / "variables"
    if variables.is_symlink():
        raise EdgeKitError("E0404", "the folder of variables is a link", saver.where, "copy the folder")
    if not saver.text(3) or not variables.is_dir():
        return None
    path, node = Reference.of(saver.text(1)).node, Reference.of(saver.text(3)).node
    return Restore(bundle(variables, "variables"), path, node)

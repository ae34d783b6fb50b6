"""Graph models of TensorFlow.js: a GraphDef as JSON, whose constants are weights of the manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgekit.converters.file_formats import protobuf
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.tensorflow.conversion import frozen
from edgekit.converters.tensorflow.messages import of_json
from edgekit.converters.tensorflow.net import Net
from edgekit.converters.tensorflow.saved_model import ports
from edgekit.core.types import Array


def graph_net(file: Record, arrays: Mapping[str, Array], contents: Sequence[bytes]) -> Net:
    """The net, with inputs and outputs as its signature names them, where the file has one."""
    stored = protobuf.message(of_json("GraphDef", file.record("modelTopology").fields), file.where)
    net = replace(frozen(stored), weights=arrays, contents=contents, producer=file.text("generatedBy", ""))
    signature = _signature(file)
    if signature is None:
        return net
    entry = protobuf.message(of_json("SignatureDef", signature.fields), file.where)
    ins, outs = (list(ports(entry.entries(field))) for field in (1, 2))
    outputs = {port.name: port.tensor for port in outs}
    return replace(net, inputs=ins, outputs=outputs) if outputs else net


def _signature(file: Record) -> Record | None:
    """Newer files have it at the top, older ones among what is for users."""
    for place in (file, file.record("userDefinedMetadata") if "userDefinedMetadata" in file else file):
        if "signature" in place:
            return place.record("signature")
    return None

"""PyTorch archives made to do harm: pickles, escapes, bombs, lies about sizes, graphs that make no sense."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from frontends.hostile.unsupported_formats import pickled
from support.hostile_files import Case, archive, changed_json, file, members

MODEL = "net/models/model.json"
CONFIG = "net/data/weights/model_weights_config.json"
WEIGHT = "net/data/weights/weight_0"


def net(**changes: Any) -> dict[str, Any]:
    """The members of the sample; a keyword names one (__ for /) and gives other content, or None."""
    content: dict[str, Any] = dict(members("torch/net.pt2"))
    for key, value in changes.items():
        content[key.replace("__", "/")] = value
    return {key: value for key, value in content.items() if value is not None}


def written(content: dict[Any, Any], **options: Any) -> Callable[[Path], Path]:
    return file("net.pt2", archive(content, **options))


def changed(member: str, change: Callable[[Any], object]) -> Callable[[Path], Path]:
    """The sample with the JSON of a member changed in place."""
    content = net()
    return written(content | {member: changed_json(content[member], change)})


def graph(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    return changed(MODEL, lambda top: change(top["graph_module"]["graph"]))


def weight(change: Callable[[Any], object], name: str = "conv.weight") -> Callable[[Path], Path]:
    return changed(CONFIG, lambda top: change(top["config"][name]))


def put(key: str, value: Any) -> Callable[[Any], None]:
    """Sets a field, `a.b` that of an object in it."""

    def change(target: Any) -> None:
        *path, last = key.split(".")
        for step in path:
            target = target[int(step)] if isinstance(target, list) else target[step]
        target[int(last) if isinstance(target, list) else last] = value

    return change


def linked() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("net/data/weights/link")
    info.external_attr = (0o120777) << 16
    return info


def bomb(folder: Path) -> Path:
    """A few kilobytes that unpack to 200 MB."""
    content = net() | {"net/data/weights/weight_99": bytes(200 << 20)}
    return written(content, method=zipfile.ZIP_DEFLATED)(folder)


def crowd(folder: Path) -> Path:
    """More members than anybody needs."""
    return written(net() | {f"net/extra/{i}": "" for i in range(70_000)})(folder)


def larger_than_it_is(folder: Path) -> Path:
    """A member that says of itself to be a gigabyte."""
    path = written(net())(folder)
    raw = bytearray(path.read_bytes())
    last = raw.rfind(b"PK\x01\x02")
    raw[last + 24 : last + 28] = (1 << 30).to_bytes(4, "little")  # its size, unpacked
    path.write_bytes(raw)
    return path


def deep() -> bytes:
    return b'{"graph_module": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def first_stride(value: int) -> Callable[[Any], None]:
    return put("tensor_meta.strides", [{"as_int": value}, *({"as_int": n} for n in (9, 3, 1))])


def custom(signature: Any) -> None:
    """The input becomes an object of a class of its own."""
    signature["input_specs"][-1]["user_input"]["arg"] = {"as_custom_obj": {"name": "x"}}


def sizes(*shape: int) -> list[dict[str, int]]:
    return [{"as_int": n} for n in shape]


CASES = {
    # The archive
    "cut": Case("E0401", "no archive or is damaged", file("net.pt2", archive(net())[:9000])),
    "no archive": Case("E0401", "no archive", file("net.pt2", b"PK\x03\x04" + bytes(200))),
    "empty archive": Case("E0401|E0206", "holds no model", written({})),
    "name that climbs out": Case("E0404", "leads out of it", written(net() | {"net/../../evil": "x"})),
    "absolute name": Case("E0404", "leads out of it", written(net() | {"/etc/passwd": "x"})),
    "name of Windows": Case("E0404", "leads out of it", written(net() | {"C:evil": "x"})),
    "link": Case("E0404", "a link or a device", written(net() | {linked(): "/etc/passwd"})),
    "bomb": Case("E0402", "unpacks to", bomb),
    "size that is a lie": Case("E0402", "unpacks to", larger_than_it_is),
    "too many members": Case("E0402", "members", crowd),
    "unusual compression": Case("E0205", "compression 12", written(net(), method=zipfile.ZIP_BZIP2)),
    "wrong checksum": Case(
        "E0401",
        "is damaged",
        file("net.pt2", archive(net()).replace(b'"graph_module"', b'"graph-module"', 1)),
    ),
    # Pickles
    "weight that is a pickle": Case(
        "E0404", "conv.weight is stored as a pickle", weight(put("use_pickle", True))
    ),
    "all weights a pickle": Case(
        "E0404",
        "model.pt is a pickle",
        written(
            {k: v for k, v in net().items() if "/weights/" not in k}
            | {"net/data/weights/model.pt": pickled(2)}
        ),
    ),
    "archive of an older torch": Case(
        "E0404",
        "save it again",
        written({"serialized_exported_program.json": "{}", "serialized_state_dict.pt": pickled(2)}),
    ),
    # The graph
    "JSON of no end": Case("E0402", "nested without end", written(net() | {MODEL: deep()})),
    "not valid JSON": Case("E0401", "is not valid JSON", written(net() | {MODEL: "{"})),
    "another JSON": Case("E0401", "should be an object", written(net() | {MODEL: "[1]"})),
    "future schema": Case("E0202", "newer than 8", changed(MODEL, put("schema_version.major", 9))),
    "ancient schema": Case("E0202", "older than 8", changed(MODEL, put("schema_version.major", 1))),
    "big-endian weights": Case("E0205", "little-endian", written(net(net__byteorder="big"))),
    "two models": Case(
        "E0205",
        "several models",
        written(
            {k.replace(MODEL, "net/models/a.json"): v for k, v in net().items()} | {"net/models/b.json": "{}"}
        ),
    ),
    "compiled code": Case(
        "E0206", "compiled code", written({"net/archive_format": "pt2", "net/data/aotinductor/m/x.so": ""})
    ),
    "unknown operators": Case(
        "E0201", "evil.run.default", graph(put("nodes.0.target", "torch.ops.evil.run.default"))
    ),
    "input that is no tensor": Case(
        "E0205",
        "inputs of kind as_custom_obj",
        changed(MODEL, lambda top: custom(top["graph_module"]["signature"])),
    ),
    "name that nothing computes": Case(
        "E0401",
        "computed later or never",
        graph(put("nodes.0.inputs.0.arg", {"as_tensor": {"name": "nothing"}})),
    ),
    "result of another shape": Case(
        "E0401", "the file says", graph(put("tensor_values.conv2d.sizes", sizes(1, 9, 16, 16)))
    ),
    "result of another type": Case("E0401", "the file says", graph(put("tensor_values.conv2d.dtype", 8))),
    "argument of two kinds": Case(
        "E0401",
        "should be one thing",
        graph(put("nodes.0.inputs.3.arg", {"as_ints": [1, 1], "as_none": True})),
    ),
    "argument that is unknown": Case("E0203", "attribute warp", graph(put("nodes.0.inputs.3.name", "warp"))),
    "huge border": Case(
        "E0401|E0402", "absurd", graph(put("nodes.0.inputs.4.arg", {"as_ints": [1 << 40, 1]}))
    ),
    "stride of nothing": Case("E0401|E0403", "", graph(put("nodes.0.inputs.3.arg", {"as_ints": [0, 0]}))),
    "input of an absurd shape": Case(
        "E0402", "absurd", graph(put("tensor_values.x.sizes", sizes(1, 3, 1 << 40, 16)))
    ),
    "input of an unknown type": Case("E0204", "element type 99", graph(put("tensor_values.x.dtype", 99))),
    # Weights
    "weight that is missing": Case(
        "E0401", "has no", written({k: v for k, v in net().items() if k != WEIGHT})
    ),
    "weight too short": Case("E0401", "takes 864 bytes", written(net() | {WEIGHT: bytes(100)})),
    "weight of an absurd shape": Case(
        "E0402", "absurd", weight(put("tensor_meta.sizes", sizes(1 << 40, 3, 3, 3)))
    ),
    "weight repeated by stride 0": Case(
        "E0402|E0401",
        "",
        weight(lambda w: (put("tensor_meta.sizes", sizes(1 << 20, 3, 3, 3))(w), first_stride(0)(w))),
    ),
    "negative strides": Case("E0401", "do not fit", weight(first_stride(-27))),
    "strides that reach too far": Case("E0401", "takes", weight(first_stride(1 << 40))),
    "offset outside": Case(
        "E0401", "takes 864 bytes", weight(put("tensor_meta.storage_offset", {"as_int": 1}))
    ),
    "negative offset": Case("E0401", "takes", weight(put("tensor_meta.storage_offset", {"as_int": -1}))),
    "weight in a place outside": Case("E0401", "has no", weight(put("path_name", "../../../../etc/passwd"))),
    "sparse weight": Case("E0205", "sparse", weight(put("tensor_meta.layout", 1))),
    "weights under another name": Case(
        "E0401", "no weight conv.weight", changed(CONFIG, lambda top: top["config"].pop("conv.weight"))
    ),
}

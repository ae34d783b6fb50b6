"""Models of TensorFlow.js made to do harm: shards elsewhere, and weights that lie about themselves."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.exports import SAMPLES
from support.hostile_files import Case, file


def _members(name: str) -> dict[str, bytes]:
    raw = (SAMPLES.parent / "recorded" / "tfjs.zip").read_bytes()
    with zipfile.ZipFile(io.BytesIO(raw)) as stored:
        return {part: stored.read(f"{name}/{part}") for part in ("model.json", *SHARDS)}


SHARDS = ("group1-shard1of2.bin", "group1-shard2of2.bin")
NET = _members("uint8")


def net(change: Callable[[Any], object] = lambda model: None, **beside: bytes) -> Callable[[Path], Path]:
    """A quantized net, changed in its JSON, with other shards."""
    model = json.loads(NET["model.json"])
    change(model)
    shards = {name.replace(".", "__"): NET[name] for name in SHARDS} | beside
    return file("model.json", json.dumps(model), **shards)


def weight(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    return net(lambda model: change(model["weightsManifest"][0]["weights"][0]))


def shard(path: Any) -> Callable[[Path], Path]:
    return net(lambda model: model["weightsManifest"][0]["paths"].__setitem__(1, path))


def graph(nodes: Any) -> Callable[[Path], Path]:
    return net(lambda m: m.update(modelTopology={"node": nodes}))


def linked(where: Path) -> Path:
    path = net()(where)
    (where / SHARDS[0]).rename(where / "other.bin")
    (where / SHARDS[0]).symlink_to(where / "other.bin")
    return path


def twice(model: Any) -> None:
    first, second, *_ = model["weightsManifest"][0]["weights"]
    second["name"] = first["name"]


CASES = {
    "shard above": Case("E0404", "outside", shard("../group1-shard2of2.bin")),
    "shard anywhere": Case("E0404", "outside", shard("/etc/passwd")),
    "shard on the network": Case("E0404", "outside", shard("https://example.com/shard")),
    "shard that is a link": Case("E0404", "is a link", linked),
    "shard that is missing": Case("E0104", "is missing", shard("group1-shard3of3.bin")),
    "shard that is a number": Case("E0401", "should be text", shard(3)),
    "shards without end": Case(
        "E0402", "shards are absurd", net(lambda m: m["weightsManifest"][0].update(paths=["a"] * 5000))
    ),
    "bytes that are missing": Case("E0401", "there are", net(**{"group1-shard2of2__bin": b""})),
    "bytes too many": Case("E0401", "weights take", net(**{"group1-shard2of2__bin": bytes(9999)})),
    "shape without end": Case("E0402", "absurd", weight(lambda w: w.update(shape=[1 << 40, 1 << 40]))),
    "shape that is negative": Case("E0402", "absurd", weight(lambda w: w.update(shape=[-1]))),
    "weights of text": Case(
        "E0204", "string", weight(lambda w: (w.pop("quantization"), w.update(dtype="string")))
    ),
    "steps of no type": Case("E0204", "uint4", weight(lambda w: w["quantization"].update(dtype="uint4"))),
    "steps without a scale": Case("E0401", "has no scale", weight(lambda w: w["quantization"].pop("scale"))),
    "two weights of one name": Case("E0401", "same name", net(twice)),
    "layers alone": Case("E0205", "without weights", net(lambda m: m.pop("weightsManifest"))),
    "no topology": Case("E0401", "has no modelTopology", net(lambda m: m.pop("modelTopology"))),
    "graph of no object": Case("E0401", "should be an object", graph([3])),
    "graph with bytes that are none": Case(
        "E0401|E0403", "", graph([{"name": "a", "op": "Neg", "attr": {"p": {"s": "=x"}}}])
    ),
    "graph whose name is a number": Case("E0401", "should be text", graph([{"name": 3, "op": "Neg"}])),
    "graph with a number beyond all": Case(
        "E0401|E0403", "", graph([{"name": "a", "op": "Neg", "attr": {"n": {"i": "many"}}}])
    ),
    "nodes of a graph": Case("E0401", "computes nothing", net(lambda m: m["modelTopology"].update(node=[]))),
    "code": Case(
        "E0404",
        "never run",
        net(lambda m: m["modelTopology"]["config"]["layers"][1].update(class_name="Lambda")),
    ),
}

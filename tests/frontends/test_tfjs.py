"""Models of TensorFlow.js compute what it computed in node, whose outputs are recorded."""

import json
import zipfile
from pathlib import Path

import pytest
from support.exports import SAMPLES
from support.recorded import names, unpacked

from edgekit.converters import files, read
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.read import first_bytes
from edgekit.converters.tfjs.weights import shards
from edgekit.core.errors import EdgeKitError

RECORDED = SAMPLES.parent / "recorded" / "tfjs.zip"
GRAPHS = SAMPLES.parent / "recorded" / "tfjs_graphs.zip"


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_tensorflow_js_did(name: str, tmp_path: Path) -> None:
    found = unpacked(RECORDED, name, tmp_path)
    assert found.format == "TensorFlow.js"
    assert found.compare() < 1e-6


def test_quantized_weights_are_compared() -> None:
    """In each of the types that the converter writes."""
    with zipfile.ZipFile(RECORDED) as stored:
        manifests = {name: json.loads(stored.read(f"{name}/model.json")) for name in names(RECORDED)}
    kinds = {
        weight["quantization"]["dtype"]
        for file in manifests.values()
        for group in file["weightsManifest"]
        for weight in group["weights"]
        if "quantization" in weight
    }
    assert kinds == {"uint8", "uint16", "float16"}


def test_topology_of_the_converter_is_read(tmp_path: Path) -> None:
    """It has the configuration of Keras one level below, and older sequential models are lists."""
    path = unpacked(RECORDED, "images", tmp_path).path
    expected = read.read(path)
    file = json.loads(path.read_text())
    topology = file["modelTopology"]
    topology["config"] = topology["config"]["layers"]
    file["modelTopology"] = {"keras_version": "2.15.0", "backend": "tensorflow", "model_config": topology}
    path.write_text(json.dumps(file))
    assert read.read(path).nodes == expected.nodes


def test_readers_of_json_tell_models_apart(tmp_path: Path) -> None:
    path = unpacked(RECORDED, "words", tmp_path).path
    head = first_bytes(path)
    assert [r.FORMAT for r in read.readers() if r.sniff(path, head)] == ["TensorFlow.js"]


@pytest.mark.parametrize("name", names(GRAPHS))
def test_graph_computes_what_tensorflow_js_did(name: str, tmp_path: Path) -> None:
    found = unpacked(GRAPHS, name, tmp_path)
    assert found.format == "TensorFlow.js"
    assert found.compare() < 1e-6


def test_graphs_hold_fused_layers() -> None:
    with zipfile.ZipFile(GRAPHS) as stored:
        files = [json.loads(stored.read(f"{name}/model.json")) for name in names(GRAPHS)]
    kinds = {node["op"] for file in files for node in file["modelTopology"]["node"]}
    assert kinds >= {"_FusedConv2D", "_FusedMatMul", "FusedDepthwiseConv2dNative"}


def test_graphs_without_a_signature_end_where_nothing_follows(tmp_path: Path) -> None:
    """Older ones have it among what is for users, the oldest have none."""
    path = unpacked(GRAPHS, "dense", tmp_path).path
    file = json.loads(path.read_text())
    signature = file.pop("signature")
    path.write_text(json.dumps({**file, "userDefinedMetadata": {"signature": signature}}))
    assert read.read(path).outputs == ("y00",)
    path.write_text(json.dumps(file))
    assert read.read(path).outputs == ("Identity",)


def test_inputs_of_both_kinds_may_be_fixed(tmp_path: Path) -> None:
    for archive, name, key in ((GRAPHS, "merges", "x00"), (RECORDED, "words", "x")):
        path = unpacked(archive, name, tmp_path / name).path
        assert key in read.read(path).inputs
        assert key not in read.read(path, constants={key: 1}).inputs


def test_shards_together_are_smaller_than_a_file_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(bytes(60))
    group = [Record({"paths": ["one", "two"]}, "group")]
    monkeypatch.setattr(files, "MAX_FILE", 121)
    assert list(shards(tmp_path / "model.json", group)) == [bytes(120)]
    monkeypatch.setattr(files, "MAX_FILE", 120)
    with pytest.raises(EdgeKitError, match="more than 59 bytes"):
        list(shards(tmp_path / "model.json", group))

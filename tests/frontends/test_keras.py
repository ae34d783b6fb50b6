"""Keras' layers compute what Keras computed: small nets that it wrote, with its own outputs beside them."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.exports import SAMPLES
from support.hostile_files import archive, members
from support.recorded import names, unpacked

from edgekit.converters import read
from edgekit.converters.file_formats.hdf5 import Hdf5
from edgekit.converters.frontend import handlers
from edgekit.converters.keras import ops
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "keras.zip"
SAMPLE = members("tf/net.keras")


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_keras_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def test_nets_hold_most_layers(tmp_path: Path) -> None:
    """What no net has is an alias of something that one has, or does nothing in use."""
    with zipfile.ZipFile(RECORDED) as stored:
        stored.extractall(tmp_path)
    configs = [_config(path) for path in tmp_path.rglob("*.keras")]
    kinds = {kind for config in configs for kind in _kinds(config)}
    known = handlers(ops)
    tested = {known[kind] for kind in kinds if kind in known}
    missing = {name for name, handler in known.items() if handler not in tested}
    idle = {"ActivityRegularization", "Identity", "StochasticDepth"}
    assert missing <= idle | {"LayerScale", "ThresholdedReLU"}


def _config(path: Path) -> Any:
    with zipfile.ZipFile(path) as stored:
        return json.loads(stored.read("config.json"))


def _kinds(value: Any) -> set[str]:
    """All classes that a configuration names."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = {value["class_name"]} if isinstance(value, dict) and "class_name" in value else set()
    return own.union(*(_kinds(part) for part in parts))


def changed(folder: Path, change: Callable[[Any], object]) -> Path:
    """The sample with its configuration changed in place."""
    config = json.loads(SAMPLE["config.json"])
    change(config)
    path = folder / "net.keras"
    path.write_bytes(archive({**SAMPLE, "config.json": json.dumps(config)}))
    return path


def test_archive_and_hdf5_hold_the_same_net() -> None:
    graphs = [read.read(SAMPLES / "tf" / name) for name in ("net.keras", "net.h5")]
    assert graphs[0].nodes == graphs[1].nodes


@pytest.mark.parametrize("part", [b"model_config", b"model_weights"])
def test_hdf5_without_layers_or_without_weights_is_refused(part: bytes, tmp_path: Path) -> None:
    path = tmp_path / "net.h5"
    path.write_bytes((SAMPLES / "tf" / "net.h5").read_bytes().replace(part, part.upper()))
    with pytest.raises(EdgeKitError, match="weights without the model") as caught:
        read.read(path)
    assert caught.value.code == "E0205"


def test_shape_binds_what_is_open(tmp_path: Path) -> None:
    def open_shape(config: Any) -> None:
        config["config"]["layers"][0]["config"]["batch_shape"] = [None, None, None, 3]

    path = changed(tmp_path, open_shape)
    with pytest.raises(EdgeKitError, match="--shape x=") as caught:
        read.read(path)
    assert caught.value.inputs == ("x",)
    with np.load(SAMPLES / "tf" / "io.npz") as io:
        graph = read.read(path, shapes={"x": (1, 16, 16, 3)})
        (y,) = simulate.run(graph, {"x": io["x"]}).values()
        np.testing.assert_allclose(y, io["y"], atol=1e-5)


def test_all_unsupported_layers_are_named_at_once(tmp_path: Path) -> None:
    def strange(config: Any) -> None:
        for layer, kind in zip(config["config"]["layers"][1:3], ("ConvLSTM2D", "Hashing"), strict=True):
            layer["class_name"] = kind

    with pytest.raises(EdgeKitError) as caught:
        read.read(changed(tmp_path, strange))
    assert [error.where for error in (caught.value, *caught.value.also)] == ["node conv", "node bn"]


def test_hard_sigmoid_is_that_of_the_version(tmp_path: Path) -> None:
    """Its slope is 1/5 in Keras 2, and 1/6 in Keras 3."""
    with np.load(SAMPLES / "tf" / "io.npz") as io:
        x, y = io["x"], io["y"]
    path = changed(tmp_path, lambda c: c["config"]["layers"][-1]["config"].update(activation="hard_sigmoid"))
    newer = path.read_bytes()
    with zipfile.ZipFile(path) as stored:
        content = {name: stored.read(name) for name in stored.namelist()}
    older = archive({**content, "metadata.json": json.dumps({"keras_version": "2.15.0"})})
    for raw, slope in ((newer, 1 / 6), (older, 0.2)):
        path.write_bytes(raw)
        (found,) = simulate.run(read.read(path), {"x": x}).values()
        np.testing.assert_allclose(found, np.clip(slope * y + 0.5, 0, 1), atol=1e-5)


def test_names_of_layers_stay(tmp_path: Path) -> None:
    graph = read.read(changed(tmp_path, lambda config: None))
    assert (graph.inputs, graph.outputs) == (("x",), ("fc",))
    assert "re_lu" in graph.values


def test_groups_and_arrays_are_found_by_name() -> None:
    root = Hdf5(SAMPLE["model.weights.h5"], "weights").root
    bias = root.get("layers/dense/vars/1")
    assert bias is not None
    assert bias.array().shape == (10,)
    assert root.get("layers/dense/vars").texts("name") == ["fc"]  # type: ignore[union-attr]  # it is there
    assert root.get("layers/dense/vars/2") is None
    assert root.get("layers/dense/vars/1/2") is None


def test_older_file_without_its_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.weights.h5").write_bytes(SAMPLE["model.weights.h5"])
    with pytest.raises(EdgeKitError, match="without the model"):
        read.read(tmp_path / "model.weights.h5")


def test_suffix_does_not_matter(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "tf" / "net.keras", tmp_path / "net.zip")
    assert read.read(tmp_path / "net.zip").source.format == "keras"


def test_directions_are_merged_in_each_mode(tmp_path: Path) -> None:
    """Of the halves that concatenation gives, each other mode makes what its name says."""
    with zipfile.ZipFile(unpacked(RECORDED, "recurrent", tmp_path).path) as net:
        stored = {name: net.read(name) for name in net.namelist()}
    x = np.random.default_rng(0).standard_normal((2, 5, 4)).astype(np.float32)

    def outputs(mode: str) -> list[Array]:
        config = json.loads(stored["config.json"])
        for layer in config["config"]["layers"]:
            if layer["config"].get("merge_mode") == "sum":
                layer["config"]["merge_mode"] = mode
        path = tmp_path / f"{mode}.keras"
        path.write_bytes(archive({**stored, "config.json": json.dumps(config)}))
        graph = read.read(path)
        return list(simulate.run(graph, {graph.inputs[0]: x}).values())

    halves, merged = outputs("concat"), {mode: outputs(mode) for mode in ("sum", "mul", "ave")}
    changed = [i for i, y in enumerate(halves) if y.shape != merged["sum"][i].shape]
    assert len(changed) == 3  # kinds of recurrent layers
    for i in changed:
        forward, backward = np.split(halves[i], 2, axis=-1)
        assert np.array_equal(merged["sum"][i], forward + backward)
        assert np.array_equal(merged["mul"][i], forward * backward)
        assert np.array_equal(merged["ave"][i], (forward + backward) / 2)


def test_results_and_layers_have_names_of_their_own(tmp_path: Path) -> None:
    """The second result of `lstm` was called `lstm_1`, as the next layer is."""
    graph = read.read(unpacked(RECORDED, "masked", tmp_path).path)
    assert graph.outputs[1:5] == ("lstm", "lstm_0_1", "lstm_0_2", "lstm_1")
    assert len(set(graph.outputs)) == 43


def test_masks_of_tensorflow_js_are_refused(tmp_path: Path) -> None:
    """Its layers treat them in other ways."""
    path = unpacked(SAMPLES.parent / "recorded" / "tfjs.zip", "words", tmp_path).path
    file = json.loads(path.read_text())
    for layer in file["modelTopology"]["config"]["layers"]:
        if layer["class_name"] == "Embedding":
            layer["config"]["mask_zero"] = True
    path.write_text(json.dumps(file))
    with pytest.raises(EdgeKitError, match="masks") as caught:
        read.read(path)
    assert caught.value.code == "E0205"


LAYERS = RECORDED.with_name("keras_layers.zip")


@pytest.mark.parametrize("name", ["older", "newer", "whole"])
def test_layers_as_json_have_weights_beside(name: str, tmp_path: Path) -> None:
    """As Keras 2 and Keras 3 save them, and with a whole model whose weights they are."""
    with zipfile.ZipFile(LAYERS) as stored:
        stored.extractall(tmp_path)
    graph = read.read(tmp_path / name / "net.json")
    with np.load(tmp_path / name / "io.npz") as io:
        (found,) = simulate.run(graph, {"image": io["x0"]}).values()
        np.testing.assert_allclose(found, io["y0"], rtol=1e-5)


def test_weights_of_layers_as_json_are_found_by_name_or_alone(tmp_path: Path) -> None:
    with zipfile.ZipFile(LAYERS) as stored:
        stored.extractall(tmp_path)
    folder = tmp_path / "newer"
    first = read.read(folder / "net.json")
    shutil.copy(tmp_path / "older" / "weights.h5", folder / "another.h5")
    assert read.read(folder / "net.json") == first
    (folder / "net.weights.h5").rename(folder / "best.h5")
    with pytest.raises(EdgeKitError, match="the folder has 2 files of weights") as caught:
        read.read(folder / "net.json")
    assert "net.weights.h5" in str(caught.value.hint)
    (folder / "another.h5").unlink()
    assert read.read(folder / "net.json").nodes == first.nodes
    (folder / "net.weights.h5").symlink_to(folder / "best.h5")
    with pytest.raises(EdgeKitError, match="is a link"):
        read.read(folder / "net.json")


def test_weights_without_layers_say_where_these_belong(tmp_path: Path) -> None:
    with zipfile.ZipFile(LAYERS) as stored:
        (tmp_path / "net.h5").write_bytes(stored.read("older/weights.h5"))
    with pytest.raises(EdgeKitError, match="weights without the model") as caught:
        read.read(tmp_path / "net.h5")
    assert ".json" in str(caught.value.hint)

"""Encoders from folders of transformers compute its vectors and logits, with padding, in C, too."""

import json
from pathlib import Path

import numpy as np
import pytest
from support.exports import SAMPLES
from support.language_models import parts, written
from support.recorded import Recorded, names, unpacked

from edgekit import convert, run
from edgekit.converters.transformers.encoder_families import ENCODERS
from edgekit.core.errors import EdgeKitError

RECORDED = SAMPLES.parent / "recorded" / "encoders.zip"


def changed(model: Recorded, **settings: object) -> Path:
    """The folder, with other settings."""
    path = model.path.with_name("config.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
    return path.parent


def renamed(model: Recorded, pairs: dict[str, str]) -> Path:
    """The folder, with parts of names of tensors replaced."""
    path = model.path.with_name("model.safetensors")
    header, data = parts(path.read_bytes())
    for old, new in pairs.items():
        header = {name.replace(old, new): entry for name, entry in header.items()}
    path.write_bytes(written(header, data))
    return path.parent


@pytest.mark.parametrize("name", names(RECORDED))
def test_vectors_and_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def test_every_family_is_recorded() -> None:
    families = {family for name in names(RECORDED) for family in ENCODERS if name.startswith(family)}
    assert families == set(ENCODERS)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_encoders_run_in_c(name: str, tmp_path: Path) -> None:
    path = unpacked(RECORDED, name, tmp_path).path
    with np.load(path.with_name("io.npz")) as io:
        xs, expected = [io[key] for key in sorted(io) if key[0] == "x"], io["y0"]
    graph = convert(path.parent, dims={"tokens": 12})
    assert graph.inputs == ("input_ids", "attention_mask", "token_type_ids")[: len(xs)]
    assert graph.outputs == ("last_hidden_state", "pooler_output")[: 2 if name == "bert" else 1]
    given = dict(zip(graph.inputs, (x[:, None] for x in xs), strict=True))
    y = run(graph, given, target="host")["last_hidden_state"]
    np.testing.assert_allclose(y.reshape(expected.shape), expected, rtol=1e-4, atol=1e-5)


def test_padding_changes_no_vector_of_a_token(tmp_path: Path) -> None:
    path = unpacked(RECORDED, "roberta", tmp_path).path.parent
    ids = np.arange(2, 10, dtype=np.int32).reshape(1, 8)
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    short = run(convert(path, dims={"tokens": 8}), given)["last_hidden_state"]
    padded = {key: np.pad(value, ((0, 0), (0, 4))) for key, value in given.items()}
    long = run(convert(path, dims={"tokens": 12}), padded)["last_hidden_state"]
    np.testing.assert_allclose(long[:, :8], short, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "names", [{"bert.": ""}, {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}]
)
def test_older_names_of_tensors_are_read(names: dict[str, str], tmp_path: Path) -> None:
    model = unpacked(RECORDED, "bert", tmp_path)
    expected = convert(model.path.parent, dims={"tokens": 4})
    found = convert(renamed(model, names), dims={"tokens": 4})
    data = [[v.data.tobytes() for v in g.values.values() if v.data is not None] for g in (expected, found)]
    assert data[0] == data[1]


@pytest.mark.parametrize(
    ("name", "settings", "code", "words"),
    [
        ("bert", {"architectures": ["BertForPreTraining"]}, "E0205", "BertForPreTraining"),
        ("bert", {"position_embedding_type": "relative_key"}, "E0203", "position_embedding_type"),
        ("bert", {"type_vocab_size": 3}, "E0401", "token_type_embeddings"),
        ("bert", {"type_vocab_size": 0}, "E0401", "type_vocab_size is 0"),
        ("bert-masked", {"architectures": ["BertModel"]}, "E0205", "no place for"),
        (
            "bert",
            {"architectures": ["BertForSequenceClassification"]},
            "E0401",
            "no tensor classifier.weight",
        ),
        ("roberta", {"pad_token_id": 0}, "E0203", "pad_token_id"),
        ("distilbert", {"sinusoidal_pos_embds": True}, "E0203", "sinusoidal"),
        ("modernbert-classified", {"classifier_pooling": "mean"}, "E0203", "classifier_pooling"),
        ("modernbert", {"layer_types": None, "global_attn_every_n_layers": 0}, "E0401", "is 0"),
    ],
)
def test_what_is_not_read_is_refused(
    name: str, settings: dict[str, object], code: str, words: str, tmp_path: Path
) -> None:
    place = changed(unpacked(RECORDED, name, tmp_path), **settings)
    with pytest.raises(EdgeKitError, match=words) as caught:
        convert(place, dims={"tokens": 4})
    assert caught.value.code == code


@pytest.mark.parametrize(("name", "most"), [("bert", 32), ("roberta", 32)])
def test_texts_longer_than_the_model_are_refused(name: str, most: int, tmp_path: Path) -> None:
    place = unpacked(RECORDED, name, tmp_path).path.parent
    assert convert(place, dims={"tokens": most}).type("last_hidden_state").shape == (1, most, 16)
    with pytest.raises(EdgeKitError, match=f"more than the {most} of the model"):
        convert(place, dims={"tokens": most + 1})

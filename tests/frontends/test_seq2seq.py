"""Encoder-decoders from folders of transformers: an encoder writes states that steps of the decoder read."""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from support.entry_library import Library
from support.exports import SAMPLES
from support.language_models import folder as language_model
from support.recorded import names

import edgekit
from edgekit.converters.transformers.relative_bias import buckets
from edgekit.converters.transformers.seq2seq_families import SEQ2SEQ
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.simulate import Session
from edgekit.core.text.decoder import DecoderForm
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "seq2seq.zip"
MODELS = names(RECORDED)
TEXTS = [name for name in MODELS if not name.startswith(("whisper", "moonshine"))]


class Recorded:
    """A folder, and what transformers computed: vectors of a source, tokens of which `length` count or audio,
    logits of tokens, and a text."""

    def __init__(self, name: str, where: Path) -> None:
        with ZipFile(RECORDED) as archive:
            archive.extractall(where, [m for m in archive.namelist() if m.startswith(f"{name}/")])
        self.path = where / name
        with np.load(self.path / "io.npz") as io:
            self.given = {key: io[key] for key in ("source", "length") if key in io}
            self.encoded, self.tokens, self.logits, self.text = (
                io[key] for key in ("encoded", "tokens", "logits", "text")
            )

    def graph(self, signature: str = "", **dims: int) -> Graph:
        sizes = {"source": self.given["source"].shape[-1], "positions": 80}
        return edgekit.convert(self.path, dims=sizes | dims, signature=signature, name="net")

    def changed(self, **settings: object) -> Path:
        """The folder, with other settings."""
        path = self.path / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))
        return self.path


def begun(decoder: Graph, encoder: Graph, given: dict[str, Array]) -> Session:
    """The decoder, after the encoder has read a source."""
    source, session = Session(encoder), Session(decoder)
    source.run(given)
    session.states = source.states
    return session


def stepped(session: Session, tokens: Array) -> Array:
    """The logits of all tokens, as many in each run as the graph takes."""
    (count,) = session.graph.type("token").shape
    steps = (
        {"token": tokens[at : at + count], "position": np.array([at], np.int32)}
        for at in range(0, tokens.size, count)
    )
    return np.concatenate([session.run(step)["logits"] for step in steps])


@pytest.mark.parametrize("tokens_a_run", [1, 4])
@pytest.mark.parametrize("name", MODELS)
def test_vectors_and_logits_are_those_of_transformers(name: str, tokens_a_run: int, tmp_path: Path) -> None:
    model = Recorded(name, tmp_path)
    encoder, decoder = model.graph("encode"), model.graph(tokens=tokens_a_run)
    for graph in (encoder, decoder):
        verify(graph)
    close = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(edgekit.run(encoder, model.given)["encoded"], model.encoded, **close)
    found = stepped(begun(decoder, encoder, model.given), model.tokens)
    np.testing.assert_allclose(found, model.logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """64 tokens, the most probable ones, of C, where both entries share a struct; twice, without a reset."""
    model = Recorded(name, tmp_path)
    edgekit.build(model.graph(), tmp_path / "out", entries={"encode": model.graph("encode")}, verify=False)
    library = Library(tmp_path / "out")
    encoded, logits = np.zeros_like(model.encoded), np.zeros_like(model.logits[0])
    for _ in range(2):
        library.call("net_encode_run", *model.given.values(), encoded, library.state, library.arena)
        text = [0]
        for at in range(64):
            token, position = (np.array([n], np.int32) for n in (text[-1], at))
            library.call("net_run", token, position, logits, library.state, library.arena)
            text.append(int(logits.argmax()))
        assert text == model.text.tolist()
        np.testing.assert_allclose(encoded, model.encoded, rtol=1e-4, atol=1e-5)


def test_every_family_is_recorded() -> None:
    assert {name.split("-")[0] for name in MODELS} == set(SEQ2SEQ)


def test_the_number_of_layers_is_that_of_each_half(tmp_path: Path) -> None:
    """Configurations of Whisper have num_hidden_layers, too, which is that of the encoder alone."""
    model = Recorded("whisper", tmp_path)
    expected = model.graph(), model.graph("encode")
    model.changed(num_hidden_layers=32)
    assert [g.nodes for g in (model.graph(), model.graph("encode"))] == [g.nodes for g in expected]


@pytest.mark.parametrize("name", TEXTS)
def test_padding_changes_no_logits(name: str, tmp_path: Path) -> None:
    model = Recorded(name, tmp_path)
    length = int(model.given["length"][0])
    found = []
    for room, padding in ((length, 0), (length + 5, 7)):
        source = np.pad(model.given["source"][:length], (0, room - length), constant_values=padding)
        halves = model.graph(source=room), model.graph("encode", source=room)
        found.append(stepped(begun(*halves, {**model.given, "source": source}), model.tokens))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)


def test_a_step_leaves_what_the_encoder_wrote(tmp_path: Path) -> None:
    """No copy of it in C, and no matrix of it among the weights of the decoder."""
    model = Recorded("t5", tmp_path)
    graph = model.graph()
    session = begun(graph, model.graph("encode"), model.given)
    before = {key: value.copy() for key, value in session.states.items() if "cross" in key}
    stepped(session, model.tokens)
    assert len(before) == 4
    for key, value in before.items():
        np.testing.assert_array_equal(session.states[key], value)
    assert not any("EncDecAttention.k" in name for name in graph.values)
    assert DecoderForm.of(graph) is None  # a text needs a source


def last_bits(given: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Inputs that differ by a bit. Floats are rounded to integers as the model runs: where one lies
    between two, functions of another library may decide for the other one."""
    rng = np.random.default_rng(seed)
    return {
        name: np.nextafter(x, rng.choice(np.float32((-9, 9)), x.shape)) if x.dtype == np.float32 else x
        for name, x in given.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_integers_are_those_of_the_simulator(name: str, tmp_path: Path) -> None:
    model = Recorded(name, tmp_path)
    how = {"dtype": "int8", "activations": "dynamic"}
    decoder, encoder = (edgekit.quantize_model(model.graph(half), None, **how)[0] for half in ("", "encode"))
    edgekit.build(decoder, tmp_path / "out", entries={"encode": encoder}, verify=False)
    library = Library(tmp_path / "out")
    library.call("net_encode_run", *model.given.values(), model.encoded, library.state, library.arena)
    found = np.zeros_like(model.logits)
    for at, token in enumerate(model.tokens):
        given = (np.array([n], np.int32) for n in (token, at))
        library.call("net_run", *given, found[at], library.state, library.arena)
    expected = stepped(begun(decoder, encoder, model.given), model.tokens)
    others = (last_bits(model.given, seed) for seed in range(8))
    near = chain([expected], (stepped(begun(decoder, encoder, given), model.tokens) for given in others))
    assert any(np.allclose(found, logits, rtol=1e-4, atol=1e-4) for logits in near)
    # A lower bound finds wrong weights and scales. With random weights it is no measure of quality.
    assert np.square(expected - model.logits).mean() < np.square(model.logits).mean() / 10  # 10 dB


@pytest.mark.parametrize(
    ("count", "farthest", "both_ways", "expected"),
    [
        (8, 16, False, [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7]),
        (8, 16, True, [0, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]),
    ],
)
def test_buckets_grow_with_the_distance(
    count: int, farthest: int, both_ways: bool, expected: list[int]
) -> None:
    """As `_relative_position_bucket` of transformers 5.24 gives them."""
    distances = np.arange(18)
    relative = distances if both_ways else -distances
    assert buckets(relative, count, farthest, both_ways=both_ways).tolist() == expected


@pytest.mark.parametrize(
    ("name", "settings", "code", "words"),
    [
        ("t5", {"architectures": ["T5EncoderModel"]}, "E0205", "T5EncoderModel"),
        ("t5", {"feed_forward_proj": "foo-relu"}, "E0203", "foo-relu"),
        ("t5", {"feed_forward_proj": "gated-relu"}, "E0401", "wi_0"),
        ("t5", {"relative_attention_num_buckets": 0}, "E0401", "relative_attention_num_buckets is 0"),
        ("t5", {"relative_attention_max_distance": 8}, "E0401", "16 buckets do not reach to 8"),
        ("t5", {"relative_attention_max_distance": 1 << 40}, "E0402", "absurd"),
        ("t5", {"num_decoder_layers": 3}, "E0401", "no tensor decoder.block.2"),
        ("t5", {"num_decoder_layers": 1}, "E0205", "no place for"),
        ("t5", {"d_model": 0}, "E0401", "hidden_size is 0"),
        ("moonshine", {"decoder_num_key_value_heads": 1}, "E0203", "decoder_num_key_value_heads of 1"),
        ("moonshine", {"hidden_size": 27}, "E0401", r"conv1.weight is of shape \[21, 1, 127\]"),
        ("whisper", {"num_mel_bins": 7}, "E0401", r"conv1.weight is of shape \[16, 6, 3\]"),
        ("whisper", {"max_source_positions": 12}, "E0401", "embed_positions"),
        ("whisper", {"activation_function": "foo"}, "E0203", "foo"),
        ("whisper", {"architectures": ["WhisperForAudioClassification"]}, "E0205", "AudioClassification"),
    ],
)
def test_what_is_not_read_is_refused(
    name: str, settings: dict[str, object], code: str, words: str, tmp_path: Path
) -> None:
    model = Recorded(name, tmp_path)
    model.changed(**settings)
    with pytest.raises(EdgeKitError, match=words) as caught:
        _ = [model.graph(half) for half in ("encode", "")]
    assert caught.value.code == code


def test_signatures_and_sources_that_are_not_there_are_refused(tmp_path: Path) -> None:
    model = Recorded("t5", tmp_path)
    for signature, dims, words in (
        ("decode", {}, "no signature decode"),
        ("encode", {"source": 1 << 40}, "are absurd"),
        ("", {"source": 0}, "are absurd"),
        ("encode", {"sources": 4}, "no dimension named sources"),
    ):
        with pytest.raises(EdgeKitError, match=words):
            model.graph(signature, **dims)
    with pytest.raises(EdgeKitError, match="12 tokens are more than the 10 of the model"):
        Recorded("whisper", tmp_path).graph("encode", source=23)
    with pytest.raises(EdgeKitError, match="sources of 500 are absurd: they make 0 vectors"):
        Recorded("moonshine", tmp_path).graph("encode", source=500)
    (tmp_path / "llama").mkdir()
    with pytest.raises(EdgeKitError, match="no signature encode"):
        edgekit.convert(language_model()(tmp_path / "llama"), signature="encode")

"""Folders of transformers become decoders with caches, whose logits are those that transformers computes."""

import io
from pathlib import Path

import numpy as np
import pytest
from support.decoders import check_caches
from support.language_models import RECORDED, Header, folder, members, sharded
from support.recorded import names

from edgekit import convert, run
from edgekit.converters.transformers.config import DECODERS
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.simulate import Session
from edgekit.core.types import Array

MODELS = names(RECORDED)
WINDOWS = {"mistral-windows": 3, "qwen2-windows": 5}  # positions that their texts do not fit into
MORE_WINDOWS = ("cohere2", "exaone4", "gemma2", "gemma3_text", "mixtral", "olmo3", "phi3", "starcoder2")
TEXTS = [name for name in MODELS if "text" in np.load(io.BytesIO(members(name)["io.npz"]))]


def recorded(name: str) -> tuple[Array, Array]:
    with np.load(io.BytesIO(members(name)["io.npz"])) as stored:
        return stored["x0"], stored["y0"]


def logits(graph: Graph, tokens: Array, target: str = "") -> Array:
    """Of all tokens, as many in each run as the graph takes."""
    (count,) = graph.type("token").shape
    steps = tokens.astype(np.int32).reshape(-1, count)
    given = {"token": steps, "position": np.arange(0, tokens.size, count, dtype=np.int32).reshape(-1, 1)}
    (y,) = run(graph, given, **({"target": target} if target else {})).values()
    return y.reshape(tokens.size, -1)


@pytest.mark.parametrize("tokens_a_run", [1, 4])
@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_transformers(name: str, tokens_a_run: int, tmp_path: Path) -> None:
    tokens, expected = recorded(name)
    chunk = {"chunk": tokens_a_run} if name in (*WINDOWS, *MORE_WINDOWS) else {}
    graph = convert(folder(name)(tmp_path), dims={"positions": 16, "tokens": tokens_a_run, **chunk})
    verify(graph)
    check_caches(graph, 4)
    np.testing.assert_allclose(logits(graph, tokens), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    """The most probable tokens behind a prompt, 64 of them."""
    expected = np.load(io.BytesIO(members(name)["io.npz"]))["text"]
    session = Session(convert(folder(name)(tmp_path), dims={"positions": expected.size}))
    text = [int(token) for token in expected[:4]]
    for position in range(expected.size - 1):
        step = {"token": np.array([text[position]]), "position": np.array([position])}
        best = session.run({key: value.astype(np.int32) for key, value in step.items()})["logits"].argmax()
        if position + 1 == len(text):
            text.append(int(best))
    assert text == expected.tolist()


def test_every_family_is_recorded() -> None:
    assert {name.split("-")[0] for name in MODELS} == set(DECODERS)


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox"])
def test_files_of_the_model_without_its_last_layer_are_read(name: str, tmp_path: Path) -> None:
    """Their names lack the first word, as in the first GPT-2; masks that are stored are left."""
    tokens, expected = recorded(name)

    def shortened(header: Header) -> None:
        for key in [key for key in header if key.startswith(("transformer.", "gpt_neox."))]:
            header[key.split(".", 1)[1]] = header.pop(key)

    graph = convert(folder(name, header=shortened)(tmp_path), dims={"positions": 16})
    np.testing.assert_allclose(logits(graph, tokens), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "phi3", "gpt_neox", "cohere"])
def test_layers_have_the_names_of_the_files(name: str, tmp_path: Path) -> None:
    """Those of a fused matrix have their own behind it."""
    expected = {
        "gpt2": "h.1.attn.c_attn.v",
        "phi3": "layers.1.mlp.gate_up_proj.gate",
        "gpt_neox": "layers.1.attention.query_key_value.q",
        "cohere": "layers.1.self_attn.k_proj",
    }
    graph = convert(folder(name)(tmp_path))
    assert expected[name] in {node.origin for node in graph.nodes}


def test_weights_ship_in_the_format_of_the_file(tmp_path: Path) -> None:
    """The net computes in floats of 32 bits, in C as in the simulator."""
    tokens, expected = recorded("qwen2")
    graph = convert(folder("qwen2")(tmp_path))
    types = {v.type.dtype.value for v in graph.values.values() if v.data is not None and v.type.size > 40}
    assert types == {"bf16"}
    np.testing.assert_allclose(logits(graph, tokens, "host"), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["bloom", "gpt2", "gemma2", "gemma3_text", "glm4", "glm4_moe", "mixtral", "phimoe"]
)
def test_families_run_in_c(name: str, tmp_path: Path) -> None:
    """Biases by distance, tables of positions, caps, norms behind layers, rings, heads that turn in part."""
    tokens, expected = recorded(name)
    graph = convert(folder(name)(tmp_path), dims={"positions": 16})
    np.testing.assert_allclose(logits(graph, tokens, "host"), expected, rtol=1e-4, atol=1e-5)


def test_names_of_a_graph_are_those_of_the_files(tmp_path: Path) -> None:
    place = tmp_path / "Llama-0.1"
    place.mkdir()
    graph = convert(folder()(place))
    assert graph.name == "Llama-0.1"
    assert (graph.inputs, graph.outputs) == (("token", "position"), ("logits",))
    assert [state.input for state in graph.states] == ["keys_0", "values_0", "keys_1", "values_1"]
    assert {graph.type(state.input).shape for state in graph.states} == {(1, 2, 32, 4)}
    assert "model.layers.1.mlp.down_proj.weight" in graph.values
    assert convert(place / "model.safetensors").source.sha256 == graph.source.sha256


def test_weights_may_lie_in_several_files(tmp_path: Path) -> None:
    tokens, expected = recorded("llama")
    np.testing.assert_allclose(logits(convert(sharded(tmp_path)), tokens), expected, rtol=1e-4, atol=1e-5)


def test_caches_that_would_take_gigabytes_need_a_length(tmp_path: Path) -> None:
    where = folder(config=lambda c: c.update(max_position_embeddings=1 << 24))(tmp_path)
    with pytest.raises(EdgeKitError, match="2147483648 bytes") as caught:
        convert(where)
    assert (caught.value.code, caught.value.hint) == (
        "E0302",
        "bind fewer: --dim positions=1024 takes 131072",
    )
    assert convert(where, dims={"positions": 1024}).type("keys_0").shape[2] == 1024


def test_caches_of_gigabytes_for_one_position_get_no_length_as_a_hint(tmp_path: Path) -> None:
    where = folder(config=lambda c: c.update(head_dim=1 << 16, num_hidden_layers=1 << 12))(tmp_path)
    with pytest.raises(EdgeKitError, match="caches for all") as caught:
        convert(where)
    assert (caught.value.code, caught.value.hint) == ("E0302", "are the heads damaged?")


@pytest.mark.parametrize("tokens", [1, 4])
@pytest.mark.parametrize("name", WINDOWS)
def test_caches_of_sliding_windows_are_ring_buffers(name: str, tokens: int, tmp_path: Path) -> None:
    """They have rows for the window of a token while those behind it are written, and begin anew in C."""
    text, expected = recorded(name)
    place = folder(name)(tmp_path)
    graph = convert(place, dims={"positions": 12, "tokens": tokens, "chunk": 4})
    rows = [graph.type(state.input).shape[2] for state in graph.states[::2]]
    ring = WINDOWS[name] + 3
    assert rows == ([12, ring] if name == "qwen2-windows" else [ring, ring])
    np.testing.assert_allclose(logits(graph, text, "host"), expected, rtol=1e-4, atol=1e-5)
    wide = convert(place, dims={"positions": 12, "tokens": tokens})
    assert {wide.type(state.input).shape[2] for state in wide.states} <= {12, WINDOWS[name] + 63}
    np.testing.assert_allclose(logits(wide, text), expected, rtol=1e-4, atol=1e-5)


def test_windows_that_hold_all_positions_are_no_rings(tmp_path: Path) -> None:
    where = folder("mistral")(tmp_path)
    for positions, rows in ((24, 24), (25, 24 + 63)):
        graph = convert(where, dims={"positions": positions})
        assert {graph.type(state.input).shape[2] for state in graph.states} == {rows}


def test_runs_of_more_tokens_than_windows_have_room_for_are_refused(tmp_path: Path) -> None:
    where = folder("mistral-windows")(tmp_path)
    with pytest.raises(
        EdgeKitError, match="takes 8 tokens, and caches of windows are for runs of 4"
    ) as caught:
        convert(where, dims={"tokens": 8, "chunk": 4})
    assert caught.value.hint == "bind --dim chunk=8 for all entries"
    with pytest.raises(EdgeKitError, match="are absurd") as caught:
        convert(where, dims={"chunk": 1 << 60})
    assert "--dim chunk=N" in caught.value.hint
    with pytest.raises(EdgeKitError, match="no dimension named chunk"):
        convert(folder("llama")(tmp_path), dims={"chunk": 4})


@pytest.mark.parametrize("name", ["gpt2", "opt"])
def test_positions_beyond_a_table_of_them_are_refused(name: str, tmp_path: Path) -> None:
    """Rotation goes on for longer texts; a table ends."""
    where = folder(name)(tmp_path)
    graph = convert(where)
    rows = graph.type(graph.states[0].input).shape[2]
    with pytest.raises(
        EdgeKitError, match=f"table of {rows} positions, and no vectors for {rows + 1}"
    ) as caught:
        convert(where, dims={"positions": rows + 1})
    assert caught.value.hint == f"--dim positions=N, up to {rows}"
    longer = convert(folder("llama")(tmp_path), dims={"positions": 1000})
    assert longer.type(longer.states[0].input).shape[2] == 1000


def test_a_dimension_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="no dimension named position,") as caught:
        convert(folder()(tmp_path), dims={"position": 8})
    assert "positions" in caught.value.hint

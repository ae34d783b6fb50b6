"""Language models write text: the loop around the decoder, its limits, and the tokenizer in .ek files."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import tiny_tokenizer
from support.language_models import folder as model_folder
from support.tokenizers import tokenizer_json

import edgekit
from edgekit.codegen.packages._text import text_of
from edgekit.codegen.program import compile_graph
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.files import parse_json
from edgekit.converters.transformers.tokenizer import parse
from edgekit.core import ek_file, flatbuffer
from edgekit.core.ek_tokenizer import tokenizer_of, tokenizer_record
from edgekit.core.reasons import DamageError
from edgekit.core.simulate import Session
from edgekit.core.target import load
from edgekit.core.text.sampler import Sampler
from edgekit.generation import continued

START = [1, 34, 39]


@pytest.fixture
def tiny_llama(tmp_path: Path) -> Path:
    folder = model_folder()(tmp_path)
    tiny_tokenizer.write(folder)
    return folder


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_tokens_follow_from_the_logits_of_each_step(tiny_llama: Path, chunk: int) -> None:
    graph = edgekit.convert(tiny_llama, dims={"positions": 12, "tokens": chunk})
    session = Session(edgekit.convert(tiny_llama, dims={"positions": 12}))
    sampler = Sampler(temperature=1.0, seed=5, repetition_penalty=1.2)
    text = [*START]
    for position in range(12):
        step = {"token": np.array([text[position]], np.int32), "position": np.array([position], np.int32)}
        logits = session.run(step)["logits"]
        if position >= len(START) - 1:
            text.append(sampler.next(logits, text, position - len(START) + 1))
    assert [*continued(graph, START, sampler, 100)] == text[len(START) :]  # until the cache is full
    assert [*continued(graph, START, sampler, 4)] == text[len(START) :][:4]


@pytest.mark.parametrize("chunk", [1, 3])
def test_texts_of_ring_buffers_have_no_end(chunk: int, tmp_path: Path) -> None:
    folder = model_folder("mistral-windows")(tmp_path)
    long = edgekit.convert(folder, dims={"positions": 12, "chunk": 64})  # more rows than there will be tokens
    ring = edgekit.convert(folder, dims={"positions": 12, "chunk": 4, "tokens": chunk})
    sampler = Sampler(temperature=1.0, seed=5)
    expected = [*continued(long, START, sampler, 50)]
    assert len(expected) == 50
    assert [*continued(ring, START, sampler, 50)] == expected
    mixed = edgekit.convert(model_folder("qwen2-windows")(tmp_path), dims={"positions": 12})
    assert len([*continued(mixed, START, sampler, 50)]) == 10  # the last one is behind the last position


def test_packages_have_room_for_long_texts_where_all_caches_are_rings(tmp_path: Path) -> None:
    tiny_tokenizer.write(model_folder("mistral-windows")(tmp_path))
    ring = edgekit.convert(tmp_path, dims={"positions": 12})
    whole = edgekit.convert(tmp_path, dims={"positions": 3})
    for graph, positions in ((ring, 4096), (whole, 3)):
        text = text_of(compile_graph(graph, load("wasm32")))
        assert text is not None
        assert (text.positions, text.bytes) == (positions, 8 * positions)


def test_text_goes_on_where_it_ended(tiny_llama: Path) -> None:
    graph = edgekit.convert(tiny_llama, dims={"positions": 30})
    tokenizer = graph.tokenizer
    assert tokenizer is not None
    ids = [*continued(graph, START, Sampler(), 8)]
    pieces = [*edgekit.generate(graph, "once upon", tokens=8)]
    assert "once upon" + "".join(pieces) == tokenizer.decode([*START, *ids])
    assert len(pieces) > 1
    stopping = replace(graph, tokenizer=replace(tokenizer, stop=(ids[3],)))
    ends = "once upon" + "".join(edgekit.generate(stopping, "once upon", tokens=8))
    assert ends == tokenizer.decode([*START, *ids[: ids.index(ids[3])]])


def test_ends_of_texts_are_those_of_the_folder(tiny_llama: Path) -> None:
    config = tiny_llama / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"eos_token_id": [2, 7, 99]}))
    found = edgekit.convert(tiny_llama).tokenizer
    assert found is not None
    assert found.stop == (2, 7)
    (tiny_llama / "generation_config.json").write_text('{"eos_token_id": 3}')
    found = edgekit.convert(tiny_llama).tokenizer
    assert found is not None
    assert found.stop == (3,)


def test_quantized_models_and_files_keep_the_tokenizer(tiny_llama: Path, tmp_path: Path) -> None:
    graph = edgekit.convert(tiny_llama)
    edgekit.save(graph, tmp_path / "a.ek")
    assert edgekit.load(tmp_path / "a.ek").tokenizer == graph.tokenizer != None  # noqa: E711
    for settings in ({"dtype": "bf16"}, {"dtype": "int8", "activations": "float32"}):
        small, _ = edgekit.quantize_model(tmp_path / "a.ek", None, **settings)
        assert small.tokenizer == graph.tokenizer


def stored(record: Any) -> Any:
    """A record after it was written and read."""
    schema = ek_file.schema()
    return flatbuffer.read(schema, flatbuffer.write(schema, {"tokenizer": record}))["tokenizer"]


@pytest.mark.parametrize("kind", ["llama3", "llama2", "fused", "unigram_first"])
def test_files_hold_every_kind_of_tokenizer(kind: str) -> None:
    tokenizer = parse(Record.of(parse_json(tokenizer_json(kind).encode(), kind), kind))
    assert tokenizer_of(stored(tokenizer_record(tokenizer))) == tokenizer


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("lengths", [1] * 40, "characters, not 40"),
        ("merges", [0, 1 << 31] * 2, "does not make a token"),
        ("merges", [4, 5], "does not make a token"),
        ("settings", [], "is missing"),
    ],
)
def test_damaged_tokenizers_are_refused(field: str, value: list[int], words: str) -> None:
    tokenizer = parse(Record.of(tiny_tokenizer.tiny(), "tokenizer.json"))
    with pytest.raises(DamageError, match=words):
        tokenizer_of(stored(tokenizer_record(tokenizer) | {field: value}))

"""GGUF files become the decoders of the folders that they were made of, with the same numbers."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from frontends.test_language_models import logits, recorded
from support.exports import SAMPLES
from support.gguf_files import KIND, Blocks, blocks_of, decoder, file, plain, quantized, split, their_name
from support.language_models import folder
from support.recorded import names, unpacked
from support.tools import require_module

from edgekit import convert
from edgekit.converters.gguf import architectures
from edgekit.converters.gguf.blocks import BLOCKS
from edgekit.converters.gguf.file import parse
from edgekit.converters.gguf.stored import StoredBlocks
from edgekit.converters.transformers.config import DECODERS
from edgekit.converters.transformers.stored import ExpertMatrix
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.types import Array

# What files do not say, changed in the folder: windows of Mistral, which layers of SmolLM 3 rotate.
UNSAID: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"model_type": "llama"},
    "qwen2": {},
    "qwen3": {},
    "smollm3": {"no_rope_layer_interval": 4, "no_rope_layers": [1, 1]},
    "mixtral": {"sliding_window": None},
    "olmoe": {"norm_topk_prob": False},
    "qwen2_moe": {},
    "qwen3_moe": {},
    "granitemoe": {},
    "granitemoeshared": {},
}
# Files that llama.cpp makes of recorded folders, and what it leaves out, changed in the folder: which
# layers have windows, where other ones than usual do, and the scale of Gemma's scores.
RECORDED = SAMPLES.parent / "recorded" / "gguf.zip"
_ALL_SLIDE = {"layer_types": ["sliding_attention"] * 2}
LEFT_OUT: dict[str, dict[str, Any]] = {
    "cohere2": _ALL_SLIDE,
    "gemma3_text": {**_ALL_SLIDE, "query_pre_attn_scalar": 6},
    "starcoder2": {"sliding_window": None},
}
QUANTIZED = [block.name for block in BLOCKS.values() if block.unpack]
KEPT = {"Q4_0": "s4", "Q8_0": "s8", "Q3_K": "s4", "Q6_K": "s8", "TQ2_0": "s4", "IQ4_NL": "s8", "MXFP4": "s8"}


def stored(one: Blocks) -> Array:
    return StoredBlocks(memoryview(one.data), BLOCKS[one.kind], tuple(one.shape)).array()


@pytest.mark.parametrize("name", UNSAID)
def test_logits_are_those_of_the_folder(name: str, tmp_path: Path) -> None:
    tokens, expected = recorded(name)
    graph = convert(file(tmp_path, *decoder(name)), dims={"positions": 16})
    verify(graph)
    found = logits(graph, tokens)
    same = logits(
        convert(folder(name, lambda c: c.update(UNSAID[name]))(tmp_path), dims={"positions": 16}), tokens
    )
    if name == "llama":  # rates divided by factors of the file are off by a last bit
        np.testing.assert_allclose(found, same, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, same)
    if not UNSAID[name] or name == "mistral":
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", names(RECORDED))
def test_files_of_llama_cpp_are_the_folders(name: str, tmp_path: Path) -> None:
    """Matrices are bfloat16 in both, and so are the numbers."""
    tokens, expected = recorded(name)
    found = logits(convert(unpacked(RECORDED, name, tmp_path).path, dims={"positions": 16}), tokens)
    if name in LEFT_OUT:
        place = folder(name, lambda c: c.update(LEFT_OUT[name]))(tmp_path)
        expected = logits(convert(place, dims={"positions": 16}), tokens)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_every_architecture_is_read() -> None:
    with ZipFile(RECORDED) as archive:
        files = [parse(archive.read(f"{name}/net.gguf"), name).settings for name in names(RECORDED)]
    settings = [one.fields for one in files] + [decoder(name)[0] for name in UNSAID]
    assert {one["general.architecture"] for one in settings} == set(architectures.ARCHITECTURES)


@pytest.mark.parametrize("name", UNSAID)
def test_tensors_have_the_names_of_the_package_gguf(name: str) -> None:
    gguf = require_module("gguf")
    settings, tensors = decoder(name)
    assert settings["general.architecture"] in gguf.MODEL_ARCH_NAMES.values()
    known = {name.format(bid=i) for name in gguf.TENSOR_NAMES.values() for i in range(2)}
    assert {tensor.rpartition(".")[0] for tensor in tensors} <= known


@pytest.mark.parametrize("kind", QUANTIZED)
def test_numbers_of_blocks_are_weights(kind: str, tmp_path: Path) -> None:
    """And their integers ship, where groups have no minima."""
    settings, tensors = quantized(kind)
    widened = {name: plain(stored(one)) if len(one.shape) == 2 else one for name, one in tensors.items()}
    graph = convert(file(tmp_path, settings, tensors))
    verify(graph)
    tokens = np.arange(8) * 5 % 40
    expected = logits(convert(file(tmp_path, settings, widened)), tokens)
    np.testing.assert_allclose(logits(graph, tokens), expected, rtol=1e-3, atol=1e-4)
    matrices = {
        v.type.dtype.value for v in graph.values.values() if v.data is not None and v.type.size > 9000
    }
    if kind in KEPT:
        assert matrices == {KEPT[kind]}


def test_integers_of_blocks_run_in_c(tmp_path: Path) -> None:
    tokens = np.arange(8) * 5 % 40
    graph = convert(file(tmp_path, *quantized("Q4_0")))
    np.testing.assert_allclose(logits(graph, tokens, "host"), logits(graph, tokens), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in QUANTIZED if kind != "Q8_K"])
def test_blocks_are_read_bit_by_bit(kind: str) -> None:
    """As the package gguf reads them, NaN and infinite scales included."""
    gguf = require_module("gguf")
    block = BLOCKS[KIND[kind]]
    raw = np.random.default_rng(KIND[kind]).integers(0, 256, (400, block.bytes), np.uint8)
    with np.errstate(all="ignore"):
        found = stored(Blocks(KIND[kind], (400, block.size), raw.tobytes()))
        expected = gguf.quants.dequantize(raw, gguf.GGMLQuantizationType(KIND[kind]))
    assert gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(KIND[kind])] == (block.size, block.bytes)
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    np.testing.assert_array_equal(found.view(np.uint32)[~is_nan], expected.view(np.uint32)[~is_nan])


@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "Q6_K"])
def test_integers_of_an_expert_are_those_of_its_rows(kind: str) -> None:
    one = blocks_of(kind, (3, 5, 512))
    tensor = StoredBlocks(memoryview(one.data), BLOCKS[one.kind], tuple(one.shape))
    for number in range(3):
        matrix = ExpertMatrix(tensor, number)
        groups = matrix.groups()
        assert groups is not None
        real = groups.integers.astype(np.float32) * np.repeat(groups.scale, groups.group, axis=1)
        np.testing.assert_array_equal(real, matrix.array())


def test_blocks_of_intermediate_sums_are_a_scale_and_bytes() -> None:
    """Q8_K, which the package does not read."""
    integers = np.arange(-128, 128, dtype=np.int8)
    raw = np.float32(0.25).tobytes() + integers.tobytes() + bytes(32)
    np.testing.assert_array_equal(stored(Blocks(KIND["Q8_K"], (256,), raw)), integers * np.float32(0.25))


def test_types_that_are_not_read_have_their_names() -> None:
    gguf = require_module("gguf")
    known = {kind.value: kind.name for kind in gguf.GGMLQuantizationType}
    assert known.items() >= {**{k: b.name for k, b in BLOCKS.items()}}.items()


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "smollm3", "olmoe"])
def test_names_of_tensors_are_those_of_the_package(arch: str) -> None:
    gguf = require_module("gguf")
    kinds = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(kinds[arch], 2)
    for theirs in (name for name in decoder(arch)[1] if "rope" not in name):
        ours = architectures.their_name(theirs, DECODERS[arch].names)
        assert names.get_name(ours, try_suffixes=(".weight", ".bias")) == theirs == their_name(ours)


def test_what_the_package_writes_is_read(tmp_path: Path) -> None:
    gguf = require_module("gguf")
    settings, tensors = decoder("qwen3")
    made = gguf.GGUFWriter(tmp_path / "theirs.gguf", "qwen3")
    made.add_custom_alignment(256)
    for key, value in settings.items():
        if key != "general.architecture":
            (made.add_float32 if isinstance(value, float) else made.add_uint32)(key, value)
    made.add_array("general.tags", ["a", "b"])
    made.add_array("general.numbers", [1, 2])
    for name, one in tensors.items():
        made.add_tensor(name, stored(one))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(made, step)()
    tokens, _ = recorded("qwen3")
    found, expected = (
        logits(convert(path), tokens)
        for path in (tmp_path / "theirs.gguf", file(tmp_path, settings, tensors))
    )
    np.testing.assert_array_equal(found, expected)


def test_models_may_be_split_into_files(tmp_path: Path) -> None:
    tokens, _ = recorded("qwen3")
    first = split(tmp_path, *decoder("qwen3"))
    expected = logits(convert(file(tmp_path, *decoder("qwen3"))), tokens)
    np.testing.assert_array_equal(logits(convert(first), tokens), expected)
    with pytest.raises(EdgeKitError, match="not the first of 3 files") as caught:
        convert(tmp_path / "net-00002-of-00003.gguf")
    assert "net-00001-of-00003.gguf" in caught.value.hint


def test_graph_has_the_name_of_the_file_and_caches_as_states(tmp_path: Path) -> None:
    graph = convert(file(tmp_path, *decoder()), dims={"positions": 8, "tokens": 2})
    assert (graph.name, graph.inputs, graph.outputs) == ("net", ("token", "position"), ("logits",))
    assert graph.source.format == "GGUF"
    assert graph.type("keys_0").shape == (1, 2, 8, 4)

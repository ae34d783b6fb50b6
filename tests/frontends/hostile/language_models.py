"""Folders of language models made to do harm: files that lie about themselves, or name files elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.hostile_files import Case
from support.language_models import Header, folder, members, sharded, written

EMBEDDING = "model.embed_tokens.weight"
NORM = "model.norm.weight"
RAW = members("llama")["model.safetensors"]


def config(**settings: Any) -> Callable[[Path], Path]:
    return folder(config=lambda c: c.update(settings))


def of(name: str, **settings: Any) -> Callable[[Path], Path]:
    """Of another family."""
    return folder(name, lambda c: c.update(settings))


def without(key: str) -> Callable[[Path], Path]:
    return folder(config=lambda c: c.pop(key))


def rope(**settings: Any) -> Callable[[Path], Path]:
    return folder(config=lambda c: c["rope_scaling"].update(settings))


def entry(name: str = NORM, **settings: Any) -> Callable[[Path], Path]:
    return folder(header=lambda h: h[name].update(settings))


def raw(content: bytes) -> Callable[[Path], Path]:
    return folder(weights=content)


def index(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    def make(where: Path) -> Path:
        path = sharded(where) / "model.safetensors.index.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        return where

    return make


def linked(where: Path) -> Path:
    folder()(where)
    (where / "model.safetensors").rename(where / "other")
    (where / "model.safetensors").symlink_to(where / "other")
    return where


def linked_config(where: Path) -> Path:
    folder()(where)
    (where / "config.json").rename(where / "other")
    (where / "config.json").symlink_to(where / "other")
    return where


def pickled(where: Path) -> Path:
    folder()(where)
    (where / "model.safetensors").rename(where / "pytorch_model.bin")
    return where


def two_files(where: Path) -> Path:
    folder()(where)
    (where / "model.safetensors").rename(where / "a.safetensors")
    (where / "b.safetensors").write_bytes(RAW)
    return where


def overlapping(header: Header) -> None:
    """Two norms of one size in the same bytes: a gap where the second was."""
    header[NORM]["data_offsets"] = header["model.layers.0.input_layernorm.weight"]["data_offsets"]


def shifted(header: Header) -> None:
    for name, tensor in header.items():
        if name != "__metadata__":
            tensor["data_offsets"] = [place + 4 for place in tensor["data_offsets"]]


def renamed(header: Header) -> None:
    header["model.more.weight"] = header.pop(NORM)


def untied(header: Header) -> None:
    """A last layer of its own, made of the bytes of other tensors, beside the embedding that it should be."""
    header["lm_head.weight"] = header.pop(EMBEDDING)


def fewer(header: Header) -> None:
    """An expert has another number."""
    name = "model.layers.0.block_sparse_moe.experts.{}.w2.weight"
    header[name.format(9)] = header.pop(name.format(3))


def halved(header: Header) -> None:
    """Half of the experts, twice as wide."""
    of_all = header["model.layers.0.block_sparse_moe.input_linear.weight"]
    of_all["shape"] = [of_all["shape"][0] // 2, of_all["shape"][1] * 2, of_all["shape"][2]]


def of_integers(header: Header) -> None:
    header[NORM]["dtype"] = "I32"


def twice(where: Path) -> Path:
    """A tensor in both files."""
    first, second = sorted(sharded(where).glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    return where


CASES = {
    "index that leaves the folder": Case(
        "E0404", "outside", index(lambda i: i["weight_map"].update({NORM: "../model.safetensors"}))
    ),
    "index to an absolute path": Case(
        "E0404", "outside", index(lambda i: i["weight_map"].update({NORM: "/etc/passwd"}))
    ),
    "index to a number": Case("E0401", "weight_map", index(lambda i: i["weight_map"].update({NORM: 7}))),
    "index to a file that is missing": Case(
        "E0104", "is missing", index(lambda i: i["weight_map"].update({NORM: "more.safetensors"}))
    ),
    "index without a map": Case("E0401", "weight_map", index(lambda i: i.pop("weight_map"))),
    "tensor in two files": Case("E0401", "in two files", twice),
    "weights are a link": Case("E0404", "copy the file", linked),
    "config.json is a link": Case("E0404", "copy the file", linked_config),
    "pickles": Case("E0103", "no safetensors", pickled),
    "two files and no index": Case("E0103", "2 files", two_files),
    "header beyond the file": Case("E0401", "header", raw(b"\xff" * 8 + RAW[8:])),
    "header of gigabytes": Case("E0401", "header", raw((1 << 34).to_bytes(8, "little") + RAW[8:])),
    "file of seven bytes": Case("E0401", "header", raw(RAW[:7])),
    "header that is a list": Case("E0401", "should be an object", raw(written(b"[]", b""))),
    "header that is no JSON": Case("E0401", "not valid JSON", raw(written(b"{'a'}", b""))),
    "header nested without end": Case("E0402", "nested", raw(written(b'{"a":' + b"[" * 100_000, b""))),
    "tensor that is no object": Case("E0401", "should be an object", folder(header=lambda h: h.update(x=7))),
    "tensor that is null": Case("E0401", "", folder(header=lambda h: h.update({NORM: None}))),
    "tensors that overlap": Case("E0401", "another tensor", folder(header=overlapping)),
    "bytes that no tensor has": Case("E0401", "there are", raw(RAW + b"\0")),
    "weights that end": Case("E0401", "is the file complete", raw(RAW[:-4])),
    "gap at the start": Case("E0401", "a gap", folder(header=shifted)),
    "place before the file": Case("E0401", "no place", entry(data_offsets=[-64, 0])),
    "place of three numbers": Case("E0401", "no place", entry(data_offsets=[0, 32, 64])),
    "place that goes backwards": Case("E0401", "takes", entry(data_offsets=[64, 0])),
    "place beyond all files": Case("E0401", "takes", entry(data_offsets=[0, 1 << 62])),
    "shape whose product wraps": Case("E0402", "absurd", entry(shape=[1 << 32, 1 << 32])),
    "shape of less than nothing": Case("E0402", "absurd", entry(shape=[-16])),
    "shape of halves": Case("E0401", "an integer", entry(shape=[0.5])),
    "unknown data type": Case("E0204", "data type F7", entry(dtype="F7")),
    "weights of integers": Case("E0204", "floats are read", folder(header=of_integers)),
    "tensor that is missing": Case("E0401", "no tensor model.norm.weight", folder(header=renamed)),
    "tensor of another model": Case(
        "E0205", "no place for", folder("qwen3", lambda c: c.update(attention_bias=False))
    ),
    "ties that are none": Case("E0401", "differs", folder(header=untied)),
    "width of another model": Case("E0401", "the configuration says", config(hidden_size=24)),
    "width of nothing": Case("E0401", "hidden_size is 0", config(hidden_size=0)),
    "width without end": Case("E0401", "the configuration says", config(hidden_size=1 << 62)),
    "heads of nothing": Case("E0401", "is -4", config(num_attention_heads=-4)),
    "heads that share badly": Case("E0401", "do not share", config(num_key_value_heads=3)),
    "heads of one number": Case("E0401", "no pairs", config(head_dim=1)),
    "layers without end": Case("E0402", "absurd", config(num_hidden_layers=1 << 40)),
    "caches of gigabytes for one position": Case(
        "E0302", "caches for all", config(head_dim=1 << 16, num_hidden_layers=1 << 12)
    ),
    "heads of billions of numbers": Case("E0402", "absurd", config(head_dim=1 << 33)),
    "width of billions of numbers": Case("E0402", "absurd", config(hidden_size=1 << 31, head_dim=None)),
    "positions without end": Case("E0302|E0402", "positions", config(max_position_embeddings=1 << 62)),
    "words that are text": Case("E0401", "an integer", config(vocab_size="many")),
    "no width": Case("E0401", "no hidden_size", without("hidden_size")),
    "experts without end": Case("E0402", "absurd", of("mixtral", num_local_experts=1 << 40)),
    "experts of nothing": Case("E0401", "num_experts is 0", of("mixtral", num_local_experts=0)),
    "fewer experts than are chosen": Case("E0401", "cannot choose 5", of("mixtral", num_experts_per_tok=5)),
    "more experts than there are": Case(
        "E0401", "gate.weight is of shape", of("mixtral", num_local_experts=5)
    ),
    "groups of experts": Case("E0203", "n_group of 2", of("glm4_moe", n_group=2)),
    "experts in negative shares": Case(
        "E0401", "routed_scaling_factor is -1", of("dots1", routed_scaling_factor=-1.0)
    ),
    "margin that is no number": Case(
        "E0401", "router_jitter_noise is nan", of("phimoe", router_jitter_noise=float("nan"))
    ),
    "three experts by SparseMixer": Case(
        "E0203", "num_experts_per_tok of 3", of("phimoe", num_experts_per_tok=3)
    ),
    "more shared experts than there are": Case("E0401", "is of shape", of("glm4_moe", n_shared_experts=9)),
    "expert that is missing": Case("E0401", "block_sparse_moe.experts.3.w2", folder("mixtral", header=fewer)),
    "experts in one tensor, which are few": Case(
        "E0401", "input_linear.0.weight is of shape [112, 16]", folder("granitemoe", header=halved)
    ),
    "width of another expert": Case("E0401", "says", of("qwen3_moe", moe_intermediate_size=13)),
    "another family": Case("E0205", "type mamba", config(model_type="mamba")),
    "a classifier": Case("E0205", "no logits", config(architectures=["LlamaForSequenceClassification"])),
    "weights of a quantizer": Case("E0205", "quantized", config(quantization_config={"bits": 4})),
    "activation of others": Case("E0203", "quick_gelu", config(hidden_act="quick_gelu")),
    "scores that are capped": Case(
        "E0203", "attn_logit_softcapping of 50.0", of("gemma3_text", attn_logit_softcapping=50.0)
    ),
    "cap of scores below 0": Case(
        "E0401", "attn_logit_softcapping is -2", of("gemma2", attn_logit_softcapping=-2.0)
    ),
    "slopes that do not fall": Case(
        "E0401", "alibi_bias_max is 0", of("mpt", attn_config={"alibi_bias_max": 0})
    ),
    "slopes of heads without end": Case("E0402", "heads are absurd", of("mpt", n_heads=1 << 40, head_dim=4)),
    "attention in words": Case("E0401", "attn_config", of("mpt", attn_config="alibi")),
    "clipped queries": Case("E0203", "clip_qkv of 6", of("mpt", attn_config={"clip_qkv": 6})),
    "scale of logits that is 0": Case("E0401", "logit_scale is 0", of("cohere", logit_scale=0.0)),
    "scale of logits that is infinite": Case("E0401", "is inf", of("granite", logits_scaling=float("inf"))),
    "heads that turn by halves of pairs": Case(
        "E0401", "no pairs", of("stablelm", rope_parameters={"partial_rotary_factor": 0.3})
    ),
    "heads that turn by more than they have": Case(
        "E0401", "no pairs", of("stablelm", rope_parameters={"partial_rotary_factor": 1e30})
    ),
    "fused heads without end": Case(
        "E0401", "configuration says", of("phi3", num_attention_heads=1 << 40, head_dim=4)
    ),
    "fused MLP without end": Case("E0401", "configuration says", of("phi3", intermediate_size=1 << 60)),
    "table of positions of another model": Case("E0401", "configuration says", of("gpt2", n_positions=64)),
    "pattern of windows of nothing": Case(
        "E0401", "sliding_window_pattern is 0", of("cohere2", layer_types=None, sliding_window_pattern=0)
    ),
    "pattern of windows in words": Case(
        "E0401", "an integer", of("exaone4", layer_types=None, sliding_window_pattern="LLLG")
    ),
    "layers of another kind": Case("E0203", "mamba", config(layer_types=["mamba", "full_attention"])),
    "layers without a kind": Case("E0401", "all 2 layers", config(layer_types=["full_attention"])),
    "positions of another kind": Case("E0203", "rope_type yarn", rope(rope_type="yarn")),
    "positions by nothing": Case("E0401", "factor is 0", rope(factor=0)),
    "positions by nan": Case("E0401", "factor is nan", rope(factor=float("nan"))),
    "positions turned around": Case("E0401", "not below", rope(low_freq_factor=9.0)),
    "negative base of angles": Case("E0401", "rope_theta", config(rope_theta=-1.0)),
}

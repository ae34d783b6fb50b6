"""GGUF files for tests: any settings and tensors, and recorded decoders as llama.cpp has them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support.language_models import members

from edgekit.converters.file_formats.safetensors import tensors
from edgekit.converters.gguf.blocks import BLOCKS, Block
from edgekit.core.types import Array

_TOKENS = [*"abcdefgh", "ab", "cd", "abcd", "<s>"]
_KINDS = [1] * 11 + [3]
# By merges, and by scores.
_TOKENIZERS: Sequence[Mapping[str, Any]] = (
    {"model": "gpt2", "pre": "llama-bpe", "merges": ["a b", "c d", "ab cd"]},
    {"model": "llama", "scores": [-float(i) for i in range(12)], "add_space_prefix": False},
)
_CODES = {"u4": 4, "i4": 5, "f4": 6, "?": 7, "u8": 10}
_ALIGNMENT = 32
KIND = {block.name: kind for kind, block in BLOCKS.items()}
_LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp",
    "mlp.experts.gate_proj": "ffn_gate_exps",
    "mlp.experts.up_proj": "ffn_up_exps",
    "mlp.experts.down_proj": "ffn_down_exps",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "block_sparse_moe.router.layer": "ffn_gate_inp",
    "block_sparse_moe.gate_linear": "ffn_gate_exps",
    "block_sparse_moe.up_linear": "ffn_up_exps",
    "block_sparse_moe.output_linear": "ffn_down_exps",
    "shared_mlp.gate_linear": "ffn_gate_shexp",
    "shared_mlp.up_linear": "ffn_up_shexp",
    "shared_mlp.output_linear": "ffn_down_shexp",
    "block_sparse_moe.gate": "ffn_gate_inp",
    "block_sparse_moe.experts.w1": "ffn_gate_exps",
    "block_sparse_moe.experts.w3": "ffn_up_exps",
    "block_sparse_moe.experts.w2": "ffn_down_exps",
}
_ARCHITECTURES = {
    "mistral": "llama",
    "mixtral": "llama",
    "qwen2_moe": "qwen2moe",
    "qwen3_moe": "qwen3moe",
    "granitemoeshared": "granitemoe",
}
# Settings of some architectures alone, where config.json has them.
_OWN = {
    "moe_intermediate_size": "expert_feed_forward_length",
    "shared_expert_intermediate_size": "expert_shared_feed_forward_length",
    "shared_intermediate_size": "expert_shared_feed_forward_length",
    "attention_multiplier": "attention.scale",
    "embedding_multiplier": "embedding_scale",
    "residual_multiplier": "residual_scale",
    "logits_scaling": "logit_scale",
}
_PERMUTED = ("llama", "smollm3", "granitemoe")
_TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


@dataclass(frozen=True)
class Typed:
    """A number that is written as a type of numpy; "u4" is what files mostly have."""

    value: Any
    type: str


@dataclass(frozen=True)
class Blocks:
    """A tensor, and its bytes."""

    kind: int
    shape: Sequence[int]
    data: bytes


def plain(data: Array) -> Blocks:
    kind = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[str(data.dtype)]
    return Blocks(KIND[kind], data.shape, data.tobytes())


def blocks_of(name: str, shape: Sequence[int], seed: int = 1) -> Blocks:
    """Any bits, but for scales that a net can be computed with."""
    block = BLOCKS[KIND[name]]
    return Blocks(KIND[name], shape, _random(block, int(np.prod(shape)) // block.size, seed).tobytes())


def _random(block: Block, count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    made = np.frombuffer(rng.bytes(count * block.bytes), block.fields).copy()
    names = made.dtype.names or ()
    for field in ("d", "dmin", "m"):
        if field in names:
            made[field] = rng.uniform(0.0005, 0.005, count) * rng.choice([-1, 1], count)
    if "e" in names:
        made["e"] = rng.integers(120, 125, count)
    return made


def written(
    settings: Mapping[str, Any], tensors: Mapping[str, Blocks], alignment: int = _ALIGNMENT, version: int = 3
) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(settings))
    head += b"".join(_text(key) + _setting(value) for key, value in settings.items())
    data = b""
    for name, one in tensors.items():
        data += bytes(-len(data) % alignment)
        shape = struct.pack(f"<I{len(one.shape)}Q", len(one.shape), *list(one.shape)[::-1])
        head += _text(name) + shape + struct.pack("<IQ", one.kind, len(data))
        data += one.data
    return head + bytes(-len(head) % alignment) + data


def _text(text: str) -> bytes:
    raw = text.encode(errors="surrogatepass")
    return struct.pack("<Q", len(raw)) + raw


def _setting(value: Any) -> bytes:
    kind, raw = _value(value)
    return struct.pack("<I", kind) + raw


def _value(value: Any) -> tuple[int, bytes]:
    match value:
        case Typed():
            return _CODES[value.type], np.array(value.value, f"<{value.type}").tobytes()
        case str():
            return 8, _text(value)
        case bool():
            return _value(Typed(value, "?"))
        case int():
            return _value(Typed(value, "u4"))
        case float():
            return _value(Typed(value, "f4"))
    pairs = [_value(item) for item in value]
    kind = pairs[0][0] if pairs else 8
    return 9, struct.pack("<IQ", kind, len(pairs)) + b"".join(raw for _, raw in pairs)


def their_name(name: str) -> str:
    """What llama.cpp calls a tensor of transformers."""
    stem, _, kind = name.rpartition(".")
    if stem in _TOP:
        return f"{_TOP[stem]}.{kind}"
    _, _, layer, own = stem.split(".", 3)
    return f"blk.{layer}.{_LAYER[own]}.{kind}"


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that llama.cpp's converter makes of config.json."""
    kind = config["model_type"]
    arch = _ARCHITECTURES.get(kind, kind)
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    own = {
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": size,
        "attention.value_length": size,
        "attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "rope.freq_base": float(rope.get("rope_theta", config.get("rope_theta", 10000.0))),
        "rope.dimension_count": size,
        "vocab_size": config["vocab_size"],
    }
    experts = config.get("num_local_experts", config.get("num_experts"))
    if experts:
        own |= {"expert_count": experts, "expert_used_count": config["num_experts_per_tok"]}
    own |= {theirs: config[key] for key, theirs in _OWN.items() if key in config}
    if rope.get("rope_type") == "linear":
        own |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    return {"general.architecture": arch, **{f"{arch}.{key}": value for key, value in own.items()}}


def decoder(name: str = "llama") -> tuple[dict[str, Any], dict[str, Blocks]]:
    """A recorded decoder as settings and tensors, in the types that it is stored in."""
    given = members(name)
    config = json.loads(given["config.json"])
    settings = settings_of(config)
    return settings, dict(_tensors(config, given["model.safetensors"], settings["general.architecture"]))


def _tensors(config: Mapping[str, Any], raw: bytes, arch: str) -> Iterator[tuple[str, Blocks]]:
    given = {name: one.array() for name, one in tensors(raw, "model.safetensors").items()}
    for name, data in _stacked(given).items():
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
        if heads and arch in _PERMUTED:
            turned = data.reshape(config[heads], 2, -1, *data.shape[1:])
            data = np.ascontiguousarray(turned.swapaxes(1, 2)).reshape(data.shape)
        yield their_name(name), plain(data[0] if data.shape[0] == 1 else data)
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if rope.get("rope_type") == "llama3":
        yield "rope_freqs.weight", plain(_llama3(config, rope))


def _stacked(given: Mapping[str, Array]) -> dict[str, Array]:
    """With one tensor for the matrices of all experts."""
    found: dict[str, list[Array]] = {}
    for name in sorted(given):
        found.setdefault(re.sub(r"\.experts\.\d", ".experts", name), []).append(given[name])
    made = {name: np.stack(all) if ".experts." in name else all[0] for name, all in found.items()}
    return dict(part for name, one in made.items() for part in _halves(name, one))


def _halves(name: str, one: Array) -> Iterator[tuple[str, Array]]:
    """The gate and the other half of what Granite has in one tensor."""
    if ".input_linear." not in name:
        yield name, one
        return
    for part, half in zip(("gate", "up"), np.split(one, 2, axis=-2), strict=True):
        yield name.replace("input", part), np.ascontiguousarray(half)


def _llama3(config: Mapping[str, Any], rope: Mapping[str, Any]) -> Array:
    """What rates are divided by."""
    theta = rope.get("rope_theta", config.get("rope_theta"))
    size = config["hidden_size"] // config["num_attention_heads"]
    factors = []
    for rate in (1 / theta ** (i / size) for i in range(0, size, 2)):
        turns = rope["original_max_position_embeddings"] * rate / (2 * np.pi)
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        share = min(1.0, max(0.0, (turns - low) / (high - low)))
        factors.append(1 / ((1 - share) / rope["factor"] + share))
    return np.array(factors, np.float32)


def quantized(kind: str) -> tuple[dict[str, Any], dict[str, Blocks]]:
    """A decoder whose matrices are of a block type, and wide enough for it."""
    settings, given = decoder("qwen3")
    sizes = {"embedding_length": 256, "feed_forward_length": 256, "attention.key_length": 64}
    sizes |= {"attention.value_length": 64, "rope.dimension_count": 64}
    settings |= {f"qwen3.{key}": value for key, value in sizes.items()}
    rng = np.random.default_rng(1)
    made = {}
    for i, (name, one) in enumerate(given.items()):
        heads = {"attn_q": 4, "attn_k": 2, "attn_v": 2}.get(name.split(".")[-2])
        rows = 64 * heads if heads else 64 if "q_norm" in name or "k_norm" in name else 256
        if len(one.shape) == 2:
            shape = (40 if name.startswith(("token", "output.")) else rows, 256)
            made[name] = blocks_of(kind, shape, i)
        else:
            made[name] = plain(rng.normal(1, 0.2, rows).astype(np.float32))
    return settings, made


def models() -> dict[str, dict[str, bytes]]:
    """Files of several architectures and block types, with tokenizers, one of them in parts."""
    made: dict[str, dict[str, bytes]] = {}
    for name in ("llama", "qwen2", "qwen3", "smollm3"):
        settings, tensors = decoder(name)
        made[name] = {"net.gguf": written({**settings, **_tokenizer(len(made))}, tensors)}
    for kind in ("Q4_0", "Q5_1", "Q4_K"):
        made[kind] = {"net.gguf": written(*quantized(kind))}
    made["split"] = parts(*decoder("qwen3"), 2)
    return made


def _tokenizer(i: int) -> dict[str, Any]:
    own = {"tokens": _TOKENS, "token_type": [Typed(k, "i4") for k in _KINDS], "bos_token_id": 11}
    own |= _TOKENIZERS[i % len(_TOKENIZERS)]
    return {f"tokenizer.ggml.{key}": value for key, value in own.items()}


def file(where: Path, settings: Mapping[str, Any], tensors: Mapping[str, Blocks]) -> Path:
    path = where / "net.gguf"
    path.write_bytes(written(settings, tensors))
    return path


def split(where: Path, settings: Mapping[str, Any], tensors: Mapping[str, Blocks], count: int = 3) -> Path:
    """The model in several files; the first has the settings."""
    for name, content in parts(settings, tensors, count).items():
        (where / name).write_bytes(content)
    return where / f"net-00001-of-{count:05}.gguf"


def parts(settings: Mapping[str, Any], tensors: Mapping[str, Blocks], count: int) -> dict[str, bytes]:
    names, made = list(tensors), {}
    for i in range(count):
        own = {"split.no": i, "split.count": count, "split.tensors.count": Typed(len(names), "i4")}
        part = {name: tensors[name] for name in names[i::count]}
        content = written({**(settings if i == 0 else {}), **own}, part)
        made[f"net-{i + 1:05}-of-{count:05}.gguf"] = content
    return made

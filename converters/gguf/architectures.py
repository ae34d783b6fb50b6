"""The settings of a GGUF file as config.json of the same model; names of tensors as in transformers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from edgekit.converters.file_formats.json_record import Record
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError

_FOLDER = "convert the folder with config.json and safetensors that it was made of: docs/language-models.md"


@dataclass(frozen=True)
class Architecture:
    """Where `pairs_adjacent`, numbers that turn together stand side by side in the rows of Q and K, which
    transformers has half a head apart."""

    model_type: str
    pairs_adjacent: bool = False


# By general.architecture. Mistral's files say llama.
ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture("llama", pairs_adjacent=True),
    "qwen2": Architecture("qwen2"),
    "qwen3": Architecture("qwen3"),
    "smollm3": Architecture("smollm3", pairs_adjacent=True),
}
# Settings of an architecture, and what config.json calls them.
_KEYS: Mapping[str, str] = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "rope.freq_base": "rope_theta",
    "vocab_size": "vocab_size",
}
# What repeats one of them, is checked below, or says how the file came to be.
_CHECKED = ("attention.value_length", "rope.dimension_count", "rope.scaling.type", "rope.scaling.factor")
_IDLE = ("rope.scaling.original_context_length", "rope.scaling.finetuned", "tensor_data_layout")
_ROPE = "rope.scaling."
EMBEDDING, HEAD, FREQUENCIES = "token_embd.weight", "output.weight", "rope_freqs.weight"
_NAMES: Mapping[str, str] = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TENSOR = re.compile(r"(blk\.(\d{1,6})\.)?(\w+)\.(weight|bias)")


def architecture(settings: Record) -> Architecture:
    name = settings.text("general.architecture")
    if name not in ARCHITECTURES:
        near = suggest.hint(name, list(ARCHITECTURES), "architectures")
        hint = near or f"{', '.join(ARCHITECTURES)} are read; {_FOLDER}"
        raise EdgeKitError("E0205", f"models of architecture {name:.60} are not read", settings.where, hint)
    return ARCHITECTURES[name]


def configuration(settings: Record, tensors: Mapping[str, tuple[int, ...]]) -> Record:
    """What config.json would say. `tensors` are the shapes by name: biases are where they are."""
    kind = architecture(settings)
    prefix = settings.text("general.architecture") + "."
    own = {
        key.removeprefix(prefix): value for key, value in settings.fields.items() if key.startswith(prefix)
    }
    _check(own, settings)
    found: dict[str, Any] = {ours: own[theirs] for theirs, ours in _KEYS.items() if theirs in own}
    if EMBEDDING in tensors:
        found.setdefault("vocab_size", tensors[EMBEDDING][0])
    for key, tensor in (("attention_bias", "attn_output"), ("mlp_bias", "ffn_up")):
        found[key] = f"blk.0.{tensor}.bias" in tensors
    return Record(
        found
        | {
            "model_type": kind.model_type,
            "tie_word_embeddings": HEAD not in tensors,
            "rope_scaling": _scaling(own, settings),
        },
        settings.where,
    )


def _check(own: Mapping[str, Any], settings: Record) -> None:
    """Refuse what would change the numbers, and is not here."""
    known = (*_KEYS, *_CHECKED, *_IDLE)
    unknown = [key for key, value in own.items() if key not in known and value not in (0, [], "")]
    if unknown:
        message = f"the setting {unknown[0]:.60} of such models is not known"
        raise EdgeKitError("E0205", message, settings.where, _FOLDER)
    heads = own.get("attention.head_count")
    width = own.get("embedding_length")
    size = own.get("attention.key_length")
    if size is None and isinstance(width, int) and isinstance(heads, int) and heads > 0:
        size = width // heads
    for key, what in (
        ("attention.value_length", "values of another size than keys"),
        ("rope.dimension_count", "heads that turn in part"),
    ):
        if size is not None and own.get(key, size) != size:
            raise EdgeKitError("E0205", f"{what} are not read: {key} is {own[key]!r:.40}", settings.where)


def _scaling(own: Mapping[str, Any], settings: Record) -> dict[str, Any] | None:
    """Llama 3's scaling is a tensor of the file."""
    kind = own.get(f"{_ROPE}type", "none")
    if kind == "none":
        return None
    return {"rope_type": kind, "factor": own.get(f"{_ROPE}factor", 1.0)}


def their_name(name: str) -> str:
    """What transformers calls a tensor; one that it has no name for keeps its own."""
    found = _TENSOR.fullmatch(name)
    if found is None or found[3] not in _NAMES:
        return name
    layer = f"model.layers.{int(found[2])}." if found[1] else ""
    return f"{layer}{_NAMES[found[3]]}.{found[4]}"


def turns(name: str) -> str:
    """Which heads the rows of a tensor are of, where they turn: q, k, or none."""
    found = _TENSOR.fullmatch(name)
    return found[3][-1] if found and found[3] in ("attn_q", "attn_k") else ""


def stops(settings: Record, tokens: Collection[int]) -> tuple[int, ...]:
    """Ends of texts and of turns."""
    keys = (f"tokenizer.ggml.{end}_token_id" for end in ("eos", "eot", "eom"))
    ends = dict.fromkeys(settings.integer(key) for key in keys if key in settings)
    return tuple(end for end in ends if end in tokens)

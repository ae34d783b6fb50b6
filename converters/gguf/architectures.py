"""The settings of a GGUF file as config.json of the same model; names of tensors as in transformers."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.config import DECODERS, Config, parse, with_members
from edgekit.converters.transformers.families import Storage
from edgekit.converters.transformers.rope import FULL, SLIDING
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError

_FOLDER = "convert the folder with config.json and safetensors that it was made of: docs/language-models.md"


@dataclass(frozen=True)
class Architecture:
    """Where `pairs_adjacent`, numbers that turn together stand side by side in the rows of Q and K, which
    transformers has half a head apart. `keys` are settings of this architecture alone, and what config.json
    calls them; those in `unused` repeat what tensors say, and `implied` is what no file says."""

    model_type: str
    pairs_adjacent: bool = False
    turns_in_part: bool = False  # of each head, as many numbers as a setting says
    keys: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    implied: Mapping[str, Any] = field(default_factory=dict)
    variants: Mapping[str, str] = field(default_factory=dict)  # the model_type, by settings that say so


_WINDOWS = {"attention.sliding_window_pattern": "layer_types", "rope.freq_base_swa": "rope_local_base_freq"}
_EXPERTS = {
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
}
_SHARED = "expert_shared_feed_forward_length"
_GRANITE = {
    "attention.scale": "attention_multiplier",
    "embedding_scale": "embedding_multiplier",
    "residual_scale": "residual_multiplier",
    "logit_scale": "logits_scaling",
}
# By general.architecture. Mistral's and Mixtral's files say llama, those of OLMo 3 olmo2, and GLM's chatglm.
ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture("llama", pairs_adjacent=True, variants={"expert_count": "mixtral"}, keys=_EXPERTS),
    "qwen2": Architecture("qwen2"),
    "qwen2moe": Architecture(
        "qwen2_moe",
        keys={**_EXPERTS, _SHARED: "shared_expert_intermediate_size"},
        implied={"norm_topk_prob": False},
    ),
    "qwen3": Architecture("qwen3"),
    "qwen3moe": Architecture("qwen3_moe", keys=_EXPERTS, implied={"norm_topk_prob": True}),
    "smollm3": Architecture("smollm3", pairs_adjacent=True),
    "chatglm": Architecture("glm", pairs_adjacent=True, turns_in_part=True),
    "cohere2": Architecture("cohere2", pairs_adjacent=True, keys={"logit_scale": "logit_scale", **_WINDOWS}),
    "command-r": Architecture("cohere", pairs_adjacent=True, keys={"logit_scale": "logit_scale"}),
    "ernie4_5": Architecture("ernie4_5", pairs_adjacent=True),
    "exaone4": Architecture("exaone4", keys=_WINDOWS),
    "gemma": Architecture("gemma"),
    "gemma3": Architecture(
        "gemma3_text", keys={"final_logit_softcapping": "final_logit_softcapping", **_WINDOWS}
    ),
    "glm4": Architecture("glm4", pairs_adjacent=True, turns_in_part=True),
    "gpt2": Architecture("gpt2"),
    "gptneox": Architecture(
        "gpt_neox", turns_in_part=True, keys={"use_parallel_residual": "use_parallel_residual"}
    ),
    "granite": Architecture("granite", pairs_adjacent=True, keys=_GRANITE),
    "granitemoe": Architecture(
        "granitemoe",
        pairs_adjacent=True,
        keys={**_GRANITE, **_EXPERTS, _SHARED: "shared_intermediate_size"},
        variants={_SHARED: "granitemoeshared"},
    ),
    "olmo": Architecture("olmo", pairs_adjacent=True),
    "olmo2": Architecture("olmo2", keys=_WINDOWS),
    "olmoe": Architecture("olmoe", keys=_EXPERTS),
    "phi2": Architecture("phi", turns_in_part=True),
    "phi3": Architecture("phi3", turns_in_part=True),
    "stablelm": Architecture("stablelm", turns_in_part=True, unused=("use_parallel_residual",)),
    "starcoder2": Architecture("starcoder2"),
}
# Settings of all architectures, and what config.json calls them. One that is not there is none, not what is
# usual in transformers.
_KEYS: Mapping[str, str] = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.layer_norm_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "vocab_size": "vocab_size",
}
_SHARED_WIDTHS = ("shared_intermediate_size", "shared_expert_intermediate_size")
_NONE = dict.fromkeys(
    [*_KEYS.values(), *_EXPERTS.values(), *_SHARED_WIDTHS, "partial_rotary_factor", "query_pre_attn_scalar"]
)
_ROPE = "rope.scaling."
# What repeats one of them, is checked below, or says how the file came to be.
_CHECKED = (
    "attention.value_length",
    "rope.dimension_count",
    "rope.freq_base",
    f"{_ROPE}type",
    f"{_ROPE}factor",
)
_IDLE = (f"{_ROPE}original_context_length", f"{_ROPE}finetuned", "tensor_data_layout")
FREQUENCIES = "rope_freqs.weight"
# Tensors, and the parts of a decoder that they are.
_PARTS: Mapping[str, str] = {
    "token_embd": "embedding",
    "position_embd": "positions",
    "output_norm": "norm",
    "output": "head",
    "attn_norm": "attention_norm",
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_qkv": "qkv",
    "attn_output": "o",
    "attn_q_norm": "q_norm",
    "attn_k_norm": "k_norm",
    "post_attention_norm": "attention_post_norm",
    "ffn_norm": "mlp_norm",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
    "ffn_gate_inp": "router",
    "ffn_gate_exps": "expert_gate",
    "ffn_up_exps": "expert_up",
    "ffn_down_exps": "expert_down",
    "ffn_gate_inp_shexp": "shared_share",
    "ffn_gate_shexp": "shared_gate",
    "ffn_up_shexp": "shared_up",
    "ffn_down_shexp": "shared_down",
    "post_ffw_norm": "mlp_post_norm",
}
_MLP = re.compile(r"blk\.(\d{1,6})\.ffn_up\.weight")
_TENSOR = re.compile(r"(blk\.(\d{1,6})\.)?(\w+)\.(weight|bias)")


def architecture(settings: Record) -> Architecture:
    name = settings.text("general.architecture")
    if name not in ARCHITECTURES:
        near = suggest.hint(name, list(ARCHITECTURES), "architectures")
        hint = near or f"{', '.join(ARCHITECTURES)} are read; {_FOLDER}"
        raise EdgeKitError("E0205", f"models of architecture {name:.60} are not read", settings.where, hint)
    found = ARCHITECTURES[name]
    kinds = [kind for key, kind in found.variants.items() if settings.integer(f"{name}.{key}", 0)]
    return replace(found, model_type=kinds[0]) if kinds else found


def configured(settings: Record, tensors: Mapping[str, tuple[int, ...]]) -> Config:
    """The decoder. `tensors` are the shapes by name, which say what has biases, and what is fused."""
    kind = architecture(settings)
    config = parse(configuration(settings, tensors), DECODERS[kind.model_type])
    names = dict(config.names)
    if "blk.0.attn_qkv.weight" in tensors and "qkv" not in names:
        names = {part: name for part, name in names.items() if part not in ("q", "k", "v")}
        names["qkv"] = "self_attn.qkv_proj"
    for group, tensor in (("expert_", "exps"), ("shared_", "shexp")):
        if f"blk.0.ffn_gate_{tensor}.weight" in tensors and (fused := names.pop(f"{group}gate_up", "")):
            names |= {f"{group}{part}": f"{part}.{fused}" for part in ("gate", "up")}
    biases = {
        part for tensor, part in _PARTS.items() if {f"blk.0.{tensor}.bias", f"{tensor}.bias"} & tensors.keys()
    }
    return replace(
        config,
        names=names,
        storage=Storage(pairs_adjacent=kind.pairs_adjacent),
        biases=with_members({"gate_up" if part == "up" and "up" not in names else part for part in biases}),
    )


def configuration(settings: Record, tensors: Mapping[str, tuple[int, ...]]) -> Record:
    """What config.json would say."""
    kind = architecture(settings)
    prefix = settings.text("general.architecture") + "."
    own = {
        key.removeprefix(prefix): value for key, value in settings.fields.items() if key.startswith(prefix)
    }
    size = _check(own, kind, settings)
    known = {**_KEYS, **kind.keys}
    found: dict[str, Any] = {**_NONE, **{known[key]: value for key, value in own.items() if key in known}}
    if (embedding := tensors.get("token_embd.weight")) and found["vocab_size"] is None:
        found["vocab_size"] = embedding[0]
    if isinstance(pattern := found.get("layer_types"), list):
        found["layer_types"] = [SLIDING if slides else FULL for slides in pattern]
    if found["sliding_window"] == 0:
        found["sliding_window"] = None
    if size and kind.turns_in_part and "rope.dimension_count" in own:
        found["partial_rotary_factor"] = Record(own, settings.where).integer("rope.dimension_count") / size
    found |= {
        **kind.implied,
        "model_type": kind.model_type,
        "mlp_only_layers": [int(layer[1]) for layer in map(_MLP.fullmatch, tensors) if layer],
        "tie_word_embeddings": "output.weight" not in tensors,
        "rope_theta": own.get("rope.freq_base", 10000.0),
        "rope_scaling": _scaling(own, settings),
    }
    return Record(found, settings.where)


def _check(own: Mapping[str, Any], kind: Architecture, settings: Record) -> int:
    """Refuse what would change the numbers, and is not here; the size of heads, or 0."""
    known = (*_KEYS, *_CHECKED, *_IDLE, *kind.keys, *kind.unused)
    unknown = [key for key, value in own.items() if key not in known and value not in (0, [], "")]
    if unknown:
        message = f"the setting {unknown[0]:.60} of such models is not known"
        raise EdgeKitError("E0205", message, settings.where, _FOLDER)
    heads, width, size = (
        own.get(key) for key in ("attention.head_count", "embedding_length", "attention.key_length")
    )
    if size is None and isinstance(width, int) and isinstance(heads, int) and heads > 0:
        size = width // heads
    in_part = {"rope.dimension_count": "heads that turn in part"}
    alike = {"attention.value_length": "values of another size than keys"} | (
        {} if kind.turns_in_part else in_part
    )
    for key, what in alike.items():
        if size is not None and own.get(key, size) != size:
            raise EdgeKitError("E0205", f"{what} are not read: {key} is {own[key]!r:.40}", settings.where)
    return size if isinstance(size, int) else 0


def _scaling(own: Mapping[str, Any], settings: Record) -> dict[str, Any] | None:
    """Llama 3's scaling is a tensor of the file."""
    kind = own.get(f"{_ROPE}type", "none")
    if kind == "none":
        return None
    return {"rope_type": kind, "factor": own.get(f"{_ROPE}factor", 1.0)}


def their_name(name: str, names: Mapping[str, str]) -> str:
    """What transformers calls a tensor, by its names of parts; one that it has no name for keeps its own, and
    one of all experts has no number of an expert."""
    found = _TENSOR.fullmatch(name)
    part = _PARTS.get(found[3], "") if found else ""
    if part == "up" and "gate_up" in names:
        part = "gate_up"
    if not found or part not in names:
        return name
    layer = f"{names['layers']}.{int(found[2])}." if found[1] else ""
    return f"{layer}{names[part].replace('.{}', '')}.{found[4]}"


def stops(settings: Record, tokens: Collection[int]) -> tuple[int, ...]:
    """Ends of texts and of turns."""
    keys = (f"tokenizer.ggml.{end}_token_id" for end in ("eos", "eot", "eom"))
    ends = dict.fromkeys(settings.integer(key) for key in keys if key in settings)
    return tuple(end for end in ends if end in tokens)

"""Saves random decoders of transformers, their logits and texts: record_transformers.py FOLDER [NAME ...].

transformers 5.24 and torch 2.13 wrote what the tests read. Some config.json take the form of transformers 4.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

STEPS = 12
PROMPT, TEXT = 4, 64  # tokens given, and tokens that the model writes, the most probable ones
_SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 28,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "pad_token_id": None,
}
_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
_LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.0}
# Settings of each model, by its type and what is particular, and the type that its weights are stored in.
MODELS = {
    "llama": (
        {"rope_parameters": {"rope_theta": 500000.0, **_LLAMA3}, "tie_word_embeddings": True},
        "float32",
    ),
    "mistral": ({"head_dim": 6, "rope_parameters": _LINEAR, "sliding_window": 24}, "float16"),
    "qwen2": ({"tie_word_embeddings": True}, "bfloat16"),
    "qwen3": ({"head_dim": 8, "attention_bias": True}, "float32"),
    "smollm3": ({"no_rope_layer_interval": 2, "mlp_bias": True}, "float32"),
    "mistral-windows": ({"sliding_window": 3}, "float32"),
    "qwen2-windows": (
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
        "float32",
    ),
}
OLDER = ("llama", "qwen2")
_ROTARY_HALF = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}
_LAYERS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 7}
_GPT2 = {"n_embd": 16, "n_inner": None, "n_layer": 2, "n_head": 4, "n_positions": 80}
# Families that differ from Llama by more than a few settings; their weights are bfloat16.
FAMILIES = {
    "bloom": {"hidden_size": 18, "n_layer": 2, "n_head": 6},
    "cohere": {},
    "cohere2": _LAYERS,
    "ernie4_5": {"head_dim": 8, "use_bias": True},
    "exaone4": _LAYERS,
    "gemma": {"head_dim": 6, "num_key_value_heads": 1},
    "gemma2": {
        "head_dim": 6,
        "query_pre_attn_scalar": 9,
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 5.0,
        **_LAYERS,
    },
    "gemma3_text": {"head_dim": 6, "query_pre_attn_scalar": 9, "final_logit_softcapping": 5.0, **_LAYERS},
    "glm": {"head_dim": 4, "rms_norm_eps": 1e-5, **_ROTARY_HALF},
    "glm4": {"head_dim": 8, "attention_bias": False, **_ROTARY_HALF},
    "gpt2": _GPT2,
    "gpt_neox": {"hidden_size": 32, **_ROTARY_HALF},
    "gpt_neox-sequential": {"use_parallel_residual": False, "attention_bias": False, **_ROTARY_HALF},
    "granite": {
        "embedding_multiplier": 3.0,
        "attention_multiplier": 0.3,
        "residual_multiplier": 0.7,
        "logits_scaling": 2.0,
    },
    "helium": {"head_dim": 4},
    "mpt": {
        "d_model": 16,
        "n_layers": 2,
        "n_heads": 4,
        "max_seq_len": 80,
        "attn_config": {"softmax_scale": 0.4},
    },
    "olmo": {},
    "olmo2": {},
    "olmo3": _LAYERS,
    "opt": {"ffn_dim": 28, "word_embed_proj_dim": 16},
    "phi": {"num_key_value_heads": 4, "intermediate_size": 64, **_ROTARY_HALF},
    "phi3": {"sliding_window": 7},
    "stablelm": {"use_qkv_bias": True, **_ROTARY_HALF},
    "starcoder2": {"sliding_window": 7},
}
# Mixtures of experts: few, and with networks that are worth a branch.
_EXPERTS = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 2}
FAMILIES |= {
    "flex_olmo": _EXPERTS,
    "dots1": {
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "routed_scaling_factor": 2.5,
        "norm_topk_prob": True,
        "first_k_dense_replace": 1,
        "attention_bias": True,
        **_LAYERS,
    },
    "glm4_moe": {
        "head_dim": 8,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 12,
        "routed_scaling_factor": 1.5,
        "use_qk_norm": True,
        **_ROTARY_HALF,
    },
    "glm4_moe-biases": {
        "head_dim": 4,
        "n_routed_experts": 5,
        "n_shared_experts": 2,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 8,
        "first_k_dense_replace": 0,
        "norm_topk_prob": False,
        "attention_bias": True,
        **_ROTARY_HALF,
    },
    "phimoe": {
        **{key: size for key, size in _EXPERTS.items() if key != "num_experts"},
        "router_jitter_noise": 0.3,
        "attention_bias": True,
        "lm_head_bias": True,
    },
    "granitemoe": {**FAMILIES["granite"], **_EXPERTS},
    "granitemoeshared": {**_EXPERTS, "shared_intermediate_size": 20},
    "mixtral": {**_EXPERTS, "sliding_window": 7},
    "olmoe": {**_EXPERTS, "norm_topk_prob": True},
    "qwen2_moe": {**_EXPERTS, "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20},
    "qwen3_moe": {
        **_EXPERTS,
        "head_dim": 8,
        "moe_intermediate_size": 12,
        "norm_topk_prob": True,
        "mlp_only_layers": [0],
    },
}
MODELS |= {name: (settings, "bfloat16") for name, settings in FAMILIES.items()}
_OTHER_SIZES = ("gpt2", "gpt_neox", "opt")  # have no heads that share keys
_OTHER_NAMES = ("bloom", "gpt2", "mpt")  # call sizes otherwise


def record(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    settings, dtype = MODELS[name]
    kind = name.split("-")[0]
    sizes = {**_SIZES, "bos_token_id": 0, "eos_token_id": None} if name in FAMILIES else _SIZES
    if name in FAMILIES:
        sizes = {**sizes, "max_position_embeddings": 80}
    if kind in _OTHER_SIZES:
        sizes = {key: size for key, size in sizes.items() if key != "num_key_value_heads"}
    if kind in _OTHER_NAMES:
        sizes = {key: size for key, size in sizes.items() if key in ("vocab_size", "pad_token_id")}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**sizes, **settings})).eval()
    stored = getattr(torch, dtype)
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.copy_((weights + torch.randn_like(weights) * 0.3).to(stored))
        for buffer, values in model.named_buffers():
            if buffer.endswith("correction_bias"):  # of routers, which training sets, too
                values.copy_(torch.randn_like(values) * 0.3)
    tokens = np.random.default_rng(1).integers(0, _SIZES["vocab_size"], STEPS)
    with torch.no_grad():
        logits = model(torch.tensor(tokens[None])).logits[0].numpy()
    (folder / name).mkdir(parents=True, exist_ok=True)
    recorded = {"x0": tokens, "y0": logits}
    if name in FAMILIES:
        recorded["text"] = _text(model, tokens[:PROMPT])
    np.savez(folder / name / "io.npz", **recorded)
    for weights in model.parameters():
        weights.data = weights.data.to(stored)
    model.save_pretrained(folder / name)
    (folder / name / "generation_config.json").unlink()
    if name in OLDER:
        _as_transformers_4(folder / name / "config.json")


def _text(model: torch.nn.Module, prompt: np.ndarray) -> np.ndarray:
    text = prompt
    with torch.no_grad():
        for _ in range(TEXT):
            text = np.append(text, model(torch.tensor(text[None])).logits[0, -1].argmax().item())
    return text.astype(np.uint8)


def _as_transformers_4(path: Path) -> None:
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    config["torch_dtype"] = config.pop("dtype")
    path.write_text(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    for chosen in sys.argv[2:] or MODELS:
        record(Path(sys.argv[1]), chosen)

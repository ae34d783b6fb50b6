"""Families of decoders with mixtures of experts, as rows of the table of families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from edgekit.converters.transformers.families import FAMILIES, Family

# {} in a name is the number of an expert.
_NO_MLP = {"gate": "", "up": "", "down": ""}
_MIXTRAL = {
    **_NO_MLP,
    "router": "block_sparse_moe.gate",
    "expert_gate": "block_sparse_moe.experts.{}.w1",
    "expert_up": "block_sparse_moe.experts.{}.w3",
    "expert_down": "block_sparse_moe.experts.{}.w2",
}
_GRANITE = {
    **_NO_MLP,
    "router": "block_sparse_moe.router.layer",
    "expert_gate_up": "block_sparse_moe.input_linear.{}",
    "expert_down": "block_sparse_moe.output_linear.{}",
}
_QWEN = {  # some layers may have an MLP
    "router": "mlp.gate",
    "expert_gate": "mlp.experts.{}.gate_proj",
    "expert_up": "mlp.experts.{}.up_proj",
    "expert_down": "mlp.experts.{}.down_proj",
}
_DEEPSEEK = {
    **_QWEN,
    "shared_gate": "mlp.shared_experts.gate_proj",
    "shared_up": "mlp.shared_experts.up_proj",
    "shared_down": "mlp.shared_experts.down_proj",
}
_HEAD_NORMS = {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
_ROUTED = {"n_routed_experts": "num_experts"}
_EXPERTS = {"num_local_experts": "num_experts"}
_OLMO = FAMILIES["olmo2"]

MIXTURES: Mapping[str, Family] = {
    "mixtral": replace(
        FAMILIES["mistral"],
        names=_MIXTRAL,
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 131072,
            "num_key_value_heads": 8,
            "rope_theta": 1e6,
            "rms_norm_eps": 1e-5,
            "num_experts": 8,
            "num_experts_per_tok": 2,
        },
    ),
    "qwen2_moe": Family(
        names={
            **_QWEN,
            "shared_gate": "mlp.shared_expert.gate_proj",
            "shared_up": "mlp.shared_expert.up_proj",
            "shared_down": "mlp.shared_expert.down_proj",
            "shared_share": "mlp.shared_expert_gate",
        },
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 32768,
            "num_key_value_heads": 16,
            "qkv_bias": True,
            "num_experts": 60,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
        needs={"use_sliding_window": False},
        biases={"qkv": "qkv_bias", "o": False, "mlp": False},
        normalizes="norm_topk_prob",
        experts_hidden="moe_intermediate_size",
    ),
    "qwen3_moe": Family(
        names={**_QWEN, **_HEAD_NORMS},
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 32768,
            "num_key_value_heads": 4,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "moe_intermediate_size": 768,
        },
        needs={"use_sliding_window": False},
        biases={"mlp": False},
        normalizes="norm_topk_prob",
        experts_hidden="moe_intermediate_size",
    ),
    "olmoe": replace(
        FAMILIES["llama"],
        names={**_NO_MLP, **_QWEN, **_HEAD_NORMS},
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 4096,
            "rms_norm_eps": 1e-5,
            "num_experts": 64,
            "num_experts_per_tok": 8,
        },
        needs={"clip_qkv": None},
        whole_norms=True,
        normalizes="norm_topk_prob",
    ),
    "flex_olmo": replace(
        _OLMO,
        names={"attention_norm": "", "mlp_norm": "", **_OLMO.names, **_NO_MLP, **_QWEN},
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 4096,
            "rope_theta": 500000.0,
            "num_experts": 7,
            "num_experts_per_tok": 5,
        },
        normalizes="norm_topk_prob",
    ),
    "glm4_moe": Family(
        names={**_DEEPSEEK, **_HEAD_NORMS},
        keys=_ROUTED,
        silent={
            "max_position_embeddings": 131072,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "partial_rotary_factor": 0.5,
            "rms_norm_eps": 1e-5,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "n_shared_experts": 1,
            "moe_intermediate_size": 1408,
            "first_k_dense_replace": 1,
            "norm_topk_prob": True,
        },
        needs={"n_group": 1, "topk_group": 1},
        biases={"o": False, "mlp": False},
        head_norms="use_qk_norm",
        router="sigmoid",
        normalizes="norm_topk_prob",
        experts_hidden="moe_intermediate_size",
        left_over=("model.layers.46.", "model.layers.92."),  # which predict a second token
    ),
    "dots1": Family(
        names={**_DEEPSEEK, **_HEAD_NORMS},
        keys=_ROUTED,
        silent={
            "num_key_value_heads": 32,
            "moe_intermediate_size": 1408,
            "sliding_window": 4096,
            "use_sliding_window": True,
            "max_window_layers": 62,
        },
        needs={"n_group": 1, "topk_group": 1},
        biases={"mlp": False},
        router="sigmoid",
        normalizes="norm_topk_prob",
        experts_hidden="moe_intermediate_size",
    ),
    "phimoe": Family(
        names=_MIXTRAL,
        keys=_EXPERTS,
        silent={
            "max_position_embeddings": 131072,
            "num_key_value_heads": 8,
            "rope_theta": 1e6,
            "rms_norm_eps": 1e-5,
            "num_experts": 16,
            "num_experts_per_tok": 2,
            "router_jitter_noise": 0.01,
        },
        needs={"num_experts_per_tok": 2},
        biases={"norm": True, "head": "lm_head_bias", "mlp": False},
        layer_norm=True,
        router="margin",
        slides=True,
    ),
    "granitemoe": replace(
        FAMILIES["granite"],
        names=_GRANITE,
        keys=_EXPERTS,
        silent={"num_experts": 8, "num_experts_per_tok": 2},
    ),
    "granitemoeshared": replace(
        FAMILIES["granite"],
        names={
            **_GRANITE,
            "shared_gate_up": "shared_mlp.input_linear",
            "shared_down": "shared_mlp.output_linear",
        },
        keys={**_EXPERTS, "shared_intermediate_size": "shared_expert_intermediate_size"},
        silent={"num_experts": 8, "num_experts_per_tok": 2, "shared_expert_intermediate_size": 0},
    ),
}

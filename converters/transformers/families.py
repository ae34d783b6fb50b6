"""Families of decoders as one table: how each of them differs from Llama."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What files call the parts of a decoder: those of the model, and those of each of its layers. A family
# without a part gives it no name.
_LLAMA = {
    "embedding": "model.embed_tokens",
    "layers": "model.layers",
    "norm": "model.norm",
    "head": "lm_head",
    "attention_norm": "input_layernorm",
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
# Settings that Llama has another name for, in families that have them.
_KEYS = dict.fromkeys(("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon"), "rms_norm_eps")
_SILENT = {
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
}
_BIASES = {"qkv": "attention_bias", "o": "attention_bias", "mlp": "mlp_bias"}


@dataclass(frozen=True)
class Storage:
    """How a file holds matrices that the decoder reads in another order."""

    transposed: bool = False  # [inputs, outputs], in layers
    gate_last: bool = False  # rows of the gate behind the others
    grouped: bool = False  # rows of Q, K and V for each key head: its query heads, its key, its value
    pairs_adjacent: bool = False  # numbers that turn together are neighbours, not half a head apart
    norm_offset: float = 0.0  # to add to the weights of norms


@dataclass(frozen=True)
class Convolution:
    """One of those that an encoder of audio begins with, and the function of its results."""

    part: str
    size: int
    stride: int
    padding: int = 0
    widths: int = 1  # channels of the result, in widths of the model
    activation: str = "gelu"
    norm: str = ""  # over all of the results, behind the function


@dataclass(frozen=True)
class Family:
    """How models of one `model_type` differ from Llama. `names` are of parts that are called otherwise, or
    are there as well, fused matrices among them, or are not there (""). `keys` are Llama's names of settings,
    `silent` is what holds where config.json has no setting of this name, and `needs` the only value of a
    setting that is read. `biases` says which parts (qkv and mlp are three each) have one, or which setting
    says so."""

    names: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    silent: Mapping[str, Any] = field(default_factory=dict)
    needs: Mapping[str, Any] = field(default_factory=dict)
    biases: Mapping[str, bool | str] = field(default_factory=dict)
    storage: Storage = Storage()
    layer_norm: bool = False  # with means, not the RMS alone
    norm_weights: bool = True
    head_norms: bool | str = True  # of queries and keys, where they have names; or the setting that says so
    whole_norms: bool = False  # norms of queries and keys are over all heads
    parallel: bool | str = False  # attention and MLP read the same sum; or the setting that says so
    rotates: str = "all"  # or "none", "sliding": layers with a window alone, or "sliding, if any"
    slides: bool = False  # all layers see a window, where layer_types does not say
    mlp_ratio: bool = False  # intermediate_size is four widths, where no setting says so
    nested: str = ""  # the setting that has settings of attention in it
    router: str = "softmax"  # or "sigmoid", with a correction of scores; or "margin" (SparseMixer)
    normalizes: bool | str = True  # shares of the chosen experts add up to 1; or the setting that says so
    experts_hidden: str = "intermediate_size"  # the setting that has the width of an expert
    biases_by_layer: bool = False  # by distance: a table for each layer, or one for all
    alibi: bool = False  # scores fall with the distance of keys
    position_offset: int = 0  # of the table of positions
    scales_embedding: bool = False  # by the root of the width
    scales_logits: bool = False  # by one over this root
    skips_first_norm: bool = False  # of the first layer
    architectures: tuple[str, ...] = ("ForCausalLM", "LMHeadModel")  # ends of their names, with logits
    heads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of encoders, see encoder_families
    convolutions: tuple[Convolution, ...] = ()  # over audio
    channels: int = 0  # of audio
    left_over: tuple[str, ...] = ()  # starts of tensors that models with some heads have no use for
    logits_bias: str = ""  # a tensor [1, words]
    reads: tuple[str, ...] = ()  # settings that scale or cap, of this family alone

    def __post_init__(self) -> None:
        names = {part: name for part, name in {**_LLAMA, **self.names}.items() if name}
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "keys", {**_KEYS, **self.keys})
        object.__setattr__(self, "silent", {**_SILENT, **self.silent})
        object.__setattr__(self, "biases", {**_BIASES, **self.biases})


_GELU = {"hidden_act": "gelu_pytorch_tanh"}
NO_GATE = {"gate": ""}
_FUSED_MLP = {"gate": "", "up": "", "gate_up": "mlp.gate_up_proj"}
_HEAD_NORMS = {"q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
_SANDWICH = {  # a norm before and one behind attention and MLP
    "attention_post_norm": "post_attention_layernorm",
    "mlp_norm": "pre_feedforward_layernorm",
    "mlp_post_norm": "post_feedforward_layernorm",
}
_POST_NORMS = {**_SANDWICH, "attention_norm": "", "mlp_norm": "", **_HEAD_NORMS}
_NO_BIASES = {"qkv": False, "o": False}
ALL_BIASES = {"qkv": True, "o": True, "mlp": True, "norm": True}
_GLM = Family(
    names=_FUSED_MLP,
    silent={
        "max_position_embeddings": 131072,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "partial_rotary_factor": 0.5,
        "rms_norm_eps": 0.00000015625,
        "attention_bias": True,
    },
    biases={"o": False, "mlp": False},
    storage=Storage(pairs_adjacent=True),
)
_GEMMA = {**_GELU, "max_position_embeddings": 8192, "num_key_value_heads": 16, "head_dim": 256}

FAMILIES: Mapping[str, Family] = {
    "llama": Family(),
    "mistral": Family(
        silent={"max_position_embeddings": 131072, "num_key_value_heads": 8, "sliding_window": 4096},
        biases=_NO_BIASES,
        slides=True,
    ),
    "qwen2": Family(
        silent={"max_position_embeddings": 32768, "num_key_value_heads": 32, "sliding_window": 4096},
        biases={"qkv": True, "o": False},
    ),
    "qwen3": Family(
        names=_HEAD_NORMS,
        silent={
            "max_position_embeddings": 32768,
            "num_key_value_heads": 32,
            "head_dim": 128,
            "sliding_window": 4096,
        },
    ),
    "smollm3": Family(
        silent={
            "max_position_embeddings": 32768,
            "num_key_value_heads": 4,
            "rope_theta": 2e6,
            "no_rope_layer_interval": 4,
        },
    ),
    "ernie4_5": Family(
        silent={
            "max_position_embeddings": 131072,
            "num_key_value_heads": 2,
            "head_dim": 128,
            "rope_theta": 500000.0,
            "rms_norm_eps": 1e-5,
        },
        biases={"qkv": "use_bias", "o": "use_bias", "mlp": "use_bias"},
        storage=Storage(pairs_adjacent=True),
    ),
    "granite": Family(
        silent={"attention_multiplier": 1.0},
        reads=("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"),
    ),
    "helium": Family(
        silent={"num_key_value_heads": 20, "head_dim": 128, "rope_theta": 1e5, "rms_norm_eps": 1e-8},
        biases={"o": False},
        storage=Storage(pairs_adjacent=True),
    ),
    "phi3": Family(
        names={"q": "", "k": "", "v": "", "qkv": "self_attn.qkv_proj", **_FUSED_MLP},
        silent={"max_position_embeddings": 4096, "rms_norm_eps": 1e-5},
        biases={**_NO_BIASES, "mlp": False},
        slides=True,
    ),
    "glm": _GLM,
    "glm4": Family(
        names={
            **_FUSED_MLP,
            "attention_post_norm": "post_self_attn_layernorm",
            "mlp_post_norm": "post_mlp_layernorm",
        },
        silent=_GLM.silent,
        biases=_GLM.biases,
        storage=_GLM.storage,
    ),
    "olmo": Family(
        silent={"rms_norm_eps": 1e-5},
        needs={"clip_qkv": None},
        biases={"mlp": False},
        layer_norm=True,
        norm_weights=False,
    ),
    "olmo2": Family(
        names=_POST_NORMS, silent={"rms_norm_eps": 1e-5}, biases={"mlp": False}, whole_norms=True
    ),
    "olmo3": Family(
        names=_POST_NORMS,
        silent={
            "rms_norm_eps": 1e-5,
            "rope_theta": 500000.0,
            "sliding_window": 4096,
            "sliding_window_pattern": 4,
        },
        biases={"mlp": False},
        whole_norms=True,
    ),
    "exaone4": Family(
        names=_POST_NORMS,
        silent={"rms_norm_eps": 1e-5, "sliding_window": 4096, "sliding_window_pattern": 4},
        biases={**_NO_BIASES, "mlp": False},
        rotates="sliding, if any",
    ),
    "gemma": Family(
        silent=_GEMMA,
        biases={"mlp": False},
        storage=Storage(norm_offset=1.0),
        scales_embedding=True,
    ),
    "gemma2": Family(
        names=_SANDWICH,
        keys={"hidden_activation": "hidden_act"},
        silent={
            **_GEMMA,
            "num_key_value_heads": 4,
            "sliding_window": 4096,
            "sliding_window_pattern": 2,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
        needs={"use_bidirectional_attention": False},
        biases={"mlp": False},
        storage=Storage(norm_offset=1.0),
        scales_embedding=True,
        reads=("query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"),
    ),
    "gemma3_text": Family(
        names={**_SANDWICH, **_HEAD_NORMS},
        keys={"hidden_activation": "hidden_act"},
        silent={
            **_GEMMA,
            "max_position_embeddings": 131072,
            "num_key_value_heads": 4,
            "rope_theta": 1e6,
            "rope_local_base_freq": 10000.0,
            "sliding_window": 4096,
            "sliding_window_pattern": 6,
            "query_pre_attn_scalar": 256,
        },
        needs={"attn_logit_softcapping": None, "use_bidirectional_attention": False},
        biases={"mlp": False},
        storage=Storage(norm_offset=1.0),
        scales_embedding=True,
        reads=("query_pre_attn_scalar", "final_logit_softcapping"),
    ),
    "cohere": Family(
        names={"mlp_norm": "input_layernorm"},
        silent={
            "max_position_embeddings": 8192,
            "rope_theta": 500000.0,
            "logit_scale": 0.0625,
            "rms_norm_eps": 1e-5,
        },
        needs={"use_qk_norm": False},
        biases={"mlp": False},
        storage=Storage(pairs_adjacent=True),
        layer_norm=True,
        parallel=True,
        reads=("logit_scale",),
    ),
    "cohere2": Family(
        names={"mlp_norm": "input_layernorm"},
        silent={
            "max_position_embeddings": 8192,
            "rms_norm_eps": 1e-5,
            "logit_scale": 0.0625,
            "sliding_window": 4096,
            "sliding_window_pattern": 4,
        },
        biases={"mlp": False},
        storage=Storage(pairs_adjacent=True),
        layer_norm=True,
        parallel=True,
        rotates="sliding",
        reads=("logit_scale",),
    ),
    "stablelm": Family(
        silent={
            "max_position_embeddings": 4096,
            "num_key_value_heads": 32,
            "partial_rotary_factor": 0.25,
            "rms_norm_eps": 1e-5,
        },
        needs={"use_parallel_residual": False, "qk_layernorm": False},
        biases={"qkv": "use_qkv_bias", "o": False, "mlp": False, "norm": True},
        layer_norm=True,
    ),
    "starcoder2": Family(
        names={**NO_GATE, "up": "mlp.c_fc", "down": "mlp.c_proj"},
        silent={
            **_GELU,
            "max_position_embeddings": 4096,
            "num_key_value_heads": 2,
            "rms_norm_eps": 1e-5,
            "use_bias": True,
        },
        biases={"qkv": "use_bias", "o": "use_bias", "mlp": "use_bias", "norm": True},
        layer_norm=True,
        slides=True,
    ),
    "phi": Family(
        names={
            **NO_GATE,
            "norm": "model.final_layernorm",
            "o": "self_attn.dense",
            "mlp_norm": "input_layernorm",
            "up": "mlp.fc1",
            "down": "mlp.fc2",
        },
        silent={"hidden_act": "gelu_new", "partial_rotary_factor": 0.5, "rms_norm_eps": 1e-5},
        needs={"qk_layernorm": False},
        biases={**ALL_BIASES, "head": True},
        layer_norm=True,
        parallel=True,
    ),
    "gpt_neox": Family(
        names={
            **NO_GATE,
            "embedding": "gpt_neox.embed_in",
            "layers": "gpt_neox.layers",
            "norm": "gpt_neox.final_layer_norm",
            "head": "embed_out",
            "q": "",
            "k": "",
            "v": "",
            "qkv": "attention.query_key_value",
            "o": "attention.dense",
            "up": "mlp.dense_h_to_4h",
            "down": "mlp.dense_4h_to_h",
        },
        keys={"rotary_pct": "partial_rotary_factor", "rotary_emb_base": "rope_theta"},
        silent={
            "hidden_act": "gelu",
            "partial_rotary_factor": 0.25,
            "rms_norm_eps": 1e-5,
            "attention_bias": True,
            "use_parallel_residual": True,
        },
        biases={"mlp": True, "norm": True},
        storage=Storage(grouped=True),
        layer_norm=True,
        parallel="use_parallel_residual",
    ),
    "gpt2": Family(
        names={
            **NO_GATE,
            "embedding": "transformer.wte",
            "positions": "transformer.wpe",
            "layers": "transformer.h",
            "norm": "transformer.ln_f",
            "attention_norm": "ln_1",
            "q": "",
            "k": "",
            "v": "",
            "qkv": "attn.c_attn",
            "o": "attn.c_proj",
            "mlp_norm": "ln_2",
            "up": "mlp.c_fc",
            "down": "mlp.c_proj",
        },
        keys={
            "n_embd": "hidden_size",
            "n_inner": "intermediate_size",
            "n_layer": "num_hidden_layers",
            "n_head": "num_attention_heads",
            "n_positions": "max_position_embeddings",
            "activation_function": "hidden_act",
        },
        silent={"hidden_act": "gelu_new", "max_position_embeddings": 1024, "rms_norm_eps": 1e-5},
        needs={
            "scale_attn_weights": True,
            "scale_attn_by_inverse_layer_idx": False,
            "add_cross_attention": False,
        },
        biases=ALL_BIASES,
        storage=Storage(transposed=True),
        layer_norm=True,
        rotates="none",
        mlp_ratio=True,
    ),
    "bloom": Family(
        names={
            **NO_GATE,
            "embedding": "transformer.word_embeddings",
            "embedding_norm": "transformer.word_embeddings_layernorm",
            "layers": "transformer.h",
            "norm": "transformer.ln_f",
            "q": "",
            "k": "",
            "v": "",
            "qkv": "self_attention.query_key_value",
            "o": "self_attention.dense",
            "up": "mlp.dense_h_to_4h",
            "down": "mlp.dense_4h_to_h",
        },
        keys={"n_embed": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads"},
        silent={**_GELU, "rms_norm_eps": 1e-5},
        needs={"apply_residual_connection_post_layernorm": False},
        biases=ALL_BIASES,
        storage=Storage(grouped=True),
        layer_norm=True,
        rotates="none",
        mlp_ratio=True,
        alibi=True,
    ),
    "mpt": Family(
        names={
            **NO_GATE,
            "embedding": "transformer.wte",
            "layers": "transformer.blocks",
            "norm": "transformer.norm_f",
            "attention_norm": "norm_1",
            "q": "",
            "k": "",
            "v": "",
            "qkv": "attn.Wqkv",
            "o": "attn.out_proj",
            "mlp_norm": "norm_2",
            "up": "ffn.up_proj",
            "down": "ffn.down_proj",
        },
        keys={
            "d_model": "hidden_size",
            "n_layers": "num_hidden_layers",
            "n_heads": "num_attention_heads",
            "max_seq_len": "max_position_embeddings",
            "softmax_scale": "attention_multiplier",
        },
        silent={"hidden_act": "gelu", "rms_norm_eps": 1e-5},
        needs={
            "alibi": True,
            "attn_type": "multihead_attention",
            "clip_qkv": None,
            "logit_scale": None,
            "no_bias": True,
            "prefix_lm": False,
            "qk_ln": False,
        },
        layer_norm=True,
        rotates="none",
        mlp_ratio=True,
        nested="attn_config",
        alibi=True,
        reads=("attention_multiplier",),
    ),
    "opt": Family(
        names={
            **NO_GATE,
            "embedding": "model.decoder.embed_tokens",
            "positions": "model.decoder.embed_positions",
            "layers": "model.decoder.layers",
            "norm": "model.decoder.final_layer_norm",
            "attention_norm": "self_attn_layer_norm",
            "o": "self_attn.out_proj",
            "mlp_norm": "final_layer_norm",
            "up": "fc1",
            "down": "fc2",
        },
        keys={"ffn_dim": "intermediate_size", "activation_function": "hidden_act"},
        silent={"hidden_act": "relu", "rms_norm_eps": 1e-5, "enable_bias": True},
        needs={
            "do_layer_norm_before": True,
            "_remove_final_layer_norm": False,
            "layer_norm_elementwise_affine": True,
        },
        biases={"qkv": "enable_bias", "o": "enable_bias", "mlp": "enable_bias", "norm": True},
        layer_norm=True,
        rotates="none",
        position_offset=2,
    ),
}

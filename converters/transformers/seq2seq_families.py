"""Families of encoder-decoders: both halves as rows of the table of decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.families import ALL_BIASES, NO_GATE, Convolution, Family, Storage


@dataclass(frozen=True)
class Halves:
    """The encoder, and the decoder, whose layers have cross-attention to what the encoder gives."""

    encoder: Family
    decoder: Family


def _t5(config: Record, act: str = "relu", *, scales: bool = True, by_layer: bool = False) -> Halves:
    act = config.text("feed_forward_proj", act)
    is_gated, is_tied = act.startswith("gated-"), config.flag("tie_word_embeddings", True)
    encoder = Family(
        names={
            "embedding": "shared",
            "layers": "encoder.block",
            "norm": "encoder.final_layer_norm",
            "attention_norm": "layer.0.layer_norm",
            **{part: f"layer.0.SelfAttention.{part}" for part in "qkvo"},
            "relative_bias": "layer.0.SelfAttention.relative_attention_bias",
            **_t5_mlp("layer.1", is_gated=is_gated),
        },
        keys={
            "d_model": "hidden_size",
            "d_ff": "intermediate_size",
            "d_kv": "head_dim",
            "num_layers": "num_hidden_layers",
            "num_heads": "num_attention_heads",
            "n_positions": "max_position_embeddings",
            "tie_word_embeddings": "scale_decoder_outputs",  # files say whether they are tied
        },
        silent={
            "hidden_act": "gelu_new" if act == "gated-gelu" else act.removeprefix("gated-"),
            "max_position_embeddings": 512,
            "head_dim": 64,
            "relative_attention_num_buckets": 32,
            "relative_attention_max_distance": 128,
            "attention_multiplier": 1.0,
        },
        rotates="none",
        biases_by_layer=by_layer,
        architectures=("ForConditionalGeneration", "LMHeadModel"),
        left_over=("decoder.", "lm_head.", "encoder.embed_tokens."),
        reads=("attention_multiplier",),
    )
    decoder = replace(
        encoder,
        names={
            **encoder.names,
            "layers": "decoder.block",
            "norm": "decoder.final_layer_norm",
            "cross_norm": "layer.1.layer_norm",
            **{f"cross_{part}": f"layer.1.EncDecAttention.{part}" for part in "qkvo"},
            **_t5_mlp("layer.2", is_gated=is_gated),
        },
        keys={**encoder.keys, "num_decoder_layers": "num_hidden_layers"},
        left_over=("encoder.", "decoder.embed_tokens."),
        scales_logits=scales and config.flag("scale_decoder_outputs", is_tied),
    )
    return Halves(encoder, decoder)


def _t5_mlp(layer: str, *, is_gated: bool) -> Mapping[str, str]:
    mlp = f"{layer}.DenseReluDense"
    gate = {"gate": f"{mlp}.wi_0", "up": f"{mlp}.wi_1"} if is_gated else {"gate": "", "up": f"{mlp}.wi"}
    return {"mlp_norm": f"{layer}.layer_norm", **gate, "down": f"{mlp}.wo"}


def _whisper(config: Record) -> Halves:
    encoder = Family(
        names={
            **_bart_names("encoder"),
            "conv1": "model.encoder.conv1",
            "conv2": "model.encoder.conv2",
            "head": "proj_out",
        },
        keys={**_bart_keys("encoder"), "max_source_positions": "max_position_embeddings"},
        silent={"hidden_act": "gelu", "max_position_embeddings": 1500, "rms_norm_eps": 1e-5},
        biases=dict.fromkeys(("conv1", "conv2", "q", "v", "o", "mlp", "norm"), True),
        layer_norm=True,
        rotates="none",
        architectures=("ForConditionalGeneration",),
        left_over=("model.decoder.", "proj_out."),
        convolutions=(
            Convolution("conv1", size=3, stride=1, padding=1),
            Convolution("conv2", size=3, stride=2, padding=1),
        ),
        channels=config.integer("num_mel_bins", 80),
    )
    decoder = replace(
        encoder,
        names={**_bart_names("decoder"), "head": "proj_out"},
        keys={**_bart_keys("decoder"), "max_target_positions": "max_position_embeddings"},
        silent={**encoder.silent, "max_position_embeddings": 448},
        biases={**encoder.biases, **dict.fromkeys(("cross_q", "cross_v", "cross_o"), True)},
        left_over=("model.encoder.",),
    )
    return Halves(encoder, decoder)


def _bart(config: Record) -> Halves:
    encoder = Family(
        names={**_bart_names("encoder"), **_bart_norms("encoder")},
        keys=_bart_keys("encoder"),
        silent={"hidden_act": "gelu", "max_position_embeddings": 1024, "rms_norm_eps": 1e-5},
        biases=ALL_BIASES,
        layer_norm=True,
        rotates="none",
        position_offset=2,
        scales_embedding=config.flag("scale_embedding", False),
        architectures=("ForConditionalGeneration",),
        left_over=("model.decoder.", "model.encoder.embed_tokens.", "lm_head.", "final_logits_bias"),
    )
    decoder = replace(
        encoder,
        names={**_bart_names("decoder"), **_bart_norms("decoder")},
        keys=_bart_keys("decoder"),
        biases={**ALL_BIASES, **dict.fromkeys((f"cross_{part}" for part in "qkvo"), True)},
        left_over=("model.encoder.", "model.decoder.embed_tokens."),
        logits_bias="final_logits_bias",
    )
    return Halves(encoder, decoder)


def _bart_norms(half: str) -> Mapping[str, str]:
    """Behind the sums, and behind the embedding."""
    names = {
        "embedding": "model.shared",
        "embedding_norm": f"model.{half}.layernorm_embedding",
        "norm": "",
        "attention_norm": "",
        "attention_sum_norm": "self_attn_layer_norm",
        "mlp_norm": "",
        "mlp_sum_norm": "final_layer_norm",
    }
    cross = {"cross_norm": "", "cross_sum_norm": "encoder_attn_layer_norm"}
    return names if half == "encoder" else {**names, **cross}


def _bart_names(half: str) -> Mapping[str, str]:
    names = {
        **NO_GATE,
        "embedding": "model.decoder.embed_tokens",
        "positions": f"model.{half}.embed_positions",
        "layers": f"model.{half}.layers",
        "norm": f"model.{half}.layer_norm",
        "attention_norm": "self_attn_layer_norm",
        "o": "self_attn.out_proj",
        "mlp_norm": "final_layer_norm",
        "up": "fc1",
        "down": "fc2",
    }
    if half == "encoder":
        return names
    cross = {f"cross_{part}": f"encoder_attn.{part}_proj" for part in "qkv"}
    return {**names, "cross_norm": "encoder_attn_layer_norm", **cross, "cross_o": "encoder_attn.out_proj"}


def _bart_keys(half: str) -> Mapping[str, str]:
    return {
        "d_model": "hidden_size",
        "activation_function": "hidden_act",
        f"{half}_ffn_dim": "intermediate_size",
        f"{half}_layers": "num_hidden_layers",
        f"{half}_attention_heads": "num_attention_heads",
    }


def _moonshine(config: Record) -> Halves:
    encoder = Family(
        names={
            **NO_GATE,
            "embedding": "model.decoder.embed_tokens",
            "conv1": "model.encoder.conv1",
            "conv1_norm": "model.encoder.groupnorm",
            "conv2": "model.encoder.conv2",
            "conv3": "model.encoder.conv3",
            "layers": "model.encoder.layers",
            "norm": "model.encoder.layer_norm",
            "head": "proj_out",
            "up": "mlp.fc1",
            "down": "mlp.fc2",
        },
        keys=_moonshine_keys("encoder"),
        silent={
            "hidden_act": "gelu",
            "max_position_embeddings": 512,
            "partial_rotary_factor": 0.9,
            "rms_norm_eps": 1e-5,
        },
        needs=_moonshine_heads(config, "encoder"),
        biases={"mlp": True, "o": False, "conv2": True, "conv3": True},
        storage=Storage(pairs_adjacent=True),
        layer_norm=True,
        architectures=("ForConditionalGeneration",),
        left_over=("model.decoder.", "proj_out."),
        convolutions=(
            Convolution("conv1", size=127, stride=64, activation="tanh", norm="conv1_norm"),
            Convolution("conv2", size=7, stride=3, widths=2),
            Convolution("conv3", size=3, stride=2),
        ),
        channels=1,
    )
    decoder = replace(
        encoder,
        names={
            "embedding": "model.decoder.embed_tokens",
            "layers": "model.decoder.layers",
            "norm": "model.decoder.norm",
            "head": "proj_out",
            "cross_norm": "post_attention_layernorm",
            **{f"cross_{part}": f"encoder_attn.{part}_proj" for part in "qkvo"},
            "mlp_norm": "final_layernorm",
            "gate": "",
            "up": "",
            "gate_up": "mlp.fc1",
            "down": "mlp.fc2",
        },
        keys=_moonshine_keys("decoder"),
        silent={**encoder.silent, "hidden_act": "silu"},
        needs=_moonshine_heads(config, "decoder"),
        biases={
            "mlp": True,
            "o": False,
            **dict.fromkeys(("cross_q", "cross_k", "cross_v"), "attention_bias"),
        },
        storage=Storage(pairs_adjacent=True, gate_last=True),
        left_over=("model.encoder.",),
    )
    return Halves(encoder, decoder)


def _moonshine_keys(half: str) -> Mapping[str, str]:
    return {
        f"{half}_hidden_act": "hidden_act",
        f"{half}_num_hidden_layers": "num_hidden_layers",
        f"{half}_num_attention_heads": "num_attention_heads",
    }


def _moonshine_heads(config: Record, half: str) -> Mapping[str, int]:
    """Its queries have as many heads as keys have."""
    return {f"{half}_num_key_value_heads": config.integer(f"{half}_num_attention_heads", 8)}


SEQ2SEQ: Mapping[str, Callable[[Record], Halves]] = {
    "t5": _t5,
    "mt5": partial(_t5, act="gated-gelu", scales=False),
    "umt5": partial(_t5, act="gated-gelu", by_layer=True),
    "bart": _bart,
    "whisper": _whisper,
    "moonshine": _moonshine,
}

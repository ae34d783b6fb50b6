"""Families of encoder-decoders: both halves as rows of the table of decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.families import Family


@dataclass(frozen=True)
class Halves:
    """The encoder, and the decoder, whose layers have cross-attention to what the encoder gives."""

    encoder: Family
    decoder: Family


def _t5(config: Record) -> Halves:
    act = config.text("feed_forward_proj", "relu")
    is_gated = act.startswith("gated-")
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
        keys={
            **{key: name for key, name in encoder.keys.items() if name != "num_hidden_layers"},
            "num_decoder_layers" if "num_decoder_layers" in config else "num_layers": "num_hidden_layers",
        },
        left_over=("encoder.", "decoder.embed_tokens."),
        scales_logits=config.flag("scale_decoder_outputs", config.flag("tie_word_embeddings", True)),
    )
    return Halves(encoder, decoder)


def _t5_mlp(layer: str, *, is_gated: bool) -> Mapping[str, str]:
    mlp = f"{layer}.DenseReluDense"
    gate = {"gate": f"{mlp}.wi_0", "up": f"{mlp}.wi_1"} if is_gated else {"gate": "", "up": f"{mlp}.wi"}
    return {"mlp_norm": f"{layer}.layer_norm", **gate, "down": f"{mlp}.wo"}


SEQ2SEQ: Mapping[str, Callable[[Record], Halves]] = {"t5": _t5}

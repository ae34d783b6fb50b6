"""Families of encoders as rows of the same table, and what follows their layers."""

from __future__ import annotations

from collections.abc import Mapping

from edgekit.converters.transformers.families import ALL_BIASES, Family

# What follows the layers, by the end of the name of an architecture: steps and the tensors that they take.
# "first" is the vector of the first token, and "words" the product with the embedding or with an own matrix.
Heads = Mapping[str, tuple[str, ...]]
MODEL, CLASSIFIED, LABELLED, MASKED = (
    "Model",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForMaskedLM",
)
_POST_NORMS = {"attention_norm": "", "mlp_norm": "", "norm": "", "head": "", "gate": ""}
_BERT_LAYERS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "attention_sum_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "mlp_sum_norm": "output.LayerNorm",
}
_TWICE = ("cls.predictions.decoder.bias", "lm_head.decoder.bias")  # the bias again, by its other name


def _like_bert(base: str, heads: Heads, position_offset: int = 0) -> Family:
    return Family(
        names={
            **_POST_NORMS,
            **_BERT_LAYERS,
            "embedding": f"{base}.embeddings.word_embeddings",
            "positions": f"{base}.embeddings.position_embeddings",
            "token_types": f"{base}.embeddings.token_type_embeddings",
            "embedding_norm": f"{base}.embeddings.LayerNorm",
            "layers": f"{base}.encoder.layer",
        },
        silent={"hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2}
        | {"rms_norm_eps": 1e-12},
        needs={"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}
        | ({"pad_token_id": position_offset - 1} if position_offset else {}),
        biases=ALL_BIASES,
        layer_norm=True,
        rotates="none",
        position_offset=position_offset,
        heads={
            MODEL: ("first", f"dense {base}.pooler.dense", "tanh"),
            LABELLED: ("dense classifier",),
            **heads,
        },
        left_over=(f"{base}.pooler.", "cls.seq_relationship.", *_TWICE),
    )


_BERT = {
    CLASSIFIED: ("first", "dense bert.pooler.dense", "tanh", "dense classifier"),
    MASKED: (
        "dense cls.predictions.transform.dense",
        "act",
        "norm cls.predictions.transform.LayerNorm",
        "words cls.predictions.decoder cls.predictions.bias",
    ),
}
_ROBERTA = {
    CLASSIFIED: ("first", "dense classifier.dense", "tanh", "dense classifier.out_proj"),
    MASKED: ("dense lm_head.dense", "gelu", "norm lm_head.layer_norm", "words lm_head.decoder lm_head.bias"),
}
_MODERNBERT_HEAD = ("dense head.dense", "gelu", "norm head.norm")

ENCODERS: Mapping[str, Family] = {
    "bert": _like_bert("bert", _BERT),
    "roberta": _like_bert("roberta", _ROBERTA, position_offset=2),
    "xlm-roberta": _like_bert("roberta", _ROBERTA, position_offset=2),
    "distilbert": Family(
        names={
            **_POST_NORMS,
            "embedding": "distilbert.embeddings.word_embeddings",
            "positions": "distilbert.embeddings.position_embeddings",
            "embedding_norm": "distilbert.embeddings.LayerNorm",
            "layers": "distilbert.transformer.layer",
            "q": "attention.q_lin",
            "k": "attention.k_lin",
            "v": "attention.v_lin",
            "o": "attention.out_lin",
            "attention_sum_norm": "sa_layer_norm",
            "up": "ffn.lin1",
            "down": "ffn.lin2",
            "mlp_sum_norm": "output_layer_norm",
        },
        keys={
            "dim": "hidden_size",
            "hidden_dim": "intermediate_size",
            "n_layers": "num_hidden_layers",
            "n_heads": "num_attention_heads",
            "activation": "hidden_act",
        },
        silent={"hidden_act": "gelu", "max_position_embeddings": 512, "rms_norm_eps": 1e-12},
        needs={"sinusoidal_pos_embds": False},
        biases=ALL_BIASES,
        layer_norm=True,
        rotates="none",
        heads={
            MODEL: (),
            CLASSIFIED: ("first", "dense pre_classifier", "relu", "dense classifier"),
            LABELLED: ("dense classifier",),
            MASKED: (
                "dense vocab_transform",
                "act",
                "norm vocab_layer_norm",
                "words vocab_projector vocab_projector.bias",
            ),
        },
    ),
    "modernbert": Family(
        names={
            "embedding": "model.embeddings.tok_embeddings",
            "embedding_norm": "model.embeddings.norm",
            "norm": "model.final_norm",
            "head": "",
            "attention_norm": "attn_norm",
            "q": "",
            "k": "",
            "v": "",
            "qkv": "attn.Wqkv",
            "o": "attn.Wo",
            "mlp_norm": "mlp_norm",
            "gate": "",
            "up": "",
            "gate_up": "mlp.Wi",
            "down": "mlp.Wo",
        },
        keys={
            "hidden_activation": "hidden_act",
            "norm_eps": "rms_norm_eps",
            "local_attention": "sliding_window",
            "global_rope_theta": "rope_theta",
            "local_rope_theta": "rope_local_base_freq",
        },
        silent={
            "hidden_act": "gelu",
            "max_position_embeddings": 8192,
            "rms_norm_eps": 1e-5,
            "sliding_window": 128,
            "global_attn_every_n_layers": 3,
            "rope_theta": 160000.0,
            "rope_local_base_freq": 10000.0,
        },
        needs={"norm_bias": False, "classifier_bias": False, "classifier_activation": "gelu"}
        | {"classifier_pooling": "cls", "decoder_bias": True},
        layer_norm=True,
        skips_first_norm=True,
        heads={
            MODEL: (),
            CLASSIFIED: ("first", *_MODERNBERT_HEAD, "dense classifier"),
            LABELLED: (*_MODERNBERT_HEAD, "dense classifier"),
            MASKED: (*_MODERNBERT_HEAD, "words decoder decoder.bias"),
        },
    ),
}

"""Saves random encoders of transformers, and what they make of texts with padding: record_encoders.py FOLDER.

transformers 5.24 and torch 2.13 wrote what the tests read.
"""

import sys
from pathlib import Path

import numpy as np
import torch
import transformers

WORDS, TOKENS = 40, 12
_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 28}
_DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 28}
_XLM = {"type_vocab_size": 1, "max_position_embeddings": 34}
_MODERN = {"local_attention": 6, "max_position_embeddings": 32, "num_hidden_layers": 3}
# Settings by a name, and the class of transformers.
MODELS = {
    "bert": ({**_SIZES, "max_position_embeddings": 32}, "BertModel"),
    "bert-classified": ({**_SIZES, "num_labels": 3}, "BertForSequenceClassification"),
    "bert-masked": ({**_SIZES, "hidden_act": "gelu_new"}, "BertForMaskedLM"),
    "distilbert": (_DISTIL, "DistilBertModel"),
    "distilbert-classified": (_DISTIL, "DistilBertForSequenceClassification"),
    "distilbert-masked": (_DISTIL, "DistilBertForMaskedLM"),
    "modernbert": ({**_SIZES, **_MODERN}, "ModernBertModel"),
    "modernbert-classified": ({**_SIZES, **_MODERN}, "ModernBertForSequenceClassification"),
    "modernbert-masked": ({**_SIZES, **_MODERN}, "ModernBertForMaskedLM"),
    "roberta": ({**_SIZES, "max_position_embeddings": 34}, "RobertaModel"),
    "roberta-classified": ({**_SIZES, **_XLM}, "RobertaForSequenceClassification"),
    "xlm-roberta-labelled": ({**_SIZES, **_XLM}, "XLMRobertaForTokenClassification"),
    "xlm-roberta-masked": ({**_SIZES, **_XLM}, "XLMRobertaForMaskedLM"),
}


def record(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    settings, kind = MODELS[name]
    made = getattr(transformers, kind)
    model = made(made.config_class(vocab_size=WORDS, pad_token_id=1, **settings)).eval()
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.copy_((weights + torch.randn_like(weights) * 0.3).to(torch.bfloat16))
    rng = np.random.default_rng(1)
    given = {
        "input_ids": rng.integers(2, WORDS, (2, TOKENS)),
        "attention_mask": (np.arange(TOKENS) < np.array([[TOKENS], [TOKENS - 3]])).astype(np.int64),
    }
    if getattr(model.config, "type_vocab_size", 1) > 1:
        given["token_type_ids"] = rng.integers(0, 2, (2, TOKENS))
    with torch.no_grad():
        outputs = model(**{key: torch.tensor(value) for key, value in given.items()}).to_tuple()
    recorded = {f"x{i}": value.astype(np.int32) for i, value in enumerate(given.values())}
    recorded |= {f"y{i}": value.numpy() for i, value in enumerate(outputs)}
    (folder / name).mkdir(parents=True, exist_ok=True)
    np.savez(folder / name / "io.npz", **recorded)
    model.to(torch.bfloat16).save_pretrained(folder / name)


if __name__ == "__main__":
    for chosen in sys.argv[2:] or MODELS:
        record(Path(sys.argv[1]), chosen)

"""Saves random encoder-decoders as folders of transformers, with their texts: record_seq2seq.py FOLDER.

transformers 5.24 and torch 2.13 wrote what the tests read. A source has padding at its end.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM

WORDS, SOURCE, LENGTH, STEPS, TEXT = 40, 12, 9, 12, 64
_T5 = {
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 28,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 16,
    "relative_attention_max_distance": 20,
}
# Settings by the type of the model and what is particular.
MODELS = {
    "t5": _T5,
    "t5-gated": {**_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}


def record(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    settings = {"vocab_size": WORDS, "decoder_start_token_id": 0, **MODELS[name]}
    model = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(name.split("-")[0], **settings)).eval()
    if settings.get("tie_word_embeddings") is False:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.copy_((weights + torch.randn_like(weights) * 0.3).to(torch.bfloat16))
    rng = np.random.default_rng(1)
    source, tokens = rng.integers(2, WORDS, (1, SOURCE)), rng.integers(2, WORDS, (1, STEPS))
    given = {
        "input_ids": torch.tensor(source),
        "attention_mask": torch.tensor((np.arange(SOURCE) < LENGTH).astype(np.int64)[None]),
    }
    with torch.no_grad():
        outputs = model(**given, decoder_input_ids=torch.tensor(tokens))
        text = [0]
        for _ in range(TEXT):
            logits = model(**given, decoder_input_ids=torch.tensor([text])).logits
            text.append(logits[0, -1].argmax().item())
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    np.savez(
        place / "io.npz",
        source=source[0].astype(np.int32),
        length=np.array([LENGTH], np.int32),
        encoded=outputs.encoder_last_hidden_state[0].numpy(),
        tokens=tokens[0].astype(np.int32),
        logits=outputs.logits[0].numpy(),
        text=np.array(text, np.uint8),
    )
    model.to(torch.bfloat16).save_pretrained(place)
    (place / "generation_config.json").unlink()


if __name__ == "__main__":
    for chosen in sys.argv[2:] or MODELS:
        record(Path(sys.argv[1]), chosen)

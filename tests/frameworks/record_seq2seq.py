"""Saves random encoder-decoders as folders of transformers, with their texts: record_seq2seq.py FOLDER.

transformers 5.24 and torch 2.13 wrote what the tests read. A source of tokens has padding at its end.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq, PreTrainedModel

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
_HALVES = {
    "d_model": 16,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 28,
    "decoder_ffn_dim": 20,
}
_BART = {**_HALVES, "max_position_embeddings": 80}
_WHISPER = {**_HALVES, "num_mel_bins": 6, "max_source_positions": 10, "max_target_positions": 80}
_MOONSHINE = {
    "hidden_size": 21,
    "intermediate_size": 20,
    "encoder_num_hidden_layers": 3,
    "decoder_num_hidden_layers": 2,
    "encoder_num_attention_heads": 3,
    "decoder_num_attention_heads": 3,
    "max_position_embeddings": 80,
}
# Settings by the type of the model and what is particular.
MODELS = {
    "t5": _T5,
    "t5-gated": {**_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "mt5": _T5,
    "umt5": _T5,
    "bart": {**_BART, "scale_embedding": True},
    "whisper": _WHISPER,
    "whisper-short": _WHISPER,
    "moonshine": _MOONSHINE,
    "moonshine-biases": {**_MOONSHINE, "attention_bias": True, "tie_word_embeddings": False},
}
# Weights drawn by other numbers, nearer to an untrained model or farther from it, where texts get more words.
DRAWN = {
    "umt5": (5, 0.2),
    "whisper": (4, 0.6),
    "whisper-short": (2, 0.6),
    "moonshine": (5, 0.6),
    "moonshine-biases": (1, 0.6),
}
# Audio by the type of the model: the name of the input, and its shape.
AUDIO = {"whisper": ("input_features", (1, 6, 20)), "moonshine": ("input_values", (1, 3200))}


def record(folder: Path, name: str) -> None:
    seed, noise = DRAWN.get(name, (1, 0.3))
    torch.manual_seed(seed)
    kind = name.split("-")[0]
    common = {"vocab_size": WORDS, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1}
    settings = {**common, **MODELS[name]}
    maker = AutoModelForSpeechSeq2Seq if kind in AUDIO else AutoModelForSeq2SeqLM
    model = maker.from_config(AutoConfig.for_model(kind, **settings)).eval()
    if settings.get("tie_word_embeddings") is False:
        head = model.get_output_embeddings()
        head.weight = torch.nn.Parameter(head.weight.clone())
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.copy_((weights + torch.randn_like(weights) * noise).to(torch.bfloat16))
        if kind == "bart":
            model.model.decoder.embed_positions.weight.mul_(8)  # or a text would be one word
            model.final_logits_bias.copy_(torch.randn(1, WORDS).to(torch.bfloat16))
    rng = np.random.default_rng(1)
    source, tokens = rng.integers(2, WORDS, (1, SOURCE)), rng.integers(2, WORDS, (1, STEPS))
    if kind in AUDIO:
        key, shape = AUDIO[kind]
        heard = rng.normal(size=shape).astype(np.float32)
        given, stored = {key: torch.tensor(heard)}, {"source": heard}
    else:
        given = {
            "input_ids": torch.tensor(source),
            "attention_mask": torch.tensor((np.arange(SOURCE) < LENGTH).astype(np.int64)[None]),
        }
        stored = {"source": source[0].astype(np.int32), "length": np.array([LENGTH], np.int32)}
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
        **stored,
        encoded=outputs.encoder_last_hidden_state[0].numpy(),
        tokens=tokens[0].astype(np.int32),
        logits=outputs.logits[0].numpy(),
        text=np.array(text, np.uint8),
    )
    if name.endswith("-short"):
        lengthen(model)
    model.to(torch.bfloat16).save_pretrained(place)
    (place / "generation_config.json").unlink()


def lengthen(model: PreTrainedModel) -> None:
    """As if the source had been shorter than those that the model is for."""
    table = model.model.encoder.embed_positions
    table.weight = torch.nn.Parameter(torch.cat([table.weight, torch.randn(4, table.weight.shape[1])]))
    model.config.max_source_positions += 4


if __name__ == "__main__":
    for chosen in sys.argv[2:] or MODELS:
        record(Path(sys.argv[1]), chosen)

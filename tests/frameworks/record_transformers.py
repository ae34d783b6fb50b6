"""Saves random decoders of transformers, and their logits: record_transformers.py FOLDER [NAME ...].

transformers 5.24 and torch 2.13 wrote what the tests read. Some config.json take the form of transformers 4.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

STEPS = 12
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


def record(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    settings, dtype = MODELS[name]
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(name.split("-")[0], **_SIZES, **settings)
    ).eval()
    stored = getattr(torch, dtype)
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.copy_((weights + torch.randn_like(weights) * 0.3).to(stored))
    tokens = np.random.default_rng(1).integers(0, _SIZES["vocab_size"], STEPS)
    with torch.no_grad():
        logits = model(torch.tensor(tokens[None])).logits[0].numpy()
    (folder / name).mkdir(parents=True, exist_ok=True)
    np.savez(folder / name / "io.npz", x0=tokens, y0=logits)
    for weights in model.parameters():
        weights.data = weights.data.to(stored)
    model.save_pretrained(folder / name)
    (folder / name / "generation_config.json").unlink()
    if name in OLDER:
        _as_transformers_4(folder / name / "config.json")


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

"""A tokenizer.json of 40 tokens, as many as the recorded language models have."""

import json
from pathlib import Path
from typing import Any

PAIRS = ("o n", "▁ a", "c e", "▁ on", "▁on ce", "▁ t", "i m", "▁ u", "▁u p", "▁up on")
SPECIAL = ("<unk>", "<s>", "</s>")
TOKENS = (*SPECIAL, "▁", *"abcdefghijklmnopqrstuvwxyz", *(pair.replace(" ", "") for pair in PAIRS))


def tiny() -> dict[str, Any]:
    """SentencePiece's BPE, as Llama 2 has it, for lower-case words."""
    begin = {"id": "<s>", "type_id": 0}
    space = {"String": " "}
    return {
        "added_tokens": [
            {"id": i, "content": content, "special": True, "normalized": False}
            for i, content in enumerate(SPECIAL)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": space, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": begin}, {"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "vocab": {token: i for i, token in enumerate(TOKENS)},
            "merges": list(PAIRS),
        },
    }


def write(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(json.dumps(tiny()), encoding="utf-8")

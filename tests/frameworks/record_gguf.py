"""Converts recorded decoders as llama.cpp does: record_gguf.py LLAMA_CPP FOLDER OUT [NAME ...].

LLAMA_CPP is a checkout of 2026 with its `conversion` and `gguf-py`, and FOLDER what record_transformers.py
wrote. Files have no tokenizer: the models were trained on no text.
"""

import json
import sys
import tempfile
from pathlib import Path
from shutil import copy, copytree

import torch


def convert(model: Path, path: Path) -> None:
    from conversion import ModelType, get_model_architecture, get_model_class
    from conversion.base import ModelBase, gguf

    settings = ModelBase.load_hparams(model, False)
    words = {str(i): i for i in range(settings["vocab_size"])}
    (model / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}, "added_tokens": []}))
    kind = get_model_class(get_model_architecture(settings, ModelType.TEXT))
    made = kind(model, gguf.LlamaFileType.MOSTLY_BF16, path, hparams=_older(settings))

    def set_vocab() -> None:
        made.gguf_writer.add_tokenizer_model("no_vocab")
        if not any(key.endswith("vocab_size") for key in made.gguf_writer.kv_data[0]):
            made.gguf_writer.add_vocab_size(settings["vocab_size"])

    made.set_vocab = set_vocab
    with torch.inference_mode():
        made.write()


def _older(settings: dict) -> dict:
    """With settings by the names of transformers 4, too, which some of its converters read."""
    rope = settings.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor", 1.0)
    return {"rotary_pct": share, "n_ctx": settings.get("n_positions"), **settings}


if __name__ == "__main__":
    sys.path[:0] = [sys.argv[1], f"{sys.argv[1]}/gguf-py"]
    models, out = Path(sys.argv[2]), Path(sys.argv[3])
    for name in sys.argv[4:] or sorted(path.name for path in models.iterdir()):
        (out / name).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            convert(copytree(models / name, Path(folder) / name), out / name / "net.gguf")
        copy(models / name / "io.npz", out / name / "io.npz")

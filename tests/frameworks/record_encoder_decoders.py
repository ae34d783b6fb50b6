"""Saves random encoder-decoders, as modules of transformers export them: record_encoder_decoders.py FOLDER.

transformers 5.24 and torch 2.13 wrote what the tests read: an encoder, and a decoder of one token a run with
a static cache. Logits are those of the whole model without any cache.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM
from transformers.integrations.executorch import (
    Seq2SeqLMDecoderExportableModuleWithStaticCache,
    Seq2SeqLMEncoderExportableModule,
)

WORDS, WIDTH, SOURCE, POSITIONS, STEPS = 40, 16, 8, 16, 12
_T5 = {
    "d_model": WIDTH,
    "d_kv": 4,
    "d_ff": 28,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "tie_word_embeddings": False,  # or the model scales what the exported decoder does not
}
_BART = {"d_model": WIDTH, "max_position_embeddings": 32}
for _side in ("encoder", "decoder"):
    _BART |= {f"{_side}_layers": 2, f"{_side}_attention_heads": 4, f"{_side}_ffn_dim": 28}
MODELS = {"t5": _T5, "bart": _BART}


def record(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    config = AutoConfig.for_model(name, vocab_size=WORDS, decoder_start_token_id=0, **MODELS[name])
    model = AutoModelForSeq2SeqLM.from_config(config).eval()
    with torch.no_grad():
        for weights in model.parameters():  # as training leaves them: no scale is 1, and no bias 0
            weights.add_(torch.randn_like(weights) * 0.2)
    source, text = torch.randint(2, WORDS, (1, SOURCE)), torch.randint(2, WORDS, (1, STEPS))
    encoder = Seq2SeqLMEncoderExportableModule(model.get_encoder()).eval()
    with torch.no_grad():
        memory = encoder(source)
        logits = model(input_ids=source, decoder_input_ids=text).logits[0]
        decoder = Seq2SeqLMDecoderExportableModuleWithStaticCache(model, POSITIONS, 1).eval()
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        np.savez(place / "io.npz", x0=source, y0=memory, x1=text[0], y1=logits)
        _save(encoder, (source,), place / "encode.pt2")
        _save(decoder, (text[:, :1], memory, torch.tensor([0])), place / "decode.pt2")


def _save(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """Without where each node was made, which is most of the file."""
    program = torch.export.export(module, inputs, strict=True)
    for node in program.graph.nodes:
        for key in ("stack_trace", "from_node", "source_fn_stack", "torch_fn"):
            node.meta.pop(key, None)
    program.example_inputs = None
    torch.export.save(program, path)


if __name__ == "__main__":
    for chosen in sys.argv[2:] or MODELS:
        record(Path(sys.argv[1]), chosen)

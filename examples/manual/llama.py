"""A decoder of the Llama family in PyTorch, its weights named as transformers names them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from torch import Tensor, nn

WORDS, WIDTH, HIDDEN, LAYERS, HEADS, SHARED, POSITIONS = 512, 64, 176, 4, 4, 2, 256
SIZE = WIDTH // HEADS  # of a head
THETA = 10000.0


class Attention(nn.Module):
    """Causal attention with rotary embeddings, two heads to each one of keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.o_proj = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(WIDTH, SHARED * SIZE, bias=False) for _ in range(2))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        def heads(y: Tensor) -> Tensor:
            return y.unflatten(-1, (-1, SIZE)).transpose(1, 2)

        def rotated(y: Tensor) -> Tensor:
            a, b = y.chunk(2, dim=-1)
            return y * cos + torch.cat((-b, a), dim=-1) * sin

        q, k, v = rotated(heads(self.q_proj(x))), rotated(heads(self.k_proj(x))), heads(self.v_proj(x))
        k, v = (y.repeat_interleave(HEADS // SHARED, dim=1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = (nn.RMSNorm(WIDTH, 1e-5) for _ in range(2))
        self.self_attn, self.mlp = Attention(), Mlp()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    """Tokens [batch, length] -> logits [batch, length, words]; the last layer has the table of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH, 1e-5)
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.normal_(weights, std=0.08)

    def forward(self, tokens: Tensor) -> Tensor:
        rates = THETA ** -(torch.arange(0, SIZE, 2) / SIZE)
        angles = torch.outer(torch.arange(tokens.shape[1]), rates).repeat(1, 2)
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.norm(x) @ self.embed_tokens.weight.T


def save(net: Decoder, folder: Path, end: int) -> None:
    """config.json and model.safetensors in float16, as transformers writes them; `end` ends a text."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": WORDS,
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": SHARED,
        "max_position_embeddings": POSITIONS,
        "rms_norm_eps": 1e-5,
        "rope_theta": THETA,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "eos_token_id": end,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    header, data = {}, b""
    for name, weights in net.state_dict().items():
        raw = weights.half().numpy().tobytes()
        places = [len(data), len(data) + len(raw)]
        header[f"model.{name}"] = {"dtype": "F16", "shape": list(weights.shape), "data_offsets": places}
        data += raw
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)

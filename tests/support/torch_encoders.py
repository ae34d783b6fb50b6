"""A text encoder whose queries see the tokens around them, as ModernBERT has it; needs torch."""

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from support.torch_cases import seeded
from torch import Tensor, nn

WORDS, LENGTH, WIDTH, HEADS = 30, 12, 16, 2


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = (
            nn.LayerNorm(WIDTH),
            nn.Linear(WIDTH, 3 * WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, HEADS, -1)).transpose(1, 3).unbind(2)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        y: Tensor = x + self.mlp(x)
        return y


class _WindowedEncoder(nn.Module):
    """Padded tokens far from the others see nothing: all that a window leaves them is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, 4)
        self.layers = nn.ModuleList(_Layer() for _ in range(2))

    def forward(self, ids: Tensor, is_token: Tensor) -> Tensor:
        place = torch.arange(LENGTH)
        mask = is_token[:, None, None].bool() & ((place[:, None] - place).abs() <= 2)
        x = self.table(ids)
        for layer in self.layers:
            x = layer(x, mask)
        y: Tensor = self.head(x)
        return y


def windowed_encoder() -> nn.Module:
    return seeded(_WindowedEncoder)


def sentence(seed: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Ids, and which of them are tokens; the others are padding."""
    ids = torch.randint(WORDS, (1, LENGTH), generator=torch.Generator().manual_seed(seed))
    return ids, (torch.arange(LENGTH) < tokens).long()[None]

"""A small Llama with random weights that keeps keys and values in buffers, one token a run (needs torch)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from torch import Tensor, nn

Write = Callable[[Tensor, Tensor, Tensor], None]


@dataclass(frozen=True)
class Sizes:
    """Those of a model of 260,000 parameters by default."""

    words: int = 512
    width: int = 64
    hidden: int = 172
    layers: int = 5
    heads: int = 8
    shared: int = 4  # heads of keys and values
    positions: int = 64

    @property
    def size(self) -> int:
        """Of a head."""
        return self.width // self.heads


def by_index_copy(cache: Tensor, at: Tensor, new: Tensor) -> None:
    """As the static cache of `transformers` does."""
    cache.index_copy_(2, at, new)


def by_index_put(cache: Tensor, at: Tensor, new: Tensor) -> None:
    cache[:, :, at] = new


def by_scatter(cache: Tensor, at: Tensor, new: Tensor) -> None:
    cache.scatter_(2, at.reshape(1, 1, -1, 1).expand(new.shape), new)


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(1 + torch.randn(width) / 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))


class Attention(nn.Module):
    def __init__(self, sizes: Sizes, write: Write) -> None:
        super().__init__()
        self.sizes, self.write = sizes, write
        narrow = sizes.shared * sizes.size
        self.q, self.o = (nn.Linear(sizes.width, sizes.width, bias=False) for _ in "qo")
        self.k, self.v = (nn.Linear(sizes.width, narrow, bias=False) for _ in "kv")
        self.register_buffer("keys", torch.zeros(1, sizes.shared, sizes.positions, sizes.size))
        self.register_buffer("values", torch.zeros(1, sizes.shared, sizes.positions, sizes.size))

    def forward(self, x: Tensor, at: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            project(x).view(batch, length, -1, self.sizes.size).transpose(1, 2)
            for project in (self.q, self.k, self.v)
        )
        q, k = (t * cos + _half_turned(t) * sin for t in (q, k))
        self.write(self.keys, at, k)
        self.write(self.values, at, v)
        keys, values = (_repeated(t, self.sizes.heads // self.sizes.shared) for t in (self.keys, self.values))
        scores = (q @ keys.transpose(2, 3)) / self.sizes.size**0.5 + mask
        y = F.softmax(scores, dim=-1, dtype=torch.float32) @ values
        return self.o(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, sizes: Sizes, write: Write) -> None:
        super().__init__()
        self.before, self.between = Norm(sizes.width), Norm(sizes.width)
        self.attention = Attention(sizes, write)
        self.gate, self.up = (nn.Linear(sizes.width, sizes.hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(sizes.hidden, sizes.width, bias=False)

    def forward(self, x: Tensor, at: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.before(x), at, cos, sin, mask)
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Token [1, n] and positions [n] to logits [1, n, words]."""

    def __init__(self, sizes: Sizes = Sizes(), write: Write = by_index_copy, tied: bool = True) -> None:
        super().__init__()
        self.sizes = sizes
        self.embedding = nn.Embedding(sizes.words, sizes.width)
        self.blocks = nn.ModuleList(Block(sizes, write) for _ in range(sizes.layers))
        self.norm, self.head = Norm(sizes.width), nn.Linear(sizes.width, sizes.words, bias=False)
        if tied:
            self.head.weight = self.embedding.weight
        rates = 1 / 10000 ** (torch.arange(0, sizes.size, 2) / sizes.size)
        self.register_buffer("rates", rates, persistent=False)

    def forward(self, token: Tensor, at: Tensor) -> Tensor:
        angles = at.float()[:, None] * self.rates[None]
        angles = torch.cat((angles, angles), dim=-1)
        seen = torch.arange(self.sizes.positions)[None] <= at[:, None]
        mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]
        x = self.embedding(token)
        for block in self.blocks:
            x = block(x, at, angles.cos(), angles.sin(), mask)
        return self.head(self.norm(x))


def llama(sizes: Sizes = Sizes(), write: Write = by_index_copy, tied: bool = True) -> Llama:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return Llama(sizes, write, tied).eval()


def _half_turned(x: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def _repeated(x: Tensor, times: int) -> Tensor:
    batch, heads, length, size = x.shape
    return x[:, :, None].expand(batch, heads, times, length, size).reshape(batch, heads * times, length, size)

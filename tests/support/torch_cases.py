"""Functions of torch by family, and inputs for them: what readers of its exports must compute as torch does.

Each family is exported as one module that returns the results of all its functions. Needs torch.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from torch import Tensor, nn
from torch.nn.utils import parametrizations

Function = Callable[..., Tensor | tuple[Tensor, ...]]


@dataclass(frozen=True)
class Family:
    """Functions of the same inputs."""

    inputs: tuple[Tensor, ...]
    functions: Mapping[str, Function]

    def module(self) -> nn.Module:
        return _All(self.functions).eval()


class _All(nn.Module):
    """The results of all functions, one behind the other."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        super().__init__()
        self.functions = functions
        for name, function in functions.items():
            if isinstance(function, nn.Module):
                self.add_module(name, function)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        results: list[Tensor] = []
        for function in self.functions.values():
            results += flat(function(*inputs))
        return tuple(results)


def flat(made: Any) -> Iterator[Tensor]:
    """The tensors of a result, which may be nested."""
    if isinstance(made, Tensor):
        yield made
        return
    for part in made:
        yield from flat(part)


def values(*shape: int, seed: int = 0, scale: float = 2.0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale


def integers(*shape: int, low: int = -9, high: int = 9, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(3)).to(dtype)


def seeded(build: Callable[[], nn.Module], seed: int = 5) -> nn.Module:
    """A module with random weights, statistics included, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = build()
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                nn.init.normal_(buffer, std=0.3)
            elif name.endswith("running_var"):
                nn.init.uniform_(buffer, 0.5, 1.5)
    return module.eval()


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 3), nn.GRUCell(4, 3), nn.RNNCell(4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        h = x[:, 0, :3]
        return (*self.lstm(x[:, 1], (h, h * 2)), self.gru(x[:, 2], h), self.rnn(x[:, 3], h))


class _SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.attention(x, x, x, need_weights=False)[0]
        return y


def _attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def _but_of_one_query(x: Tensor) -> Tensor:
    """A mask that depends on the input, and hides all keys from the second query."""
    return (x[0] @ x[0].T > -3) & (torch.arange(3)[:, None] != 1)


ARITHMETIC = Family(
    (values(2, 3, 4), values(3, 1, seed=1), values(2, 3, 4, seed=2).abs() + 0.1),
    {
        "add": lambda x, y, p: x + y,
        "add alpha": lambda x, y, p: torch.add(x, y, alpha=3),
        "add number": lambda x, y, p: x + 1,
        "sub": lambda x, y, p: x - y,
        "rsub": lambda x, y, p: 2 - x,
        "mul": lambda x, y, p: x * y,
        "div": lambda x, y, p: x / p,
        "div floor": lambda x, y, p: torch.div(x, p, rounding_mode="floor"),
        "div trunc": lambda x, y, p: torch.div(x, p, rounding_mode="trunc"),
        "remainder": lambda x, y, p: torch.remainder(x, 0.7),
        "fmod": lambda x, y, p: torch.fmod(x, 0.7),
        "pow": lambda x, y, p: p**2.5 + x**2 + x**3 + p**0.5 + p**-1 + p**-0.5,
        "pow of a number": lambda x, y, p: torch.pow(2.0, x),
        "signs": lambda x, y, p: torch.abs(x) + torch.sign(x) - torch.neg(x),
        "roots": lambda x, y, p: torch.sqrt(p) + torch.rsqrt(p) + torch.reciprocal(p),
        "roundings": lambda x, y, p: torch.floor(x) + 2 * torch.ceil(x) + 3 * torch.round(x) + torch.trunc(x),
        "frac": lambda x, y, p: torch.frac(x),
        "exponentials": lambda x, y, p: torch.exp(x) + torch.expm1(x) + torch.exp2(x),
        "logarithms": lambda x, y, p: torch.log(p) + torch.log2(p) + torch.log10(p) + torch.log1p(p),
        "angles": lambda x, y, p: torch.sin(x) + torch.cos(x) + torch.atan(x) + torch.sinh(x) + torch.cosh(x),
        "arcs": lambda x, y, p: (
            torch.asin(x / 10) + torch.acos(x / 10) + torch.asinh(x) + torch.atanh(x / 10)
        ),
        "erf": lambda x, y, p: torch.erf(x) + torch.square(x),
        "extremes": lambda x, y, p: torch.maximum(x, y) + torch.minimum(x, p),
        "clamps": lambda x, y, p: torch.clamp(x, -1, 1) + x.clamp(min=0.5) + torch.clamp(x, y, p + 3),
        "clamps to constants": lambda x, y, p: torch.clamp(x, max=torch.arange(float(x.shape[-1]))),
        "addcmul": lambda x, y, p: torch.addcmul(x, y, p, value=0.5) + torch.addcdiv(x, y, p, value=2),
        "hypot": lambda x, y, p: torch.hypot(x, y) + torch.logaddexp(x, y) + torch.logit(p / (p + 1)),
        "xlogy": lambda x, y, p: torch.xlogy(x, p) + torch.copysign(x, y) + torch.special.expit(x),
        "finite": lambda x, y, p: (x / torch.zeros(4)).nan_to_num(posinf=9.0) + torch.isfinite(torch.log(x)),
        "lerp": lambda x, y, p: torch.lerp(x, p, 0.3),
    },
)
LOGIC = Family(
    (values(2, 3, 4), values(3, 1, seed=1), integers(2, 3, 4), integers(2, 3, 4, low=0, high=2).bool()),
    {
        "equal": lambda x, y, i, b: (i == 2) | (x != y),
        "less": lambda x, y, i, b: (x < y) ^ (x <= 0.5),
        "greater": lambda x, y, i, b: (x > y) & (i >= 0),
        "not": lambda x, y, i, b: ~b,
        "logical": lambda x, y, i, b: torch.logical_and(x, b) | torch.logical_or(i, b) ^ torch.logical_not(i),
        "bits": lambda x, y, i, b: (i & 7) + (i | 8) - (i ^ 3) + ~i,
        "where": lambda x, y, i, b: torch.where(b, x, y),
        "where numbers": lambda x, y, i, b: torch.where(b, x, 0.0),
        "masked_fill": lambda x, y, i, b: x.masked_fill(b, float("-inf")),
        "isnan": lambda x, y, i, b: torch.isnan(x),
        "promoted": lambda x, y, i, b: i * 0.5 + x * b + (i + b),
        "integers": lambda x, y, i, b: i // 4 + i % 4 - i * 3,
        "divided integers": lambda x, y, i, b: i / 4,
        "to": lambda x, y, i, b: x.to(torch.int32) + i.to(torch.int32) + b.int(),
        "half": lambda x, y, i, b: (x.half() + 1).float(),
        "any": lambda x, y, i, b: (b.any(), b.all(dim=1), b.any(dim=-1, keepdim=True)),
        "any of numbers": lambda x, y, i, b: (i.any(dim=-1), i.all(dim=1), F.relu(x).all(dim=-1)),
    },
)
ACTIVATIONS = Family(
    (values(2, 4, 5, scale=4.0),),
    {
        **{
            name: getattr(F, name)
            for name in (
                *("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "gelu", "silu", "mish", "hardtanh"),
                *("hardsigmoid", "hardswish", "softplus", "softsign", "hardshrink", "softshrink"),
                *("tanhshrink", "logsigmoid"),
            )
        },
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
        "elu alpha": lambda x: F.elu(x, 0.5),
        "softplus beta": lambda x: F.softplus(x, beta=2),
        "leaky": lambda x: F.leaky_relu(x, 0.2),
        "threshold": lambda x: F.threshold(x, 0.5, -3.0),
        "softmax": lambda x: F.softmax(x, 1) + F.log_softmax(x, -1),
        "glu": lambda x: F.glu(x, 1),
        "dropout": lambda x: F.dropout(x, 0.5, training=False),
        "prelu": seeded(lambda: nn.PReLU(4)),
        "prelu of one": seeded(nn.PReLU),
    },
)
LAYERS = Family(
    (values(2, 4, 9, 8),),
    {
        "conv": seeded(lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1)),
        "conv dilated": seeded(lambda: nn.Conv2d(4, 6, (3, 2), dilation=2, bias=False)),
        "conv in groups": seeded(lambda: nn.Conv2d(4, 8, 3, groups=2, padding=(0, 2))),
        "conv same": seeded(lambda: nn.Conv2d(4, 4, (3, 2), padding="same")),
        "depthwise": seeded(lambda: nn.Conv2d(4, 4, 3, groups=4)),
        "transposed": seeded(lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)),
        "transposed groups": seeded(lambda: nn.ConvTranspose2d(4, 6, 2, stride=2, groups=2)),
        "batch norm": seeded(lambda: nn.BatchNorm2d(4)),
        "group norm": seeded(lambda: nn.GroupNorm(2, 4)),
        "instance norm": seeded(lambda: nn.InstanceNorm2d(4, affine=True)),
        "layer norm": seeded(lambda: nn.LayerNorm([9, 8])),
        "layer norm plain": lambda x: F.layer_norm(x, (8,)),
        "rms norm": seeded(lambda: nn.RMSNorm(8)),
        "norms": lambda x: F.normalize(x, dim=1) + torch.linalg.vector_norm(x, 1, 1, keepdim=True),
        "local response": lambda x: F.local_response_norm(x, 2),
        "linear": seeded(lambda: nn.Linear(8, 3)),
        "linear plain": seeded(lambda: nn.Linear(8, 3, bias=False)),
        "max pool": lambda x: F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
        "max pool dilated": lambda x: F.max_pool2d(x, 2, 1, dilation=2),
        "average pool": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        "average pool counting": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
        "adaptive average": lambda x: F.adaptive_avg_pool2d(x, (3, 4)) + F.adaptive_avg_pool2d(x, 1),
        "adaptive uneven": lambda x: F.adaptive_avg_pool2d(x, (4, 3)),
        "nearest": lambda x: F.interpolate(x, scale_factor=2),
        "nearest to a size": lambda x: F.interpolate(x, size=(7, 12)),
        "nearest exact": lambda x: F.interpolate(x, size=(7, 12), mode="nearest-exact"),
        "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
        "bilinear aligned": lambda x: F.interpolate(x, size=(5, 17), mode="bilinear", align_corners=True),
        "bicubic": lambda x: F.interpolate(x, size=(12, 7), mode="bicubic"),
        "antialiased": lambda x: F.interpolate(x, size=(5, 5), mode="bilinear", antialias=True),
        "antialiased aligned": lambda x: F.interpolate(
            x, size=(5, 5), mode="bilinear", antialias=True, align_corners=True
        ),
        "columns": lambda x: F.unfold(x, (3, 2), dilation=(1, 2), padding=1, stride=2),
        "average by another number": lambda x: F.avg_pool2d(x, 2, divisor_override=3),
        "similarity": lambda x: (F.cosine_similarity(x[0], x[1]), F.pairwise_distance(x[0], x[1])),
        "normalized weights": seeded(lambda: parametrizations.weight_norm(nn.Linear(8, 3))),
        "pixels": lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2),
        "shuffle": lambda x: F.channel_shuffle(x, 2),
    },
)
LINES = Family(
    (values(2, 4, 12),),
    {
        "conv": seeded(lambda: nn.Conv1d(4, 6, 3, padding=2, dilation=2)),
        "transposed": seeded(lambda: nn.ConvTranspose1d(4, 6, 4, stride=2, padding=1)),
        "batch norm": seeded(lambda: nn.BatchNorm1d(4)),
        "max pool": lambda x: F.max_pool1d(x, 3, 2),
        "average pool": lambda x: F.avg_pool1d(x, 2),
        "adaptive": lambda x: F.adaptive_avg_pool1d(x, 3) + F.adaptive_max_pool1d(x, 3),
        "linear resize": lambda x: F.interpolate(x, size=30, mode="linear"),
        "nearest exact": lambda x: F.interpolate(x, size=17, mode="nearest-exact"),
        "volume exact": lambda x: F.interpolate(
            x.reshape(1, 2, 4, 3, 4), size=(5, 2, 7), mode="nearest-exact"
        ),
        "volume": lambda x: F.max_pool3d(x.reshape(1, 2, 4, 3, 4), 2),
        "volume resized": lambda x: F.interpolate(x.reshape(1, 2, 4, 3, 4), scale_factor=2, mode="trilinear"),
        "volume repeated": lambda x: F.interpolate(x.reshape(1, 2, 4, 3, 4), scale_factor=2),
        "conv of volume": lambda x: F.conv3d(x.reshape(1, 2, 4, 3, 4), torch.ones(3, 2, 2, 2, 2)),
        "without a batch": lambda x: F.conv1d(x[0], torch.ones(3, 4, 2)),
    },
)
MOVES = Family(
    (values(2, 3, 4), integers(2, 3, 4), torch.tensor([[2, 0], [1, -1]])),
    {
        "views": lambda x, i, j: x.view(6, -1).t() + x.reshape(4, 6),
        "flatten": lambda x, i, j: x.flatten(1).unflatten(1, (4, 3)).squeeze(0).unsqueeze(-1),
        "permute": lambda x, i, j: x.permute(2, 0, -2) + x.transpose(0, 2).transpose(1, 2),
        "movedim": lambda x, i, j: x.movedim(0, -1) + x.swapaxes(0, 1).swapaxes(1, 2),
        "expand": lambda x, i, j: x[:, :1].expand(2, 5, -1) + x[:, :1, :1].expand(3, 2, 5, 4)[0],
        "cat": lambda x, i, j: torch.cat([x, x * 2, i], 1),
        "stack": lambda x, i, j: torch.stack([x, -x], -1),
        "split": lambda x, i, j: torch.cat(
            [*x.split(2, 1)[::-1], *x.split([1, 2], 1), *x.chunk(2, 2)[0].chunk(9, 0)][:4], 1
        ),
        "unbind": lambda x, i, j: x.unbind(1)[2] - x.select(1, -3),
        "slices": lambda x, i, j: x[:, 1:, ::2] + x[..., :-1, -2:] + x.narrow(1, 1, 2)[:, :, 1:3],
        "flip": lambda x, i, j: x.flip(0, 2) + x.roll(1, 1) + x.roll((1, -2), (0, 2)) + x.roll(3),
        "repeat": lambda x, i, j: (
            x.repeat(2, 1, 1, 2)[0] - x.tile(2, 1, 1).repeat_interleave(2, 1)[:2, :3, :1]
        ),
        "pad": lambda x, i, j: F.pad(x, (1, 2, 0, 1), value=3.0)[:, :3, 1:5] + F.pad(x, (-1, 1)),
        "mirrored": lambda x, i, j: F.pad(x, (2, 1), "reflect") + F.pad(x, (2, 1), "replicate"),
        "circular": lambda x, i, j: F.pad(x, (2, 1), "circular"),
        "triangles": lambda x, i, j: x.tril() - x.triu(1),
        "strided": lambda x, i, j: x.as_strided((4, 6), (1, 4)) + x.as_strided((4, 6), (6, 1)) * 2,
        "strided parts": lambda x, i, j: x.transpose(0, 1).as_strided((2, 3), (2, 5), 3),
        "unfold": lambda x, i, j: [x.unfold(2, 2, 1), x.unfold(0, 2, 1)],
        "diagonal": lambda x, i, j: x.diagonal(0, 1, 2),
        "embedding": lambda x, i, j: F.embedding(j % 3, x[0]),
        "embedding_bag": lambda x, i, j: [
            F.embedding_bag(j % 3, x[0], mode="sum", per_sample_weights=x[1, :2, :2]),
            F.embedding_bag(j % 3, x[0], mode="mean"),
            F.embedding_bag(j.flatten() % 3, x[0], torch.tensor([0, 2]), mode="max"),
        ],
        "index_select": lambda x, i, j: x.index_select(1, torch.tensor([2, 0, 2])),
        "gather": lambda x, i, j: x.gather(1, i.abs() % 3),
        "scatter": lambda x, i, j: x.scatter(1, i[:, :1].abs() % 3, x * 2).scatter_add(2, i.abs() % 4, x),
        "index of one": lambda x, i, j: x[:, j % 3],
        "index of two": lambda x, i, j: x[:, j % 3, j.T % 4],
        "index apart": lambda x, i, j: x[j % 2, :, j.T % 4],
        "index by constants": lambda x, i, j: x[:, [0, 2], [-1, 1]],
        "index by a mask": lambda x, i, j: x[:, torch.tensor([True, False, True])],
        "rows and columns": lambda x, i, j: torch.hstack([x, x]) + torch.vstack([x, x])[:1, :1],
        "differences": lambda x, i, j: (
            torch.diff(x) + torch.cat(torch.tensor_split(x, 2, 2)[::-1], 2)[..., 1:]
        ),
        "turned": lambda x, i, j: x[0].fliplr() + x[1].flipud() + x[0].take_along_dim(x[0].argsort(1), 1),
        "one hot": lambda x, i, j: F.one_hot(j % 3, 3),
        "meshgrid": lambda x, i, j: (
            x[0, 0, :2] + torch.stack(torch.meshgrid(torch.arange(2), torch.arange(2), indexing="ij"))[0]
        ),
        "meshgrid, columns first": lambda x, i, j: torch.meshgrid(
            x[0, 0], x[0, :, 1], x[:, 1, 2], indexing="xy"
        ),
        "creations": lambda x, i, j: (
            torch.zeros(3, 4)
            + torch.ones_like(x)
            + torch.full((4,), 2.5)
            + x.new_zeros(4)
            + torch.arange(4)
            + torch.arange(0.5, 4)
            + torch.eye(4)[:3]
            + torch.linspace(0, 1, 4)
        ),
    },
)
REDUCTIONS = Family(
    (values(2, 3, 4), integers(2, 3, 4)),
    {
        "sum": lambda x, i: (x.sum(), x.sum(1), x.sum((0, -1), keepdim=True), i.sum(1)),
        "mean": lambda x, i: (x.mean(), x.mean(-1, keepdim=True), x.mean((1, 2))),
        "prod": lambda x, i: (x.prod(), x.prod(1)),
        "extremes": lambda x, i: (x.amax(1), x.amin((0, 2)), x.max(), x.min(), torch.max(x, -x)),
        "extremes and places": lambda x, i: (*x.max(1), *x.min(-1, keepdim=True)),
        "places": lambda x, i: (x.argmax(), x.argmax(-1), x.argmin(1, keepdim=True)),
        "variance": lambda x, i: (x.var(1), x.std(-1, unbiased=False), x.var((0, 1), correction=0)),
        "logsumexp": lambda x, i: x.logsumexp(1),
        "cumulative": lambda x, i: (x.cumsum(1), i.cumsum(-1)),
        "topk": lambda x, i: x.topk(2, 1),
        "sort": lambda x, i: x.sort(-1, descending=True)[0],
        "deviation and mean": lambda x, i: torch.std_mean(x, 1),
        "norm": lambda x, i: (x.norm(), x.norm(dim=1), x.norm(p=1, dim=-1)),
    },
)
PRODUCTS = Family(
    (values(2, 3, 4), values(2, 4, 5, seed=1), values(4, 5, seed=2)),
    {
        "matmul": lambda x, y, m: x @ y + x @ m,
        "bmm": lambda x, y, m: torch.bmm(x, y) + torch.baddbmm(x @ m, x, y, beta=0.5, alpha=2),
        "mm": lambda x, y, m: torch.mm(x[0], m) + torch.addmm(torch.ones(5), x[1], m, beta=2),
        "vectors": lambda x, y, m: m.mv(y[0, 0]) + torch.dot(x[0, 0], x[0, 1]),
        "tensordot": lambda x, y, m: torch.tensordot(x, y, dims=([0, 2], [0, 1])) + m.inner(m)[0, :3, None],
        "outer": lambda x, y, m: torch.outer(x[0, 0], y[0, 0]),
        "einsum": lambda x, y, m: torch.einsum("bij,bjk->bki", x, y),
        "attention": lambda x, y, m: _attention(x[:, None], x[:, None] * 2, x[:, None]),
        "attention with a mask": lambda x, y, m: F.scaled_dot_product_attention(
            x, x, x, attn_mask=x[0] @ x[0].T, scale=0.3
        ),
        "attention with a hidden query": lambda x, y, m: F.scaled_dot_product_attention(
            x, x, x, attn_mask=_but_of_one_query(x)
        ),
        "attention with a query at -inf": lambda x, y, m: F.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.zeros(3, 3).masked_fill(~_but_of_one_query(x), -torch.inf)
        ),
        "safe softmax": lambda x, y, m: torch.ops.aten._safe_softmax(
            torch.where(_but_of_one_query(x), x @ x.mT, -torch.inf), -1
        ),
        "linear computed": lambda x, y, m: F.linear(x, y[0].T, m[0]),
    },
)
SEQUENCES = Family(
    (values(2, 5, 4, scale=1.0),),
    {
        "lstm": seeded(lambda: nn.LSTM(4, 3, batch_first=True)),
        "lstm deep": seeded(lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True)),
        "gru": seeded(lambda: nn.GRU(4, 3, batch_first=True, bidirectional=True)),
        "gru plain": seeded(lambda: nn.GRU(4, 3, bias=False)),
        "rnn": seeded(lambda: nn.RNN(4, 3, nonlinearity="relu")),
        "rnn tanh": seeded(lambda: nn.RNN(4, 3, num_layers=2)),
        "encoder": seeded(lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)),
        "encoder before": seeded(
            lambda: nn.TransformerEncoderLayer(4, 2, 8, norm_first=True, activation="gelu")
        ),
        "attention": seeded(_SelfAttention),
        "cells": seeded(Cells),
    },
)


FAMILIES = {
    "arithmetic": ARITHMETIC,
    "logic": LOGIC,
    "activations": ACTIVATIONS,
    "layers": LAYERS,
    "lines": LINES,
    "moves": MOVES,
    "reductions": REDUCTIONS,
    "products": PRODUCTS,
    "sequences": SEQUENCES,
}

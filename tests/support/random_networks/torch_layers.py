"""Steps of random torch modules: layers, activations, arithmetic, movements and indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from support.random_networks.torch_net import TorchNet, seeded
from support.random_networks.trial import UnfitError
from support.torch_cases import FAMILIES, Function
from torch import Tensor, nn

Recipe = Callable[[TorchNet], Any]

ACTIVATIONS = (
    *(
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "celu",
        "selu",
        "gelu",
        "silu",
        "mish",
        "hardtanh",
        "hardsigmoid",
    ),
    # Not tanhshrink: x - tanh(x) of a small x is the rounding of tanh and nothing else.
    *("hardswish", "softplus", "softsign", "softshrink", "logsigmoid"),
)
UNARY = ("abs", "neg", "sin", "cos", "atan", "erf", "tanh", "sigmoid", "square", "asinh", "exp", "expm1")
MOVES = (
    "flip",
    "roll",
    "transpose",
    "permute",
    "narrow",
    "flatten",
    "unsqueeze",
    "repeat",
    "steps",
    "view",
    "pad",
)


def divisor(net: TorchNet, n: int) -> int:
    return int(net.dice.pick(*(d for d in range(1, n + 1) if n % d == 0)))


def conv(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3, 4, 4, 4, 5)
    _, channels, *sizes = net.made[x].shape
    groups = dice.pick(1, 1, 1, divisor(net, channels))
    outputs = groups * dice.roll(1, max(1, 10 // groups))
    kernel = [dice.roll(1, min(4, n)) for n in sizes]
    padding: Any = [dice.roll(0, k // 2) for k in kernel]
    stride: Any = [dice.pick(1, 1, 2) for _ in sizes]
    if dice.roll(0, 3) == 0:
        padding, stride = "same", 1
    mode = dice.pick("zeros", "zeros", "zeros", "reflect", "replicate")
    kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[len(sizes)]
    how = {"dilation": [dice.pick(1, 1, 2) for _ in sizes], "groups": groups, "bias": dice.coin()}
    build = seeded(lambda: kind(channels, outputs, kernel, stride, padding, padding_mode=mode, **how), dice)
    y = net.add("conv", build, x)
    if dice.coin():
        norms = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
        y = net.add("batch_norm", seeded(lambda: norms[len(sizes)](outputs), dice), y)
    if dice.coin():
        name = dice.pick(*ACTIVATIONS)
        net.add(name, getattr(F, name), y)


def up(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3, 4, 4, 5)
    _, channels, *sizes = net.made[x].shape
    kind = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[len(sizes)]
    kernel, stride, dilation = (dice.rolls(len(sizes), 1, most) for most in (4, 3, 2))
    groups = divisor(net, channels) if dice.coin() else 1
    how: dict[str, Any] = {"groups": groups, "dilation": dilation}
    how["padding"] = [dice.roll(0, (k - 1) * d // 2) for k, d in zip(kernel, dilation, strict=True)]
    how["output_padding"] = [dice.roll(0, max(s, d) - 1) for s, d in zip(stride, dilation, strict=True)]
    outputs = groups * dice.roll(1, 3)
    net.add("conv_transpose", seeded(lambda: kind(channels, outputs, kernel, stride, **how), dice), x)


def residual(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(4)
    c = net.made[x].shape[1]
    y = net.add("conv", seeded(lambda: nn.Conv2d(c, c, 3, padding=1), dice), x)
    y = net.add("batch_norm", seeded(lambda: nn.BatchNorm2d(c), dice), y)
    if dice.coin():
        y = net.add(
            "conv", seeded(lambda: nn.Conv2d(c, c, 3, padding=1, groups=c), dice), net.add("relu", F.relu, y)
        )
    y = net.add("add", torch.add, *dice.pick((x, y), (y, x)))
    net.add("relu", F.relu, y)


def gate(net: TorchNet) -> None:
    x = net.rank(4)
    c = net.made[x].shape[1]
    y = net.add("adaptive_avg_pool", lambda v: F.adaptive_avg_pool2d(v, 1), x)
    y = net.add("conv", seeded(lambda: nn.Conv2d(c, c, 1), net.dice), y)
    y = net.add("hardsigmoid", net.dice.pick(F.hardsigmoid, torch.sigmoid), y)
    net.add("mul", torch.mul, x, y)


def linear(net: TorchNet) -> None:
    x = net.rank(1, 2, 3, 4)
    n = net.made[x].shape[-1]
    y = net.add(
        "linear", seeded(lambda: nn.Linear(n, net.dice.roll(1, 20), bias=net.dice.coin()), net.dice), x
    )
    if net.dice.coin():
        name = net.dice.pick(*ACTIVATIONS)
        net.add(name, getattr(F, name), y)


def norm(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3, 4)
    shape = net.made[x].shape
    c, n = shape[1], shape[-1]
    groups = divisor(net, c)
    build = dice.pick(
        lambda: nn.LayerNorm(n, eps=0.01), lambda: nn.LayerNorm(list(shape[-2:]), eps=0.01),
        lambda: nn.RMSNorm(n),
        lambda: nn.GroupNorm(groups, c, eps=0.01),
        lambda: (nn.InstanceNorm1d if len(shape) == 3 else nn.InstanceNorm2d)(c, affine=True, eps=0.01),
    )  # fmt: skip
    net.add("norm", seeded(build, dice), x)


def attention(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3)
    c = net.made[x].shape[2]
    heads = divisor(net, c)
    kind = dice.pick("encoder", "attention", "products")
    if kind == "encoder":
        how = {"activation": dice.pick("relu", "gelu"), "norm_first": dice.coin(), "batch_first": True}
        net.add("encoder", seeded(lambda: nn.TransformerEncoderLayer(c, heads, 8, **how), dice), x)
    elif kind == "attention":
        module = seeded(lambda: nn.MultiheadAttention(c, heads, batch_first=True), dice)
        net.add("attention", _SelfAttention(module), x)
    else:
        causal, scale = dice.coin(), dice.pick(None, 0.3)
        net.add("sdpa", lambda v: F.scaled_dot_product_attention(v, v, v, is_causal=causal, scale=scale), x)


class _SelfAttention(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x, x, x, need_weights=False)[0]
        return y


class _First(nn.Module):
    """The sequence that a recurrent layer gives, without its states."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner(x)[0]
        return y


def recurrent(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3)
    kind = dice.pick(nn.LSTM, nn.GRU, nn.RNN)
    how = {"num_layers": dice.pick(1, 1, 2), "bidirectional": dice.coin(), "batch_first": dice.coin()}
    size, width = dice.roll(1, 5), net.made[x].shape[2]
    net.add(kind.__name__.lower(), _First(seeded(lambda: kind(width, size, **how), dice)), x)


def pool(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3, 4, 4, 5)
    sizes = net.made[x].shape[2:]
    kernel = [dice.roll(1, min(4, n)) for n in sizes]
    how: dict[str, Any] = {
        "stride": [dice.roll(1, 3) for _ in sizes],
        "padding": [dice.roll(0, k // 2) for k in kernel],
    }
    how["ceil_mode"] = dice.coin()
    to = [dice.roll(1, n) for n in sizes]
    counted, dilated = (
        dice.coin(),
        [1 + (2 * k - 1 <= n and dice.coin()) for k, n in zip(kernel, sizes, strict=True)],
    )
    kind = dice.pick("max", "average", "adaptive average", "adaptive max")

    def of(name: str) -> Any:
        return getattr(F, f"{name}{len(sizes)}d")

    function = {
        "max": lambda v: of("max_pool")(v, kernel, dilation=dilated, **how),
        "average": lambda v: of("avg_pool")(v, kernel, count_include_pad=counted, **how),
        "adaptive average": lambda v: of("adaptive_avg_pool")(v, to),
        "adaptive max": lambda v: of("adaptive_max_pool")(v, to),
    }[kind]
    net.add(f"{kind} pool", function, x, exact="max" in kind)


def resize(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(3, 4, 4)
    sizes = net.made[x].shape[2:]
    mode = dice.pick("nearest", "nearest-exact", "linear" if len(sizes) == 1 else "bilinear", "bicubic")
    if mode == "bicubic" and len(sizes) == 1:
        raise UnfitError
    how: dict[str, Any] = {} if mode.startswith("nearest") else {"align_corners": dice.coin()}
    if dice.coin():
        how["size"] = [dice.roll(1, 2 * n) for n in sizes]
    else:
        how["scale_factor"] = [dice.pick(0.5, 0.7, 1.3, 1.5, 2.0, 3.0) for _ in sizes]
        how["recompute_scale_factor"] = dice.pick(None, None, True)
    net.add(f"resize {mode}", lambda v: F.interpolate(v, mode=mode, **how), x)


def grid(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(4)
    where = torch.from_numpy(dice.rng.uniform(-1.3, 1.3, (net.made[x].shape[0], 3, 4, 2))).float()
    how = {
        "mode": dice.pick("bilinear", "bicubic"),
        "padding_mode": dice.pick("zeros", "border", "reflection"),
    }
    align = dice.coin()
    net.add("grid_sample", lambda v: F.grid_sample(v, where, align_corners=align, **how), x)


def activation(net: TorchNet) -> None:
    x = net.pick()
    if net.dice.coin():
        name = net.dice.pick(*ACTIVATIONS)
        net.add(name, getattr(F, name), x, exact=name == "relu")
    else:
        name = net.dice.pick(*UNARY)
        net.add(name, getattr(torch, name), x)


def binary(net: TorchNet) -> None:
    x = net.pick()
    shape = net.made[x].shape

    def fits(v: Tensor) -> bool:
        return all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1], strict=False))

    name = net.dice.pick("add", "sub", "mul", "maximum", "minimum", "add", "mul")
    if net.dice.roll(0, 2) == 0:
        number = net.dice.pick(0.5, -1.5, 2, 3)
        function = net.dice.pick(
            lambda v: v + number, lambda v: number - v, lambda v: v * number, lambda v: v / number
        )
        net.add("scalar", function, x)
    else:
        net.add(name, getattr(torch, name), x, net.pick(fits), exact=name in ("maximum", "minimum"))


def guarded(net: TorchNet) -> None:
    x, y = net.pick(), net.pick()
    net.add("div", lambda a, b: a / (b.abs().mean() + 1), x, y)
    function = net.dice.pick(torch.sqrt, torch.log, torch.rsqrt, torch.reciprocal, torch.log1p)
    net.add("root", lambda v: function(v.abs() + 1), x)


def move(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(2, 3, 4)
    shape = list(net.made[x].shape)
    rank = len(shape)
    axis, other = dice.roll(0, rank - 1), dice.roll(-rank, -1)
    n = shape[axis]
    start, perm = dice.roll(0, n - 1), [int(i) for i in dice.rng.permutation(rank)]
    length, shift, ends = dice.roll(1, n - start), dice.roll(-3, 3), dice.rolls(4 if rank > 2 else 2, 0, 2)
    first = divisor(net, shape[0] * shape[1])
    what = dice.pick(*MOVES)
    function: Function = {
        "flip": lambda v: v.flip(axis),
        "roll": lambda v: v.roll(shift, axis),
        "transpose": lambda v: v.transpose(axis, other),
        "permute": lambda v: v.permute(perm),
        "narrow": lambda v: v.narrow(axis, start, length),
        "flatten": lambda v: v.flatten(min(axis, rank - 2)),
        "unsqueeze": lambda v: v.unsqueeze(other),
        "repeat": lambda v: v.repeat_interleave(2, axis),
        "steps": lambda v: v[:, ::2] if axis else v[..., 1:, :-1],
        "view": lambda v: v.reshape(first, -1, *shape[2:]),
        "pad": lambda v: F.pad(v, ends, value=1.5),
    }[what]
    net.add(what, function, x, exact=True)


def joined(net: TorchNet) -> None:
    x = net.rank(2, 3, 4)
    shape = net.made[x].shape
    axis = net.dice.roll(0, len(shape) - 1)

    def fits(v: Tensor) -> bool:
        return v.ndim == len(shape) and all(v.shape[i] == n for i, n in enumerate(shape) if i != axis)

    net.add("cat", lambda *parts: torch.cat(parts, axis), x, net.pick(fits), exact=True)


def reduction(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(2, 3, 4)
    axis, keep = dice.roll(-len(net.made[x].shape), -1), dice.coin()
    name = dice.pick(
        "sum", "mean", "amax", "amin", "var", "std", "logsumexp", "norm", "softmax", "cumsum", "prod"
    )
    function: Function = {
        "softmax": lambda v: v.softmax(axis),
        "cumsum": lambda v: v.cumsum(axis),
        "prod": lambda v: (v.tanh() + 1.5).prod(axis, keepdim=keep),
        "var": lambda v: v.var(axis, keepdim=keep, correction=0),
        "std": lambda v: (v.var(axis, keepdim=keep, correction=0) + 0.1).sqrt(),
    }.get(name, lambda v: getattr(v, name)(dim=axis, keepdim=keep))
    net.add(name, function, x, exact=name in ("amax", "amin"))


def product(net: TorchNet) -> None:
    x = net.rank(2, 3)
    n = net.made[x].shape[-1]
    y = net.pick(lambda v: v.ndim == 2 and v.shape[0] == n) if net.dice.coin() else None
    if y is not None:
        net.add("matmul", torch.matmul, x, y)
    else:
        net.add("gram", lambda v: v @ v.transpose(-1, -2) / n, x)


def index(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(2, 3)
    n = net.made[x].shape[1]
    places = torch.from_numpy(dice.rng.integers(0, n, dice.pick((2,), (3,), (n,))))
    function = dice.pick(
        lambda v: v[:, places], lambda v: v.index_select(1, places), lambda v: v[..., -1:] + v[:, :1]
    )
    net.add("index", function, x)


def shuffle(net: TorchNet) -> None:
    dice = net.dice
    x = net.rank(4)
    c, h, w = net.made[x].shape[1:]
    groups = divisor(net, c)
    options: list[Function] = [lambda v: F.channel_shuffle(v, groups)] if groups > 1 else []
    if c % 4 == 0:
        options.append(lambda v: F.pixel_shuffle(v, 2))
    if h % 2 == w % 2 == 0:
        options.append(lambda v: F.pixel_unshuffle(v, 2))
    options.append(lambda v: F.unfold(v, (min(2, h), 1), padding=1))
    net.add("shuffle", dice.pick(*options), x, exact=True)


def words(net: TorchNet) -> None:
    """Pixels as a sequence."""
    net.add("words", lambda v: v.flatten(2).transpose(1, 2), net.rank(4), exact=True)


def choice(net: TorchNet) -> None:
    """Comparisons and masks of what is exact."""
    x = net.pick(exact=True)
    y = net.pick(lambda v: v.shape == net.made[x].shape)
    limit = net.dice.pick(-0.4, 0.3)
    function = net.dice.pick(
        lambda a, b: torch.where(a > limit, b, 0.5), lambda a, b: b.masked_fill(a < limit, -2.0),
        lambda a, b: b * (a >= limit),
        lambda a, b: torch.where((a > limit) & ~(a > 1), b, a.floor() + a.sign()),
    )  # fmt: skip
    net.add("where", function, x, y)


def known_function(net: TorchNet) -> None:
    """A function of the one-function tests, its first operand an exact value: some of them jump."""
    family = FAMILIES[net.dice.pick(*FAMILIES)]
    name = net.dice.pick(*family.functions)
    first, *others = family.inputs
    x = net.pick(exact=True)
    shape = first.shape
    times = -(-first.numel() // net.made[x].numel())
    y = net.add(
        "adapted",
        lambda v: v.repeat(times, *[1] * (v.ndim - 1)).flatten()[: first.numel()].view(shape),
        x,
        exact=True,
    )
    net.add(name, _Applied(family.functions[name], others), y)


class _Applied(nn.Module):
    """A function with constants behind its first operand."""

    def __init__(self, function: Function, others: list[Tensor]) -> None:
        super().__init__()
        self.function, self.names = function, [f"c{i}" for i in range(len(others))]
        for name, value in zip(self.names, others, strict=True):
            self.register_buffer(name, value)

    def forward(self, x: Tensor) -> Any:
        return self.function(x, *(getattr(self, name) for name in self.names))


RECIPES: tuple[Recipe, ...] = (
    conv, conv, conv, up, residual, gate, linear, linear, norm, norm, attention, recurrent, pool, pool,
    resize, resize, grid, activation, activation, binary, binary, guarded, move, move, move, joined,
    reduction, reduction, product, index, shuffle, words, choice, known_function, known_function,
    known_function,
)  # fmt: skip

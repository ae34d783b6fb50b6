"""One small block of each family of image classifiers, written as its paper has it; needs torch.

All take the same images, so that one export holds them all.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F  # noqa: N812  # as everybody calls it
from support.torch_cases import seeded, values
from torch import Tensor, nn


def sample() -> Tensor:
    return values(1, 8, 16, 16, scale=1.0)


def conv(inputs: int, outputs: int, kernel: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution and batch normalization."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


class Sum(nn.Module):
    """The input and what a body makes of it, activated."""

    def __init__(self, body: nn.Module, shortcut: nn.Module, activation: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut, self.activation = body, shortcut, activation

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.activation(self.body(x) + self.shortcut(x))
        return y


class Join(nn.Module):
    """Branches side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Squeeze(nn.Module):
    """Squeeze and excitation: channels are weighed by what the whole image holds of them."""

    def __init__(self, channels: int, inner: nn.Module, outer: nn.Module) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)
        self.inner, self.outer = inner, outer

    def forward(self, x: Tensor) -> Tensor:
        weights: Tensor = self.outer(self.up(self.inner(self.down(F.adaptive_avg_pool2d(x, 1)))))
        return x * weights


class Dense(nn.Module):
    """DenseNet: each layer reads all results before."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(8 + 4 * i), nn.ReLU(), nn.Conv2d(8 + 4 * i, 4, 3, padding=1))
            for i in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        return F.avg_pool2d(torch.cat(found, 1), 2)


class Shuffle(nn.Module):
    """ShuffleNet V2: half of the channels pass, then both halves are mixed."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(conv(4, 4), nn.ReLU(), conv(4, 4, 3, groups=4), conv(4, 4), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        kept, changed = x.chunk(2, dim=1)
        y = torch.cat((kept, self.body(changed)), 1)
        n, channels, height, width = y.size()
        return (
            y.view(n, 2, channels // 2, height, width).transpose(1, 2).contiguous().view(n, -1, height, width)
        )


class ConvNext(nn.Module):
    """ConvNeXt: a wide depthwise layer, layer normalization over channels, a scale for each."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.full((8, 1, 1), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        y = self.down(F.gelu(self.up(self.norm(self.wide(x).permute(0, 2, 3, 1)))))
        return x + self.scale * y.permute(0, 3, 1, 2)


class Window(nn.Module):
    """Swin: attention in shifted windows, with a bias for each distance and a mask at the edges."""

    def __init__(self, size: int = 8, shift: int = 4, heads: int = 2) -> None:
        super().__init__()
        self.size, self.shift, self.heads = size, shift, heads
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.table = nn.Parameter(torch.randn((2 * size - 1) ** 2, heads))
        place = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).flatten(1)
        apart = (place[:, :, None] - place[:, None, :]).permute(1, 2, 0) + size - 1
        self.register_buffer("index", (apart[:, :, 0] * (2 * size - 1) + apart[:, :, 1]).flatten())

    def parted(self, x: Tensor) -> Tensor:
        """[N, H, W, C] as windows of cells."""
        n, height, width, channels = x.shape
        s = self.size
        x = x.view(n, height // s, s, width // s, s, channels)
        return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, channels)

    def forward(self, image: Tensor) -> Tensor:
        x = image.permute(0, 2, 3, 1)
        n, height, width, channels = x.shape
        s, cells = self.size, self.size**2
        parts = self.parted(torch.roll(x, shifts=(-self.shift, -self.shift), dims=(1, 2)))
        q, k, v = (
            self.qkv(parts).reshape(-1, cells, 3, self.heads, channels // self.heads).permute(2, 0, 3, 1, 4)
        )
        bias = self.table[self.index].view(cells, cells, -1).permute(2, 0, 1).contiguous()
        scores = (q * (channels // self.heads) ** -0.5) @ k.transpose(-2, -1) + bias
        area = x.new_zeros((height, width))
        count = 0
        for rows in ((0, -s), (-s, -self.shift), (-self.shift, None)):
            for columns in ((0, -s), (-s, -self.shift), (-self.shift, None)):
                area[rows[0] : rows[1], columns[0] : columns[1]] = count
                count += 1
        labels = self.parted(area[None, :, :, None]).squeeze(-1)
        mask = labels[:, None, :] - labels[:, :, None]
        mask = mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)
        y = (F.softmax(scores + mask[:, None], -1) @ v).transpose(1, 2).reshape(-1, cells, channels)
        y = self.out(y).view(n, height // s, width // s, s, s, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, channels)
        return image + torch.roll(y, shifts=(self.shift, self.shift), dims=(1, 2)).permute(0, 3, 1, 2)


class Patches(nn.Module):
    """ViT: patches as words, a class word in front, positions, one encoder layer."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(8, 12, 4, 4)
        self.word, self.places = nn.Parameter(torch.randn(1, 1, 12)), nn.Parameter(torch.randn(1, 17, 12))
        self.norm, self.attention = nn.LayerNorm(12), nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        words = self.patches(x).reshape(x.shape[0], 12, -1).permute(0, 2, 1)
        words = torch.cat([self.word.expand(x.shape[0], -1, -1), words], 1) + self.places
        y = self.norm(words)
        return (words + self.attention(y, y, y, need_weights=False)[0])[:, 0]


def _inverted(activation: nn.Module, weigh: nn.Module) -> nn.Module:
    """The body of MobileNet V2 and V3 and of EfficientNet."""
    wide = [conv(8, 16), activation, conv(16, 16, 3, groups=16), activation, weigh, conv(16, 8)]
    return Sum(nn.Sequential(*wide), nn.Identity(), nn.Identity())


def _inception() -> nn.Module:
    pooled = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv(8, 4), nn.ReLU())
    flat = nn.Sequential(nn.Conv2d(8, 4, (1, 7), padding=(0, 3)), nn.Conv2d(4, 4, (7, 1), padding=(3, 0)))
    mean = nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(8, 4))
    return Join(conv(8, 4), pooled, flat, mean)


BUILDERS = {
    "resnet": lambda: Sum(
        nn.Sequential(conv(8, 8, 3, 2), nn.ReLU(), conv(8, 8, 3)), conv(8, 8, 1, 2), nn.ReLU()
    ),
    "resnext": lambda: Sum(
        nn.Sequential(conv(8, 16), nn.ReLU(), conv(16, 16, 3, groups=4), conv(16, 8)),
        nn.Identity(),
        nn.ReLU(),
    ),
    "vgg": lambda: nn.Sequential(
        conv(8, 8, 3),
        nn.ReLU(True),
        nn.MaxPool2d(2, 2),
        nn.AdaptiveAvgPool2d((7, 7)),
        nn.Flatten(),
        nn.Linear(392, 5),
        nn.Dropout(),
    ),
    "densenet": Dense,
    "squeezenet": lambda: nn.Sequential(
        nn.Conv2d(8, 4, 1), nn.ReLU(), Join(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 3, padding=1)), nn.ReLU()
    ),
    "googlenet": _inception,
    "mobilenet v2": lambda: _inverted(nn.ReLU6(), nn.Identity()),
    "mobilenet v3": lambda: _inverted(nn.Hardswish(), Squeeze(16, nn.ReLU(), nn.Hardsigmoid())),
    "efficientnet": lambda: _inverted(nn.SiLU(), Squeeze(16, nn.SiLU(), nn.Sigmoid())),
    "regnet": lambda: Sum(
        nn.Sequential(conv(8, 8, 3, groups=2), nn.ReLU(), Squeeze(8, nn.ReLU(), nn.Sigmoid())),
        nn.Identity(),
        nn.ReLU(),
    ),
    "shufflenet": Shuffle,
    "convnext": ConvNext,
    "swin": Window,
    "vit": Patches,
}
BLOCKS: Mapping[str, nn.Module] = {name: seeded(build) for name, build in BUILDERS.items()}

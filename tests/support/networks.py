"""The reference networks: defined in torch with seeded random weights, exported to ONNX by both exporters.

    path = export("resnet18", "dynamo", folder)    # one of NAMES, one of EXPORTERS; kept in the folder
    x = sample("resnet18", seed=1)                 # an input, float32, batch 1
    y = expected("resnet18", x)                    # what torch answers

The ONNX input is called x, the output y, all sizes are fixed. The statistics of batch normalization are
measured on random images and its scales are random, so that folding it changes every weight while the
activations keep a sane range through all layers. Needs torch and onnxscript.
"""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

Array = npt.NDArray[np.float32]

# "torchscript" and "dynamo" are what torch.onnx.export gives by default: batch normalization is folded
# already, and dynamo stores the weights in a second file. "dynamo_raw" is the graph before torch tidies it:
# with batch normalization and all shape arithmetic.
EXPORTERS = ("torchscript", "dynamo", "dynamo_raw")


def export(name: str, exporter: str, folder: Path) -> Path:
    """Export one network, unless the folder holds it already; returns the path of the ONNX file."""
    made = folder / exporter / name
    if made.exists():
        return made / f"{name}.onnx"
    made.parent.mkdir(parents=True, exist_ok=True)
    options: dict[str, Any] = {
        "torchscript": {"dynamo": False, "opset_version": 17},
        "dynamo": {"dynamo": True, "opset_version": 20},
        "dynamo_raw": {"dynamo": True, "opset_version": 18, "optimize": False},
    }[exporter]
    x = torch.from_numpy(sample(name, seed=0))
    with tempfile.TemporaryDirectory(dir=made.parent) as own:  # other processes see a network whole or not
        path = Path(own) / name / f"{name}.onnx"
        path.parent.mkdir()
        torch.onnx.export(
            network(name), (x,), path, input_names=["x"], output_names=["y"], verbose=False, **options
        )
        with suppress(OSError):  # another one was faster
            path.parent.rename(made)
    return made / f"{name}.onnx"


def sample(name: str, seed: int) -> Array:
    """A random image of the network's shape: coarse patches, as noise alone averages out, and some noise."""
    generator = np.random.default_rng(seed)
    channels, height, width = _NETWORKS[name][1]
    patches = generator.normal(size=(1, channels, height // 16, width // 16)).repeat(16, 2).repeat(16, 3)
    return (patches + generator.normal(scale=0.3, size=patches.shape)).astype(np.float32)


def expected(name: str, x: Array) -> Array:
    """What torch answers to an input."""
    with torch.no_grad():
        y: Array = network(name)(torch.from_numpy(x)).numpy()
    return y


@cache
def network(name: str) -> nn.Module:
    """The network with its weights, in evaluation mode."""
    build, _ = _NETWORKS[name]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = build()
        norms = [module for module in net.modules() if isinstance(module, nn.BatchNorm2d)]
        for norm in norms:
            norm.momentum = None  # the average of what it sees
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.2)
        if norms:
            with torch.no_grad():
                net.train()(torch.from_numpy(np.concatenate([sample(name, seed) for seed in range(4)])))
    return net.eval()


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution that keeps the size at stride 1, and its batch normalization."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outputs)]


class _Inverted(nn.Module):
    """The block of MobileNetV2: widen, filter each channel alone, narrow, add the input where it fits."""

    def __init__(self, inputs: int, outputs: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = inputs * factor
        widen = [*_conv(inputs, wide, 1), nn.ReLU6()] if factor > 1 else []
        depthwise = [*_conv(wide, wide, 3, stride, groups=wide), nn.ReLU6()]
        self.body = nn.Sequential(*widen, *depthwise, *_conv(wide, outputs, 1))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Narrow in, narrow out."""
        y: torch.Tensor = self.body(x)
        return x + y if self.adds else y


def _mobilenet_v2(share: int = 1, count: int = 7) -> nn.Module:
    """With a `share`-th of the channels, and the first `count` rows of blocks."""
    rows = [  # factor, channels, repeats, stride of the first
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ][:count]
    inputs, last = 32 // share, 1280 // share
    layers: list[nn.Module] = [*_conv(3, inputs, 3, stride=2), nn.ReLU6()]
    for factor, channels, repeats, stride in rows:
        for index in range(repeats):
            layers.append(_Inverted(inputs, channels // share, stride if index == 0 else 1, factor))
            inputs = channels // share
    layers += [*_conv(inputs, last, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(last, 1000 // share))


class _Residual(nn.Module):
    """The block of ResNet-18: two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(*_conv(inputs, outputs, 3, stride), nn.ReLU(), *_conv(outputs, outputs, 3))
        self.shortcut = (
            nn.Identity()
            if stride == 1 and inputs == outputs
            else nn.Sequential(*_conv(inputs, outputs, 1, stride))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the body found."""
        return torch.relu(self.body(x) + self.shortcut(x))


def _resnet18(width: int = 64, count: int = 4, classes: int = 1000) -> nn.Module:
    """With the first `count` pairs of blocks."""
    layers: list[nn.Module] = [*_conv(3, width, 7, stride=2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)]
    inputs = width
    for channels, stride in [(width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)][:count]:
        layers += [_Residual(inputs, channels, stride), _Residual(channels, channels, 1)]
        inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class EncoderLayer(nn.Module):
    """Attention and a two-layer perceptron, each normalized before and added after."""

    def __init__(
        self, width: int, heads: int, factor: int = 4, activation: type[nn.Module] = nn.GELU
    ) -> None:
        super().__init__()
        wide = factor * width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.perceptron = nn.Sequential(nn.Linear(width, wide), activation(), nn.Linear(wide, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens in, tokens out."""
        z = self.norm1(x)
        x = x + self.attention(z, z, z, need_weights=False)[0]
        y: torch.Tensor = x + self.perceptron(self.norm2(x))
        return y


class _VisionTransformer(nn.Module):
    """64x64 images as 64 patches of 8x8 and a class token, four layers."""

    def __init__(self, width: int = 96, heads: int = 4, layers: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, kernel_size=8, stride=8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.position = nn.Parameter(0.2 * torch.randn(1, 65, width))
        self.layers = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Image in, class scores out."""
        patches = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), patches], dim=1) + self.position
        y: torch.Tensor = self.head(self.norm(self.layers(tokens))[:, 0])
        return y


class _UNet(nn.Module):
    """Two steps down and two up, one by a transposed convolution and one by interpolation."""

    def __init__(self, width: int = 16, classes: int = 4) -> None:
        super().__init__()

        def double(inputs: int, outputs: int) -> nn.Module:
            return nn.Sequential(
                *_conv(inputs, outputs, 3), nn.ReLU(), *_conv(outputs, outputs, 3), nn.LeakyReLU(0.1)
            )

        self.down1, self.down2 = double(3, width), double(width, 2 * width)
        self.bottom = double(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, kernel_size=2, stride=2)
        self.merge2 = double(4 * width, 2 * width)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.merge1 = double(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Image in, class scores per pixel out."""
        high = self.down1(x)
        middle = self.down2(nn.functional.max_pool2d(high, 2))
        low = self.bottom(nn.functional.max_pool2d(middle, 2))
        middle = self.merge2(torch.cat([self.up2(low), middle], dim=1))
        high = self.merge1(torch.cat([self.up1(middle), high], dim=1))
        y: torch.Tensor = self.head(high)
        return y


_NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, int, int]]] = {
    "mobilenet_v2": (_mobilenet_v2, (3, 224, 224)),
    "resnet18": (_resnet18, (3, 224, 224)),
    "vit": (_VisionTransformer, (3, 64, 64)),
    "unet": (_UNet, (3, 64, 64)),
    # The same layers with few channels, for devices that are slow.
    "small_mobilenet_v2": (partial(_mobilenet_v2, 4, 3), (3, 64, 64)),
    "small_resnet18": (partial(_resnet18, 16, 2, 100), (3, 64, 64)),
    "small_vit": (partial(_VisionTransformer, 32, 4, 1), (3, 64, 64)),
    "small_unet": (partial(_UNet, 8), (3, 16, 16)),
}
NAMES = tuple(_NETWORKS)

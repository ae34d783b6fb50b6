"""Networks of 60 M to 1.3 G MACs for x86_threads.py, in torch with random weights, as ONNX and TFLite files.

MobileNetV2 and EfficientNet-Lite0 at 224x224, the convolutions of a YOLOv8n at 320x320 up to its raw heads,
ViT-tiny, and a recognizer of lines of text after PP-OCR's: a narrow convolutional network, two transformer
layers and 6,625 classes. Statistics of batch normalization are measured: activations keep a sane range.

TFLite files are made by litert-torch, with images channels last, which is how TFLite networks take them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from support.networks import EncoderLayer
from support.networks import network as reference_network
from torch import Tensor, nn

from edgekit.core.types import Array


@dataclass(frozen=True)
class Source:
    """A network, and the shape of its image, channels first."""

    title: str
    net: nn.Module
    shape: tuple[int, ...]

    def images(self, count: int) -> list[Array]:
        """The same ones in each run."""
        generator = torch.Generator().manual_seed(7)
        return [torch.randn(self.shape, generator=generator).numpy() for _ in range(count)]

    def onnx(self, folder: Path) -> Path:
        path = folder / "model.onnx"
        given = (torch.zeros(self.shape),)
        options: dict[str, Any] = {"dynamo": False, "opset_version": 17, "verbose": False}
        torch.onnx.export(self.net, given, path, input_names=["x"], output_names=["y"], **options)
        return path

    def torchscript(self, folder: Path) -> Path:
        """For pnnx, which makes files of ncnn from it."""
        path = folder / "model.pt"
        with torch.no_grad():
            trace: Any = torch.jit.trace
            trace(self.net, torch.zeros(self.shape)).save(str(path))
        return path

    def tflite(self, folder: Path) -> Path:
        library = import_module("litert_torch")
        path = folder / "model.tflite"
        batch, channels, height, width = self.shape
        net = library.to_channel_last_io(self.net, args=[0])
        library.convert(net, (torch.zeros(batch, height, width, channels),)).export(str(path))
        return path


def networks() -> list[Source]:
    """All five."""
    wide = (1, 3, 224, 224)
    return [
        Source("MobileNetV2 224", reference_network("mobilenet_v2"), wide),
        Source("EfficientNet-Lite0 224", _settled(_efficientnet_lite0, wide), wide),
        Source("YOLOv8n's convolutions 320", _settled(_Detector, (1, 3, 320, 320)), (1, 3, 320, 320)),
        Source("ViT-tiny 224", _settled(_VisionTransformer, wide), wide),
        Source("recognizer of text 48x320", _settled(_Recognizer, (1, 3, 48, 320)), (1, 3, 48, 320)),
    ]


def _settled(build: Callable[[], nn.Module], shape: tuple[int, ...]) -> nn.Module:
    """With random weights, in evaluation mode."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        net = build()
        for norm in (module for module in net.modules() if isinstance(module, nn.BatchNorm2d)):
            norm.momentum = None  # the average of what it sees
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.normal_(norm.bias, std=0.2)
        with torch.no_grad():
            net.train()(torch.randn(4, *shape[1:]))
    return net.eval()


def _conv(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, *, after: nn.Module
) -> nn.Sequential:
    """A convolution that keeps the size at stride 1, batch normalization and an activation."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), after)


class _Residual(nn.Module):
    """What a body makes of its input, added to it."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x + self.body(x)
        return y


def _efficientnet_lite0() -> nn.Module:
    """EfficientNet-B0 without squeeze and excitation, with ReLU6."""
    relu, none = nn.ReLU6(), nn.Identity()
    layers: list[nn.Module] = [_conv(3, 32, 3, 2, after=relu)]
    inputs = 32
    for factor, outputs, repeats, stride, kernel in (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ):
        for index in range(repeats):
            wide, step = inputs * factor, stride if index == 0 else 1
            body = [_conv(inputs, wide, 1, after=relu)] if factor > 1 else []
            body += [_conv(wide, wide, kernel, step, wide, after=relu), _conv(wide, outputs, 1, after=none)]
            block = nn.Sequential(*body)
            layers.append(_Residual(block) if index else block)
            inputs = outputs
    ends = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return nn.Sequential(*layers, _conv(inputs, 1280, 1, after=relu), *ends)


class _SplitBlock(nn.Module):
    """C2f of YOLOv8: a half of the channels goes through bottlenecks, and all results are joined."""

    def __init__(self, inputs: int, outputs: int, count: int, *, adds: bool) -> None:
        super().__init__()
        half = outputs // 2
        self.first = _conv(inputs, outputs, 1, after=nn.SiLU())
        self.last = _conv((2 + count) * half, outputs, 1, after=nn.SiLU())
        pairs = [
            nn.Sequential(_conv(half, half, 3, after=nn.SiLU()), _conv(half, half, 3, after=nn.SiLU()))
            for _ in range(count)
        ]
        self.inner = nn.ModuleList([_Residual(p) if adds else p for p in pairs])

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.first(x).chunk(2, 1))
        for block in self.inner:
            parts.append(block(parts[-1]))
        joined: Tensor = self.last(torch.cat(parts, 1))
        return joined


class _PyramidPool(nn.Module):
    """SPPF of YOLOv8: three maximum pools in a row, joined."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = _conv(width, width // 2, 1, after=nn.SiLU())
        self.last = _conv(width * 2, width, 1, after=nn.SiLU())
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        joined: Tensor = self.last(torch.cat(parts, 1))
        return joined


class _Detector(nn.Module):
    """YOLOv8n: backbone, feature pyramid and the convolutions of three heads, for 80 classes."""

    def __init__(self) -> None:
        super().__init__()
        silu = nn.SiLU()
        self.low = nn.Sequential(
            _conv(3, 16, 3, 2, after=silu),
            _conv(16, 32, 3, 2, after=silu),
            _SplitBlock(32, 32, 1, adds=True),
            _conv(32, 64, 3, 2, after=silu),
            _SplitBlock(64, 64, 2, adds=True),
        )
        self.middle = nn.Sequential(_conv(64, 128, 3, 2, after=silu), _SplitBlock(128, 128, 2, adds=True))
        self.high = nn.Sequential(
            _conv(128, 256, 3, 2, after=silu), _SplitBlock(256, 256, 1, adds=True), _PyramidPool(256)
        )
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.down_middle, self.down_low = (
            _SplitBlock(384, 128, 1, adds=False),
            _SplitBlock(192, 64, 1, adds=False),
        )
        self.again_middle, self.again_high = (
            _conv(64, 64, 3, 2, after=silu),
            _conv(128, 128, 3, 2, after=silu),
        )
        self.up_middle, self.up_high = (
            _SplitBlock(192, 128, 1, adds=False),
            _SplitBlock(384, 256, 1, adds=False),
        )
        self.boxes = nn.ModuleList([self._head(width, 64, 64) for width in (64, 128, 256)])
        self.classes = nn.ModuleList([self._head(width, 80, 80) for width in (64, 128, 256)])

    @staticmethod
    def _head(inputs: int, width: int, outputs: int) -> nn.Module:
        first, second = _conv(inputs, width, 3, after=nn.SiLU()), _conv(width, width, 3, after=nn.SiLU())
        return nn.Sequential(first, second, nn.Conv2d(width, outputs, 1))

    def forward(self, x: Tensor) -> Tensor:
        low = self.low(x)
        middle = self.middle(low)
        high = self.high(middle)
        middle = self.down_middle(torch.cat([self.up(high), middle], 1))
        low = self.down_low(torch.cat([self.up(middle), low], 1))
        middle = self.up_middle(torch.cat([self.again_middle(low), middle], 1))
        high = self.up_high(torch.cat([self.again_high(middle), high], 1))
        found = [
            torch.cat([boxes(level), classes(level)], 1).flatten(2)
            for boxes, classes, level in zip(self.boxes, self.classes, (low, middle, high), strict=True)
        ]
        return torch.cat(found, 2)


class _VisionTransformer(nn.Module):
    """ViT-tiny: patches of 16x16, 192 channels, 12 layers of 3 heads."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 192, 16, 16)
        self.token = nn.Parameter(0.1 * torch.randn(1, 1, 192))
        self.position = nn.Parameter(0.1 * torch.randn(1, 197, 192))
        self.layers = nn.Sequential(*(EncoderLayer(192, 3) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 1000)

    def forward(self, x: Tensor) -> Tensor:
        words = self.patches(x).flatten(2).transpose(1, 2)
        words = torch.cat([self.token.expand(x.shape[0], -1, -1), words], 1) + self.position
        y: Tensor = self.head(self.norm(self.layers(words))[:, 0])
        return y


class _Recognizer(nn.Module):
    """After PP-OCR's: depthwise blocks, a mean of rows, two transformer layers, scores of each column."""

    def __init__(self) -> None:
        super().__init__()
        active = nn.Hardswish()
        layers: list[nn.Module] = [_conv(3, 16, 3, 2, after=active)]
        inputs = 16
        for outputs, down, aside, kernel in (
            (32, 1, 1, 3),
            (64, 1, 1, 3),
            (64, 1, 1, 3),
            (128, 2, 1, 3),
            (128, 1, 1, 3),
            (240, 2, 2, 3),
            *[(240, 1, 1, 5)] * 5,
            (480, 2, 1, 5),
            (480, 1, 1, 5),
        ):
            same, stride = kernel // 2, (down, aside)
            depthwise = nn.Conv2d(inputs, inputs, kernel, stride, same, groups=inputs, bias=False)
            layers += [depthwise, nn.BatchNorm2d(inputs), active, _conv(inputs, outputs, 1, after=active)]
            inputs = outputs
        self.backbone = nn.Sequential(*layers, nn.Conv2d(inputs, 120, 1))
        self.layers = nn.Sequential(*(EncoderLayer(120, 8, 2, nn.SiLU) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(120), nn.Linear(120, 6625)

    def forward(self, x: Tensor) -> Tensor:
        columns = self.backbone(x).mean(2).transpose(1, 2)
        y: Tensor = self.head(self.norm(self.layers(columns)))
        return y

"""What the helpers of an npm package know of a model: where pixels and samples go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import Code

HELPER_WORDS = {  # how each is called, and what that does
    "image": ("putImage(source, model.input)", "an image, canvas, video or ImageData as input"),
    "audio": ("putAudio(samples, model.input)", "the last samples of sound as input"),
}
_CHANNELS = (1, 3, 4)
# Of inputs that are taken for an image or for sound where nothing says so: features of sound are longer than
# images, and other rows of numbers shorter than a quarter of a second.
_LEAST_SIDE, _MAX_RATIO, _LEAST_SAMPLES = 8, 2, 4000
_LUMA = "(0.299 * rgba[4 * i] + 0.587 * rgba[4 * i + 1] + 0.114 * rgba[4 * i + 2])"


def image(program: Program, inputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first input that can be an image: height and width, with 1, 3 or 4 channels before or behind."""
    for port in inputs:
        if (found := _image(port["shape"])) is None:
            continue
        height, width, channels, index = found
        # Bytes without a scale are raw pixels.
        raw = "scale" not in port and port["type"] not in ("float32", "float64")
        return {
            **port,
            "width": width,
            "height": height,
            "channels": channels,
            "index": Code(index),
            "pixel": Code(_LUMA if channels == 1 else "rgba[4 * i + c]"),
            "stored": _stored(port),
            "std_factor": Code(f"{port['scale']!r} * " if "scale" in port else ""),
            "mean": 0,
            "std": 1 if raw else 255,
        }
    raise _unfit(
        program,
        "image",
        "an input of one image, [1, height, width, channels] or [1, channels, height, width]",
    )


def likely(program: Program) -> tuple[str, ...]:
    """What the inputs of a model seem to be: images or sound."""
    shapes = [list(port.type.shape) for port in program.inputs]
    images = [found for shape in shapes if (found := _image(shape))]
    if images:
        height, width, *_ = images[0]
        low, high = sorted((height, width))
        return ("image",) if low >= _LEAST_SIDE and high <= _MAX_RATIO * low else ()
    is_sound = shapes and _is_row(shapes[0]) and max(shapes[0]) >= _LEAST_SAMPLES
    return ("audio",) if is_sound else ()


def image_input(program: Program) -> str | None:
    """The name of the input that putImage takes; None where no input is an image."""
    return next((port.c for port in program.inputs if _image(list(port.type.shape))), None)


def _image(shape: list[int]) -> tuple[int, int, int, str] | None:
    """Height, width and channels of one image, and the JavaScript for the place of channel c of pixel i."""
    match shape:
        case [1, channels, height, width] if channels in _CHANNELS and width > 1:
            return height, width, channels, f"c * {height * width} + i"
        case [1, height, width, channels] if channels in _CHANNELS:
            return height, width, channels, f"{channels} * i + c" if channels > 1 else "i"
    return None


def audio(program: Program, inputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first input, if it is a row of numbers."""
    port = inputs[0] if inputs else {"shape": []}
    if not _is_row(port["shape"]):
        raise _unfit(program, "audio", "an input of one row of samples, such as [1, 16000]")
    stored = _stored(port)
    return {
        **port,
        "stored": Code(stored.replace("value", f"value / {port['scale']!r}")) if "scale" in port else stored,
    }


def _is_row(shape: Sequence[int]) -> bool:
    """Does one dimension hold all elements?"""
    return bool(shape) and max(shape) == math.prod(shape)


def _stored(port: dict[str, Any]) -> Code:
    """The JavaScript that makes an element of `value`; divided by the scale already, where there is one."""
    limits = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}
    if port["type"] not in limits:
        return Code("value")
    low, high = limits[port["type"]]
    zero = f" + {port['zero']}" if port.get("zero") else ""
    return Code(f"Math.min({high}, Math.max({low}, Math.round(value{zero})))".replace("+ -", "- "))


def _unfit(program: Program, helper: str, wanted: str) -> EdgeKitError:
    types = ", ".join(f"{port.name} {port.type}" for port in program.inputs)
    return EdgeKitError(
        "E0103", f"{program.name} has no input for the helper {helper}: {types}", hint=f"it takes {wanted}"
    )

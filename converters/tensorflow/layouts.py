"""Where images have their channels, and windows that slide over them, as attributes of TensorFlow say it."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics.convolution import SlidingWindow, pads_of
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

_LAYOUTS = ("NHWC", "NCHW", "NDHWC", "NCDHW", "NWC", "NCW")


class Layout:
    """The order of the dimensions of images, such as NHWC."""

    def __init__(self, name: str, rank: int) -> None:
        if name not in _LAYOUTS or (len(name) != rank and rank > 3):
            message = f"the layout {name[:20]} of {rank} dimensions is not supported"
            raise EdgeKitError("E0203", message)
        self.is_last = name[-1] == "C"

    def first(self, x: Tensor) -> Tensor:
        """Channels from where they are to second."""
        return x.to_nchw() if self.is_last else x

    def back(self, x: Tensor) -> Tensor:
        return x.to_nhwc() if self.is_last else x

    def area(self, values: Sequence[int]) -> tuple[int, ...]:
        """What is said of the spatial dimensions, where there is a number for each."""
        return tuple(values[1:-1] if self.is_last else values[2:])

    def beside(self, values: Sequence[int]) -> tuple[int, ...]:
        """What is said of batch and channels."""
        return (values[0], values[-1] if self.is_last else values[1])

    def channels(self, x: Tensor, rank: int) -> Tensor:
        """A vector of channels, as it broadcasts to images."""
        return x if self.is_last else x.reshape(*x.shape, *(1,) * (rank - 2))


def window(
    layout: Layout,
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: str,
    pads: Sequence[int],
    dilations: Sequence[int],
) -> SlidingWindow:
    """How a window slides; attributes have a number for each dimension of the image."""
    rank = len(size) + 2
    for what, values in (("strides", strides), ("dilations", dilations)):
        if len(values) != rank or min(values) < 1 or set(layout.beside(values)) != {1}:
            raise EdgeKitError("E0205", f"{what} of {list(values)[:8]} are not supported")
    steps, holes = layout.area(strides), layout.area(dilations)
    if padding == "EXPLICIT":
        if len(pads) != 2 * rank or min(pads) < 0:
            raise EdgeKitError("E0401", f"explicit padding of {list(pads)[:8]}")
        before, after = layout.area(pads[::2]), layout.area(pads[1::2])
        return SlidingWindow(steps, holes, (*before, *after))
    if padding not in ("SAME", "VALID"):
        raise EdgeKitError("E0203", f"padding {padding[:20]} is not supported")
    auto = "SAME_UPPER" if padding == "SAME" else "VALID"
    return SlidingWindow(steps, holes, pads_of(auto, None, size, kernel, steps, holes))

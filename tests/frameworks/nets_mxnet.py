"""Small nets of MXNet that the zoo of gluon has nothing like, each with the shape of its input."""

from collections.abc import Callable, Mapping
from typing import Any

from mxnet.gluon import HybridBlock, nn, rnn

Make = Callable[[], HybridBlock]


class Of(HybridBlock):
    """A function of blocks that are its children."""

    def __init__(self, function: Callable[..., Any], *blocks: HybridBlock) -> None:
        super().__init__()
        self.function = function
        self.blocks = blocks
        for block in blocks:
            self.register_child(block)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803 as gluon calls it
        return self.function(F, x, *self.blocks)


def recurrent(layer: HybridBlock) -> HybridBlock:
    return Of(lambda _, x, layer, head: head(layer(x)), layer, nn.Dense(3, flatten=False))


def segmentation() -> HybridBlock:
    """Down and up again, with what was there before beside it."""

    def run(F: Any, x: Any, *blocks: HybridBlock) -> Any:  # noqa: N803 as gluon calls it
        down, deep, slope, up, out, groups, layer, instance = blocks
        high = F.relu(down(x))
        low = slope(deep(high))
        beside = F.slice_like(up(low), high, axes=(2, 3))
        y = out(F.concat(groups(beside), instance(high), dim=1))
        y = F.contrib.BilinearResize2D(y, height=9, width=11)
        y = F.contrib.AdaptiveAvgPooling2D(y, output_size=(3, 4))
        return F.log_softmax(layer(F.reshape(y, (0, -4, 2, -1, -3))), axis=-1)

    convolutions = nn.Conv2D(8, 3, 2, 1), nn.Conv2D(16, 3, 2, 1), nn.PReLU()
    back = nn.Conv2DTranspose(8, 4, 2, 1), nn.Conv2DTranspose(4, 3, 2, 1, output_padding=1)
    norms = nn.GroupNorm(2), nn.LayerNorm(), nn.InstanceNorm()
    return Of(run, *convolutions, *back, *norms)


def lines() -> HybridBlock:
    """Windows over one dimension and over three, a table, and statistics of another axis."""

    def run(F: Any, x: Any, *blocks: HybridBlock) -> Any:  # noqa: N803 as gluon calls it
        norm, table, line, volume = blocks
        rows = F.reshape(x, (0, 0, -1))
        parts = norm(x), table(F.floor(F.abs(x))), line(rows), volume(F.expand_dims(x, 1))
        return F.concat(*(F.reshape(part, (-1,)) for part in parts), dim=0)

    line = nn.Conv1D(4, 3, padding=1, groups=2, in_channels=4)
    return Of(run, nn.BatchNorm(axis=3, scale=False), nn.Embedding(10, 4), line, nn.Conv3D(2, 2))


NETS: Mapping[str, tuple[Make, tuple[int, ...]]] = {
    "lstm": (lambda: recurrent(rnn.LSTM(4, 2, bidirectional=True)), (5, 2, 3)),
    "gru": (lambda: recurrent(rnn.GRU(4, 2, layout="NTC")), (2, 5, 3)),
    "rnn": (lambda: recurrent(rnn.RNN(4, 2, activation="relu")), (5, 2, 3)),
    "segmentation": (segmentation, (1, 3, 16, 16)),
    "lines": (lines, (2, 4, 6, 5)),
}

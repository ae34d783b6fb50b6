"""Small nets of MindSpore that use many operators, each with the shape of its input."""

from collections.abc import Callable, Mapping, Sequence

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


class Activations(nn.Cell):
    def construct(self, x):  # type: ignore[no-untyped-def]  # MindSpore reads the source
        return (
            *(
                ops.relu(x),
                ops.relu6(x * 4),
                ops.leaky_relu(x, 0.1),
                ops.elu(x),
                ops.celu(x, 1.5),
                ops.selu(x),
            ),
            *(ops.gelu(x), ops.gelu(x, "tanh"), ops.sigmoid(x), ops.logsigmoid(x), ops.silu(x), ops.mish(x)),
            *(ops.tanh(x), ops.hardsigmoid(x), ops.hardswish(x * 3), ops.hardtanh(x), ops.hardshrink(x)),
            *(ops.softshrink(x), ops.softplus(x), ops.softsign(x), ops.softmax(x, 1), ops.log_softmax(x, -1)),
            *(ops.glu(x, 1), ops.threshold(x, 0.1, 5.0)),
        )


class Arithmetic(nn.Cell):
    def construct(self, x):  # type: ignore[no-untyped-def]
        positive = ops.abs(x) + 0.1
        y = x[:, :, ::2, 1:3]
        return (
            *(x + 2, 2 - x, x * 0.5, 1 / positive, x / 3, -x, x % 0.7, x // 0.7, y * y[:, :1] - y),
            *(ops.maximum(x, x * x), ops.minimum(x, x * x), ops.clamp(x, -0.5, 0.5)),
            *(
                ops.pow(positive, 1.5),
                x**2,
                ops.sqrt(positive),
                ops.rsqrt(positive),
                ops.exp(x),
                ops.expm1(x),
            ),
            *(ops.log(positive), ops.log2(positive), ops.log1p(positive), ops.sin(x), ops.cos(x), ops.tan(x)),
            *(ops.atan(x), ops.asin(x / 4), ops.acos(x / 4), ops.sinh(x), ops.cosh(x), ops.erf(x)),
            *(ops.floor(x), ops.ceil(x), ops.round(x * 4), ops.sign(x), ops.reciprocal(positive)),
            *(ops.square(x), ops.addn([x, x * x]), ops.lerp(x, -x, 0.3), ops.select(x > 0, x, x * 2)),
            *(ops.cast(ops.logical_and(x > 0, x <= 1), ms.float32), ops.logical_not(x == 0)),
            *(ops.cast(x * 10, ms.int32), ops.not_equal(x, positive), ops.isnan(x)),
        )


class Reductions(nn.Cell):
    def construct(self, x):  # type: ignore[no-untyped-def]
        return (
            *(
                x.sum(),
                x.sum((1, 2)),
                ops.mean(x, 3, True),
                ops.prod(x, 2),
                ops.amax(x, 1),
                ops.amin(x, (2, 3)),
            ),
            *(ops.argmax(x, 1), ops.argmin(x, -1), ops.cumsum(x, 2), *ops.topk(x, 2), ops.logsumexp(x, 1)),
            *(ops.any(x > 1, 1), ops.all(x > -1, 2), *ops.sort(x, -1), ops.std(x, 1), ops.norm(x)),
            *ops.max(x, 1),
        )


class Movement(nn.Cell):
    def construct(self, x):  # type: ignore[no-untyped-def]
        parts = ops.split(x, 2, 1)
        rows, columns = ops.meshgrid(ops.arange(0, 6), ops.arange(0, 6), indexing="ij")
        return (
            *(
                x.reshape(1, -1),
                ops.flatten(x, start_dim=2),
                ops.transpose(x, (0, 2, 3, 1)),
                ops.squeeze(x, 0),
            ),
            *(ops.expand_dims(x, 1), ops.stack([x, x * 2], 1)[:, 1], ops.concat((parts[1], parts[0]), 1)),
            *(ops.chunk(x, 2, 3)[1], ops.broadcast_to(x[:, :1], (1, 3, 6, 6)), ops.tile(x, (1, 2, 1, 1))),
            *(ops.flip(x, (3,)), ops.pad(x, (1, 1, 2, 0)), ops.pad(x, (1, 2, 1, 0), "reflect")),
            *(ops.pixel_shuffle(x, 2), ops.tril(x), ops.triu(x, 1), ops.unbind(x, 1)[2]),
            *(x[:, 0, 1:3, ::2], x[0, -1], ops.zeros_like(x) + ops.ones((6,), ms.float32)),
            *(x + ops.cast(rows * 2 + columns, ms.float32), ops.full((2, 2), 1.5) + x[0, 0, :2, :2]),
            *(ops.unfold(x, 3, padding=1), ops.swapaxes(x, 1, 2), ops.repeat_interleave(x, 2, 1)),
        )


class Indexing(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.rows = Tensor(np.array([2, 0]), ms.int32)
        self.pairs = Tensor(np.array([[0, 1], [2, 0]]), ms.int32)

    def construct(self, x):  # type: ignore[no-untyped-def]
        order = ops.argmax(x, 1)
        return (
            *(
                ops.gather(x, self.rows, 1),
                ops.gather_nd(x[0], self.pairs),
                ops.gather_elements(x, 1, ops.sort(x, 1)[1]),
            ),
            *(
                ops.one_hot(order, 5, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)),
                ops.index_select(x, 2, self.rows),
            ),
            *(ops.tensor_scatter_update(x[0, 0], self.rows.reshape(2, 1), ops.ones((2, 7), ms.float32)),),
        )


class Pooling(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.pools = nn.CellList(
            [
                *(nn.MaxPool2d(2, 2), nn.MaxPool2d(3, 2, pad_mode="same"), nn.AvgPool2d(2, 2)),
                *(nn.AvgPool2d(3, 2, pad_mode="same"), nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)),
                *(nn.AdaptiveAvgPool2d((3, 5)), nn.AdaptiveMaxPool2d((2, 2))),
            ]
        )

    def construct(self, x):  # type: ignore[no-untyped-def]
        results = [pool(x) for pool in self.pools]
        return (*results, ops.avg_pool2d(x, 3, 2, 1), ops.max_pool2d(x, 3, 2, 1), ops.mean(x, (2, 3)))


class Resizing(nn.Cell):
    def construct(self, x):  # type: ignore[no-untyped-def]
        grid = ops.tanh(ops.transpose(x[:, :2], (0, 2, 3, 1)))
        return (
            *(
                ops.interpolate(x, size=(5, 13), mode="nearest"),
                ops.interpolate(x, size=(5, 13), mode="bilinear"),
            ),
            ops.interpolate(x, size=(5, 13), mode="bilinear", align_corners=True),
            ops.grid_sample(x, grid, align_corners=True),
        )


class Layers(nn.Cell):
    """Convolutions of several kinds, norms, and a table."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = nn.Conv2d(4, 6, 3, pad_mode="pad", padding=(1, 0, 2, 1), has_bias=True)
        self.same = nn.Conv2d(4, 6, 5, 2, pad_mode="same", group=2)
        self.valid = nn.Conv2d(4, 6, 3, pad_mode="valid", dilation=2)
        self.depth = nn.Conv2d(4, 4, 3, pad_mode="pad", padding=1, group=4)
        self.back = nn.Conv2dTranspose(4, 3, 3, 2, pad_mode="pad", padding=1, output_padding=1, has_bias=True)
        self.back_same = nn.Conv2dTranspose(4, 3, 2, 2)
        self.line = nn.Conv1d(4, 5, 3, has_bias=True)
        self.group = nn.GroupNorm(2, 4)
        self.layer, self.batch = nn.LayerNorm((4, 6, 7), 1, 1), nn.BatchNorm2d(4, eps=1e-3)
        self.slopes, self.dropped = nn.PReLU(4), nn.Dropout(p=0.3)
        self.table, self.dense = nn.Embedding(9, 3), nn.Dense(7, 5, activation="relu")

    def construct(self, x):  # type: ignore[no-untyped-def]
        rows = x[:, :, 0]
        return (
            *(self.sides(x), self.same(x), self.valid(x), self.depth(x), self.back(x), self.back_same(x)),
            *(self.line(rows), self.group(x), self.layer(x), self.batch(x)),
            *(self.slopes(x), self.dropped(x), self.table(ops.argmax(x, 1)), self.dense(x)),
            *(
                ops.matmul(rows, ops.transpose(x[:, :, 1], (0, 2, 1))),
                ops.bmm(rows, ops.transpose(rows, (0, 2, 1))),
            ),
            ops.matmul(x, ops.transpose(x, (0, 1, 3, 2))),
        )


class Attention(nn.Cell):
    """Patches of an image, and one encoder layer on them."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 8, 8, pad_mode="valid", has_bias=True)
        self.first = Parameter(Tensor(np.full((1, 1, 16), 0.1), ms.float32), name="first")
        self.places = Parameter(Tensor(np.linspace(-1, 1, 80).reshape(1, 5, 16), ms.float32), name="places")
        self.joint, self.out = nn.Dense(16, 48), nn.Dense(16, 16)
        self.norm, self.second = nn.LayerNorm((16,)), nn.LayerNorm((16,))
        self.wide, self.narrow = nn.Dense(16, 32), nn.Dense(32, 16)
        self.head = nn.Dense(16, 5)

    def construct(self, x):  # type: ignore[no-untyped-def]
        tokens = ops.transpose(self.patches(x).reshape(1, 16, 4), (0, 2, 1))
        tokens = ops.concat((self.first, tokens), 1) + self.places
        heads = ops.transpose(self.joint(self.norm(tokens)).reshape(1, 5, 3, 4, 4), (2, 0, 3, 1, 4))
        query, key, value = heads[0], heads[1], heads[2]
        weights = ops.softmax(ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))) * 0.5, -1)
        mixed = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3)).reshape(1, 5, 16)
        tokens = tokens + self.out(mixed)
        tokens = tokens + self.narrow(ops.gelu(self.wide(self.second(tokens))))
        return self.head(tokens[:, 0])


class Lenet(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            *(nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2)),
            *(nn.Conv2d(6, 8, 3, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()),
            *(nn.Dense(8 * 4, 12), nn.ReLU(), nn.Dense(12, 10), nn.Softmax()),
        )

    def construct(self, x):  # type: ignore[no-untyped-def]
        return self.layers(x)


class Recurrent(nn.Cell):
    """Two layers in two directions."""

    def __init__(self, kind: type[nn.Cell]) -> None:
        super().__init__()
        self.network = kind(4, 5, num_layers=2, batch_first=True, bidirectional=True)

    def construct(self, x):  # type: ignore[no-untyped-def]
        return self.network(x)[0]


class Unet(nn.Cell):
    """Down and up again, past what was there before."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 8, 3)
        self.pool, self.up = nn.MaxPool2d(2, 2), nn.Conv2dTranspose(8, 4, 2, 2)
        self.out = nn.Conv2d(8, 2, 1, has_bias=True)

    def construct(self, x):  # type: ignore[no-untyped-def]
        first = ops.relu(self.down(x))
        deep = ops.relu(self.deep(self.pool(first)))
        y = self.out(ops.concat((first, self.up(deep)), 1))
        return ops.softmax(y, 1), ops.argmax(y, 1)


_IMAGE = (1, 4, 6, 7)
NETS: Mapping[str, tuple[Callable[[], nn.Cell], Sequence[int]]] = {
    "activations": (Activations, _IMAGE),
    "arithmetic": (Arithmetic, _IMAGE),
    "reductions": (Reductions, _IMAGE),
    "movement": (Movement, (1, 4, 6, 6)),
    "indexing": (Indexing, _IMAGE),
    "pooling": (Pooling, _IMAGE),
    "resizing": (Resizing, _IMAGE),
    "layers": (Layers, _IMAGE),
    "attention": (Attention, (1, 3, 16, 16)),
    "lenet": (Lenet, (1, 1, 16, 16)),
    "unet": (Unet, (1, 3, 8, 8)),
    "lstm": (lambda: Recurrent(nn.LSTM), (1, 3, 4)),
    "gru": (lambda: Recurrent(nn.GRU), (1, 3, 4)),
}

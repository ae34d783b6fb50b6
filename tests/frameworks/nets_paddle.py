"""Small nets of Paddle that use many operators, each with the shapes of its inputs."""

from collections.abc import Callable, Mapping, Sequence

import paddle
from paddle import Tensor, nn
from paddle.nn import functional as f
from paddle.quantization import PTQ, QuantConfig
from paddle.quantization.observers import AbsmaxObserver

Shapes = Sequence[Sequence[int]]


class Of(nn.Layer):
    """A function as a layer: what it does first keeps the input apart from the results."""

    def __init__(self, function: Callable[[Tensor], Sequence[Tensor]]) -> None:
        super().__init__()
        self.function = function
        self.factor = self.create_parameter([1], default_initializer=nn.initializer.Constant(0.9))

    def forward(self, x: Tensor) -> Sequence[Tensor]:
        return self.function(x * self.factor)


def activations(x: Tensor) -> Sequence[Tensor]:
    return [
        *(f.relu(x), f.relu6(x * 4), f.leaky_relu(x, 0.1), f.elu(x, 0.5), f.celu(x, 1.5), f.selu(x)),
        *(f.gelu(x), f.gelu(x, approximate=True), f.sigmoid(x), f.log_sigmoid(x), f.silu(x), f.swish(x)),
        *(f.mish(x), f.tanh(x), f.tanhshrink(x), f.hardsigmoid(x), f.hardswish(x * 3), f.hardtanh(x)),
        *(f.hardshrink(x), f.softshrink(x), f.softplus(x), f.softplus(x, 2.0), f.softsign(x)),
        *(f.thresholded_relu(x), f.softmax(x, 1), f.log_softmax(x, -1), f.glu(x, 1)),
    ]


def arithmetic(x: Tensor) -> Sequence[Tensor]:
    y, positive = x[:, :, ::2, 1:3], paddle.abs(x) + 0.1
    return [
        *(x + 2, 2 - x, x * 0.5, 1 / positive, x / 3, -x, x % 0.7, x // 0.7, y * y[:, :1] - y),
        *(paddle.maximum(x, x * x), paddle.minimum(x, x * x), paddle.clip(x, -0.5, 0.5)),
        *(paddle.pow(positive, 1.5), x**2, paddle.sqrt(positive), paddle.rsqrt(positive)),
        *(paddle.exp(x), paddle.expm1(x), paddle.log(positive), paddle.log2(positive)),
        *(paddle.log10(positive), paddle.log1p(positive), paddle.sin(x), paddle.cos(x), paddle.tan(x)),
        *(paddle.atan(x), paddle.asin(x / 4), paddle.acos(x / 4), paddle.sinh(x), paddle.cosh(x)),
        *(paddle.erf(x), paddle.floor(x), paddle.ceil(x), paddle.round(x * 4) / 2, paddle.sign(x)),
        *(
            paddle.reciprocal(positive),
            paddle.square(x),
            paddle.add_n([x, x * x, positive]),
            paddle.lerp(x, -x, 0.3),
        ),
        *(paddle.where(x > 0, x, x * 2), paddle.cast((x > 0) & (x <= 1), "float32"), ~(x == 0) | (x < 1)),
        *(paddle.scale(x, 2.0, 1.0, bias_after_scale=False), paddle.cast(x * 10, "int32")),
    ]


def reductions(x: Tensor) -> Sequence[Tensor]:
    return [
        *(x.sum(), x.sum([1, 2]), x.mean(3, keepdim=True), x.max(1), x.min([2, 3]), x.prod(2)),
        *(x.std(), x.var(1), paddle.norm(x), paddle.norm(x, p=1, axis=2), paddle.logsumexp(x, [1, 2])),
        *(paddle.any(x > 1, 1), paddle.all(x > -1, [2, 3]), paddle.argmax(x, 1), paddle.argmin(x, -1)),
        *(paddle.cumsum(x, 2), *paddle.topk(x, 2, 1), paddle.argsort(x, 3), paddle.sort(x, -1, True)),
        *(f.normalize(x, axis=1), paddle.amax(x, 2), paddle.argmax(x)),
    ]


def movement(x: Tensor) -> Sequence[Tensor]:
    _, _, height, width = x.shape
    halves = paddle.split(x, [1, -1], 1)
    parts = paddle.chunk(x, 2, 3)
    grid = paddle.meshgrid(paddle.arange(height, dtype="float32"), paddle.linspace(0, 1, width))
    return [
        *(x.reshape([0, -1]), x.flatten(2), x.transpose([0, 2, 3, 1]), paddle.squeeze(x, 0)),
        *(paddle.unsqueeze(x, [0, 2]), paddle.stack([x, x * 2], 1)[:, 1], paddle.concat(halves[::-1], 1)),
        *(parts[1], paddle.expand(x[:, :1], [-1, 3, -1, -1]), paddle.tile(x, [1, 2, 1, 1])),
        *(paddle.flip(x, [3]), paddle.roll(x, 1, 2), paddle.roll(x, [1, -1], [2, 3])),
        *(f.pad(x, [1, 2, 0, 1], mode="reflect"), f.pad(x, [1, 1, 1, 1], value=0.5)),
        *(f.pad(x, [1, 0, 2, 1], mode="replicate"), f.pixel_shuffle(x, 2), f.channel_shuffle(x, 2)),
        *(f.unfold(x, 3, 1, 1), paddle.tril(x[0]), paddle.triu(x[0], 1), grid[0] * grid[1]),
        *(paddle.unbind(x, 1)[2], x[:, 0, 1:3, ::2], x[0, -1], paddle.full([2], 2.0) + x[0, 0, 0, :2]),
        *(paddle.zeros_like(x) + paddle.ones([width]), paddle.cast(paddle.shape(x)[1], "float32") * x),
    ]


def indexing(x: Tensor) -> Sequence[Tensor]:
    rows = paddle.to_tensor([2, 0])
    order = paddle.argsort(x, 1)
    return [
        *(paddle.gather(x, rows, 1), paddle.index_select(x, rows, 2), paddle.take_along_axis(x, order, 1)),
        *(paddle.gather_nd(x[0], paddle.to_tensor([[0, 1], [2, 0]])), f.one_hot(order[0, :, 0, 0], 5)),
        *(paddle.gather(x[0], paddle.argmax(x[0, :, 0, 0]).reshape([1]), 0),),
        paddle.scatter(x[0, 0], rows, paddle.ones([2, x.shape[3]])),
    ]


def pooling(x: Tensor) -> Sequence[Tensor]:
    return [
        *(f.max_pool2d(x, 2), f.max_pool2d(x, 3, 2, 1), f.max_pool2d(x, 3, 2, ceil_mode=True)),
        *(f.avg_pool2d(x, 2), f.avg_pool2d(x, 3, 2, 1), f.avg_pool2d(x, 3, 2, 1, exclusive=False)),
        *(
            f.avg_pool2d(x, 3, 2, ceil_mode=True),
            f.avg_pool2d(x, 3, 2, [1, 0], ceil_mode=True, exclusive=False),
        ),
        *(f.max_pool2d(x, 3, 1, padding="SAME"), f.avg_pool2d(x, 3, 2, padding="VALID")),
        *(f.adaptive_avg_pool2d(x, 1), f.adaptive_avg_pool2d(x, [3, 5]), f.adaptive_max_pool2d(x, 4)),
        *(f.max_pool1d(x[:, 0], 2), f.avg_pool1d(x[:, 0], 3, 1, 1), f.adaptive_avg_pool1d(x[:, 0], 4)),
    ]


def resizing(x: Tensor) -> Sequence[Tensor]:
    grid = paddle.tanh(x[:, :2].transpose([0, 2, 3, 1]))
    return [
        *(f.interpolate(x, scale_factor=2), f.interpolate(x, [5, 13], mode="nearest")),
        *(f.interpolate(x, [5, 13], mode="bilinear"), f.interpolate(x, [5, 13], mode="bicubic")),
        *(f.interpolate(x, [5, 13], mode="bilinear", align_corners=True),),
        *(f.interpolate(x, [5, 13], mode="bilinear", align_mode=1),),
        *(f.interpolate(x, scale_factor=1.5, mode="bilinear"),),
        *(f.grid_sample(x, grid), f.grid_sample(x, grid, mode="nearest", align_corners=False)),
    ]


class Layers(nn.Layer):
    """Convolutions of several kinds, norms, and a table."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = nn.Conv2D(4, 6, 3, padding=[1, 0, 2, 1])
        self.same = nn.Conv2D(4, 6, 5, 2, padding="SAME", groups=2, bias_attr=False)
        self.depth = nn.Conv2D(4, 8, 3, padding=2, dilation=2, groups=4)
        self.back = nn.Conv2DTranspose(4, 3, 3, 2, padding=1, output_padding=1)
        self.groups_back = nn.Conv2DTranspose(4, 4, 2, 2, groups=2, bias_attr=False)
        self.line = nn.Conv1D(4, 5, 3, padding=1)
        self.volume = nn.Conv3D(1, 2, 3, padding=1)
        self.norms = nn.LayerList([nn.GroupNorm(2, 4), nn.InstanceNorm2D(4), nn.LayerNorm([4, 6, 7])])
        self.batch = nn.BatchNorm2D(4, epsilon=1e-3)
        self.local = nn.LocalResponseNorm(3)
        self.slopes = nn.PReLU(4)
        self.dropped = nn.Dropout(0.3, mode="downscale_in_infer")
        self.table = nn.Embedding(9, 3)

    def forward(self, x: Tensor) -> Sequence[Tensor]:
        rows = x[:, :, 0]
        return [
            *(self.sides(x), self.same(x), self.depth(x), self.back(x), self.groups_back(x)),
            *(self.line(rows), self.volume(x.unsqueeze(1)), *(norm(x) for norm in self.norms)),
            *(self.batch(x), self.local(x), self.slopes(x), self.dropped(x)),
            *(self.table(paddle.argmax(x, 1)), paddle.matmul(rows, x[:, :, 1], transpose_y=True)),
            *(paddle.bmm(rows, rows.transpose([0, 2, 1])), paddle.einsum("bci,bdi->bcd", rows, rows)),
            paddle.addmm(rows[0, :, :4], rows[0], rows[0, :4].t()),
        ]


class Attention(nn.Layer):
    """Patches of an image, and one encoder layer on them."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2D(3, 16, 8, 8)
        self.first = self.create_parameter([1, 1, 16], default_initializer=nn.initializer.Normal())
        layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", normalize_before=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.norm, self.joint = nn.LayerNorm(16, epsilon=1e-6), nn.Linear(16, 48)
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        tokens = self.patches(x).flatten(2).transpose([0, 2, 1])
        tokens = paddle.concat([self.first.expand([paddle.shape(x)[0], -1, -1]), tokens], 1)
        tokens = self.encoder(tokens)
        n = tokens.shape[1]
        heads = self.joint(self.norm(tokens)).reshape((-1, n, 3, 4, 4)).transpose((2, 0, 3, 1, 4))
        query, key, value = heads[0], heads[1], heads[2]
        weights = f.softmax(query.matmul(key.transpose((0, 1, 3, 2))) * 0.5, axis=-1)
        mixed = weights.matmul(value).transpose((0, 2, 1, 3)).reshape((-1, n, 16))
        return self.head((tokens + mixed)[:, 0])


class Detector(nn.Layer):
    """Two scales of an image, boxes by distribution, and the best of them."""

    def __init__(self) -> None:
        super().__init__()
        self.fine, self.coarse = nn.Conv2D(3, 8, 3, 2, 1), nn.Conv2D(8, 16, 3, 2, 1)
        self.lift = nn.Conv2D(8, 16, 1)
        self.classes, self.sides = nn.Conv2D(16, 3, 3, padding=1), nn.Conv2D(16, 16, 3, padding=1)

    def forward(self, x: Tensor) -> Sequence[Tensor]:
        fine = f.leaky_relu(self.fine(x), 0.1)
        coarse = f.leaky_relu(self.coarse(fine), 0.1)
        fine = self.lift(fine) + f.interpolate(coarse, scale_factor=2, mode="nearest")
        scores, boxes = [], []
        for step, level in ((2, fine), (4, coarse)):
            n, _, h, w = level.shape
            scores.append(f.sigmoid(self.classes(level)).flatten(2).transpose([0, 2, 1]))
            rows, columns = paddle.meshgrid(
                paddle.arange(h, dtype="float32"), paddle.arange(w, dtype="float32")
            )
            centre = paddle.stack([columns, rows], -1).reshape([1, -1, 2]) + 0.5
            bins = self.sides(level).flatten(2).transpose([0, 2, 1]).reshape([n, h * w, 4, 4])
            sides = f.softmax(bins, -1).matmul(paddle.arange(4, dtype="float32").reshape([4, 1])).squeeze(-1)
            before, after = paddle.split(sides, 2, -1)
            boxes.append(paddle.concat([centre - before, centre + after], -1) * step)
        every, corners = paddle.concat(scores, 1), paddle.concat(boxes, 1)
        best, places = paddle.topk(every.max(-1), 3, -1)
        return [every, corners, best, paddle.gather(corners[0], places[0])]


class Recurrent(nn.Layer):
    """Two layers in two directions."""

    def __init__(self, kind: type[nn.Layer]) -> None:
        super().__init__()
        self.cells = kind(4, 5, num_layers=2, direction="bidirect")

    def forward(self, x: Tensor) -> Sequence[Tensor]:
        y, states = self.cells(x)
        return [y, *(states if isinstance(states, tuple) else [states])]


class Unet(nn.Layer):
    """Down and up again, past what was there before."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2D(3, 4, 3, padding=1), nn.Conv2D(4, 8, 3, padding=1)
        self.up, self.out = nn.Conv2DTranspose(8, 4, 2, 2), nn.Conv2D(12, 2, 1)

    def forward(self, x: Tensor) -> Sequence[Tensor]:
        first = f.relu(self.down(x))
        deep = f.relu(self.deep(f.max_pool2d(first, 2)))
        wide = f.interpolate(deep, size=paddle.shape(first)[2:], mode="bilinear", align_corners=True)
        y = self.out(paddle.concat([first, self.up(deep), wide[:, :4]], 1))
        return [f.softmax(y, 1), paddle.argmax(y, 1)]


def vgg() -> nn.Layer:
    """Of paddle.vision.models, with few channels: pairs of convolutions, and a classifier on 49 windows."""

    def pair(inputs: int, outputs: int) -> list[nn.Layer]:
        first, second = nn.Conv2D(inputs, outputs, 3, padding=1), nn.Conv2D(outputs, outputs, 3, padding=1)
        return [first, nn.ReLU(), second, nn.ReLU(), nn.MaxPool2D(2, 2)]

    return nn.Sequential(
        *(*pair(3, 4), *pair(4, 6), nn.AdaptiveAvgPool2D((7, 7)), nn.Flatten()),
        *(nn.Linear(6 * 49, 8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 8), nn.ReLU(), nn.Dropout()),
        nn.Linear(8, 5),
    )


class Plain(nn.Layer):
    """What is quantized."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2D(3, 8, 3, padding=1), nn.Conv2D(8, 8, 3, padding=1)
        self.relu, self.pool, self.head = nn.ReLU(), nn.AdaptiveAvgPool2D(1), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.second(self.relu(self.first(x))))
        return self.head(self.pool(y).flatten(1))


def quantized() -> nn.Layer:
    """Calibrated with noise, and converted."""
    observer = AbsmaxObserver(quant_bits=8)
    method = PTQ(QuantConfig(activation=observer, weight=observer))
    net = Plain()
    net.eval()
    net = method.quantize(net)
    for _ in range(4):
        net(paddle.randn([2, 3, 8, 8]))
    return method.convert(net)


_IMAGE = [[1, 4, 6, 7]]
NETS: Mapping[str, tuple[Callable[[], nn.Layer], Shapes]] = {
    **{
        function.__name__: ((lambda function=function: Of(function)), _IMAGE)
        for function in (activations, arithmetic, reductions, indexing, pooling, resizing)
    },
    "movement": (lambda: Of(movement), [[1, 4, 6, 6]]),
    "layers": (Layers, _IMAGE),
    "attention": (Attention, [[1, 3, 16, 16]]),
    "detector": (Detector, [[1, 3, 8, 8]]),
    "lstm": (lambda: Recurrent(nn.LSTM), [[1, 3, 4]]),
    "gru": (lambda: Recurrent(nn.GRU), [[1, 3, 4]]),
    "simple": (lambda: Recurrent(nn.SimpleRNN), [[1, 3, 4]]),
    "quantized": (quantized, [[1, 3, 8, 8]]),
    "unet": (Unet, [[1, 3, 8, 8]]),
    "vgg": (vgg, [[1, 3, 20, 28]]),
}

"""Writes nets of ncnn's layers, and what it computes of them: record_ncnn.py FOLDER [NAME ...].

ncnn 1.0.20261020 computed what the tests read, in 32 bits.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import ncnn
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.ncnn_files import HALVES, Net, one, random  # the path comes first

IMAGE, ROWS, LINE = (4, 7, 9), (5, 6), (8,)


def convolution(
    kind: str, settings: str, *weights: int, bias: bool = True, shape: tuple[int, ...] = IMAGE
) -> Net:
    made = one(kind, f"0={weights[0]} 6={int(np.prod(weights))} {settings} 5={int(bias)}", shape)
    made.tagged(random(*weights))
    return made.plain(random(weights[0], seed=1)) if bias else made


def deconvolution(settings: str, groups: int = 1) -> Net:
    kind, outputs = ("Deconvolution", 6) if groups == 1 else ("DeconvolutionDepthWise", 4)
    weights = random(groups, outputs // groups, 4 // groups, 3, 2)
    made = one(kind, f"0={outputs} 1=2 11=3 3=2 5=1 6={weights.size} 7={groups} {settings}", IMAGE)
    return made.tagged(weights).plain(random(outputs, seed=1))


def with_numbers(
    kind: str, settings: str, *sizes: int, shape: tuple[int, ...] = IMAGE, positive: bool = False
) -> Net:
    """A layer with lines of weights."""
    arrays = [random(n, seed=i) for i, n in enumerate(sizes)]
    return one(kind, settings, shape).plain(*(np.abs(a) + 0.2 if positive else a for a in arrays))


def recurrent(kind: str, gates: int, biases: int, direction: int, states: int = 0) -> Net:
    count, size = 2 if direction == 2 else 1, 3
    shapes = [ROWS, *[(count, size)] * states]
    made = one(kind, f"0={size} 1={count * gates * size * 6} 2={direction}", *shapes, outputs=1 + states)
    return made.tagged(
        random(count, gates, size, 6), random(count, biases, size), random(count, gates, size, size)
    )


def gemm() -> Net:
    made = one("Gemm", "0=0.5 1=2.0 3=1 5=1 6=1 8=7 9=6 10=4", ROWS)
    return made.tagged(random(7, 6), random(7, seed=1))


def attention(*shapes: tuple[int, ...], settings: str = "") -> Net:
    """Of two heads over 8 numbers, with products from and to as many as the blobs have."""
    sizes = [shape[1] for shape in shapes[:3]] if len(shapes) >= 3 else [shapes[0][1]] * 3
    made = one(
        "MultiHeadAttention", f"0=8 1=2 2={8 * sizes[0]} 3={sizes[1]} 4={sizes[2]} {settings}", *shapes
    )
    for i, n in enumerate(sizes):
        made.tagged(random(8, n, seed=i)).plain(random(8, seed=i))
    return made.tagged(random(sizes[0], 8, seed=4)).plain(random(sizes[0], seed=4))


def network() -> Net:
    """What a converter writes of a small classifier, with weights in 16 bits."""
    made = Net().input("data", 3, 16, 16)
    made.layer("Convolution", "data", "a", "0=8 1=3 3=2 4=1 5=1 6=216 9=1").tagged(
        random(8, 3, 3, 3), tag=HALVES
    )
    made.plain(random(8))
    made.layer("Split", "a", "b c")
    made.layer("ConvolutionDepthWise", "b", "d", "0=8 1=3 4=1 5=1 6=72 7=8 9=2 -23310=1,0.1")
    made.tagged(random(8, 1, 3, 3), tag=HALVES).plain(random(8, seed=1))
    made.layer("BinaryOp", "d c", "e", "0=0")
    made.layer("Pooling", "e", "f", "0=1 4=1")
    made.layer("InnerProduct", "f", "g", "0=5 1=1 2=40").tagged(random(5, 8), tag=HALVES).plain(
        random(5, seed=2)
    )
    return made.layer("Softmax", "g", "prob", "0=0")


NETS: Mapping[str, Callable[[], Net]] = {
    "network": network,
    "convolution": lambda: convolution("Convolution", "1=3 11=2 2=1 3=2 13=1 4=1 14=0 15=2 16=1", 6, 4, 2, 3),
    "convolution_dilated": lambda: convolution(
        "Convolution", "1=3 2=2 4=2 9=3 -23310=2,-0.3,0.4", 5, 4, 3, 3
    ),
    "convolution_same_upper": lambda: convolution("Convolution", "1=3 3=2 4=-233", 5, 4, 3, 3, bias=False),
    "convolution_same_lower": lambda: convolution("Convolution", "1=2 3=2 4=-234 9=4", 5, 4, 2, 2),
    "convolution_filled": lambda: convolution("Convolution", "1=3 4=1 18=0.5 9=5", 5, 4, 3, 3),
    "convolution_swish": lambda: convolution("Convolution", "1=1 9=6 10=0.2,0.4", 5, 4, 1, 1),
    "groups": lambda: convolution("ConvolutionDepthWise", "1=3 4=1 7=2", 6, 2, 3, 3),
    "depthwise": lambda: convolution("ConvolutionDepthWise", "1=3 3=2 4=1 7=4", 4, 1, 3, 3),
    "convolution_1d": lambda: convolution("Convolution1D", "1=3 3=2 4=1 15=0", 4, 5, 3, shape=(5, 12)),
    "depthwise_1d": lambda: convolution("ConvolutionDepthWise1D", "1=3 4=1 7=5", 5, 1, 3, shape=(5, 12)),
    "deconvolution": lambda: deconvolution("4=1 14=0 15=0 16=1 18=1 9=1"),
    "deconvolution_groups": lambda: deconvolution("2=2 4=1", 2),
    "deconvolution_depthwise": lambda: deconvolution("", 4),
    "inner_product": lambda: (
        one("InnerProduct", "0=5 1=1 2=1260 9=1", IMAGE).tagged(random(5, 252)).plain(random(5))
    ),
    "inner_product_rows": lambda: one("InnerProduct", "0=5 2=30", ROWS).tagged(random(5, 6)),
    "matmul": lambda: one("MatMul", "", (3, 4, 5), (3, 5, 6)),
    "matmul_transposed": lambda: one("MatMul", "0=1", (4, 5), (6, 5)),
    "gemm": gemm,
    "gemm_blobs": lambda: one("Gemm", "2=1", (5, 3), (5, 4)),
    "gemm_sum": lambda: one("Gemm", "1=2.0", (5, 3), (3, 4), (5, 4)),
    "attention": lambda: attention((5, 8)),
    "attention_to_others": lambda: attention((5, 6), (7, 4), (7, 3), settings="6=0.4"),
    "attention_masked": lambda: attention((5, 8), (6, 8), (6, 8), (5, 6), settings="5=1"),
    "max_pool": lambda: one("Pooling", "0=0 1=3 2=2", IMAGE),
    "max_pool_borders": lambda: one("Pooling", "0=0 1=2 11=3 2=2 12=1 3=1 13=0 14=0 15=1 5=1", IMAGE),
    "average": lambda: one("Pooling", "0=1 1=3 2=2 3=1", IMAGE),
    "average_counting": lambda: one("Pooling", "0=1 1=3 2=2 3=1 6=1 5=1", IMAGE),
    "average_same": lambda: one("Pooling", "0=1 1=2 2=2 5=2", IMAGE),
    "pool_all": lambda: one("Pooling", "0=0 4=1", IMAGE),
    "pool_adaptive": lambda: one("Pooling", "0=1 7=1 8=4 18=3", IMAGE),
    "pool_adaptive_max": lambda: one("Pooling", "0=0 7=1 8=3 18=-233", IMAGE),
    "pool_1d": lambda: one("Pooling1D", "0=0 1=2 2=2", (5, 11)),
    **{f"lstm_{i}": partial(recurrent, "LSTM", 4, 4, i) for i in range(3)},
    **{f"gru_{i}": partial(recurrent, "GRU", 3, 4, i) for i in range(3)},
    **{f"rnn_{i}": partial(recurrent, "RNN", 1, 1, i) for i in range(3)},
    "lstm_states": lambda: recurrent("LSTM", 4, 4, 0, 2),
    "gru_states": lambda: recurrent("GRU", 3, 4, 0, 1),
    **{
        kind: partial(one, kind, settings, IMAGE)
        for kind, settings in {
            "AbsVal": "",
            "TanH": "",
            "Sigmoid": "",
            "Mish": "",
            "Softplus": "",
            "BNLL": "",
            "Erf": "",
            "Swish": "",
            "Noop": "",
            "ReLU": "0=0.2",
            "ELU": "",
            "CELU": "0=0.7",
            "SELU": "",
            "GELU": "",
            "HardSigmoid": "",
            "HardSwish": "0=0.3 1=0.4",
            "Clip": "0=-0.5 1=0.3",
            "Threshold": "0=0.2",
            "Dropout": "0=0.5",
            "Exp": "1=0.5 2=0.1",
            "Flatten": "",
            "PixelShuffle": "0=2",
            "LRN": "1=3 2=0.4 4=1.5",
            "ShuffleChannel": "0=2",
            "MVN": "0=1",
            "Softmax": "0=0",
        }.items()
    },
    "relu": lambda: one("ReLU", "", IMAGE),
    "gelu_fast": lambda: one("GELU", "0=1", IMAGE),
    "prelu": lambda: with_numbers("PReLU", "0=4", 4),
    "prelu_one": lambda: with_numbers("PReLU", "0=1", 1),
    "power": lambda: one("Power", "0=3 1=0.5 2=0.2", IMAGE),
    **{
        f"unary_{i}": partial(one, "UnaryOp", f"0={i}", IMAGE)
        for i in (0, 1, 2, 3, 4, 7, 9, 10, 11, 14, 15, 16, 19)
    },
    "unary_positive": lambda: (
        Net()
        .input("in0", *IMAGE)
        .layer("AbsVal", "in0", "a")
        .layer("BinaryOp", "a", "b", "1=1 2=0.2")
        .layer("Split", "b", "c d e f")
        .layer("UnaryOp", "c", "out0", "0=5")
        .layer("UnaryOp", "d", "out1", "0=6")
        .layer("UnaryOp", "e", "out2", "0=8")
        .layer("UnaryOp", "f", "out3", "0=17")
    ),
    **{f"binary_{i}": partial(one, "BinaryOp", f"0={i}", IMAGE, IMAGE) for i in (0, 1, 2, 3, 4, 5, 7, 8)},
    "binary_channels": lambda: one("BinaryOp", "0=2", IMAGE, (4,)),
    "binary_last": lambda: one("BinaryOp", "0=2", IMAGE, (9,)),
    "binary_matrix": lambda: one("BinaryOp", "0=0", IMAGE, (4, 7)),
    "binary_rows": lambda: one("BinaryOp", "0=1", (5,), ROWS),
    "binary_number": lambda: one("BinaryOp", "0=7 1=1 2=0.5", IMAGE),
    "eltwise": lambda: one("Eltwise", "0=1 -23301=2,0.5,-1.5", IMAGE, IMAGE),
    "eltwise_product": lambda: one("Eltwise", "0=0", IMAGE, IMAGE),
    "eltwise_largest": lambda: one("Eltwise", "0=2", IMAGE, IMAGE),
    "concat": lambda: one("Concat", "0=1", (4, 3, 5), (4, 2, 5)),
    "slice": lambda: one("Slice", "-23300=3,2,-233,-233 1=1", (2, 8, 3), outputs=3),
    "slice_places": lambda: one("Slice", "1=-1 -23302=2,2,-1", (2, 3, 8), outputs=3),
    "crop": lambda: one("Crop", "0=1 1=2 2=1 3=4 4=-233 5=2", IMAGE),
    "crop_like": lambda: one("Crop", "0=1 1=2 2=1", IMAGE, (2, 3, 4)),
    "crop_from_to": lambda: one("Crop", "-23309=2,1,-4 -23310=2,3,-1 -23311=2,0,2", IMAGE),
    "reshape": lambda: one("Reshape", "0=-1 1=4", IMAGE),
    "reshape_keep": lambda: one("Reshape", "0=0 1=-1 2=2", IMAGE),
    "squeeze": lambda: one("Squeeze", "-23303=1,1", (3, 1, 5)),
    "squeeze_named": lambda: one("Squeeze", "1=1", (3, 1, 5)),
    "expand_dims": lambda: one("ExpandDims", "-23303=1,1", (3, 5)),
    **{f"permute_{i}": partial(one, "Permute", f"0={i}", IMAGE) for i in range(6)},
    "permute_rows": lambda: one("Permute", "0=1", ROWS),
    "padding": lambda: one("Padding", "0=1 1=2 2=0 3=3 4=0 5=0.5", IMAGE),
    "padding_edge": lambda: one("Padding", "0=1 1=2 2=1 3=0 4=1", IMAGE),
    "padding_reflect": lambda: one("Padding", "0=1 1=2 2=1 3=0 4=2", IMAGE),
    "nearest": lambda: one("Interp", "0=1 1=2 2=2", IMAGE),
    "nearest_size": lambda: one("Interp", "0=1 3=5 4=13", IMAGE),
    "linear": lambda: one("Interp", "0=2 3=14 4=5", IMAGE),
    "linear_corners": lambda: one("Interp", "0=2 3=10 4=12 6=1", IMAGE),
    "linear_like": lambda: one("Interp", "0=2 5=1", IMAGE, (2, 10, 12)),
    "cubic": lambda: one("Interp", "0=3 3=10 4=12", IMAGE),
    "pixel_shuffle": lambda: one("PixelShuffle", "0=2 1=1", (8, 3, 2)),
    "shuffle_back": lambda: one("ShuffleChannel", "0=3 1=1", (6, 3, 2)),
    "memory": lambda: (
        Net()
        .input("in0", *IMAGE)
        .layer("MemoryData", "", "m", "0=9 1=7 2=4")
        .plain(random(*IMAGE))
        .layer("BinaryOp", "in0 m", "out0", "0=0")
    ),
    "batch_norm": lambda: with_numbers("BatchNorm", "0=4 1=0.01", 4, 4, 4, 4, positive=True),
    "scale": lambda: with_numbers("Scale", "0=4 1=1", 4, 4),
    "scale_blobs": lambda: one("Scale", "0=-233", IMAGE, (4,)),
    "scale_line": lambda: with_numbers("Scale", "0=8", 8, shape=LINE),
    "bias": lambda: with_numbers("Bias", "0=4", 4),
    "instance_norm": lambda: with_numbers("InstanceNorm", "0=4 1=0.01", 4, 4),
    "group_norm": lambda: with_numbers("GroupNorm", "0=2 1=4 2=0.01", 4, 4),
    "layer_norm": lambda: with_numbers("LayerNorm", "0=6 1=0.01", 6, 6, shape=ROWS),
    "layer_norm_image": lambda: with_numbers("LayerNorm", "0=63 1=0.01 2=0", shape=IMAGE),
    "rms_norm": lambda: with_numbers("RMSNorm", "0=6 1=0.01", 6, shape=ROWS),
    "normalize": lambda: with_numbers("Normalize", "3=4 1=0 9=2", 4),
    "normalize_bounded": lambda: with_numbers("Normalize", "3=4 2=1.5 9=1", 4),
    "normalize_all": lambda: with_numbers("Normalize", "0=1 3=1 1=1 9=0", 1),
    "mvn_all": lambda: one("MVN", "0=1 1=1", IMAGE),
    "mvn_mean": lambda: one("MVN", "0=0", IMAGE),
    "softmax_last": lambda: one("Softmax", "0=2 1=1", IMAGE),
    **{
        f"reduction_{i}": partial(one, "Reduction", f"0={i} 1=0 -23303=2,0,-1 4=1 5=1", IMAGE)
        for i in (0, 1, 2, 3, 4, 5, 7, 8, 10)
    },
    "reduction_all": lambda: one("Reduction", "0=3 2=0.5", IMAGE),
}


def record(folder: Path, name: str) -> None:
    """The two files, the inputs and the outputs in io.npz."""
    made = NETS[name]()
    path = made.write(folder / name)
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    if net.load_param(str(path)) or net.load_model(str(path.with_suffix(".bin"))):
        raise ValueError(f"ncnn cannot load {name}")
    run = net.create_extractor()
    stored = {}
    for i, (key, shape) in enumerate(_inputs(made)):
        stored[f"x{i}"] = random(*shape, seed=10 + i) * 2
        run.input(key, ncnn.Mat(stored[f"x{i}"]).clone())
    for i, key in enumerate(_outputs(made)):
        failed, found = run.extract(key)
        if failed:
            raise ValueError(f"ncnn cannot compute {key} of {name}")
        stored[f"y{i}"] = np.array(found)
    np.savez(path.with_name("io.npz"), **stored)


def _inputs(made: Net) -> list[tuple[str, list[int]]]:
    lines = [line.split() for line in made.lines if line.startswith("Input ")]
    return [(words[4], [int(word.partition("=")[2]) for word in words[5:]]) for words in lines]


def _outputs(made: Net) -> list[str]:
    read, given = set(), []
    for words in (line.split() for line in made.lines):
        ins, outs = int(words[2]), int(words[3])
        read |= {*words[4 : 4 + ins]}
        given += words[4 + ins : 4 + ins + outs] if words[0] != "Input" else []
    return [key for key in given if key not in read]


if __name__ == "__main__":
    for chosen in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), chosen)

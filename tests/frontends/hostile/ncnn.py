"""ncnn's files made to do harm: counts that lie, weights that are short or too many, blobs of the future."""

import struct

from support.hostile_files import Case, file
from support.ncnn_files import MAGIC, Net, one, random, written

SIZE = "0=5 1=3 5=1 6=180"
WEIGHTS = Net().tagged(random(5, 4, 3, 3)).plain(random(5)).weights


def convolution(settings: str = SIZE) -> str:
    return one("Convolution", settings, (4, 7, 9)).text


def line(text: str) -> str:
    return f"{MAGIC}\n2 2\nInput x 0 1 x 0=4\n{text}\n"


IMAGE, ROWS = (4, 7, 9), (5, 6)


def refused(
    code: str, words: str, kind: str, settings: str, *shapes: tuple[int, ...], weights: bytes = b""
) -> Case:
    """A layer alone over inputs of these shapes."""
    return Case(code, words, written(one(kind, settings, *shapes).text, weights))


# A setting, or a shape, that a layer has no meaning for here.
SETTINGS = {
    f"{case.words}": case
    for case in (
        refused("E0203", "UnaryOp of the kind 99", "UnaryOp", "0=99", IMAGE),
        refused("E0203", "BinaryOp of the kind 10", "BinaryOp", "0=10", IMAGE, IMAGE),
        refused("E0203", "Eltwise of the kind 3", "Eltwise", "0=3", IMAGE, IMAGE),
        refused("E0401", "Gemm with 1 blobs", "Gemm", "", ROWS),
        refused("E0205", "LSTM with a projection", "LSTM", "0=3 1=216 3=4", ROWS),
        refused("E0401", "padding [-1", "Convolution", SIZE + " 4=-1", IMAGE, weights=WEIGHTS),
        refused("E0401", "in 3 groups", "DeconvolutionDepthWise", "0=4 1=3 7=3", IMAGE),
        refused(
            "E0205", "to a given size", "Deconvolution", "0=5 1=3 5=1 6=180 20=9", IMAGE, weights=WEIGHTS
        ),
        refused("E0401", "a pooling of f32[5,6]", "Pooling", "1=2", ROWS),
        refused("E0203", "pooling of the kind 2", "Pooling", "0=2 1=2", IMAGE),
        refused("E0203", "padding of the kind 7", "Pooling", "1=2 5=7", IMAGE),
        refused("E0401", "a recurrent layer over", "GRU", "0=3 1=7", ROWS),
        refused("E0401", "order 6 of", "Permute", "0=6", IMAGE),
        refused("E0203", "a border of the kind 3", "Padding", "0=1 4=3", IMAGE),
        refused("E0205", "Interp of f32[5,6]", "Interp", "0=2 1=2 2=2", ROWS),
        refused("E0203", "Interp of the kind 0", "Interp", "3=5 4=5", IMAGE),
        refused("E0401", "Interp of f32[4,7,9] to 0", "Interp", "0=1 1=0.1", IMAGE),
        refused("E0401", "3 groups of the channels", "ShuffleChannel", "0=3", IMAGE),
        refused("E0205", "LRN within channels", "LRN", "0=1", IMAGE),
        refused("E0205", "Reduction along axes", "Reduction", "1=0 -23303=1,0", IMAGE),
        refused("E0203", "Reduction of the kind 11", "Reduction", "0=11", IMAGE),
        refused("E0401", "a norm over 5 elements", "LayerNorm", "0=5 2=0", ROWS),
        refused("E0401", "attention of 3 heads", "MultiHeadAttention", "0=8 1=3 2=64", (5, 8)),
    )
}
CASES = SETTINGS | {
    "too few layers": Case("E0401", "it says 3", written(line("ReLU r 1 1 x y").replace("2 2", "3 2", 1))),
    "no counts": Case("E0401", "two counts", written(f"{MAGIC}\nInput\n")),
    "line without blobs": Case("E0401", "without its blobs", written(line("ReLU r 3 1 x y"))),
    "blobs without end": Case("E0401", "without its blobs", written(line("ReLU r 99999 1 x y"))),
    "setting that is none": Case("E0401", "setting 'a=b'", written(line("ReLU r 1 1 x y a=b"))),
    "setting that is no number": Case("E0401", "should be a number", written(line("ReLU r 1 1 x y 0=exec"))),
    "array that lies": Case("E0401", "it says 9", written(line("Eltwise r 1 1 x y 0=1 -23301=9,1"))),
    "blob of the future": Case("E0401", "later or never", written(line("ReLU r 1 1 z y"))),
    "blob made twice": Case("E0401", "two layers make", written(line("ReLU r 1 1 x x"))),
    "nothing computed": Case("E0401", "computes nothing", written(f"{MAGIC}\n1 1\nInput x 0 1 x 0=4\n")),
    "input of two blobs": Case("E0401", "makes 2 blobs", written(line("Input r 0 2 y z 0=4"))),
    "input of negative size": Case("E0401", "of sizes", written(line("Input r 0 1 y 0=-4"))),
    "unknown layer": Case("E0201", "unsupported op Warp", written(line("Warp r 1 1 x y"))),
    "without weights": Case("E0104", "weights net.bin is missing", file("net.param", convolution().encode())),
    "weights that are short": Case("E0401", "within weights", written(convolution(), WEIGHTS[:-8])),
    "weights that are left": Case(
        "E0401", "of which layers load", written(convolution(), WEIGHTS + bytes(4))
    ),
    "weights in int8": Case(
        "E0205", "int8", written(convolution(), struct.pack("<I", 0x000D4B38) + bytes(200))
    ),
    "weights beyond reason": Case(
        "E0401", "no weights", written(convolution("0=99999999 1=3 6=3599999964"), WEIGHTS)
    ),
    "weights of another number": Case("E0401", "a convolution", written(convolution("0=5 1=3 6=7"), WEIGHTS)),
    "weights as a blob": Case("E0203", "setting 19", written(convolution(SIZE + " 19=1"), WEIGHTS)),
    "expression": Case("E0203", "setting 6", written(line('Reshape r 1 1 x y 6="0w,1"'))),
    "activation that is none": Case("E0203", "activation 9", written(convolution(SIZE + " 9=9"), WEIGHTS)),
    "softmax of an old file": Case("E0205", "old file", written(one("Softmax", "0=1", (2, 3)).text)),
}

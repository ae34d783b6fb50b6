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


CASES = {
    "too few layers": Case("E0401", "it says 3", written(line("ReLU r 1 1 x y").replace("2 2", "3 2", 1))),
    "no counts": Case("E0401", "two counts", written(f"{MAGIC}\nInput\n")),
    "line without blobs": Case("E0401", "without its blobs", written(line("ReLU r 3 1 x y"))),
    "blobs without end": Case("E0401", "without its blobs", written(line("ReLU r 99999 1 x y"))),
    "setting that is none": Case("E0401", "setting 'a=b'", written(line("ReLU r 1 1 x y a=b"))),
    "setting that is no number": Case("E0401", "should be a number", written(line("ReLU r 1 1 x y 0=exec"))),
    "array that lies": Case("E0401", "it says 9", written(line("Eltwise r 1 1 x y 0=1 -23301=9,1"))),
    "blob of the future": Case("E0401", "later or never", written(line("ReLU r 1 1 z y"))),
    "blob made twice": Case("E0401", "two layers make", written(line("ReLU r 1 1 x x"))),
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

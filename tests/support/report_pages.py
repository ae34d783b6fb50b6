"""Libraries whose pages tests look at: small real ones, and large ones in the shape of known networks."""

from dataclasses import replace
from typing import Literal

from edgekit.codegen.library_map import CATEGORIES, DataEdge, FlashPart, LibraryMap, MappedLayer, MappedPort
from edgekit.codegen.printing.pointers import ArenaRow
from edgekit.core import target
from edgekit.core.ir import Source
from edgekit.core.types import DType, Type
from edgekit.reports.library_page import LibraryFigures
from edgekit.tuning.budget import Budget
from edgekit.tuning.problem import BASES, Point, Result
from edgekit.tuning.tune import TriedPoint, Tuned

OPTIMIZE: tuple[Literal["speed", "size"], ...] = ("speed", "size")

LONG = "functional_1/expanded_conv_{}/depthwise_relu/Relu6;functional_1/expanded_conv_{}/batch_norm"


def layer(number: int, operator: str = "conv2d", origin: str = "") -> MappedLayer:
    image = Type(DType.S8, (1, 14, 14, 96))
    return MappedLayer(
        name=f"functional_1_expanded_conv_{number}_project",
        origin=origin or LONG.format(number, number),
        operator=operator,
        category=CATEGORIES[len(operator) % len(CATEGORIES)],
        window="3x3 s2",
        kernel=f"ek_{operator}_s8_oc4__dsp",
        inputs=(image,),
        outputs=(image,),
        results=(f"result {number}",),
        weights=(Type(DType.S8, (96, 3, 3, 96)),),
        macs=1000 * (number + 1) ** 2 % 77_777,
        weight_bytes=97 * (number + 7) ** 2 % 99_991,
    )


def library(edges: list[tuple[int, int]], count: int, name: str = "network") -> LibraryMap:
    """One of `count` layers between an input, node 0, and an output, the last node."""
    operators = ("conv2d", "depthwise2d", "add", "dense", "softmax", "mul", "map", "copy")
    layers = tuple(layer(i, operators[i % 8 if i % 3 else 0]) for i in range(count))
    type = Type(DType.S8, (1, 14, 14, 96))
    return LibraryMap(
        name,
        Source(f"{name}.tflite", "00" * 32, "tflite"),
        (MappedPort("serving_default_input:0", "input", type),),
        layers,
        (MappedPort("StatefulPartitionedCall:0", "output", type),),
        tuple(DataEdge(a, b, type) for a, b in edges),
        tuple(
            ArenaRow(128 * (i % 3), 128 + i % 5, (i + 1, min(i + 3, count + 1)), f"tensor_{i}", type)
            for i in range(count)
        ),
        1024,
        tuple(FlashPart("weights", f"{name}_w{i}", x.weight_bytes, i) for i, x in enumerate(layers))
        + tuple(FlashPart("code", f"{name}_{x.name}", 20 + i % 9, i) for i, x in enumerate(layers))
        + (FlashPart("parameters", "other constants", 1234),),
        None,
    )


def residual(blocks: int) -> list[tuple[int, int]]:
    """Chains of three layers with a sum behind each, as in MobileNetV2."""
    edges = [(0, 1)]
    for block in range(blocks):
        start = 1 + 4 * block
        edges += [(start, start + 1), (start + 1, start + 2), (start + 2, start + 3), (start, start + 3)]
        edges += [(start + 3, start + 4)]
    return edges


def transformer(blocks: int) -> list[tuple[int, int]]:
    """Attention of three branches and a network of two layers, each with a sum behind it."""
    edges, x = [(0, 1)], 1
    for _ in range(blocks):
        norm, query, key, value, scores, soft, mixed, out, total = range(x + 1, x + 10)
        edges += [(x, norm), (norm, query), (norm, key), (norm, value), (query, scores), (key, scores)]
        edges += [(scores, soft), (soft, mixed), (value, mixed), (mixed, out), (out, total), (x, total)]
        second, up, down, x = total + 1, total + 2, total + 3, total + 4
        edges += [(total, second), (second, up), (up, down), (down, x), (total, x)]
    return [*edges, (x, x + 1)]


def figures(found: LibraryMap, name: str = "cortex-m4") -> LibraryFigures:
    return LibraryFigures(found, target.load(name), "speed", 9256, 40_000, 440, 0, 123_456_789, "", "zig cc")


def renamed(found: LibraryMap, text: str) -> LibraryMap:
    """The same with a name in every place that a model file decides."""
    layers = tuple(replace(x, origin=text, results=(text,)) for x in found.layers)
    ports = tuple(replace(x, name=text) for x in found.entries)
    source = Source(text, "00" * 32, text, text)
    return replace(found, layers=layers, entries=ports, exits=ports, source=source)


def tuned(name: str = "kws") -> Tuned:
    """A search of some variants, of which some are Pareto-optimal, and one is chosen."""
    tried = []
    for i, (left, base, optimize) in enumerate(
        (left, base, optimize) for left in (100, 70, 45) for base in BASES for optimize in OPTIMIZE
    ):
        size = {"int4": 0.5, "int8": 1, "bf16": 2, "f32": 4}[base]
        accuracy = 0.97 - (100 - left) / 900 - 0.02 / size
        result = Result(
            accuracy,
            20 + 8 * size,
            int(40_000 * size * left / 100) - 900 * (optimize == "size"),
            9000,
            int(3e6 * size**0.5 * left / 100) + 100_000 * (optimize == "size"),
            0.05,
            2_656_704 * left // 100,
        )
        better = (("conv", "int16"),) if i % 5 == 4 and base == "int8" else ()
        tried.append(
            TriedPoint(Point(left, base, better, optimize), result, result.flash < 90_000, i % 3 == 0)
        )
    budget = Budget(90_000, None, 4_000_000, 0.05, None, 0.97)
    best = next(one for one in tried if one.fits and one.on_front)
    return Tuned(name, "stm32f407", budget, tuple(tried), (), best, best, (), 30, None, "kws model.onnx")

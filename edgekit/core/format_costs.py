"""What layers take in each format on a class of machines: a table of latencies (lookup table cost model).

`targets/formats/<processor>.toml` has a table for each operator, and in it for each format what a
multiplication takes and an element of the result (of the operand where it is summed up).
benchmarks/format_costs.py measured them: in nanoseconds on x86, elsewhere in instructions.

    [Conv2d]
    s8 = [0.31, 4.2]          input and result in int8
    s16-s8 = [9.4, 31]        input in int16, result in int8
    f32 = [0.18, 1.1]

Formats are chosen by these numbers, so that the choice is the same on every machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log
from pathlib import Path
from typing import Any

from edgekit.core import target as targets
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.target import Target
from edgekit.core.types import DType, Type

FOLDER = Path(str(files("edgekit.targets"))) / "formats"
NEUTRAL = "any"  # class of machine: the mean of all
_SOFT = 4.0  # times what int16 takes: a multiplication of floats by software takes more
_LEAST = 1e-3  # of a mean
_IMAGE_CHANNELS = 4  # at most
Row = Sequence[float]  # what a multiplication takes, and an element of the result
Table = Mapping[str, Mapping[str, Row]]  # by operator and format


@dataclass(frozen=True)
class FormatCosts:
    """Of a class of machines."""

    machine: str
    table: Table

    @property
    def words(self) -> str:
        """The class in a sentence."""
        return "machines with an FPU, in the mean," if self.machine == NEUTRAL else self.machine

    def run(self, graph: Graph) -> float:
        """What a run of a graph takes, roughly."""
        return sum(self.node(graph, node) for node in graph.nodes)

    def float_run(self, graph: Graph) -> float:
        """The same if all layers computed in floats: without the conversions between formats."""
        return sum(self.node(graph, node, "f32") for node in graph.nodes if not is_conversion(node))

    def speedup(self, graph: Graph) -> float:
        """How many times as long the layers of a graph would take in floats, with the channels that were
        removed because they are constant as integers."""
        macs = sum(work(graph, node)[0] for node in graph.nodes)
        more = graph.source.float_macs / macs if graph.source.float_macs and macs else 1.0
        return more * self.float_run(graph) / max(self.run(graph), 1.0)

    def node(self, graph: Graph, node: Node, format: str = "") -> float:
        """What one node takes, in the format that it has, or in another one."""
        format = format or format_of(graph, node)
        if isinstance(node.op, Reshape) or (format == "f32" and _ends_convolution(graph, node)):
            return 0.0
        product, element = self.row(kinds(graph, node), format)
        products, elements = work(graph, node)
        return product * products + element * elements

    def row(self, kinds: Iterable[str], format: str) -> Row:
        """Of the first kind that the table has, and of a format such as s8-s16_s4; results in another format,
        and weights of their own, matter only where the table has them. Others take what a copy does."""
        found = next((self.table[kind] for kind in (*kinds, "Concat") if kind in self.table), {})
        whole, operand = format.partition("_")[0], format.partition("_")[0].partition("-")[0]
        return next((found[name] for name in (format, whole, operand, "f32") if name in found), (0.0, 0.0))


def _ends_convolution(graph: Graph, node: Node) -> bool:
    """Is a node a sum whose floats a convolution adds itself, before it writes its results?"""
    makers = [graph.producer(name) for name in node.inputs if graph.used_once(name)]
    whole = [maker for maker in makers if maker and isinstance(maker.op, Conv2d)]
    return isinstance(node.op, Add) and any("Depthwise" not in kinds(graph, maker) for maker in whole)


def work(graph: Graph, node: Node) -> tuple[int, int]:
    """Multiplications of a node, and elements: of what it sums up or of its results."""
    own = node.inputs[:1] if isinstance(node.op, Pool2d | Reduce) else node.outputs
    return node.op.macs(*map(graph.type, node.inputs)), sum(graph.type(name).size for name in own)


def kinds(graph: Graph, node: Node) -> list[str]:
    """The names under which a table may have an operator, the most exact first."""
    names = [kind.__name__ for kind in type(node.op).__mro__]
    return [*_shapes(graph, node), *names] if isinstance(node.op, Linear) else names


def _shapes(graph: Graph, node: Node) -> list[str]:
    """What a layer with weights is called for the shape of these, or of its input."""
    x, w = (graph.type(name) for name in node.inputs[:2])
    if isinstance(node.op, Dense):
        return ["DenseRow" if x.size == w.shape[-1] else "DenseRows"]
    if isinstance(node.op, Conv2d):
        return _convolutions(node.op, w)
    return ["Pointwise"] if set(w.shape[1:-1]) == {1} else []


def _convolutions(op: Conv2d, w: Type) -> list[str]:
    """By the kernels that a convolution may have: Winograd's algorithm, first layers, groups."""
    size = w.shape[1:3]
    if op.is_depthwise(w):
        return ["Depthwise3x3", "Depthwise"] if size == (3, 3) else ["Depthwise"]
    if op.groups > 1:
        return ["Grouped"]
    if size == (1, 1):
        return ["Pointwise"]
    if w.shape[-1] <= _IMAGE_CHANNELS:
        return ["FirstConv"]
    return ["Conv3x3"] if size == (3, 3) and {*op.strides, *op.dilations} == {1} else []


def format_of(graph: Graph, node: Node) -> str:
    """The format that a node computes in: of its input and result, and of weights that have another one."""
    x, y = (graph.type(name) for name in ((*node.inputs, *node.outputs)[0], node.outputs[0]))
    name = _name(x) if _name(x) == _name(y) else f"{_name(x)}-{_name(y)}"
    if isinstance(node.op, Linear) and (w := graph.type(node.inputs[1])).dtype not in (x.dtype, DType.S8):
        name += f"_{w.dtype.value}"
    return name


def _name(type: Type) -> str:
    """Other types than those that layers have formats of cost what floats do."""
    is_known = type.quant is not None or type.dtype in (DType.F16, DType.BF16)
    return type.dtype.value if is_known else "f32"


def is_conversion(node: Node) -> bool:
    """Does a node bring a tensor from one format to another?"""
    return isinstance(node.op, Quantize | Dequantize | Requantize)


def load(target: str | Target) -> FormatCosts:
    """Of a target, by its name or that of its file; of any machine without one."""
    if not isinstance(target, Target):
        return of(targets.load(target)) if target and target != NEUTRAL else neutral()
    return of(target)


@cache
def of(target: Target) -> FormatCosts:
    """Of the processor of a target, or of one with the same kernels; of any where none has these."""
    for name in (target.core, *_with_sets(target.isa)):
        if (FOLDER / f"{name}.toml").is_file():
            return FormatCosts(name, _table(name))
    return neutral()


def _with_sets(isa: tuple[str, ...]) -> list[str]:
    """Targets with these kernels."""
    return [name for name in targets.names() if targets.load(name).isa == isa]


@cache
def neutral() -> FormatCosts:
    """The geometric mean of the classes that have an FPU: of ratios between formats it is the same, whichever
    is the base. Without one, floats take so long that they would decide for all."""
    files = (_content(path.stem) for path in sorted(FOLDER.glob("*.toml")))
    tables = [content for content in files if "like" not in content and _has_fpu(content)]
    return FormatCosts(
        NEUTRAL,
        {
            kind: {
                format: _mean([table[kind][format] for table in tables if format in table.get(kind, {})])
                for format in sorted({format for table in tables for format in table.get(kind, {})})
            }
            for kind in sorted({kind for table in tables for kind in table})
        },
    )


def _has_fpu(table: Table) -> bool:
    product, portable = table["DenseRow"]["f32"][0], table["DenseRow"]["s16"][0]
    return product < _SOFT * portable


def _mean(rows: list[Row]) -> Row:
    product, element = (
        exp(sum(log(max(number, _LEAST)) for number in column) / len(rows))
        for column in zip(*rows, strict=True)
    )
    return product, element


@cache
def _content(name: str) -> dict[str, Any]:
    """A file: the table, or the name of the class that it is like."""
    found: dict[str, Any] = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return found


def _table(name: str) -> Table:
    content = _content(name)
    return _table(content["like"]) if "like" in content else content

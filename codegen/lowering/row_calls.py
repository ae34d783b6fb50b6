"""A layer as calls of its kernel on blocks of rows: which layers can be, what rows are, what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.expressions import IS_BLOCK
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.selection import cost, ranked
from edgekit.codegen.kernels.symbols import instance_name
from edgekit.codegen.kernels.variants import fits, fitting, variant_named
from edgekit.codegen.lowering.lower import fitted
from edgekit.codegen.lowering.row_schedule import RowLayer, RowRead
from edgekit.codegen.lowering.splits import Split, number, per_index, sizes_of, splits
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.target import Target
from edgekit.core.types import Value

# Instructions beside a kernel's own loops: a call, with what a kernel does before its loops begin and with
# borders that compilers do not know, and the question whether it is due.
_CALL, _ITERATION = 400, 6
# ... of moving rows to the start of their ring: sixteen bytes at a time.
_MOVE, _MOVED_BYTES = 12, 16 / 6


@dataclass(frozen=True)
class BlockShape:
    """Rows that a block computes, and reads, and those of its first window that lie in the border."""

    rows: int
    read: int
    pad: int


@dataclass(frozen=True)
class BlockCalls:
    """The call of most blocks, with the scratch that any of them needs, and the instructions of all."""

    call: Call
    instructions: float


@dataclass(frozen=True, eq=False)
class RowAxis:
    """How the rows of a call are cut: which parameter counts them, and what a row is of each operand."""

    asked: Call  # as no kernel was selected yet
    whole: Call
    target: Target
    size: str
    at: int  # in an array
    unit: int  # what the parameter counts for each row
    height: int
    rows: Mapping[int, int]  # elements from one row to the next, by operand
    dims: Mapping[int, int]  # the dimension that counts rows, of operands that lie row by row
    whole_tensors: frozenset[str]  # other operands that are no constants: they must be there before the loop
    window: int | None  # the operand that windows read
    carried: Mapping[int, int]  # operands in whose place later blocks read a result

    @property
    def own(self) -> int:
        """The operand that is the result."""
        return len(self.whole.args) - self.whole.results

    @cached_property
    def layer(self) -> RowLayer:
        reads = tuple(self.read(i) for i in self.dims if i != self.own)
        return RowLayer(self.whole.args[self.own].name, self.height, reads)

    @property
    def is_sum(self) -> bool:
        """Is the result one of all rows, to which each block adds its own?"""
        return self.own in self.carried.values()

    def row_bytes(self, i: int) -> int:
        """Of an operand."""
        return self.rows.get(i, 0) * self.whole.args[i].type.dtype.bytes

    def read(self, i: int) -> RowRead:
        """The rows of an operand that a row of the result needs."""
        name = self.whole.args[i].name
        if i != self.window:
            return RowRead(name)
        k_h, dilation, stride, pad = (
            number(self.whole.params, name, default)
            for name, default in (("k_h", 1), ("dilation_h", 1), ("stride_h", 1), ("pad_top", 0))
        )
        return RowRead(name, stride, (k_h - 1) * dilation + 1, pad)

    def shapes(self, rows: int, start: int) -> Counter[BlockShape]:
        """The different ones of all blocks, with how many have each."""
        found: Counter[BlockShape] = Counter()
        for at in range(start, self.height, rows):
            first, end = max(at, 0), min(at + rows, self.height)
            if self.window is None:
                found[BlockShape(end - first, end - first, 0)] += 1
                continue
            read, height = self.read(self.window), number(self.whole.params, "in_h")
            top = first * read.stride - read.pad
            bottom = min((end - 1) * read.stride - read.pad + read.rows, height)
            found[BlockShape(end - first, bottom - max(top, 0), max(-top, 0))] += 1
        return found

    @cached_property
    def instructions(self) -> float:
        """Of the whole call."""
        name = instance_name(self.whole)
        operands = contracts.operands_of(self.whole.kernel, name)
        variant = variant_named(self.whole.file, (name, self.whole.kernel))
        return self.instructions_of(variant, self.asked, operands)

    @property
    def is_exact(self) -> bool:
        """Is the result the same whatever kernel computes it, and from whichever row on?"""
        return not any(arg.type.dtype.is_float for arg in self.whole.args)

    def is_same(self, variant: Variant) -> bool:
        """Does this kernel compute floats of a block in the order in which it computes them of the whole?"""
        return variant.file == self.whole.file and not variant.split

    def instructions_of(self, variant: Variant, call: Call, operands: tuple[str, ...]) -> float:
        known = cost(variant, call, self.target, operands)
        return known.instructions if known else call.macs + sum(arg.type.size for arg in call.args[-1:])

    def block(self, shape: BlockShape) -> Call:
        """The call of one block, before a kernel is selected for it."""
        counted: Param = shape.rows * self.unit
        sizes = self.asked.params[self.size]
        if isinstance(sizes, Sequence):
            counted = (*sizes[: self.at], shape.rows * self.unit, *sizes[self.at + 1 :])
        params = {**self.asked.params, self.size: counted}
        if self.window is not None:
            params |= {"in_h": shape.read, "pad_top": shape.pad}
        args = list(self.asked.args)
        for i in self.dims:
            rows = shape.read if i == self.window else shape.rows
            args[i] = self.with_rows(args[i], i, rows)
        return replace(
            self.asked,
            params=params,
            args=tuple(args),
            facts={**self.asked.facts, IS_BLOCK: 1},
            macs=self.asked.macs * shape.rows // self.height,
            file="",
        )

    def with_rows(self, arg: Arg, i: int, rows: int) -> Arg:
        """So many rows of an operand."""
        shape = list(arg.type.shape)
        shape[self.dims[i]] = rows
        return Arg(arg.name, Value(replace(arg.type, shape=tuple(shape))), arg.note)


@lru_cache(maxsize=1024)
def block_calls(axis: RowAxis, rows: int, start: int) -> BlockCalls | None:
    """Of blocks of so many rows, the first one from `start` on. None where no kernel computes all of them as
    it computes the whole."""
    shapes = axis.shapes(rows, start)
    if any(shape.read < 1 for shape in shapes):
        return None
    usual = max(shapes, key=lambda shape: (shapes[shape], shape.rows))
    operands = contracts.operands_of(axis.asked.kernel, instance_name(axis.asked))
    calls = {shape: axis.block(shape) for shape in shapes}
    rare = [call for shape, call in calls.items() if shape != usual]
    kernels = (each for each in _kernels(axis, usual) if all(fits(each, call, operands) for call in rare))
    if (variant := next(kernels, None)) is None or (block := _fitted(axis, usual, variant)) is None:
        return None
    own = variant.scratch
    scratch = max(own.of(call) if own else call.scratch for call in calls.values())
    # Shorter blocks cost as much for each row, and no block less than its share of the whole.
    total = max(block.instructions * axis.height / usual.rows, axis.instructions)
    return BlockCalls(replace(block.call, scratch=scratch), total + _CALL * shapes.total())


@lru_cache(maxsize=1024)
def _kernels(axis: RowAxis, shape: BlockShape) -> Sequence[Variant]:
    """Those that compute a block as they compute the whole, from the cheapest one on."""
    name, call = instance_name(axis.asked), axis.block(shape)
    operands = contracts.operands_of(axis.asked.kernel, name)
    found = fitting(call, name, axis.target.isa, operands)
    found = tuple(variant for variant in found if axis.is_exact or axis.is_same(variant))
    return ranked(call, found, axis.target, operands) if found else ()


@lru_cache(maxsize=1024)
def _fitted(axis: RowAxis, shape: BlockShape, variant: Variant) -> BlockCalls | None:
    """A block by one of its kernels; None where it takes copies beside it."""
    call = axis.block(shape)
    steps = fitted(replace(call, file=variant.file), replace(axis.target, cores=1))
    operands = contracts.operands_of(axis.asked.kernel, instance_name(axis.asked))
    return BlockCalls(steps[0], axis.instructions_of(variant, call, operands)) if len(steps) == 1 else None


def move_instructions(kept: int) -> float:
    """Instructions for bytes that move to the start of their ring."""
    return _MOVE + kept / _MOVED_BYTES if kept else 0.0


def loop_overhead(iterations: int) -> float:
    """Instructions that a layer takes of a loop beside its blocks."""
    return _ITERATION * iterations


def row_axis(layer: LoweredLayer, target: Target) -> RowAxis | None:
    """How a layer can be cut into rows; None where it cannot."""
    call = layer.steps[0] if len(layer.steps) == 1 else None
    asked = layer.asked
    if not isinstance(call, Call) or asked is None or layer.guards:
        return None
    names = tuple(arg.name for arg in (*asked.args, *call.args))
    return _axis(_Cut((names, *asked.content, *call.content), target, asked, call))


@dataclass(frozen=True)
class _Cut:
    """What an axis depends on. Most layers of a model stay as they are when it is planned again, for other
    weights or with a change to one layer."""

    content: tuple[object, ...]
    target: Target
    asked: Call = field(compare=False)
    call: Call = field(compare=False)


@lru_cache(maxsize=256)
def _axis(cut: _Cut) -> RowAxis | None:
    asked, call, target = cut.asked, cut.call, cut.target
    own = contracts.contract(call.kernel, instance_name(call))
    names = contracts.operands(contracts.header(own))[: len(call.args)]
    for split in splits(own):
        shape = _counted(split, call, names).type.shape
        dim = _row_dimension(shape)
        if dim is not None and (found := _cut(split, asked, call, names, shape[dim], target)):
            return found
    return None


def _counted(split: Split, call: Call, names: tuple[str, ...]) -> Arg:
    """What has the rows of a call: its result or, where that is a sum over all of them, what is added up."""
    result = len(call.args) - call.results
    is_sum = names[result] in split.carried.values()
    return call.args[names.index(next(iter(split.steps))) if is_sum else result]


def _cut(
    split: Split, asked: Call, call: Call, names: tuple[str, ...], height: int, target: Target
) -> RowAxis | None:
    """The call along one axis that its contract names."""
    known = split.axis in call.params and split.axis != "batch" and not split.is_of_columns
    if not known or not split.steps.keys() <= set(names):
        return None
    sizes = sizes_of(call.params[split.axis])
    at = next((i for i, size in enumerate(sizes) if size != 1), None)
    if at is None or sizes[at] % height or ("out_h" in call.params) != (split.axis == "out_h"):
        return None
    if (call.results > 1 and not split.is_in_order) or number(call.params, "reverse", 0):
        return None
    unit = sizes[at] // height
    carried = {names.index(name): names.index(result) for name, result in split.carried.items()}
    rows: dict[int, int] = {}
    dims: dict[int, int] = {}
    for i, (name, arg) in enumerate(zip(names, call.args, strict=True)):
        step = split.steps.get(name, "")
        if i in carried or i in carried.values():
            continue
        if " each " in step or (step == "window" and _image_height(arg, call) is None):
            return None
        if step == "window":
            rows[i], dims[i] = arg.type.size // arg.type.shape[1], 1
            continue
        size = per_index(call, split.axis, at, step) * unit if step else 0
        dim = _row_dimension(arg.type.shape)
        if size and arg.value.data is not None:
            return None  # a constant image
        if size:
            rows[i] = size
        if size and dim is not None and (arg.type.shape[dim], size * height) == (height, arg.type.size):
            dims[i] = dim
    window = next((i for i, name in enumerate(names) if i in rows and split.steps[name] == "window"), None)
    others = (call.args[i] for i in range(len(names) - call.results) if i not in dims)
    whole = frozenset(arg.name for arg in others if arg.value.data is None)
    axis = RowAxis(asked, call, target, split.axis, at, unit, height, rows, dims, whole, window, carried)
    return (
        axis
        if (axis.own in dims or axis.is_sum) and all(read.rows > read.pad for read in axis.layer.reads)
        else None
    )


def _row_dimension(shape: Sequence[int]) -> int | None:
    """The one that counts rows: of an image its height, else the first that is more than 1."""
    if len(shape) == 4:
        return 1 if shape[0] == 1 and shape[1] > 1 and 0 not in shape else None
    found = next((i for i, size in enumerate(shape) if size != 1), len(shape))
    return found if found < len(shape) - 1 and 0 not in shape else None


def _image_height(arg: Arg, call: Call) -> int | None:
    """The dimension that counts the rows of an image that windows read, if these lie one behind the other."""
    batch, height, width, channels = arg.type.shape if arg.type.rank == 4 else (0, 0, 0, 0)
    dense = {"step_h": width * channels, "step_w": channels, "step_c": 1}
    is_dense = all(call.params.get(name, step) == step for name, step in dense.items())
    is_image = batch == 1 and is_dense and call.params.get("in_h") == height and arg.value.data is None
    return 1 if is_image else None

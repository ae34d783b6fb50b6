"""Parallel parts of a kernel call: which rows, pixels or elements each core computes.

The comment of a kernel's contract says how its calls can be split, in tags, one a line:

    @split rows: x inputs, y outputs     the parameter that is cut into ranges; for operands of which a part
                                         needs a range only, the elements from one to the next
    @split n/64: pa sa, py 1             ranges start at multiples of 64
    @split n[]/64: a sa[], y dense[]     of several dimensions, the outermost that is more than 1; dense[] are
                                         the elements of a dense operand behind one index of it
    @split outputs/16: w packed, y 1     packed: constants that lie output by output, in blocks (pack.py)
    @split heads: q n, k n each repeat   each: elements that so many have in common, which one part computes
    @split rows of each: a a_row, y n    of each: also where outer loops have more than one turn, as all steps
                                         between them are parameters
    @split outputs/16 of columns: y 1    of columns: also where the result has several rows, of which a part
                                         computes some elements, in rows of its own, and copies them
    @split out_h: x window, y out_w      window: the rows of an image that windows need
    @split pixels: x in_c, y out_c       those of an image, where windows are single pixels, all of them
    @split steps in order: x n, y n, h0 from h   in order: a range needs what those before it computed. In
                                         place of the operand h0 it is given the result h; cores do not
                                         share such calls, loops over rows (row_calls.py) go step by step

They name parameters from outer to inner loops: the first one that is more than 1 is cut, or one `of each`
behind it whose largest part is smaller: three matrices make no halves, their rows do. Of ways with parts as
equal, the one whose parts read and write the fewest bytes is taken: parts of rows read all weights, parts of
columns all of the input. A part is a call of the same kernel with other pointers and a few other parameters.
So each output is computed as it is without parts, and no bit depends on the number of cores. Where a kernel
computes outputs in different ways, its file says at which multiples they start again (`@split out_h/4`), or
from how many on all are computed in the same way (`@split rows >= 8`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import lcm, prod

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.block_sparsity import is_stream
from edgekit.codegen.kernels.expressions import expression
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.overflow_safe import is_light
from edgekit.codegen.kernels.pack import is_tiled, pack
from edgekit.codegen.kernels.sources import Kernel
from edgekit.codegen.kernels.variants import fits
from edgekit.core.ops import Call, Columns, Param, Part
from edgekit.core.target import Target

_TAG = re.compile(r"(\w+)(\[\])?(?:/(\d+))?( of each| of columns| in order)?: (.+)")
_ARRAY = re.compile(r"(\w+)\[\]")
_BLOCK = re.compile(r"(?:G )?(?:O|O/(\d+)(?:!(\d+)?)?)(?: |$)")
# What an element of a result costs in multiplications where a kernel counts none.
_ELEMENT_MACS = 4
_PIXELS = "pixels"
_BALANCED = 1.1  # largest parts that differ less are as good: starting and joining them takes as much
_COLUMN_BYTES = 0.75  # of those that rows move: columns are copied, and take memory for it


@dataclass(frozen=True)
class Split:
    """One way to cut the calls of a contract."""

    axis: str  # the parameter
    is_array: bool
    block: int
    is_of_each: bool
    is_of_columns: bool
    is_in_order: bool
    steps: Mapping[str, str]  # elements of an operand from one to the next, as a tag says
    carried: Mapping[str, str]  # operands in whose place later ranges read a result


@dataclass(frozen=True)
class _Axis:
    """What is cut in one call."""

    split: Split
    extent: int
    at: int  # the dimension, in an array
    block: int
    least: int
    columns: bool  # has the result several rows, of which a part has some elements?


@dataclass(frozen=True)
class _Cut:
    """A call in parts along an axis."""

    axis: _Axis
    parts: tuple[Part, ...]
    largest: int  # indices of the axis that one part has, at most
    bytes: float  # that this part reads and writes

    @property
    def share(self) -> float:
        """Of the whole, that of the largest part: for which the others wait."""
        return self.largest / self.axis.extent


def in_parts(call: Call, variant: Variant, kernel: Kernel, target: Target) -> Call:
    """The call in parts for the cores of a target, where that pays. Its result aliases no operand that
    another part still reads."""
    count = min(target.cores, work(call) // target.part_macs)
    if count < 2:
        return call
    names = [pointer.name for pointer in kernel.pointers][: len(call.args)]
    cuts = []
    for axis in _axes(call, variant, kernel.name, names):
        with suppress(_IndivisibleError):
            cuts.append(_cut(call, axis, count, names, kernel, variant, target.align))
    best = _best(cuts)
    if best is None or len(best.parts) < 2:
        return call
    parts, steps = best.parts, best.axis.split.steps
    scratch = sum(part.scratch for part in parts)
    inplace = tuple(i for i in call.inplace if _is_apart(call, parts, i, names[i] in steps))
    return replace(call, parts=parts, scratch=scratch, inplace=inplace, overlap=None)


def _best(cuts: Sequence[_Cut]) -> _Cut | None:
    """The cut with the most equal parts; of those as equal, the one whose parts move the fewest bytes."""
    least = min((cut.share for cut in cuts), default=1.0)
    equal = [cut for cut in cuts if cut.share <= least * _BALANCED]
    rows = min((cut for cut in equal if not cut.axis.columns), key=lambda cut: cut.share, default=None)
    columns = min((cut for cut in equal if cut.axis.columns), key=lambda cut: cut.bytes, default=None)
    if rows and columns:
        return columns if columns.bytes <= _COLUMN_BYTES * rows.bytes else rows
    return rows or columns


def work(call: Call) -> int:
    """What a call costs, in multiplications."""
    return call.macs or _ELEMENT_MACS * sum(arg.type.size for arg in call.args[-call.results :])


@cache
def splits(contract: str) -> tuple[Split, ...]:
    """The ways to cut the calls of a contract, from outer to inner loops."""
    found = []
    for tag in contracts.splits(contract):
        match = _TAG.fullmatch(tag)
        assert match, f"{contract}: @split {tag} is not as splits.py describes"
        steps = dict(part.strip().split(" ", 1) for part in match[5].split(","))
        carried = {name: steps.pop(name)[5:] for name, step in [*steps.items()] if step.startswith("from ")}
        unknown = {*steps, *carried, *carried.values()} - set(contracts.operands(contracts.header(contract)))
        assert not unknown, f"{contract}: @split {tag}: no operand {unknown}"
        kind = match[4]
        found.append(
            Split(
                axis=match[1],
                is_array=bool(match[2]),
                block=int(match[3] or 1),
                is_of_each=kind == " of each",
                is_of_columns=kind == " of columns",
                is_in_order=kind == " in order",
                steps=steps,
                carried=carried,
            )
        )
    return tuple(found)


class _IndivisibleError(Exception):
    """This call cannot be split that way."""


def _axes(call: Call, variant: Variant, name: str, names: Sequence[str]) -> Iterator[_Axis]:
    """What can be cut, from outer to inner loops."""
    if any(limit.axis == "never" for limit in variant.split):
        return
    is_inner = False
    for split in splits(contracts.contract(call.kernel, name)):
        if not split.steps.keys() <= set(names):
            return
        if split.is_in_order:
            continue
        if is_inner and not split.is_of_each and not (split.is_of_columns and _has_columns(call)):
            continue
        value = _pixels(call.params) if split.axis == _PIXELS else call.params[split.axis]
        sizes = sizes_of(value)
        at = next((i for i, size in enumerate(sizes) if size != 1), None)
        if at is None:
            continue
        limits = [limit for limit in variant.split if limit.axis == split.axis]
        block = lcm(
            split.block if at == len(sizes) - 1 else 1,
            *(each.block.of(call) for each in limits if each.block),
        )
        least = max((each.least.of(call) for each in limits if each.least), default=1)
        yield _Axis(split, sizes[at], at, block, least, is_inner and split.is_of_columns)
        is_inner = True


def sizes_of(value: Param) -> list[int]:
    """A parameter that is an integer, or several."""
    numbers = value if isinstance(value, Sequence) else [value]
    return [size for size in numbers if isinstance(size, int)]


def _has_columns(call: Call) -> bool:
    """May a part compute some elements of each row of the one result, from all of the input?"""
    return call.results == 1 and call.groups == 1 and call.args[-1].type.dtype.bits >= 8


def _cut(
    call: Call, axis: _Axis, count: int, names: Sequence[str], kernel: Kernel, variant: Variant, align: int
) -> _Cut:
    """The call in at most so many parts along this axis."""
    packed = [
        _per_output(call, i, kernel.pack.get(name, ""), axis.extent)
        if axis.split.steps.get(name) == "packed"
        else (0, 1)
        for i, name in enumerate(names)
    ]
    shared = [_shared(call, axis.split.steps.get(name, ""))[1] for name in names]
    block = lcm(axis.block, *(block for _, block in packed), *shared)
    found = ranges(axis.extent, block, count)
    while len(found) > 1 and min(end - start for start, end in found) < axis.least:
        found = ranges(axis.extent, block, len(found) - 1)
    parts = []
    for start, end in found:
        params, shifts = _params(call, axis, start, end), []
        for i, name in enumerate(names):
            step = axis.split.steps.get(name, "")
            match step:
                case "":
                    shifts.append(0)
                case "packed":
                    shifts.append(_whole(start * packed[i][0], call, i))
                case "window":
                    skipped, changed = window(call.params, start, end)
                    shifts.append(skipped)
                    params |= changed
                case _:
                    elements, each = _shared(call, step)
                    shifts.append(start // each * per_index(call, axis.split.axis, axis.at, elements))
        part = replace(call, params={**call.params, **params})
        if not fits(variant, part, names) or (axis.columns and not _same_way(variant, call, part)):
            raise _IndivisibleError
        scratch = variant.scratch.of(part) if variant.scratch else call.scratch
        columns = _columns(call, axis, start, end, align) if axis.columns else None
        own = columns.bytes if columns else 0
        parts.append(Part(params, tuple(shifts), own + scratch + -scratch % align, columns))
    largest = max(end - start for start, end in found)
    return _Cut(axis, tuple(parts), largest, _bytes(call, axis, names, largest / axis.extent))


def _same_way(variant: Variant, call: Call, part: Call) -> bool:
    """Does a kernel that computes few rows in another way take the same for all outputs as for some?"""
    for limit in variant.split:
        if limit.least and (few := {limit.least.of(call), limit.least.of(part)}) and len(few) > 1:
            rows = _pixels(call.params) if limit.axis == _PIXELS else number(call.params, limit.axis)
            if rows < max(few):
                return False
    return True


def _columns(call: Call, axis: _Axis, start: int, end: int, align: int) -> Columns:
    y = call.args[-1].type
    rows = y.size // axis.extent
    size = rows * (end - start) * y.dtype.bytes
    return Columns(start, end - start, rows, axis.extent, size + -size % align)


def _bytes(call: Call, axis: _Axis, names: Sequence[str], share: float) -> float:
    """What the largest part reads and writes: of what is cut its share. Columns are copied, too."""
    total = 0.0
    for name, arg in zip(names, call.args, strict=True):
        total += arg.type.bytes * (share if name in axis.split.steps else 1)
    return total + 2 * share * call.args[-1].type.bytes * axis.columns


def _pixels(p: Mapping[str, Param]) -> int:
    """How many pixels lie side by side in image and result alike; 1 where windows are more than a pixel."""
    size = {name: number(p, name) for name in ("in_h", "in_w", "in_c", "out_h", "out_w")}
    dense = {"step_h": size["in_w"] * size["in_c"], "step_w": size["in_c"], "step_c": 1}
    single = {"k_h": 1, "k_w": 1, "stride_h": 1, "stride_w": 1, "pad_top": 0, "pad_left": 0}
    same = (size["in_h"], size["in_w"]) == (size["out_h"], size["out_w"])
    is_pointwise = all(number(p, name, wanted) == wanted for name, wanted in (dense | single).items())
    return size["out_h"] * size["out_w"] if same and is_pointwise else 1


def number(p: Mapping[str, Param], name: str, default: int = 1) -> int:
    """A parameter that is one integer."""
    value = p.get(name, default)
    assert isinstance(value, int), f"{name} is no integer"
    return value


def ranges(extent: int, block: int, count: int) -> list[tuple[int, int]]:
    """At most so many ranges, as equal as blocks let them be."""
    units = -(-extent // block)
    count = min(count, units)
    return list(pairwise(min(units * i // count * block, extent) for i in range(count + 1)))


def _params(call: Call, axis: _Axis, start: int, end: int) -> dict[str, Param]:
    if axis.split.axis == _PIXELS:
        row = {"in_w": end - start, "out_w": end - start}
        step = {"step_h": (end - start) * number(call.params, "in_c")} if "step_h" in call.params else {}
        return {"in_h": 1, "out_h": 1, **row, **step}
    if not axis.split.is_array:
        return {axis.split.axis: end - start}
    sizes = call.params[axis.split.axis]
    assert isinstance(sizes, Sequence)
    return {axis.split.axis: [*sizes[: axis.at], end - start, *sizes[axis.at + 1 :]]}


def _shared(call: Call, step: str) -> tuple[str, int]:
    """What a step says of elements, and how many indices of the axis have these in common."""
    elements, _, each = step.partition(" each ")
    return elements, expression(each).of(call) if each else 1


def per_index(call: Call, axis: str, at: int, text: str) -> int:
    """Elements of an operand from one index of an axis to the next, as a tag says: of an array, at `at`."""
    sizes = call.params.get(axis)
    known: dict[str, Param] = {**call.params}
    if isinstance(sizes, Sequence):
        known |= {name: v[at] for name, v in call.params.items() if isinstance(v, Sequence) and len(v) > at}
        known["dense"] = prod(sizes[at + 1 :])
    return expression(_ARRAY.sub(r"\1", text)).of(replace(call, params=known))


def window(p: Mapping[str, Param], start: int, end: int) -> tuple[int, dict[str, Param]]:
    """The part of an image that rows of a result need: the elements before it, and its parameters."""
    stride, top, in_h = number(p, "stride_h"), number(p, "pad_top", 0), number(p, "in_h")
    first = start * stride - top
    skipped = min(max(first, 0), in_h - 1)
    last = (end - 1) * stride - top + (number(p, "k_h") - 1) * number(p, "dilation_h")
    rows = min(last, in_h - 1) - skipped + 1
    if rows < 1 or first >= in_h:
        raise _IndivisibleError  # all of the windows are within the border
    step = number(p, "step_h", number(p, "in_w") * number(p, "in_c" if "in_c" in p else "channels"))
    return skipped * step, {"in_h": rows, "out_h": end - start, "pad_top": max(-first, 0)}


def _per_output(call: Call, i: int, tag: str, extent: int) -> tuple[float, int]:
    """Elements of a packed constant for each output, and how many outputs make a block of it."""
    data = call.args[i].value.data
    match = _BLOCK.match(tag or "O")
    if data is None or not match or call.groups > 1 or is_stream(tag) or is_light(tag):
        raise _IndivisibleError
    block, unit = int(match[1] or 1), int(match[2] or match[1] or 1)
    outputs = data.shape[0]
    if outputs != extent:  # one for all, as an exponent may be
        assert data.size == 1
        return 0, 1
    size = pack(tag, data, call.groups).size if tag else data.size
    padded = outputs // block * block + -(-(outputs % block) // unit) * unit
    return size / (padded if is_tiled(tag) else outputs), block


def _whole(elements: float, call: Call, i: int) -> int:
    if not float(elements).is_integer():
        raise _IndivisibleError  # weights of 4 bits, two in a byte
    return int(elements)


def _is_apart(call: Call, parts: Sequence[Part], i: int, is_cut: bool) -> bool:
    """May the result lie over this argument: does each part read of it only where it writes?"""
    x, y = call.args[i].type, call.args[-call.results].type
    own = len(call.args) - call.results
    same = all(p.shifts[i] * x.dtype.bits == p.shifts[own] * y.dtype.bits for p in parts)
    return is_cut and same and x.bytes == y.bytes

"""What each kernel call of a program does, in numbers: what its instructions are estimated from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, prod
from typing import TYPE_CHECKING

from edgekit.core.fixed import int_range
from edgekit.core.ops import Call

if TYPE_CHECKING:
    from edgekit.codegen.program import Program, ProgramCall

Work = Mapping[str, float]
_MAX_UNROLLED_ELEMENTS = 48  # of a row: compilers write shorter ones out, number by number


def work(program: Program) -> Iterator[tuple[ProgramCall, Work]]:
    """The calls in order, each with what it does. Names are those of calibrations: each counts how often some
    loop of a kernel may run."""
    sizes = {constant.c: constant.data.size for constant in program.read_constants}
    for line in program.lines:
        constants = {
            operand.pointer.name: sizes[operand.place.name]
            for operand in line.operands
            if operand.place.kind == "constant"
        }
        yield line, work_of(line.call, constants)


def work_of(call: Call, constants: Mapping[str, int]) -> Work:
    """Of one call, whose constant operands have so many elements as the kernel packs them."""
    return dict(_work(call, constants))


def _work(call: Call, constants: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    given = {name: value for name, value in call.params.items() if isinstance(value, int)}
    inputs = [arg for arg in call.args[: -call.results] if arg.value.data is None]
    outputs = sum(arg.type.size for arg in call.args[-call.results :])
    n = call.params.get("n")
    positions = given.get("rows", prod(n[:-1]) if isinstance(n, tuple) else 1)
    if "out_h" in given and "out_w" in given:
        lines = given.get("batch", 1) * given["out_h"]
        positions = lines * given["out_w"]
        # Two results of a row advance together, and what is left goes alone or as if it were two.
        pairs, ends = lines * (given["out_w"] // 2), lines * (given["out_w"] % 2)
        yield "row pairs", pairs
        yield "row ends", ends
        yield "products of row pairs", pairs * constants.get("w", 0)
        yield "products of row ends", ends * constants.get("w", 0)
    yield "calls", 1
    yield "inputs", sum(arg.type.size for arg in inputs)
    yield "outputs", outputs
    yield "products", call.macs
    yield "positions", positions
    # In the layout of the kernel: blocks are whole.
    yield "padded products", positions * constants.get("w", 0)
    yield "padded outputs", positions * constants.get("b", 0)
    yield "paired products", (positions + 1) // 2 * constants.get("w", 0)
    yield "paired outputs", (positions + 1) // 2 * constants.get("b", 0)
    if given.get("n", 0) % 16:  # of rows that kernels read by sixteens
        yield "rests of sixteens", positions
        yield "rest cells", positions * (given["n"] % 16)
    if given.get("inputs", 0) % 16:  # behind whole blocks of inputs a rest is left
        yield "rests of rows", positions * -(-given["outputs"] // 4)
        yield "rests of paired rows", (positions + 1) // 2 * -(-given["outputs"] // 4)
    yield "clamped outputs", outputs if _is_clamped(call) else 0
    # Sums of two tensors bring both to the larger scale: what has that already is not rounded.
    yield "rescaled inputs", outputs * sum(given.get(f"{letter}_exponent", 0) < 0 for letter in "ab")
    yield "scratch", call.scratch
    yield "odd outputs", positions * (given.get("out_c", given.get("outputs", 0)) % 4)
    if isinstance(n, tuple):
        yield from _rows(call, n)
    if "keys" in given and "queries" in given:
        yield from _attention(given)
    if "group" in given and "outputs" in given:
        yield from _groups(given)
    if "count" in given and "outer" in given and isinstance(n, int):  # of a cache
        yield "written rows", given["outer"] * given["count"]
        yield "written cells", given["outer"] * given["count"] * n
    if "inner" in given and "columns" in given:
        yield from _matrices(given, prod(n) if isinstance(n, tuple) else 1)
    if "taps" in given and "out_n" in given:
        yield from _filters(given)
    if "steps" in given and "size" in given:
        yield from _recurrent(given)
    if "k_h" in given and "out_h" in given:
        yield from _windows(given, outputs)
        if "in_c" in given and "groups" not in given and given["k_h"] == given["k_w"] == 3:
            yield from _planes(given)
            yield from _bands(given)


def _rows(call: Call, n: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    """Of loops over dimensions, the innermost of which makes rows; sums have more, for what is summed."""
    count, last, steps = prod(n[:-1]), n[-1], [call.params.get(name) for name in ("x", "y")]
    reduced = call.params.get("r")
    if isinstance(reduced, tuple):
        count, last, steps = prod(n) * prod(reduced[:-1]), reduced[-1], [call.params.get("x_r")]
    is_dense = all(step[-1] == 1 for step in steps if isinstance(step, tuple))
    is_long = is_dense and last >= _MAX_UNROLLED_ELEMENTS
    yield "rows", count
    yield "long row blocks", count * -(-last // 16) * is_long
    yield "short row cells", count * last * (is_dense and not is_long)
    yield "strided row cells", count * last * (not is_dense)
    yield "row words", count * -(-last // 4)


def _attention(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of queries to all rows of a cache, sixteen at a time; those of two heads may share a row."""
    queries = given["heads"] * given["queries"]
    yield "queries", queries
    yield "query cells", queries * (given["size"] + given["values"])
    yield "key blocks", queries * -(-given["keys"] // 16)
    yield "key block cells", queries * -(-given["keys"] // 16) * given["values"]
    yield "scores", queries * given["keys"]


def _groups(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of layers whose weights have scales for groups, four outputs at a time, of one row or of two."""
    groups, fours = -(-given["inputs"] // given["group"]), -(-given["outputs"] // 4)
    rows = given.get("rows", 1)
    yield "fours of outputs", rows * fours
    yield "fours of paired outputs", (rows + 1) // 2 * fours
    yield "groups of rows", rows * groups
    yield "groups of outputs", rows * fours * groups
    yield "groups of paired outputs", (rows + 1) // 2 * fours * groups


def _matrices(given: Mapping[str, int], count: int) -> Iterator[tuple[str, float]]:
    """Of products of matrices, whose columns advance in blocks of 16 or of 4."""
    inner, columns = given["inner"], given["columns"]
    rows, words, blocks = count * given["rows"], -(-columns // 4), -(-inner // 16)
    yield "matrices", count
    yield "matrix rows", rows
    yield "matrix row cells", rows * inner
    yield "matrix row words", rows * words
    yield "cells by words", rows * words * inner
    yield "cells by whole blocks", rows * (columns // 16) * inner
    yield "cells by words of the rest", rows * -(-(columns % 16) // 4) * inner
    yield "blocks by words", rows * words * blocks
    yield "blocks of rows and columns", (rows + count * columns) * blocks


def _filters(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of results along an axis that are each made of few numbers."""
    results, inner = given["outer"] * given["out_n"], given["inner"]
    yield "results along an axis", results
    yield "filter taps", results * given["taps"]
    yield "filter words", results * -(-inner // 4)
    yield "filter tap cells", results * given["taps"] * inner
    yield "filter tap blocks", results * given["taps"] * (inner // 16)
    yield "filter tap words of the rest", results * given["taps"] * -(-(inner % 16) // 4)


def _recurrent(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of gates, step by step; the state goes through weights whose rows advance in blocks of 16 or of 4."""
    steps, size = given["steps"] * given["batch"], given["size"]
    gates = steps * given["groups"] * size
    yield "steps", steps
    yield "units of steps", steps * size
    yield "gates of steps", gates
    yield "gate blocks", gates * -(-size // 16)
    yield "gate words", gates * -(-size // 4)
    yield "gate cells of the rest", gates * (size % 16)


def _windows(given: Mapping[str, int], outputs: int) -> Iterator[tuple[str, float]]:
    """Of a window that slides over an image."""
    batch, channels = given.get("batch", 1), given.get("in_c", given.get("channels", 1))
    out_channels = given.get("out_c", channels)
    groups = given.get("groups", 1)
    depth = channels // groups if "groups" in given else 1  # depthwise: one input for each output
    high, wide = (_inside(given, axis) for axis in "hw")
    taps = batch * high * wide
    lines = batch * given["out_h"]
    outside = lines * given["out_w"] - batch * _whole(given, "h") * _whole(given, "w")
    pairs = min(
        given["out_h"] * ((given["out_w"] + 1) // 2),
        given["out_w"] * ((given["out_h"] + 1) // 2),
    )
    yield "window lines", lines * given["out_w"] * given["k_h"]
    yield "taps", taps
    yield "tap lines", batch * high * given["out_w"]
    yield "cells", taps * channels
    yield "tap words", taps * -(-channels // 4)
    yield "tap blocks", taps * -(-channels // 8)
    # Where compilers find the vectors, whole ones, and a rest cell by cell.
    places = lines * given["out_w"]
    yield "tap vectors of 4", taps * (channels // 4)
    yield "tap vectors of 16", taps * (channels // 16)
    yield "tap cells beside vectors of 4", taps * (channels % 4)
    yield "tap cells beside vectors of 16", taps * (channels % 16)
    yield "window vectors of 16", places * (out_channels // 16)
    yield "window cells beside vectors of 4", places * (out_channels % 4)
    yield "products by vectors of 4", taps * depth // 4 * out_channels
    yield "products by vectors of 16", taps * depth // 16 * out_channels
    yield "products beside vectors of 4", taps * (depth % 4) * out_channels
    yield "products beside vectors of 16", taps * (depth % 16) * out_channels
    inner = lines * given["out_w"] - outside
    yield "inner lines", inner * given["k_h"]
    yield "inner cells", inner * given["k_h"] * given["k_w"] * channels
    yield "border positions", outside
    yield "border lines", outside * given["k_h"]
    yield "border cells", outside * given["k_h"] * given["k_w"] * channels
    windows = lines * given["out_w"] * groups  # each group has its own
    yield "group windows", windows
    yield "group window lines", windows * given["k_h"]
    yield "group window cells", windows * given["k_h"] * given["k_w"]
    # A line of a window lies in one piece where all of it is within the image, and all channels take part.
    is_dense = groups == 1 and given.get("dilation_w", 1) == 1
    whole = inner if is_dense else 0
    yield "whole windows", whole
    yield "whole line blocks", whole * given["k_h"] * -(-given["k_w"] * depth // 16)
    yield "whole line words", whole * given["k_h"] * -(-given["k_w"] * depth // 4)
    parted = lines * given["out_w"] * groups - whole
    yield "parted windows", parted
    yield "parted window lines", parted * given["k_h"]
    yield "parted window taps", parted * given["k_h"] * given["k_w"]
    yield "parted tap blocks", parted * given["k_h"] * given["k_w"] * -(-depth // 16)
    yield "parted tap words", parted * given["k_h"] * given["k_w"] * -(-depth // 4)
    yield "parted cells inside", 0 if is_dense else taps * channels
    words = inner * given["k_h"] * -(-given["k_w"] * depth // 4)
    yield "inner words", words
    yield "unaligned words", words if given["k_w"] * depth % 4 else 0
    yield "channel pairs", batch * out_channels * pairs
    # Kernels that take two results of a row at once turn images of which that leaves less.
    is_turned = pairs < given["out_h"] * ((given["out_w"] + 1) // 2)
    yield "turned lines", out_channels * given["out_w" if is_turned else "out_h"]
    yield "turned input lines", out_channels * given["in_w" if is_turned else "in_h"]
    # Windows of which the same taps are within the image lie side by side, in areas.
    high_areas, wide_areas = (len({tuple(taps) for taps in _taps(given, axis)}) for axis in "hw")
    blocks = -(-out_channels // 4)
    yield "areas", high_areas * wide_areas
    yield "area blocks", high_areas * wide_areas * blocks
    yield "area line blocks", given["out_h"] * wide_areas * blocks
    yield "products inside", taps * depth * out_channels
    yield "output taps", taps * out_channels
    yield "output windows", outputs * given["k_h"] * given["k_w"]
    yield "output window lines", outputs * given["k_h"]
    yield "lines", lines
    yield "channels", out_channels
    yield "channel lines", out_channels * given["out_h"]
    yield "channel columns", out_channels * given["out_w"]
    yield "channel input lines", channels * given["in_h"]


def _planes(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of depthwise kernels that bring each channel into a plane: see dsp/depthwise2d_int.c, which has two
    lower ones where the stride is 2, and turns others where that leaves fewer pairs."""
    stride = given.get("stride_h", 1)
    wide = given["in_w"], given["out_w"], given.get("pad_left", 0)
    high = given["in_h"], given["out_h"], given.get("pad_top", 0)
    half = (high[1] + 1) // 2
    start = 2 * half - high[2]
    planes = [(wide, high)]
    if stride == 2 and half * wide[1] <= start * wide[0]:
        planes = [(wide, (high[0], half, high[2])), (wide, (high[0] - start, high[1] - half, 0))]
    elif high[1] * ((wide[1] + 1) // 2) > wide[1] * half:
        planes = [(high, wide)]
    batch = given.get("batch", 1)
    count = lines = pairs = border = rows = fours = rest = 0
    for along, across in planes:
        if across[1] > 0:
            in_pairs = (along[1] + 1) // 2
            width, height = 2 * in_pairs * stride + 2, (across[1] - 1) * stride + 3
            cells, read = min(along[0], width - along[2]), min(across[0], height - across[2])
            count, lines, pairs = count + 1, lines + across[1], pairs + across[1] * in_pairs
            border += width * height
            rows, fours, rest = rows + read, fours + read * (cells // 4), rest + read * (cells % 4)
    channels = batch * given["in_c"]
    yield "border of planes", batch * border
    yield "planes", channels * count
    yield "lines of planes", channels * lines
    yield "pairs of planes", channels * pairs
    yield "rows into planes", channels * rows
    yield "fours into planes", channels * fours
    yield "cells into planes", channels * rest


def _bands(given: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """Of depthwise kernels that interleave rows of each channel: see mve/depthwise2d_int.k3x3.c."""
    width, height, channels = given["out_w"], given["out_h"], given["in_c"]
    all_pairs = (height + 1) // 2
    is_whole = (height + 1) * (width + 1) * max(channels, 100) <= 65536
    pairs = all_pairs if is_whole else max(1, 64 // (width + 1))
    images, bands = given.get("batch", 1), -(-all_pairs // pairs)
    top = given.get("pad_top", 0)
    inside = sum(0 <= row <= given["in_h"] - 4 for row in range(-top, height - top, 2))
    columns = [-(-(part * (width + 1) - 1) // 4) for part in (pairs, all_pairs - (bands - 1) * pairs)]
    eights = -(-given["in_w"] // 8)
    yield "bands", images * bands
    yield "bands of channels", images * channels * bands
    yield "row pairs of channels", images * channels * all_pairs
    yield "eights into columns", images * channels * eights * inside
    yield "eights into columns at borders", images * channels * eights * (all_pairs - inside)
    yield "column blocks of channels", images * channels * ((bands - 1) * columns[0] + columns[1])
    yield "places of columns", 4 * sum(dict.fromkeys(columns))


def _inside(given: Mapping[str, int], axis: str) -> int:
    """How many taps of all windows along an axis are within the image."""
    return sum(sum(taps) for taps in _taps(given, axis))


def _whole(given: Mapping[str, int], axis: str) -> int:
    """How many windows along an axis are within the image."""
    return sum(all(taps) for taps in _taps(given, axis))


def _taps(given: Mapping[str, int], axis: str) -> Iterator[list[bool]]:
    """For each place of a window along an axis, which of its taps are within the image."""
    pad = given.get({"h": "pad_top", "w": "pad_left"}[axis], 0)
    stride, dilation = given.get(f"stride_{axis}", 1), given.get(f"dilation_{axis}", 1)
    for place in range(given[f"out_{axis}"]):
        start = place * stride - pad
        yield [0 <= start + tap * dilation < given[f"in_{axis}"] for tap in range(given[f"k_{axis}"])]


def _is_clamped(call: Call) -> bool:
    """Do results end before those of their type do?"""
    lo, hi = (call.params.get(end) for end in ("lo", "hi"))
    dtype = call.args[-1].type.dtype
    if not isinstance(lo, int | float) or not isinstance(hi, int | float):
        return False
    if dtype.is_float:
        return isfinite(lo) or isfinite(hi)
    least, most = int_range(dtype)
    return lo > least or hi < most

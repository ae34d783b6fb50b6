"""What each kernel call of a program does, in numbers: what its instructions are estimated from.

A kernel whose loops do something else says so itself, in tags @count of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, prod
from typing import TYPE_CHECKING

from edgekit.codegen.kernels.expressions import Expression, values
from edgekit.codegen.kernels.symbols import instance_name
from edgekit.codegen.kernels.variants import variant_named
from edgekit.codegen.kernels.windows import taps, whole
from edgekit.core.fixed import int_range
from edgekit.core.ops import Call

if TYPE_CHECKING:
    from edgekit.codegen.program import Program, ProgramCall

Work = Mapping[str, float]
_MAX_UNROLLED_ELEMENTS = 48  # of a row: compilers write shorter ones out, number by number


def work(program: Program) -> Iterator[tuple[ProgramCall, Work]]:
    """The calls in order, each with what it does. Names are those of calibrations: each counts how often some
    loop of a kernel may run, in all blocks of rows."""
    sizes = {constant.c: constant.data.size for constant in program.read_constants}
    for line in program.lines:
        constants = {
            operand.pointer.name: sizes[operand.place.name]
            for operand in line.operands
            if operand.place.kind == "constant"
        }
        if rows := line.rows:
            done = work_of(rows.block, constants, _own(rows.block))
            height, block = rows.blocks.layer.height, rows.blocks.rows
            yield line, {name: number * height / block for name, number in done.items()}
        else:
            yield line, work_of(line.call, constants, _own(line.call))


def _own(call: Call) -> Mapping[str, Expression]:
    """What its kernel counts of its own; copies that lowering adds have not asked for one."""
    return variant_named(call.file, (instance_name(call), call.kernel)).counts if call.file else {}


def work_of(call: Call, constants: Mapping[str, int], own: Mapping[str, Expression] | None = None) -> Work:
    """Of one call, whose constant operands have so many elements as the kernel packs them, with what the
    kernel counts of its own."""
    return {**dict(_work(call, constants)), **values(own or {}, call)}


def _work(call: Call, constants: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    given = {name: value for name, value in call.params.items() if isinstance(value, int)}
    inputs = [arg for arg in call.args[: -call.results] if arg.value.data is None]
    outputs = sum(arg.type.size for arg in call.args[-call.results :])
    n = call.params.get("n")
    positions = given.get("rows", prod(n[:-1]) if isinstance(n, tuple) else 1)
    w, b = constants.get("w", 0), constants.get("b", 0)
    if "out_h" in given and "out_w" in given:
        lines = given.get("batch", 1) * given["out_h"]
        positions = lines * given["out_w"]
        # Two results of a row advance together, and what is left goes alone or as if it were two.
        yield "products of row pairs", lines * (given["out_w"] // 2) * w
        yield "products of row ends", lines * (given["out_w"] % 2) * w
    yield "calls", 1
    yield "inputs", sum(arg.type.size for arg in inputs)
    yield "outputs", outputs
    yield "products", call.macs
    yield "positions", positions
    yield "scratch", call.scratch
    wide = given.get("out_c", given.get("outputs", given.get("columns", 0))) // given.get("groups", 1)
    for block in (16, 32, 64) if wide else ():  # as vectors of many lanes have them
        yield f"products by {block} outputs", call.macs * -(-wide // block) * block / wide
    # In the layout of the kernel: blocks are whole.
    yield "weights", w
    yield "padded products", positions * w
    yield "padded outputs", positions * b
    yield "paired products", (positions + 1) // 2 * w
    yield "paired outputs", (positions + 1) // 2 * b
    yield "clamped outputs", outputs if _is_clamped(call) else 0
    yield "odd outputs", positions * (given.get("out_c", given.get("outputs", 0)) % 4)
    if "n" in given:  # of rows that kernels read by sixteens
        yield "rest cells", positions * (given["n"] % 16)
    if isinstance(n, tuple):
        yield from _rows(call, n)
    if "keys" in given and "queries" in given:
        queries = given["heads"] * given["queries"]
        yield "query cells", queries * (given["size"] + given["values"])
        yield "scores", queries * given["keys"]
    if "taps" in given and "out_n" in given:
        yield "filter taps", given["outer"] * given["out_n"] * given["taps"]
    if "steps" in given and "size" in given:
        yield "gates of steps", given["steps"] * given["batch"] * given["groups"] * given["size"]
    if "k_h" in given and "out_h" in given:
        yield from _windows(given, outputs, b)


def _rows(call: Call, n: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    """Of loops over dimensions, the innermost of which makes rows; sums have more, for what is summed."""
    count, last, steps = prod(n[:-1]), n[-1], [call.params.get(name) for name in ("x", "y")]
    reduced = call.params.get("r")
    if isinstance(reduced, tuple):
        count, last, steps = prod(n) * prod(reduced[:-1]), reduced[-1], [call.params.get("x_r")]
    is_dense = all(step[-1] == 1 for step in steps if isinstance(step, tuple))
    is_long = is_dense and last >= _MAX_UNROLLED_ELEMENTS
    yield "long row blocks", count * -(-last // 16) * is_long
    yield "short row cells", count * last * (is_dense and not is_long)
    yield "strided row cells", count * last * (not is_dense)


def _windows(given: Mapping[str, int], outputs: int, padded: int) -> Iterator[tuple[str, float]]:
    """Of a window that slides over an image, for so many outputs as the layout of the kernel has."""
    batch, channels = given.get("batch", 1), given.get("in_c", given.get("channels", 1))
    out_channels, groups = given.get("out_c", channels), given.get("groups", 1)
    depth = channels // groups if "groups" in given else 1  # depthwise: one input for each output
    lines = batch * given["out_h"]
    places, cells = lines * given["out_w"], given["k_h"] * given["k_w"]
    inside = batch * taps("h", given) * taps("w", given)
    inner = batch * whole("h", given) * whole("w", given)
    yield "lines", lines
    yield "padded products inside", inside * depth * padded
    yield "border cells", (places - inner) * cells * channels
    yield "output windows", outputs * cells
    yield "output window lines", outputs * given["k_h"]
    # A line of a window lies in one piece where all of it is within the image, and all channels take part.
    is_dense = groups == 1 and given.get("dilation_w", 1) == 1
    in_place = inner if is_dense else 0
    yield "whole line blocks", in_place * given["k_h"] * -(-given["k_w"] * depth // 16)
    parted = places * groups - in_place
    yield "parted windows", parted
    yield "parted window lines", parted * given["k_h"]
    yield "parted cells", parted * cells * depth
    yield "parted cells inside", 0 if is_dense else inside * channels
    # Where compilers find the vectors, whole ones, and a rest cell by cell.
    yield "window 16-vectors", places * (out_channels // 16)
    yield "tap 4-vectors", inside * (channels // 4)
    yield "tap cells beside 4-vectors", inside * (channels % 4)
    yield "tap cells beside 16-vectors", inside * (channels % 16)
    yield "products by 16-vectors", inside * depth // 16 * out_channels
    yield "products beside 16-vectors", inside * (depth % 16) * out_channels


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

"""Tied weights: a table of embeddings that a fully connected layer multiplies by as well is stored once.

The layer's kernel says how its weights lie. Where that is in blocks of outputs side by side, rows are
looked up there. Any other layout is a second copy. The layer may be one of another entry of the library, as
where a decoder multiplies by the table that an encoder looks up, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from edgekit.codegen.kernels.sources import instantiate, variant_of
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ops import Arg, Call, Param
from edgekit.core.ops.gather import Gather
from edgekit.core.target import Target
from edgekit.core.types import Type, Value

_PAIRS = r"I/16! i16/2\(021346578a9bcedf\) o(\d+)/2 i2 o2 : carry s8"
_PIECES = r"I/(?P<depth>\d+)! o(\d+) i(?P=depth)"
_BLOCKS = re.compile(rf"O/(\d+)(!(\d*))? (?:I o(\d+)|{_PIECES}|{_PAIRS})")
_GROUPWISE = ("gather_groupwise", "gather_groupwise_symmetric")


@dataclass(frozen=True)
class RowBlocks:
    """So many rows side by side, and as many in the last block: number by number or several of each, perhaps
    in pairs (pack.py: carry)."""

    block: int
    last: int
    depth: int = 1
    carry: int = 0

    @property
    def is_plain(self) -> bool:
        return self.depth == 1 and not self.carry


@dataclass(frozen=True)
class _Packed:
    """A matrix as a layer reads it."""

    arg: Arg
    blocks: RowBlocks | None  # None: in another layout


def with_tied_tables(
    layers: Sequence[LoweredLayer], target: Target, beside: Sequence[Call] = ()
) -> list[LoweredLayer]:
    """The layers; tables that others of them multiply by, or calls of other entries, are looked up as those
    lie."""
    tables = [table for call in _calls(layers) for table in _tables(call)]
    if not tables:
        return list(layers)
    products = list(_matrices([*_calls(layers), *beside], {table.type.shape for table in tables}, target))

    def tied(call: Call) -> Call:
        found = [_blocks_of(table, products) for table in _tables(call)]
        widths = {(blocks.block, blocks.last) if blocks else None for blocks in found}
        blocks = found[0] if len(widths) == 1 else None  # of scales, too, behind those of weights
        if not blocks or (call.kernel == "gather" and not blocks.is_plain):
            return call
        return in_blocks(call, blocks, target)

    return [
        replace(layer, steps=tuple(tied(step) if isinstance(step, Call) else step for step in layer.steps))
        for layer in layers
    ]


def row_blocks(tag: str, rows: int) -> RowBlocks | None:
    """How a layout puts rows side by side, if that is all it does."""
    found = _BLOCKS.fullmatch(tag)
    if not found or found[1] != (found[4] or found[6] or found[7]):
        return None
    block = int(found[1])
    unit = int(found[3] or block) if found[2] else 1
    last = -(-(rows % block) // unit) * unit or block
    return RowBlocks(block, last, int(found["depth"] or 1), 1 if found[7] else 0)


def in_blocks(call: Call, blocks: RowBlocks, target: Target) -> Call:
    """The lookup in a table that lies in blocks."""
    if call.kernel in _GROUPWISE:
        call = replace(call, params={**call.params, **asdict(blocks)}, file="")
    else:
        table, _, y = call.args
        size, n = table.type.shape
        params: dict[str, Param] = {"rows": y.type.size // n, "n": n, "size": size}
        params |= {"block": blocks.block, "last": blocks.last}
        call = replace(call, kernel="gather_rows", params=params, file="")
    return replace(call, file=variant_of(call, target).file)


def _calls(layers: Iterable[LoweredLayer]) -> Iterator[Call]:
    return (step for layer in layers for step in layer.steps if isinstance(step, Call))


def _tables(call: Call) -> Sequence[Arg]:
    """The constants of which a call takes rows."""
    if call.kernel in _GROUPWISE and call.params["block"] == 1:
        return [arg for arg in call.args[:-2] if arg.value.data is not None]
    return [call.args[0]] if call.kernel == "gather" and _takes_rows(call) else []


def _takes_rows(call: Call) -> bool:
    """Are whole rows of a constant matrix looked up?"""
    table, index, y = call.args
    if table.value.data is None or table.type.rank != 2 or 0 in (table.type.size, index.type.size):
        return False
    rows, n = index.type.size, table.type.shape[1]
    column, result = Type(index.type.dtype, (rows, 1)), replace(y.type, shape=(rows, n))
    (plain,) = Gather(0).lower([table, Arg("", Value(column))], [Arg("", Value(result))])
    return isinstance(plain, Call) and plain.params == call.params


def _matrices(calls: Iterable[Call], shapes: set[tuple[int, ...]], target: Target) -> Iterator[_Packed]:
    """The constants of these shapes that calls read in a layout of their own."""
    for call in calls:
        if call.kernel in ("gather", "gather_rows", *_GROUPWISE):
            continue
        constants = [arg for arg in call.args if arg.value.data is not None and arg.type.shape in shapes]
        if not constants:
            continue
        kernel = instantiate(call, target)
        for arg, pointer in zip(call.args, kernel.pointers, strict=False):
            if arg in constants and (tag := kernel.pack.get(pointer.name)):
                yield _Packed(arg, row_blocks(tag, arg.type.shape[0]) if call.groups == 1 else None)


def _blocks_of(table: Arg, products: Iterable[_Packed]) -> RowBlocks | None:
    """How the numbers of a table lie for a layer."""
    return next((p.blocks for p in products if p.blocks and _is_same(p.arg, table)), None)


def _is_same(one: Arg, other: Arg) -> bool:
    """Are they one tensor, or equal?"""
    a, b = one.value.data, other.value.data
    assert a is not None
    assert b is not None
    if a is b:
        return True
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

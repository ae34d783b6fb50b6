"""Pictures of a library for its page: the graph of its layers, the arena over time, flash as a treemap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from edgekit.codegen.library_map import CATEGORIES, LibraryMap, MappedLayer, MappedPort
from edgekit.reports.graph_layout import NODE_HEIGHT, NODE_WIDTH, layout
from edgekit.reports.pages import fitting, number, percent, shape, short_size
from edgekit.reports.treemap import Rect, treemap

_CARD_COLUMNS = 25  # letters of a monospaced font on a card
_LETTER = 6.7  # width of a letter of a picture, at most
_TEXT_HEIGHT = 32.0  # of two lines in a block
_WIDTH = 1100.0  # of a chart
_ARENA_HEIGHT, _LEFT, _BASE = 240.0, 62.0, 40.0
_TREE_HEIGHT = 360.0
_GRID_LINES = 4


def colour(layer: MappedLayer) -> int:
    """That of what kind of work it is."""
    return CATEGORIES.index(layer.category)


def legend(layers: Sequence[MappedLayer]) -> Sequence[tuple[str, int]]:
    """The kinds of work that are there, and their colours."""
    there = {layer.category for layer in layers}
    return [(name, i) for i, name in enumerate(CATEGORIES) if name in there]


@dataclass(frozen=True)
class Card:
    """A node of the graph."""

    x: str
    y: str
    title: str
    line: str
    tip: str
    colour: int = 0
    layer: int | None = None  # None: an input, output or state
    kind: str = "layer"


@dataclass(frozen=True)
class Edge:
    """A tensor on its way between two cards, by their numbers."""

    source: int
    target: int
    path: str
    tip: str


@dataclass(frozen=True)
class GraphPicture:
    """Layers from top to bottom, in columns from left to right."""

    cards: tuple[Card, ...]
    edges: tuple[Edge, ...]
    width: str
    height: str
    card_width: str = number(NODE_WIDTH)
    card_height: str = number(NODE_HEIGHT)


def graph(found: LibraryMap) -> GraphPicture:
    """The picture of what a run computes, and from what."""
    nodes: list[MappedPort | MappedLayer] = [*found.entries, *found.layers, *found.exits]
    pairs = list(dict.fromkeys((edge.source, edge.target) for edge in found.edges))
    types = {(edge.source, edge.target): edge.type for edge in found.edges}
    made = layout(len(nodes), pairs)
    cards = []
    for i, (node, box) in enumerate(zip(nodes, made.boxes, strict=True)):
        at = number(box.x), number(box.y)
        if isinstance(node, MappedPort):
            word = (
                f"next {node.kind}"
                if node.kind == "state" and i >= len(nodes) - len(found.exits)
                else node.kind
            )
            line = f"{word} {shape(node.type, with_dtype=True)}"
            cards.append(
                Card(
                    *at,
                    fitting(node.name, _CARD_COLUMNS),
                    fitting(line, _CARD_COLUMNS),
                    f"{word} {node.name}: {node.type}",
                    kind="port",
                )
            )
            continue
        number_of = i - len(found.entries)
        line = f"{node.operation} {shape(node.outputs[0])}"
        tip = f"{number_of + 1}. {node.name}: {node.operation}"
        cards.append(
            Card(
                *at,
                fitting(node.name, _CARD_COLUMNS),
                fitting(line, _CARD_COLUMNS),
                tip,
                colour(node),
                number_of,
            )
        )
    edges = tuple(Edge(*pair, path, str(types[pair])) for pair, path in zip(pairs, made.paths, strict=True))
    return GraphPicture(tuple(cards), edges, number(made.width), number(made.height))


@dataclass(frozen=True)
class Block:
    """A rectangle of a chart; its text fits, or is empty."""

    x: str
    y: str
    width: str
    height: str
    text: str
    second: str
    tip: str
    kind: str
    layer: int | None = None

    @staticmethod
    def of(
        rect: Rect,
        text: str,
        second: str,
        tip: str,
        kind: str,
        layer: int | None,
        above: Sequence[Rect] = (),
    ) -> Block:
        """The text ends where a block that covers this one begins."""
        visible = _visible(rect, above) if rect.width >= 5 * _LETTER else 0.0
        room = int((visible - 10) / _LETTER)
        is_shown = room >= 4 and rect.height >= 16
        return Block(
            number(rect.x),
            number(rect.y),
            number(max(rect.width, 0.5)),
            number(max(rect.height, 0.5)),
            fitting(text, room) if is_shown else "",
            second if is_shown and rect.height >= 32 and len(second) <= room else "",
            tip,
            kind,
            layer,
        )


def _visible(rect: Rect, above: Sequence[Rect]) -> float:
    """How wide the upper part of a block can be seen, from its left side on."""
    low = rect.y + min(rect.height, _TEXT_HEIGHT)
    hides = (
        other.x
        for other in above
        if other.y < low and rect.y < other.y + other.height and other.x + other.width > rect.x
    )
    return min(rect.width, *(x - rect.x for x in hides), rect.width)


@dataclass(frozen=True)
class Tick:
    """A line across a chart, or a number below it."""

    at: str
    text: str
    text_at: str


@dataclass(frozen=True)
class ArenaPicture:
    """Bytes of the arena upwards, steps of a run from left to right."""

    blocks: tuple[Block, ...]
    up: tuple[Tick, ...]
    steps: tuple[Tick, ...]
    width: str
    height: str
    left: str
    right: str
    below: str
    peak: str  # where the largest address is in use; empty without an arena


def arena(found: LibraryMap) -> ArenaPicture | None:
    """None where nothing is in the arena."""
    if not found.arena_bytes or not found.arena:
        return None
    count = len(found.layers)
    first = min(row.steps[0] for row in found.arena)
    last = max(row.steps[1] for row in found.arena)
    pitch = (_WIDTH - _LEFT - 8) / (last - first + 1)
    scale = _ARENA_HEIGHT / found.arena_bytes
    base = 8 + _ARENA_HEIGHT
    blocks = []
    # Results may lie over operands in the step that needs both: what comes later is drawn above.
    rows = sorted(found.arena, key=lambda row: (row.steps[0], row.offset))
    rects = [
        Rect(
            _LEFT + (row.steps[0] - first) * pitch,
            base - (row.offset + row.bytes) * scale,
            (row.steps[1] - row.steps[0] + 1) * pitch,
            row.bytes * scale,
        )
        for row in rows
    ]
    for i, (row, rect) in enumerate(zip(rows, rects, strict=True)):
        start, end = row.steps
        what = row.c if row.type else f"scratch of {row.scratch_of}"
        when = f"from {_step(start, count)} to {_step(end, count)}"
        tip = f"{what}, {row.bytes:,} B at {row.offset:,}, {when}"
        writer = start - 1 if 0 < start <= count else None
        kind = "port" if writer is None else f"k{colour(found.layers[writer])}"
        kind = kind if row.type else "scratch"
        name = what if writer is None or not row.type else found.layers[writer].name
        blocks.append(Block.of(rect, name, f"{row.bytes:,} B", tip, kind, writer, rects[i + 1 :]))
    every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**6) if n * pitch >= 26)
    shown = [step for step in range(max(first, 1), min(last, count) + 1) if step % every == 0 or step == 1]
    peak = max(found.arena, key=lambda row: (row.offset + row.bytes, -row.steps[0]))
    return ArenaPicture(
        tuple(blocks),
        tuple(_bytes_ticks(found.arena_bytes, base, scale)),
        tuple(
            Tick(number(_LEFT + (step - first + 0.5) * pitch), str(step), number(base + 16)) for step in shown
        ),
        number(_WIDTH),
        number(base + _BASE),
        number(_LEFT),
        number(_WIDTH - 8),
        number(base + 34),
        peak.c if peak.type else f"the scratch memory of {peak.scratch_of}",
    )


def _step(step: int, count: int) -> str:
    return "the start" if step == 0 else f"step {step}" if step <= count else "the end"


def _bytes_ticks(size: int, base: float, scale: float) -> Iterator[Tick]:
    """At round numbers of bytes, and at the end."""
    step = 1
    while size / step > _GRID_LINES:
        step *= 2
    for at in range(0, size, step):
        y = base - at * scale
        if at == 0 or (size - at) * scale > 14:
            yield Tick(number(y), short_size(at), number(y + 4))
    yield Tick(number(base - size * scale), short_size(size), number(base - size * scale + 4))


@dataclass(frozen=True)
class FlashPicture:
    """Areas are bytes."""

    blocks: tuple[Block, ...]
    groups: tuple[tuple[str, str, str], ...]  # kind, bytes, share
    width: str = number(_WIDTH)
    height: str = number(_TREE_HEIGHT)


def flash(found: LibraryMap) -> FlashPicture | None:
    """Weights, code and parameters, and in each of them what is how large; None where there is nothing."""
    kinds = ("weights", "code", "parameters")
    groups = {kind: [part for part in found.flash if part.kind == kind and part.bytes] for kind in kinds}
    sums = {kind: sum(part.bytes for part in parts) for kind, parts in groups.items() if parts}
    total = sum(sums.values())
    if not total:
        return None
    frames = treemap(list(sums.values()), Rect(0, 0, _WIDTH, _TREE_HEIGHT))
    blocks = []
    for kind, frame in zip(sums, frames, strict=True):
        parts = groups[kind]
        for part, rect in zip(parts, treemap([p.bytes for p in parts], frame), strict=True):
            size = f"{part.bytes:,} B"
            name = part.name.removeprefix(f"{found.name}_")
            whose = "" if part.layer is None else f" of layer {found.layers[part.layer].name}"
            tip = f"{kind} {part.name}{whose}: {size}, {percent(part.bytes / total)} of all"
            blocks.append(Block.of(rect, name, size, tip, kind, part.layer))
    facts = tuple((kind, f"{size:,} B", percent(size / total)) for kind, size in sums.items())
    return FlashPicture(tuple(blocks), facts)

"""Layered layout of directed graphs (Sugiyama), folded into columns so that long chains fit a screen."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from edgekit.reports.pages import number

NODE_WIDTH, NODE_HEIGHT = 196.0, 44.0
_GAP_X, _GAP_Y = 18.0, 26.0
_LANE = 14.0  # width of an edge that passes a rank
_MARGIN, _TRACK = 16.0, 7.0  # around columns, and between edges that lead from one column to the next
_RADIUS = 6.0
_ASPECT = 1.7  # width by height, about that of a screen
_SWEEPS = 8
_PORTS = 26.0  # between edges that end at one node, at most
_MIDDLE = 0.3  # the pull of the middle of a column
_PULL = {0: 1.0, 1: 0.2, 2: 8.0}  # by how many ends of a segment are bends: long edges become straight


@dataclass(frozen=True)
class Box:
    """Where a node is."""

    x: float
    y: float


@dataclass(frozen=True)
class Layout:
    """Boxes of nodes by their numbers, and a path of SVG for each edge, in the order of the edges."""

    boxes: tuple[Box, ...]
    paths: tuple[str, ...]
    width: float
    height: float


def layout(count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Nodes are numbered so that edges lead to higher numbers."""
    if not count:
        return Layout((), tuple("" for _ in edges), 2 * _MARGIN, 2 * _MARGIN)
    ranks = _ranks(count, edges)
    grid = _Grid.of(count, ranks, edges)
    grid.order()
    starts = _columns(grid)
    return _drawn(grid, starts, count, edges)


def _ranks(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The longest way to each node; what only leads there, as states do, is as near to it as it can be."""
    ranks = [0] * count
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in sorted(edges):
        after[source].append(target)
        before[target].append(source)
    leads: set[int] = set()  # nodes whose operands have no other use, and theirs have none
    for node in range(count):
        ranks[node] = max((ranks[source] + 1 for source in before[node]), default=0)
        if all(source in leads and len(after[source]) == 1 for source in before[node]):
            leads.add(node)
    for node in sorted(leads, reverse=True):
        ranks[node] = min((ranks[target] for target in after[node]), default=ranks[node] + 1) - 1
    return ranks


@dataclass
class _Grid:
    """Items of each rank from left to right: nodes, and bends of edges that pass it, with numbers above."""

    count: int
    rows: list[list[int]]
    rank: list[int]
    chains: dict[tuple[int, int], tuple[int, ...]]  # of each edge: its source, its bends, its target
    up: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    down: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    @staticmethod
    def of(count: int, ranks: Sequence[int], edges: Iterable[tuple[int, int]]) -> _Grid:
        """Edges from one node share bends."""
        grid = _Grid(count, [[] for _ in range(max(ranks) + 1)], list(ranks), {})
        for node, rank in enumerate(ranks):
            grid.rows[rank].append(node)
        bends: dict[tuple[int, int], int] = {}
        for source, target in sorted(set(edges)):
            chain = [source]
            for rank in range(ranks[source] + 1, ranks[target]):
                if (source, rank) not in bends:
                    bends[source, rank] = len(grid.rank)
                    grid.rank.append(rank)
                    grid.rows[rank].append(bends[source, rank])
                chain.append(bends[source, rank])
            chain.append(target)
            grid.chains[source, target] = tuple(chain)
            for above, below in pairwise(chain):
                if below not in grid.down[above]:
                    grid.down[above].append(below)
                    grid.up[below].append(above)
        return grid

    def is_bend(self, item: int) -> bool:
        return item >= self.count

    def order(self) -> None:
        """Few crossings: items go to the mean place of their neighbours, rank by rank, down and up."""
        best, least = [list(row) for row in self.rows], self.crossings()
        for sweep in range(_SWEEPS):
            if not least:
                break
            neighbours = self.up if sweep % 2 == 0 else self.down
            rows = range(len(self.rows)) if sweep % 2 == 0 else reversed(range(len(self.rows)))
            place = self._places()
            for r in rows:
                row = self.rows[r]
                means = {
                    item: _mean([place[other] for other in neighbours[item]], place[item]) for item in row
                }
                row.sort(key=lambda item: means[item])
                place |= {item: i for i, item in enumerate(row)}
            if (found := self.crossings()) < least:
                best, least = [list(row) for row in self.rows], found
        self.rows = best

    def crossings(self) -> int:
        place = self._places()
        total = 0
        for row in self.rows:
            ends = [(place[a], place[b]) for a in row for b in self.down[a]]
            total += sum(a < c and b > d for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :])
            total += sum(a > c and b < d for i, (a, b) in enumerate(ends) for c, d in ends[i + 1 :])
        return total

    def _places(self) -> dict[int, float]:
        return {item: i for row in self.rows for i, item in enumerate(row)}

    def width(self, item: int) -> float:
        return _LANE if self.is_bend(item) else NODE_WIDTH

    def row_width(self, row: Sequence[int]) -> float:
        return sum(map(self.width, row)) + _GAP_X * (len(row) - 1)

    def centres(self, rows: Sequence[Sequence[int]]) -> dict[int, float]:
        """Where the middle of each item is: as near to its neighbours as the order allows."""
        found: dict[int, float] = {}
        inside = {item for row in rows for item in row}
        for row in rows:
            left = -self.row_width(row) / 2
            for item in row:
                found[item] = left + self.width(item) / 2
                left += self.width(item) + _GAP_X
        for sweep in range(2 * _SWEEPS):
            order, sides = (rows, self.up) if sweep % 2 == 0 else (rows[::-1], self.down)
            last = sweep >= 2 * _SWEEPS - 2
            for row in order:
                self._settle(row, found, inside, (self.up, self.down) if last else (sides,))
        self._straighten(rows, found)
        return found

    def _straighten(self, rows: Sequence[Sequence[int]], found: dict[int, float]) -> None:
        """Put chains of nodes, and the bends of an edge, exactly below each other where there is room."""
        home = {item: row for row in rows for item in row}
        done: set[int] = set()
        for item in home:
            line = [item]
            while item not in done and (below := self._straight_on(line[-1])) in home:
                line.append(below)
            done.update(line)
            parts = [line]
            while parts:
                part = parts.pop()
                places = [found[each] for each in part]
                for x in (statistics.median(places), max(places), min(places)):
                    if all(self._has_room(home[each], each, x, found) for each in part):
                        found.update(dict.fromkeys(part, x))
                        break
                else:  # what does not fit as a whole may fit in halves
                    parts += [part[: len(part) // 2], part[len(part) // 2 :]] * (len(part) > 1)

    def _straight_on(self, item: int) -> int:
        """The only item of its kind below, if this is the only one of the kind above that; else -1."""
        below = [other for other in self.down[item] if self.is_bend(other) == self.is_bend(item)]
        if len(below) != 1:
            return -1
        above = [other for other in self.up[below[0]] if self.is_bend(other) == self.is_bend(item)]
        return below[0] if len(above) == 1 else -1

    def _has_room(self, row: Sequence[int], item: int, x: float, found: Mapping[int, float]) -> bool:
        at = row.index(item)
        return all(
            abs(found[other] - x) >= (self.width(other) + self.width(item)) / 2 + _GAP_X - 0.05
            and (found[other] < x) == (row.index(other) < at)
            for other in row[max(at - 1, 0) : at + 2]
            if other != item
        )

    def _settle(
        self,
        row: Sequence[int],
        found: dict[int, float],
        inside: set[int],
        sides: Sequence[Mapping[int, list[int]]],
    ) -> None:
        wanted, weights = [], []
        for item in row:
            near = [other for side in sides for other in side.get(item, ()) if other in inside]
            pulls = [_PULL[self.is_bend(item) + self.is_bend(other)] for other in near]
            # Without a pull to the middle, blocks that are wider on one side would drift away.
            middle = _MIDDLE if near else 1.0
            pulled = sum(p * found[o] for p, o in zip(pulls, near, strict=True))
            wanted.append(pulled / (sum(pulls) + middle))
            weights.append(max(pulls, default=0.1))
        gaps = [0.0]
        for a, b in pairwise(row):
            gaps.append(gaps[-1] + (self.width(a) + self.width(b)) / 2 + _GAP_X)
        free = [w - g for w, g in zip(wanted, gaps, strict=True)]
        for item, x, gap in zip(row, isotonic(free, weights), gaps, strict=True):
            found[item] = x + gap


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def isotonic(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing numbers with the least weighted squared distance (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(wanted, weights, strict=True):
        mean, total, size = value, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, more, others = blocks.pop()
            mean = (before * more + mean * total) / (more + total)
            total, size = more + total, others + size
        blocks.append((mean, total, size))
    return [mean for mean, _, size in blocks for _ in range(size)]


def _columns(grid: _Grid) -> list[int]:
    """The ranks at which columns start: as many as make a picture of the shape of a screen, and where few
    edges have to lead from one to the next."""
    rows, pitch = len(grid.rows), NODE_HEIGHT + _GAP_Y
    wide = max(map(grid.row_width, grid.rows)) + 4 * _MARGIN
    columns = max(1, min(round(math.sqrt(_ASPECT * rows * pitch / wide)), rows // 3))
    starts = [0]
    for column in range(1, columns):
        ideal, reach = column * rows / columns, rows / columns / 4
        places = range(max(starts[-1] + 2, math.ceil(ideal - reach)), min(rows - 1, int(ideal + reach)) + 1)
        cuts = {place: sum(bool(grid.down[item]) for item in grid.rows[place - 1]) for place in places}
        if cuts:
            # A cut more is worth a column that is shorter by a quarter of the reach.
            starts.append(min(cuts, key=lambda place: cuts[place] + 4 * abs(place - ideal) / reach))
    return starts


def _drawn(grid: _Grid, starts: Sequence[int], count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    pitch = NODE_HEIGHT + _GAP_Y
    ends = [*starts[1:], len(grid.rows)]
    tallest = max(end - start for start, end in zip(starts, ends, strict=True))
    tracks = [
        sum(bool(grid.down[item]) for item in grid.rows[end - 1]) if end < len(grid.rows) else 0
        for end in ends
    ]
    most = max(tracks)
    top = _MARGIN + _TRACK * most
    middle: dict[int, float] = {}
    above: dict[int, float] = {}
    gutter: list[float] = []
    x = _MARGIN
    for start, end, crossing in zip(starts, ends, tracks, strict=True):
        rows = grid.rows[start:end]
        found = grid.centres(rows)
        least = min(found[item] - grid.width(item) / 2 for row in rows for item in row)
        widest = max(found[item] + grid.width(item) / 2 for row in rows for item in row)
        for r, row in enumerate(rows):
            for item in row:
                middle[item] = x + found[item] - least
                above[item] = top + r * pitch
        x += widest - least + _MARGIN
        gutter.append(x)
        x += _TRACK * crossing + _MARGIN
    bottom = top + tallest * pitch - _GAP_Y
    pen = _Pen(grid, middle, above, starts, gutter, top, bottom)
    boxes = tuple(Box(middle[node] - NODE_WIDTH / 2, above[node]) for node in range(count))
    return Layout(
        boxes,
        tuple(pen.path(grid.chains[edge]) for edge in edges),
        x - _MARGIN,
        bottom + _MARGIN + _TRACK * most,
    )


@dataclass
class _Pen:
    """Draws edges: curves from rank to rank, and rounded corners where they lead into the next column."""

    grid: _Grid
    middle: Mapping[int, float]
    above: Mapping[int, float]
    starts: Sequence[int]
    gutter: Sequence[float]
    top: float
    bottom: float

    def path(self, chain: Sequence[int]) -> str:
        parts = [f"M{number(self.middle[chain[0]])} {number(self.above[chain[0]] + NODE_HEIGHT)}"]
        for item, following in pairwise(chain):
            x, y = self.middle[item], self.above[item] + NODE_HEIGHT
            to = self._entry(item, following)
            if self._column(item) == self._column(following):
                parts.append(_curve(x, y, to, self.above[following]))
            else:
                parts.append(self._into_next(item, x, to, self.above[following]))
            if self.grid.is_bend(following):
                parts.append(f"V{number(self.above[following] + NODE_HEIGHT)}")
        return "".join(parts)

    def _entry(self, item: int, following: int) -> float:
        """Where an edge meets the next item: edges that end at a node keep a distance."""
        if self.grid.is_bend(following):
            return self.middle[following]
        # What comes from another column comes from the left.
        column = self._column(following)
        above = sorted(
            self.grid.up[following],
            key=lambda each: self.middle[each] if self._column(each) == column else -1.0,
        )
        step = min(_PORTS, 0.7 * NODE_WIDTH / len(above))
        return self.middle[following] + step * (above.index(item) - (len(above) - 1) / 2)

    def _column(self, item: int) -> int:
        return sum(start <= self.grid.rank[item] for start in self.starts) - 1

    def _into_next(self, item: int, x: float, to: float, y: float) -> str:
        """Below the column, up between both, and down onto the item."""
        column = self._column(item)
        row = [each for each in self.grid.rows[self.grid.rank[item]] if self.grid.down[each]]
        track = len(row) - 1 - row.index(item)  # the last one turns first
        low = self.bottom + _MARGIN / 2 + _TRACK * track
        between = self.gutter[column] + _TRACK * track
        high = self.top - _MARGIN / 2 - _TRACK * (len(row) - 1 - track)
        r = _RADIUS
        return (
            f"V{number(low - r)}q0 {r:g} {r:g} {r:g}H{number(between - r)}q{r:g} 0 {r:g} -{r:g}"
            f"V{number(high + r)}q0 -{r:g} {r:g} -{r:g}H{number(to - r)}q{r:g} 0 {r:g} {r:g}V{number(y)}"
        )


def _curve(x: float, y: float, to: float, below: float) -> str:
    if abs(x - to) < 0.05:
        return f"V{number(below)}"
    half = number((y + below) / 2)
    return f"C{number(x)} {half} {number(to)} {half} {number(to)} {number(below)}"

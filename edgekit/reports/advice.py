"""What a page says first: whether the library fits, and the layers and the command to begin with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Literal

from edgekit.codegen.library_map import LibraryMap
from edgekit.comparison.difference import Difference
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.ops.softmax import Softmax
from edgekit.core.quality import decibels
from edgekit.core.target import Target
from edgekit.reports.changed_layers import Kind, Wanted
from edgekit.reports.pages import percent, short_size
from edgekit.reports.what_if import Change

_MOST = 3  # layers of a list
_BETTER_DB = 6.0  # what a command asks for more: half of the noise in amplitude


@dataclass(frozen=True)
class Verdict:
    """Whether flash and RAM of the target are enough."""

    kind: str  # fits, over, or open where the target is no board
    text: str


def verdict(need: Mapping[str, int], target: Target, unknown: Sequence[str] = ()) -> Verdict:
    """Of what the library needs of flash and RAM; what is `unknown` of it comes on top."""
    missing = {bank: need[bank] - have for bank, have in target.memory.items() if need.get(bank, 0) > have}
    if missing:
        parts = (f"{size:,} B of {_bank(bank)} too much" for bank, size in missing.items())
        return Verdict("over", f"Does not fit {target.name}: {' and '.join(parts)}.")
    if target.memory:
        left = ((bank, have - need[bank]) for bank, have in target.memory.items() if bank in need)
        parts = (f"{short_size(size)} of {_bank(bank)}" for bank, size in left)
        left_for = f" for {' and '.join(unknown)}, which are not known" if unknown else ""
        kind = "open" if unknown else "fits"
        return Verdict(kind, f"Fits {target.name}: {' and '.join(parts)} are left{left_for}.")
    boards = [targets.load(name) for name in targets.names()]
    boards = [board for board in boards if board.memory and board.core == target.name]
    fitting = [b.name for b in boards if all(need.get(bank, 0) <= have for bank, have in b.memory.items())]
    if not boards:
        return Verdict("open", f"{target.name} states no flash and no RAM that would have to suffice.")
    fits = f"fits {', '.join(fitting)}" if fitting else f"fits none of {', '.join(b.name for b in boards)}"
    return Verdict(
        "open", f"{target.name} is a processor, not a board. Of the boards with it, the library {fits}."
    )


def _bank(bank: str) -> str:
    return bank.upper() if bank == "ram" else bank


@dataclass(frozen=True)
class Entry:
    """A layer of a list, by its place in the run."""

    layer: int
    name: str
    operation: str
    share: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """The layers that take most of something, and a command that makes all of it less."""

    title: str
    entries: tuple[Entry, ...]
    command: str


@dataclass(frozen=True)
class Ranking:
    """What layers are ranked by, and what makes it less."""

    title: str
    values: Sequence[float]
    texts: Sequence[str]
    kinds: tuple[Kind, ...]  # of changes that make it less, the one that does most at last
    command: str
    saves: Literal["instructions", "weight_bytes", ""]  # by these changes; empty: noise, which is not known

    def layers(self) -> list[int]:
        order = sorted(range(len(self.values)), key=lambda i: (-self.values[i], i))
        return [i for i in order[:_MOST] if self.values[i] > 0]

    def worth(self, found: Sequence[Change]) -> list[Change]:
        """The changes that say something: those that save what the list is about. Of changes that lower noise
        none that takes as much of everything as one that lowers it more."""
        if self.saves:
            return [change for change in found if (getattr(change, self.saves) or -1) < 0]
        return [
            change for i, change in enumerate(found) if not any(map(change.is_dearer_than, found[i + 1 :]))
        ]


def rankings(
    found: LibraryMap,
    target: Target,
    costs: Sequence[float | None],
    quantity: str,
    difference: Difference | None,
    graph: Graph | None,
) -> tuple[Ranking, ...]:
    """By time, or the quantity that stands for it; by flash; by noise, where that is known."""
    model, board = quote(found.source.file or "MODEL"), quote(target.name)
    is_float = not any(type.quant for layer in found.layers for type in layer.outputs)
    quantize = f"edgekit quantize {model} --data DATA"
    prune = f"edgekit prune {model} --instructions 75% --target {board} --data DATA"
    time = [value or 0.0 for value in costs]
    flash = [float(layer.weight_bytes) for layer in found.layers]
    made = (
        Ranking(
            f"Most {quantity}",
            time,
            [f"{value:,.0f}, {percent(value / (sum(time) or 1.0))}" for value in time],
            ("half", "fast kernel"),
            quantize if is_float else prune,
            "instructions",
        ),
        Ranking(
            "Most flash",
            flash,
            [f"{size:,.0f} B, {percent(size / (sum(flash) or 1.0))} of the weights" for size in flash],
            ("half",) if is_float else ("small kernel", "int4"),
            quantize if is_float else f"{quantize} --weights int4",
            "weight_bytes",
        ),
    )
    worst = _worst_output(graph) if graph else None
    more = f"{quantize} --min-sqnr {worst + _BETTER_DB:.0f}dB" if worst is not None else quantize
    return (*made, *_noise(found, difference, more))


def _worst_output(graph: Graph) -> float | None:
    """The least signal to noise that quantization measured at an output, or in front of a final softmax."""
    known = {tensor.value: tensor.sqnr_db for tensor in graph.source.measured}
    found = []
    for name in graph.outputs:
        while (node := graph.producer(name)) and isinstance(node.op, Dequantize | Softmax):
            name = node.inputs[0]
        if math.isfinite(known.get(name, math.inf)):
            found.append(known[name])
    return min(found, default=None)


def _noise(found: LibraryMap, difference: Difference | None, command: str) -> Iterator[Ranking]:
    """The shares of the noise at the outputs; else how little signal to noise a layer has."""
    by_name = {name: i for i, layer in enumerate(found.layers) for name in layer.results}
    values, texts = [0.0] * len(found.layers), [""] * len(found.layers)
    if difference and any(layer.noise_share for layer in difference.layers):
        for layer in difference.layers:
            if layer.other in by_name and layer.noise_share:
                values[by_name[layer.other]] = layer.noise_share
                texts[by_name[layer.other]] = f"{percent(layer.noise_share)} of the noise"
        title = "Most noise"
    else:
        for tensor in found.source.measured:
            if tensor.value in by_name and 0 < tensor.sqnr_db < math.inf:
                values[by_name[tensor.value]] = 1 / tensor.sqnr_db
                texts[by_name[tensor.value]] = decibels(tensor.sqnr_db) or ""
        title = "Least signal to noise"
    if any(values):
        yield Ranking(title, values, texts, ("int16", "float"), command, "")


def wanted(found: LibraryMap, ranked: Sequence[Ranking]) -> list[Wanted]:
    """The changes that the lists show: those of the first layer of each list come first."""
    return [
        (found.layers[ranking.layers()[at]].results[-1], kind)
        for at in range(_MOST)
        for ranking in ranked
        if at < len(ranking.layers())
        for kind in ranking.kinds
    ]


def advice(
    found: LibraryMap, ranked: Sequence[Ranking], changes: Mapping[Wanted, Change]
) -> tuple[Advice, ...]:
    """The lists of a page."""
    return tuple(
        Advice(
            ranking.title,
            tuple(
                Entry(
                    i,
                    found.layers[i].name,
                    found.layers[i].operation,
                    ranking.texts[i],
                    tuple(
                        map(in_words, ranking.worth(_known(changes, found.layers[i].results[-1], ranking)))
                    ),
                )
                for i in ranking.layers()
            ),
            ranking.command,
        )
        for ranking in ranked
        if ranking.layers()
    )


def left_out(count: int) -> str:
    """What a page says of changes that were not looked at."""
    if not count:
        return ""
    more = f"Up to {count} more changes" if count > 1 else "One more change"
    return f"{more} would take longer than a quarter of the build: --all-changes looks at them, too."


def _known(changes: Mapping[Wanted, Change], result: str, ranking: Ranking) -> list[Change]:
    return [changes[result, kind] for kind in ranking.kinds if (result, kind) in changes]


def in_words(change: Change) -> str:
    """Of weights always, of arena and instructions where they change."""
    parts = [f"{change.weight_bytes:+,} B of weights"]
    if change.arena_bytes:
        parts.append(f"{change.arena_bytes:+,} B of arena")
    if change.instructions:
        parts.append(f"{change.instructions:+,} instructions")
    return f"{change.what}: {', '.join(parts)}".replace(" -", " \N{MINUS SIGN}")

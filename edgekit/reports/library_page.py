"""A library as one HTML page: its graph, arena and flash as pictures, its layers by cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from edgekit.api import Difference, Estimate, Graph, Report
from edgekit.codegen.cost.bench import LayerCost
from edgekit.codegen.cost.code_size import CodeSize
from edgekit.codegen.library_map import LibraryMap
from edgekit.codegen.memory.sharing import Ports
from edgekit.core.target import Optimize, Target
from edgekit.reports import advice, pages, what_if
from edgekit.reports import library_charts as charts
from edgekit.reports.build_comparison import BuildSummary, LayerSize, compared
from edgekit.reports.pages import Cell, percent, shapes
from edgekit.reports.quantization_table import Quantized, quantized_layers
from edgekit.reports.results import table

_SHARE = 0.25  # of the processor time of a build, for changes to its layers
_CARDS = (6, 4, 2)  # side by side, at most: on screens, on small ones, and on phones


@dataclass(frozen=True)
class LayerCosts:
    """What each layer of a run takes, in the order of the layers; None where that is not known."""

    title: str  # of the column
    quantity: str  # in a sentence: instructions, time
    how: str  # where the numbers come from, as a clause
    values: tuple[float | None, ...]
    digits: int = 0

    @property
    def total(self) -> float:
        return sum(value or 0.0 for value in self.values)

    def share(self, layer: int) -> float:
        return (self.values[layer] or 0.0) / (self.total or 1.0)


@dataclass(frozen=True)
class LibraryFigures:
    """What a page says of a build or of an estimate; they know the same things."""

    map: LibraryMap
    target: Target
    optimize: Optimize
    code: int | None
    constants: int | None
    stack: int | None
    state: int
    macs: int
    verified: str = ""
    compiler: str = ""
    warnings: tuple[str, ...] = ()
    code_estimate: CodeSize | None = None  # where it was not compiled

    @staticmethod
    def of(found: Report | Estimate, target: Target, optimize: Optimize) -> LibraryFigures:
        assert found.map is not None
        verified = warning = compiler = ""
        if isinstance(found, Report):
            compiler, warning = found.compiler, found.warning
            if found.verification:
                exact = "bit by bit" if found.verification.exact else "within rounding"
                nans = f"; {found.verification.nans}" * bool(found.verification.nans)
                verified = f"equal to the simulator {exact}{nans}"
            else:
                verified = f"no: {found.unverified}"
        return LibraryFigures(
            found.map,
            target,
            optimize,
            found.code_bytes,
            found.constant_bytes,
            found.stack_bytes,
            found.state_bytes,
            found.macs,
            verified,
            compiler,
            (warning,) if warning else (),
            found.code_estimate if isinstance(found, Report) else None,
        )

    @property
    def flash(self) -> int:
        return sum(part.bytes for part in self.map.flash)

    @property
    def ram(self) -> int:
        return self.map.arena_bytes + self.state + (self.stack or 0)

    def summary(self, costs: LayerCosts) -> BuildSummary:
        """What another page needs to compare this build with its own."""
        run = self.map.run
        bytes_of = {"flash": self.flash, "code": self.code, "constants": self.constants}
        bytes_of |= {"arena": self.map.arena_bytes, "state": self.state, "stack": self.stack}
        numbers = {"MACs": self.macs, "instructions": run.total if run else None}
        layers = tuple(
            LayerSize(layer.name, layer.origin, layer.macs, layer.weight_bytes, costs.values[i])
            for i, layer in enumerate(self.map.layers)
        )
        return BuildSummary(
            self.map.name, self.target.name, self.optimize, bytes_of, numbers, costs.title, layers
        )


@dataclass(frozen=True)
class PageOptions:
    """What a page shows beside the library itself."""

    costs: Sequence[LayerCosts] = ()  # measured ones; the first decides which layers are the most expensive
    before: BuildSummary | None = None
    graph: Graph | None = None  # its quantization, and what changes to its layers would do
    difference: Difference | None = None  # to the model that was quantized
    warnings: Sequence[str] = field(default_factory=tuple)
    ports: Ports = "caller"  # whose the memory of inputs and outputs is
    all_changes: bool = False  # also those that take more than their share of a build


def render(figures: LibraryFigures, options: PageOptions | None = None) -> str:
    """The page."""
    options = options or PageOptions()
    found = figures.map
    costs = [*options.costs, *_known_costs(figures)]
    main = costs[0]
    quantized = quantized_layers(options.graph, found, options.difference) if options.graph else ()
    facts, advised = list(_facts(figures, main)), _advice(figures, main, options)
    return pages.render(
        "library.html.j2",
        title=f"{found.name} on {figures.target.name}",
        about=_about(figures),
        facts=facts,
        columns=[pages.columns(len(facts), most) for most in _CARDS],
        verdict=_verdict(figures),
        advice=advised.lists,
        left_out=advised.left_out,
        warnings=[*figures.warnings, *options.warnings],
        graph=charts.graph(found),
        legend=charts.legend(found.layers),
        arena=charts.arena(found),
        arena_bytes=f"{found.arena_bytes:,} B",
        flash=charts.flash(found),
        removed=found.source.removed,
        costs=[(cost.title, cost.how) for cost in costs],
        rows=list(_rows(found, costs)),
        lengths=[_cost(main, i).bar or "0" for i in range(len(found.layers))],
        quantized=quantized,
        is_compared=options.difference is not None,
        is_measured=any(layer.sqnr for layer in quantized),
        weight_plot=Quantized.plot_size,
        comparison=compared(options.before, summary(figures)) if options.before else None,
        data=summary(figures).as_code(),
    )


def _verdict(figures: LibraryFigures) -> advice.Verdict:
    about = figures.code_estimate.bytes if figures.code is None and figures.code_estimate else 0
    need = {"flash": figures.flash + about, "ram": figures.ram}
    parts = (("code", figures.code is not None or about), ("stack", figures.stack is not None))
    return advice.verdict(need, figures.target, [name for name, is_known in parts if not is_known])


@dataclass(frozen=True)
class _Advice:
    """The layers to begin with, and what is left out of the changes to them."""

    lists: Sequence[advice.Advice]
    left_out: str


def _advice(figures: LibraryFigures, main: LayerCosts, options: PageOptions) -> _Advice:
    """With what changes to them would do, where the graph is at hand."""
    found, graph = figures.map, options.graph
    ranked = advice.rankings(found, figures.target, main.values, main.quantity, options.difference, graph)
    if not graph:
        return _Advice(advice.advice(found, ranked, {}), "")
    changes = what_if.changes(
        graph,
        figures.target,
        advice.wanted(found, ranked),
        optimize=figures.optimize,
        ports=options.ports,
        others=sum(part.bytes for part in found.flash if part.kind != "weights"),
        share=math.inf if options.all_changes else _SHARE,
    )
    return _Advice(advice.advice(found, ranked, changes), advice.left_out(changes.left_out))


def summary(figures: LibraryFigures) -> BuildSummary:
    """What is compared with another build."""
    return figures.summary(next(_known_costs(figures)))


@dataclass(frozen=True)
class PageWritten:
    """What `edgekit report` wrote."""

    page: str
    build: BuildSummary

    def __repr__(self) -> str:
        return f"<PageWritten {self.page}: {self.build.name} on {self.build.target}>"


def in_words(found: PageWritten) -> list[str]:
    """The page, and the figures on top of it."""
    build = found.build
    rows = [("page", f"{found.page}: {build.name} on {build.target}, {len(build.layers)} layers")]
    rows += [(name, f"{size:,} B") for name, size in build.bytes.items() if size]
    rows += [(name, f"{count:,}") for name, count in build.numbers.items() if count is not None]
    return table(rows)


def measured(costs: Sequence[LayerCost], how: str) -> LayerCosts:
    """What `bench --layers` found."""
    if any(cost.microseconds is not None for cost in costs):
        return LayerCosts("Time, us", "time", how, tuple(cost.microseconds for cost in costs), 2)
    return LayerCosts(
        "Instructions, counted", "instructions", how, tuple(cost.instructions for cost in costs)
    )


def _known_costs(figures: LibraryFigures) -> Iterator[LayerCosts]:
    """The estimate, where kernels are calibrated; work in any case."""
    run = figures.map.run
    if run:
        how = f"the sum is within {run.error:.1%}" if run.error else "in an emulator"
        title = f"Instructions, {'estimated' if run.error else 'counted'}"
        yield LayerCosts(title, "instructions", how, tuple(layer.instructions for layer in run.layers))
    macs = tuple(float(layer.macs) for layer in figures.map.layers)
    yield LayerCosts("MACs", "MACs", "multiply-accumulates of the layer", macs)


def _about(figures: LibraryFigures) -> str:
    source = figures.map.source
    goal = figures.optimize + " and least RAM" * figures.target.least_ram
    parts = [source.file, source.format and f"({source.format})", f"optimized for {goal}"]
    if figures.compiler:
        parts.append(f"compiled with {figures.compiler}")
    return ", ".join(filter(None, [" ".join(filter(None, parts[:2])), *parts[2:]]))


@dataclass(frozen=True)
class Fact:
    """A figure on top of the page; `used` is how much it takes of what the target has, in percent."""

    name: str
    value: str
    note: str = ""
    used: str = ""
    is_over: bool = False


def _facts(figures: LibraryFigures, main: LayerCosts) -> Iterator[Fact]:
    found, memory, run = figures.map, figures.target.memory, figures.map.run
    yield _flash(figures, memory.get("flash"))
    stack = "stack unknown" if figures.stack is None else f"stack {figures.stack:,}"
    state = f" + state {figures.state:,}" if figures.state else ""
    yield _of_bank("RAM", figures.ram, f"arena {found.arena_bytes:,}{state} + {stack}", memory.get("ram"))
    yield Fact("Multiply-accumulates", pages.short_count(figures.macs), f"{figures.macs:,} MACs of a run")
    if removed := found.source.removed:
        what = f"of {removed.macs_before:,} MACs with {removed.channels:,} dead channels"
        yield Fact("Removed", f"{removed.macs_share:.1%}", f"{what}, {removed.bytes:,} B of weights")
    if run:
        how = f"within {run.error:.1%}" if run.error else "counted"
        yield Fact("Instructions", pages.short_count(run.total), f"{run.total:,}, {how}")
        if pace := figures.target.pace:
            number, _, rest = pace.in_words(run.total).partition(" at ")
            yield Fact("Time", number, f"at {rest}")
    elif main.title.startswith("Time"):
        yield Fact("Time", f"{pages.short_count(main.total)} us", main.how)
    yield Fact("Layers", f"{len(found.layers):,}", f"{len({x.operator for x in found.layers})} operators")
    if figures.verified:
        is_no = figures.verified.startswith("no")
        yield Fact("Verified", "no" if is_no else "yes", figures.verified.removeprefix("no: "))


def _flash(figures: LibraryFigures, have: int | None) -> Fact:
    """To the byte where it was compiled; else the weights to the byte, and code about, if it is known."""
    if figures.code is not None:
        parts = f"code {figures.code:,} + constants {figures.constants or 0:,}"
        return _of_bank("Flash", figures.flash, parts, have)
    if not (about := figures.code_estimate):
        found = _of_bank("Flash", figures.flash, "weights alone, code is not known: not compiled", have)
        return replace(found, value=f"at least {found.value}")
    low, high = (round(about.bytes / (1 + sign * about.error), -1) for sign in (1, -1))
    code = f"code about {round(about.bytes, -1):,}, {low:,.0f} to {high:,.0f} for nine of ten networks"
    found = _of_bank(
        "Flash", figures.flash + about.bytes, f"weights {figures.flash:,} + {code}: not compiled", have
    )
    return replace(found, value=f"about {found.value}")


def _of_bank(name: str, need: int, note: str, have: int | None) -> Fact:
    if not have:
        return Fact(name, pages.short_size(need), note)
    share = need / have
    note = f"{share:.0%} of {pages.short_size(have)}: {note}"
    return Fact(name, pages.short_size(need), note, pages.number(100 * min(share, 1.0)), share > 1)


@dataclass(frozen=True)
class Row:
    """A layer in the table."""

    number: int
    name: str
    origin: str
    operator: str
    colour: int
    kernel: str
    inputs: str
    outputs: str
    weights: Cell
    costs: tuple[Cell, ...]
    note: str


def _rows(found: LibraryMap, costs: Sequence[LayerCosts]) -> Iterator[Row]:
    run = found.run
    heaviest = max((layer.weight_bytes for layer in found.layers), default=0) or 1
    for i, layer in enumerate(found.layers):
        notes = ["runs where its branch or loop is taken"] if layer.is_optional else []
        if run and not run.layers[i].is_calibrated:
            notes.append("its kernel is not calibrated")
        yield Row(
            number=i + 1,
            name=layer.name,
            origin="" if layer.origin == layer.name else layer.origin,
            operator=layer.operation,
            colour=charts.colour(layer),
            kernel=layer.kernel,
            inputs=shapes(layer.inputs),
            outputs=shapes(layer.outputs),
            weights=Cell.of(layer.weight_bytes, share=layer.weight_bytes / heaviest),
            costs=tuple(_cost(cost, i) for cost in costs),
            note=", ".join(notes),
        )


def _cost(cost: LayerCosts, layer: int) -> Cell:
    value = cost.values[layer]
    largest = max((v or 0.0 for v in cost.values), default=0.0) or 1.0
    if value is None:
        return Cell("unknown", "-1")
    note = percent(cost.share(layer)) if cost.total else ""
    return Cell(f"{value:,.{cost.digits}f}", repr(float(value)), pages.bar(value / largest), note)

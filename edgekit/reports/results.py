"""Results as text for people and as JSON for scripts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from edgekit.checkup import TargetStatus
from edgekit.codegen.verification.difference import are_nan
from edgekit.comparison.difference import other_weights, shown_name
from edgekit.comparison.noise import Distance
from edgekit.core.distribution import install_command
from edgekit.core.errors import EdgeKitError
from edgekit.core.format_costs import NEUTRAL
from edgekit.core.ir import RemovedWork
from edgekit.core.passes.stored_weights import narrow_weights
from edgekit.core.quality import decibels
from edgekit.core.types import Array, Type

if TYPE_CHECKING:
    from edgekit.api import (
        Checkup,
        Difference,
        Estimate,
        Graph,
        Inspection,
        Quantization,
        Report,
        Target,
        Verification,
    )
    from edgekit.codegen.entry_summaries import EntrySummary
    from edgekit.codegen.gpu.summary import GpuSummary
    from edgekit.codegen.row_plans import RowGain
    from edgekit.quantize.outcome import MixedPrecision, QuantizedLayer

VERSION = 1  # of the JSON; raised when a script that reads it would break
_MAX_NAME = 40  # letters of a layer's name in a table
_MAX_NAMES = 6  # layers that a line lists
_MAX_REMOVED = 4  # layers with dead channels that a line lists
_MAX_SHOWN = 12  # elements of an output that a person gets to see


def as_json(command: str, result: object) -> str:
    """A result as one JSON object: the fields of the dataclass, and what is derived from them."""
    content = plain(result)
    content = content if isinstance(content, dict) else {"result": content}
    return json.dumps({"version": VERSION, "command": command, **content}, indent=2, allow_nan=False)


def errors_as_json(command: str, error: EdgeKitError) -> str:
    """A failure as one JSON object."""
    errors = [
        {"code": e.code, "message": e.message, "where": e.where, "hint": e.hint} for e in (error, *error.also)
    ]
    return json.dumps({"version": VERSION, "command": command, "errors": errors}, indent=2)


def plain(value: object) -> Any:
    """A value in the types of JSON. What is no finite number is null."""
    match value:
        case Type():
            quant = value.quant
            stands_for = {"scale": float(quant.scale[0]), "zero": int(quant.zero[0])} if quant else {}
            return {"dtype": value.dtype.value, "shape": list(value.shape), **stands_for}
        case Enum():
            return value.value
        case bool() | int() | str() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(k): plain(v) for k, v in value.items()}
    if is_dataclass(value):
        names = [f.name for f in fields(value) if f.metadata.get("json", True)]
        names += [n for n, member in vars(type(value)).items() if isinstance(member, property)]
        return {name: plain(getattr(value, name)) for name in names}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Sequence):
        return [plain(v) for v in value]
    raise AssertionError(f"{type(value).__name__} has no form in JSON")


def table(rows: Sequence[Sequence[object]], head: Sequence[str] = (), right: str = "") -> list[str]:
    """Columns side by side; `right` marks those of numbers with >, others with <."""
    cells = [[str(cell) for cell in row] for row in ([head] if head else []) + list(rows)]
    if not cells:
        return []
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    sides = right.ljust(len(widths), "<")
    lines = ["  ".join(f"{c:{s}{w}}" for c, s, w in zip(row, sides, widths, strict=True)) for row in cells]
    return [line.rstrip() for line in lines]


def size(count: int | None) -> str:
    """Bytes, exact."""
    return "unknown" if count is None else f"{count:,} B"


@dataclass(frozen=True)
class Conversion:
    """What convert wrote."""

    file: str
    name: str
    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]
    states: Mapping[str, Type]
    operators: int
    weight_bytes: int
    narrow_weights: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0  # of its tokenizer, if it has one
    removed: RemovedWork | None = None

    @staticmethod
    def of(graph: Graph, file: str) -> Conversion:
        return Conversion(
            file,
            graph.name,
            {name: graph.type(name) for name in graph.inputs},
            {name: graph.type(name) for name in graph.outputs},
            {state.input: state.initial.type for state in graph.states},
            len(graph.nodes),
            sum(data.nbytes for _, data in graph.constants()),
            narrow_weights(graph),
            len(graph.tokenizer.tokens) if graph.tokenizer else 0,
            graph.source.removed,
        )


def conversion(found: Conversion) -> list[str]:
    made = f"{found.operators} operators, {size(found.weight_bytes)} of weights"
    rows = [("file", f"{found.file}: {found.name}, {made}")]
    rows += compressed(found.narrow_weights)
    rows += removed(found.removed)
    rows += _ports(found)
    rows += [("text", f"tokenizer of {found.tokens:,} tokens")] if found.tokens else []
    return table(rows)


def removed(found: RemovedWork | None, *, verbose: bool = False) -> list[tuple[str, str]]:
    """Dead channels that went, and the layers that had most of their work."""
    if found is None:
        return []
    layers = [
        f"{shortened(x.origin or x.name)} {x.channels} of {x.channels_before}"
        for x in sorted(found.layers, key=lambda layer: -layer.macs)
        if x.channels
    ]
    what = f"{found.channels:,} dead channels, {found.macs_share:.1%} of MACs, {size(found.bytes)} of weights"
    return [("removed", what), ("", _some(layers, None if verbose else _MAX_REMOVED))]


def compressed(weights: Mapping[str, int]) -> list[tuple[str, str]]:
    """Weights in a format that floats are not computed in."""
    parts = [f"{count:,} B in {name}" for name, count in weights.items()]
    return [("weights", f"{' and '.join(parts)}, expanded to f32 in each run")] if parts else []


def by_rows(gain: RowGain | None) -> list[tuple[str, str]]:
    """What it costs that layers run row by row, and what an arena without would take."""
    if not gain:
        return []
    if not gain.layers:
        return [("by rows", "no layers: on whole tensors the arena takes no more than that")]
    loops = f"{gain.layers} layers in {gain.loops} {'loop' if gain.loops == 1 else 'loops'} over rows"
    cost = f"about {gain.more:.1%} more instructions" if gain.more >= 0.0005 else "no more instructions"
    return [("by rows", f"{loops}, {cost}; on whole tensors the arena takes {size(gain.whole_arena_bytes)}")]


def repeated(weights: Mapping[str, int]) -> list[tuple[str, str]]:
    """Weights that kernels read in different layouts, so that they are stored more than once."""
    what = "more, in another layout"
    return [("repeated", f"{shortened(name)}  {size(more)} {what}") for name, more in weights.items()]


@dataclass(frozen=True)
class Quantized:
    """What quantize wrote."""

    file: str
    quantization: Quantization


def quantization(file: str, found: Quantization) -> list[str]:
    share = found.bytes_after / max(found.bytes_before, 1)
    weights = f"{size(found.bytes_after)} of weights and biases, {share:.0%} of {size(found.bytes_before)}"
    rows: list[tuple[object, ...]] = [("file", f"{file}: {found.name}, {weights}")]
    if found.states_after != found.states_before:
        share = found.states_after / max(found.states_before, 1)
        before = size(found.states_before)
        rows.append(("states", f"{size(found.states_after)} for each stream, {share:.0%} of {before}"))
    rows += removed(found.removed)
    if found.calibrate:
        use = "steps of one stream" if found.states_before else f"{found.held_out} of them held out"
        if found.measured < found.held_out:
            use += f", {found.measured} measured"
        rows.append(("data", f"{_samples(found.samples)}, {use}, --calibrate {found.calibrate}"))
    rows += [
        ("input", f"{shortened(name)}  {seen.low:.4g} to {seen.high:.4g}, mean {seen.mean:.4g}")
        for name, seen in found.inputs.items()
    ]
    rows += [("quality", f"{shortened(name)}  {decibels(db)}") for name, db in found.quality]
    if found.machine and found.speedup > 0:
        rows.append(("time", _speed(found)))
    if found.mixed:
        rows += _mixed(found, found.mixed)
    verdict = found.verdict
    if verdict.accuracy is not None and verdict.accuracy_before is not None:
        shares = f"{verdict.accuracy:.2%}, float {verdict.accuracy_before:.2%}"
        rows.append(
            ("accuracy", f"{shares}, on {_samples(verdict.judged)}" + " held out" * bool(found.held_out))
        )
    if verdict.text:
        rows.append(("gate", f"{'passed' if verdict.passed else 'missed'}: {verdict.text}"))
    says = list(_saying(found.layers))
    asked = any(x.sensitivity_db is not None for x in says)
    layers = [
        (
            shortened(x.origin or x.name),
            x.op,
            x.runs_in,
            "" if x.scale is None else f"{x.scale:.4g}",
            "" if x.zero is None else x.zero,
            x.range,
            decibels(x.sqnr_db),
            *((f"{x.sensitivity_db:+.1f} dB" if x.sensitivity_db is not None else "",) if asked else ()),
        )
        for x in says
    ]
    head = ("layer", "operator", "runs in", "scale", "zero", "range by", "SQNR", *(("in floats",) * asked))
    lines = [*table(rows), "", *table(layers, head, "<<<>><>" + ">" * asked)]
    if moves := len(found.layers) - len(says):
        what = "layer only moves" if moves == 1 else "layers only move"
        lines += ["", f"{moves} further {what} what is in a row above"]
    if found.states_before:
        lines += ["", "SQNR of layers is that of single steps, with the states that floats have"]
    elif found.layers_measured != found.measured:
        lines += ["", f"SQNR of layers before the outputs is on {_samples(found.layers_measured)}"]
    return lines


def _saying(layers: Sequence[QuantizedLayer]) -> Iterator[QuantizedLayer]:
    """Those whose format, scale and noise no earlier layer has: what only moves values repeats them. Exact
    floats have neither: they say nothing of where values come from."""
    seen = set()
    for layer in layers:
        facts = (layer.runs_in, layer.scale, layer.zero, layer.sqnr_db)
        is_exact_float = layer.scale is None and math.isinf(layer.sqnr_db)
        if facts not in seen or is_exact_float or layer.sensitivity_db is not None:
            yield layer
        seen.add(facts)


def _speed(found: Quantization) -> str:
    """What layers take beside floats, by the costs that formats were chosen by."""
    where = "in the mean of machines (see --target)" if found.machine == NEUTRAL else f"on {found.machine}"
    return f"an estimated {found.speedup:.2f} times as fast as floats, {where}"


def _mixed(found: Quantization, mixed: MixedPrecision) -> list[tuple[str, str]]:
    """What layers in better formats bring and cost."""
    names = {layer.name: shortened(layer.origin or layer.name) for layer in found.layers}
    shares = [f"{share:.1%} of the MACs in {format}" for format, share in mixed.macs.items()]
    costs = ", ".join([f"{mixed.weight_bytes:+,} B of weights", *shares])
    count = f"{len(mixed.layers)} of {len(found.layers)} layers in better formats"
    by_format: dict[str, list[str]] = {}
    for name, format in mixed.layers.items():
        by_format.setdefault(format, []).append(names[name])
    before = f"{decibels(mixed.sqnr_before_db)} in {mixed.alone} alone"
    return [
        ("mixed", f"{count}: {before}; {costs} (--strict-int8: none)"),
        *((f"  {format}", _some(listed)) for format, listed in by_format.items()),
    ]


def _some(names: Sequence[str], most: int | None = _MAX_NAMES) -> str:
    """Names, the first few of many."""
    shown = names[:most]
    more = f" and {len(names) - len(shown)} others" if len(names) > len(shown) else ""
    return ", ".join(shown) + more


def shortened(name: str) -> str:
    """A name that fits into a table."""
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 3]}..."


def _ports(found: Conversion | Inspection) -> Iterator[tuple[str, str]]:
    """Inputs, outputs and states, with what their integers stand for."""
    for kind, types in (("input", found.inputs), ("output", found.outputs), ("state", found.states)):
        for name, type in types.items():
            quant = type.quant
            stands_for = f", scale {quant.scale[0]:.6g}, zero {quant.zero[0]}" if quant else ""
            yield kind, f"{name}  {type}{stands_for}"


def inspection(found: Inspection, *, verbose: bool) -> list[str]:
    rows: list[tuple[object, ...]] = [("model", found.name)]
    if found.source.file:
        rows.append(("source", f"{found.source.file} ({found.source.format})"))
    if found.source.producer:
        rows.append(("made by", found.source.producer))
    rows += _ports(found)
    rows += [
        ("parameters", f"{found.parameters:,} in {size(found.weight_bytes)}"),
        ("MACs", f"{found.macs:,}"),
    ]
    rows += removed(found.removed, verbose=verbose)
    if found.arena:
        arena = found.arena
        proof = _arena(arena.bytes, arena.lower_bound, arena.compared)
        rows.append(("arena", f"{proof}, target {arena.target}"))
        rows += _order(arena.order_runs)
    else:
        rows.append(("arena", f"unknown: {found.missing}"))
    used = ", ".join(f"{name} {count}" for name, count in found.operators.items())
    rows.append(("operators", f"{len(found.layers)}: {used}" if used else "none"))
    lines = table(rows)
    if verbose:
        layers = [
            (x.origin or x.name, x.op, x.output, f"{x.parameters:,}", f"{x.macs:,}") for x in found.layers
        ]
        lines += ["", *table(layers, ("layer", "operator", "output", "parameters", "MACs"), "<<<>>")]
    return lines


def _arena(actual: int, bound: int, compared: int) -> str:
    if actual == bound:
        return f"{size(actual)}, no plan needs less"
    percent = -(-100 * (actual - bound) // max(bound, 1))
    search = f"search stopped after {compared:,} comparisons, at most {percent} % above the least"
    return f"{size(actual)}, no plan needs less than {bound:,} B ({search})"


def _order(runs: int) -> list[tuple[str, str]]:
    """Whether layers might need less memory in another order."""
    return [("order", f"search stopped after {runs:,} trials, another one may need less memory")] * (runs > 0)


def build(found: Report, *, verbose: bool) -> list[str]:
    made = f"{len(found.files)} files, target {found.target}, --optimize {found.optimize}"
    rows: list[tuple[object, ...]] = [("library", f"{found.folder}: {made}")]
    if found.code_bytes is None:
        why = (
            f"{found.compiler} makes object files of an unknown format" if found.compiler else "not compiled"
        )
        rows.append(("flash", f"weights {size(found.weight_bytes)}, code unknown: {why}"))
    else:
        linked = 0 if found.blob_bytes else found.weight_bytes
        weights = f" + weights {linked:,}" * (not found.blob_bytes)
        other = (found.constant_bytes or 0) - linked
        parts = f"code {found.code_bytes:,}{weights} + parameters {other:,}"
        rows.append(("flash", f"{size(found.flash_bytes)} = {parts}"))
    if found.blob_bytes:
        rows.append(("weights", f"{size(found.blob_bytes)} in {found.name}_weights.bin, given to each run"))
    rows += compressed(found.narrow_weights)
    rows += repeated(found.repeated_weights)
    whole = f"{size(found.working_bytes)} with inputs and outputs"
    proof = _arena(found.arena_bytes, found.arena_lower_bound, found.arena_compared)
    rows.append(("arena", f"{proof}; {whole}"))
    rows += by_rows(found.row_gain)
    rows += _order(found.order_runs)
    if found.peak:
        tensors = " + ".join(f"{shortened(name)} {bytes:,}" for name, bytes in found.peak.tensors)
        rows.append(("peak", f"{shortened(found.peak.layer)}: {tensors}"))
    if found.state_bytes:
        rows.append(("state", f"{size(found.state_bytes)} for each stream"))
    rows.append(("stack", _stack(found)))
    rows += [
        ("", f"compiled by {x.compiler}: flash {size(x.code + x.constants)}, stack at most {size(x.stack)}")
        for x in found.by_other_compilers
    ]
    if found.stack_by_gcc:
        rows.append(("", f"up to {size(found.stack_by_gcc)} by gcc, by trials; none is installed here"))
    rows.append(("MACs", multiplications(found)))
    rows += _weight_loads(found)
    rows += removed(found.removed, verbose=verbose)
    rows += further_entries(found.entries)
    rows += on_gpu(found.gpu)
    checked = _verified(found.verification) if found.verification else f"no: {found.unverified}"
    rows.append(("verified", checked))
    rows += [row for package in found.packages for row in package.notes]
    lines = table(rows)
    if verbose:
        layers = [(x.name, x.origin, x.kernel, f"{x.macs:,}", size(x.weight_bytes)) for x in found.layers]
        lines += ["", *table(layers, ("call", "layer", "kernel", "MACs", "weights"), "<<<>>")]
    return lines


def _weight_loads(found: Report) -> list[tuple[str, str]]:
    """How many bytes of weights a run loads, and on whole tensors, where layers run row by row."""
    loads, gain = found.weight_load_bytes, found.row_gain
    if loads is None:
        return []
    whole = gain.whole_weight_load_bytes if gain and gain.layers else None
    beside = f", on whole tensors {size(whole)}" if whole is not None else ""
    return [("loads", f"{size(loads)} of weights in a run{beside}")]


def further_entries(found: Sequence[EntrySummary]) -> list[tuple[str, str]]:
    """What each entry beside the main one takes, and which weights it does not share."""
    rows = []
    for entry in found:
        arena = f"arena {size(entry.arena_bytes)}, {entry.macs:,} MACs"
        rows.append(("entry", f"{entry.name}: {size(entry.added_weights)} of weights of its own, {arena}"))
        rows += repeated(entry.repeated_weights)
    return rows


def on_gpu(found: GpuSummary | None) -> list[tuple[str, str]]:
    """What a run does on the device, and each segment that the CPU computes."""
    if found is None:
        return []
    memory = f"weights {size(found.weight_bytes)}, arena {size(found.arena_bytes)}"
    memory += f", states {size(found.state_bytes)} for each stream" if found.state_bytes else ""
    rows = [("gpu", f"{found.dispatches:,} kernels a run; on the device: {memory}")]
    if time := found.time:
        words = f"about {time.microseconds:,.0f} us a run on {time.device}, by the model; of kernels alone"
        rows.append(("gpu time", f"{words} {time.kernel_microseconds:,.0f}"))
    for segment in found.segments:
        first, *more = segment.layers
        named = f"{shortened(first.origin)} ({first.operator})" + f" and {len(more)} more" * bool(more)
        copies = f"{size(segment.read_bytes)} read, {size(segment.written_bytes)} written"
        rows.append(("cpu", f"{named}; {copies}"))
    return rows


def multiplications(found: Report | Estimate) -> str:
    """Of a run; of branches the more expensive sides, and of loops all iterations that there may be."""
    counts = (found.branches, "branch", "branches"), (found.loops, "loop", "loops")
    parts = " and ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)
    return f"{found.macs:,} at most, through {parts}" if parts else f"{found.macs:,}"


def _stack(found: Report) -> str:
    if found.stack_bytes is not None:
        return f"at most {size(found.stack_bytes)}"
    return f"unknown: {found.compiler} does not tell" if found.compiler else "unknown: not compiled"


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count} samples"


def verification(found: Verification) -> list[str]:
    lines = [f"verified  {_verified(found)}"]
    if len(found.outputs) > 1:
        rows = [(x.name, x.type, _error(x.max_error), "yes" if x.exact else "no") for x in found.outputs]
        lines += ["", *table(rows, ("output", "type", "largest error", "exact"), "<<>")]
    return lines


def _verified(found: Verification) -> str:
    seen = f"{found.compared:.0%} of the values vary with the inputs"
    how = f"{found.nans}; {seen}" if found.nans else seen
    how = f"{how}; {_samples(found.samples)}, {found.compiler}, self-test passed"
    how += f"; none takes {' or '.join(found.untaken)}" if found.untaken else ""
    if found.exact:
        return f"equal to the simulator bit by bit; {how}"
    off = f"at most {found.max_error:.1e} off the simulator, relative {found.relative_error:.1e}"
    if found.explained is not None:
        off += f", where rounding explains {found.explained:.1e}"
    return f"{off}; {how}"


def difference(found: Difference) -> list[str]:
    layers = [
        (
            shortened(shown_name(x)),
            x.op,
            ", ".join(filter(None, (x.format, other_weights(x)))),
            decibels(x.alone_db),
            decibels(x.sqnr_db),
            "" if x.noise_share is None else f"{x.noise_share:.1%}",
            "" if x.clipped is None else f"{x.clipped:.2%}",
        )
        for x in found.layers
    ]
    head = ("layer", "operator", "format", "alone", "accumulated", "noise", "clipped")
    outputs = [_distance(d) for d in found.outputs]
    return [
        *(table(layers, head, "<<<>>>>") if layers else ["no layer of one is in the other"]),
        "",
        *table(outputs, ("output", "type", "largest error", "SQNR"), "<<>>"),
        "",
        _samples(found.samples) + ", all outputs equal" * found.exact,
    ]


def _distance(d: Distance) -> tuple[object, ...]:
    name = d.name if d.name == d.other else f"{d.name} / {d.other}"
    return name, d.type, _error(d.max_error), "exact" if d.exact else f"{d.sqnr_db:.1f} dB"


def _error(value: float) -> str:
    return f"{value:.3g}"


def nans(arrays: Mapping[str, Array]) -> str:
    """Which outputs of a run have values that are no numbers, and how many."""
    counts = ((name, int(are_nan(array).sum()), array.size) for name, array in arrays.items())
    return ", ".join(f"{n:,} of {of:,} values of output {name} are NaN" for name, n, of in counts if n)


def outputs(arrays: Mapping[str, Array]) -> list[str]:
    """Outputs of a run, shortened where they are long."""
    rows = []
    for name, array in arrays.items():
        shape = ",".join(map(str, array.shape))
        flat = array.reshape(-1)
        form = "{}" if array.dtype.kind in "biu" else "{:.6g}"
        shown = " ".join(form.format(x) for x in flat[:_MAX_SHOWN].tolist())
        more = f" ... ({flat.size:,} numbers, -o file.npz keeps them)" if flat.size > _MAX_SHOWN else ""
        rows.append((name, f"[{shape}]", f"{shown}{more}"))
    return table(rows)


def targets(found: Sequence[Target]) -> list[str]:
    rows = [(t.name, t.description, " ".join(t.isa), t.runner) for t in found]
    return table(rows, ("target", "what it is", "kernels", "runs by"))


def checkup(found: Checkup) -> list[str]:
    lines = [f"edgekit {found.edgekit}, Python {found.python}, {found.machine}", ""]
    rows = []
    for package in found.packages:
        missing = f"missing: {install_command(package.extra)}" if package.extra else "missing"
        rows.append((package.name, package.version or missing, package.extra or "core"))
    lines += [*table(rows, ("package", "version", "part of")), ""]
    able = [(t.name, ", ".join(_abilities(t)), t.compiler_version or t.hint) for t in found.targets]
    return lines + table(able, ("target", "here it", "with"))


def _abilities(status: TargetStatus) -> Iterator[str]:
    yield "writes C"
    if status.compiler:
        yield "compiles and measures"
    if status.runs_here:
        yield f"runs and verifies by {status.emulator.split()[0]}" if status.emulator else "runs and verifies"

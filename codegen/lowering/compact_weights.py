"""Weights that take less flash and more time, where the target's flash or the user asks for that.

Some kernels read weights in a form that takes more room: int8 in 16 bits, points of Winograd's algorithm. The
flash of a target bounds that, a multiple of what weights take at least, and the kernels' working memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.kernels.selection import cost, small, weight_bytes
from edgekit.codegen.kernels.sources import candidates
from edgekit.codegen.lowering.lower import WeightLimits, lower
from edgekit.codegen.lowering.row_search import INSTRUCTION_BUDGET
from edgekit.codegen.memory.planner import scratch_of
from edgekit.codegen.memory.sharing import Ports, on_whole_tensors
from edgekit.codegen.program import Program, compile_graph
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.target import Optimize, Target

# Without a limit from target or user: on microcontrollers so many times the weights, and no byte that saves
# less than an instruction; elsewhere so many times, or so many bytes, whatever is more.
_ON_MICROCONTROLLERS, _LEAST_GAIN = 1.25, 1.0
_MORE_ARENA = 0.025  # of the arena, by the working memory of one of these kernels
_GROWTH = 2.0
_UNBOUNDED = 1 << 20
_UNKNOWN = 1e12  # instructions of a kernel that says none: it is the last to be taken


@dataclass(frozen=True)
class _Form:
    """Of the weights of a layer, by the fastest kernels within a limit."""

    limit: int
    bytes: int
    instructions: float
    scratch: int  # the most working memory of a call

    def price(self, other: _Form) -> float:
        """Of a byte that a smaller form saves, in instructions."""
        return (other.instructions - self.instructions) / (self.bytes - other.bytes)


_Forms = Mapping[str, Sequence[_Form]]  # by a layer's first result, the largest and fastest first


def fit(
    graph: Graph,
    target: Target,
    ports: Ports = "caller",
    *,
    optimize: Optimize = "speed",
    others: int = 0,
    before: Program | None = None,
    by_pointer: bool = False,
    is_trial: bool = False,
) -> Program:
    """The program for a target: with the fastest kernels as long as its flash has room for their weights
    and `others` bytes of code and parameters, and as long as weights take no more than the target's multiple
    of what they take at least; with the smallest weights if it is optimized for size. In between, weights
    become smaller where that costs the fewest instructions for each byte. `before` is what fitted with less
    beside it. Constants are linked, or given to each run `by_pointer`. Of a trial it is not asked what loops
    over rows gain."""
    known = [before] if before else []
    if ports == "rows":
        target = replace(target, least_ram=True)

    def compiled(limits: WeightLimits, target: Target = target) -> Program:
        """Once for the same limits and target."""
        for program in known:
            if (program.target, program.weight_limits) == (target, limits):
                return program
        own = ports if target.least_ram else on_whole_tensors(ports)
        made = compile_graph(graph, target, own, limits, by_pointer=by_pointer, is_trial=is_trial)
        known.append(made)
        return known[-1]

    if optimize == "size":
        return compiled(dict.fromkeys(_layers(graph, target), 0))
    whole_tensors = replace(target, least_ram=False, ram_limit=0)
    program = compiled({}, whole_tensors)
    need = program.weight_bytes + others - target.memory.get("flash", 1 << 62)
    is_frugal = bool(target.board) and not target.weight_growth
    growth, least_gain = (_ON_MICROCONTROLLERS, _LEAST_GAIN) if is_frugal else (target.weight_growth, 0)
    is_bounded = growth or ("flash" not in target.memory and program.weight_bytes > _UNBOUNDED)
    if need <= 0 and not is_bounded:
        return compiled({})
    layers = _layers(graph, target)
    if is_bounded:
        least = program.weight_bytes - sum(forms[0].bytes - forms[-1].bytes for forms in layers.values())
        most = int(growth * least) if growth else max(int(_GROWTH * least), _UNBOUNDED)
        need = max(need, program.weight_bytes - most)
    program = compiled(_limits(layers, need, least_gain), whole_tensors)
    while is_frugal and (less := _with_less_scratch(program, layers)):
        other = compiled(less, whole_tensors)
        if other.arena_bytes >= program.arena_bytes:
            break
        program = other
    if not (target.board and target.least_ram):
        return compiled(program.weight_limits)

    def sparing(names: Collection[str]) -> WeightLimits:
        return _limits(layers, need, least_gain, names)

    return _in_least_ram(compiled, sparing, layers, program.weight_limits)


def _in_least_ram(
    compiled: Callable[[WeightLimits], Program],
    sparing: Callable[[Collection[str]], WeightLimits],
    layers: _Forms,
    usual: WeightLimits,
) -> Program:
    """Kernels take more working memory than others as usual, or in no layer that runs as a loop over rows, or
    in none at all: the smallest arena of these for few more instructions than usual; with a limit of RAM,
    the fewest instructions within it."""

    def instructions(limits: WeightLimits, more: float = 0.0) -> float:
        """Of layers with several forms, with so many more for loops over rows, as a share."""
        chosen = (_chosen(forms, limits.get(result)) for result, forms in layers.items())
        return (1 + more) * sum(form.instructions for form in chosen)

    def taken(program: Program) -> float:
        return instructions(program.weight_limits, program.row_gain.more if program.row_gain else 0.0)

    tight = compiled(sparing(layers))
    looped = {result for line in tight.lines if line.rows for result in line.rows.loop.results}
    found = [tight]
    for limits in (sparing(looped), usual):
        with suppress(EdgeKitError):  # it may not work in so few bytes
            found.append(compiled(limits))
    if tight.target.ram_limit:
        return min(found, key=taken)
    most = (1 + INSTRUCTION_BUDGET) * instructions(usual)
    few = [program for program in found if taken(program) <= most] or [tight]
    return min(few, key=lambda program: (program.arena_bytes, taken(program)))


def _chosen(forms: Sequence[_Form], limit: int | None) -> _Form:
    return next(form for form in forms if limit is None or form.limit == limit)


def _limits(layers: _Forms, need: int, least_gain: float, sparing: Collection[str] = ()) -> WeightLimits:
    """Smaller forms, by the cheapest bytes first, until they save so many and each other byte gains enough;
    then larger ones that have room, by the most instructions first. In `sparing` layers, only forms whose
    kernels take the least scratch memory."""
    fastest = {result: forms[0] for result, forms in layers.items()}
    layers = {
        result: _with_least_scratch(forms) if result in sparing else forms for result, forms in layers.items()
    }
    now = {result: forms[0] for result, forms in layers.items()}
    need -= sum(fastest[result].bytes - form.bytes for result, form in now.items())

    def take(result: str, form: _Form) -> int:
        saved = now[result].bytes - form.bytes
        now[result] = form
        return saved

    def others() -> Iterator[tuple[str, _Form, _Form]]:
        return ((result, now[result], form) for result, forms in layers.items() for form in forms)

    while smaller := [
        (one.price(form), result, form) for result, one, form in others() if form.bytes < one.bytes
    ]:
        price, result, form = min(smaller, key=lambda each: each[0])
        if need <= 0 and price >= least_gain:
            break
        need -= take(result, form)
    while larger := [
        (one.instructions - form.instructions, result, form)
        for result, one, form in others()
        if 0 < form.bytes - one.bytes <= -need and form.price(one) >= least_gain
    ]:
        gain, result, form = max(larger, key=lambda each: each[0])
        if gain <= 0:
            break
        need -= take(result, form)
    return {result: form.limit for result, form in now.items() if form is not fastest[result]}


def _with_least_scratch(forms: Sequence[_Form]) -> Sequence[_Form]:
    least = min(form.scratch for form in forms)
    return [form for form in forms if form.scratch == least]


def _with_less_scratch(program: Program, layers: _Forms) -> WeightLimits:
    """The limits with one for a layer whose working memory makes the arena larger than it should; empty where
    there is none."""
    present = {name for name, _ in program.peak.tensors} if program.peak else set()
    for result in (result for result in layers if scratch_of(result) in present):
        one, *smaller = (f for f in layers[result] if f.limit <= program.weight_limits.get(result, inf))
        for form in smaller:
            saved = one.scratch - form.scratch
            if saved > _MORE_ARENA * (program.arena_bytes - saved):
                return {**program.weight_limits, result: form.limit}
    return {}


def _layers(graph: Graph, target: Target) -> _Forms:
    """Those whose weights have more than one form."""
    found = {
        layer.node.outputs[0]: _forms([step for step in layer.steps if isinstance(step, Call)], target)
        for layer in lower(graph, target)
    }
    return {result: forms for result, forms in found.items() if len(forms) > 1}


def _forms(calls: Sequence[Call], target: Target) -> Sequence[_Form]:
    """By each limit that makes a difference, the largest first: fewer bytes, and no fewer instructions."""
    known = [_of_kernels(call, target) for call in calls]
    limits = {form.bytes for forms in known for form in forms}
    found: list[_Form] = []
    for limit in sorted(limits, reverse=True):
        best = [_fastest(forms, limit) for forms in known]
        size = sum(form.bytes for form in best)
        if not found or size < found[-1].bytes:
            time, scratch = sum(form.instructions for form in best), max(form.scratch for form in best)
            found.append(_Form(limit, size, time, scratch))
    return found


def _of_kernels(call: Call, target: Target) -> Sequence[_Form]:
    """The weights of a call, as each kernel that fits it reads them."""
    plain = replace(call, file="")
    smallest = replace(plain, facts={**plain.facts, WEIGHT_LIMIT: 0})
    found, operands = candidates(plain, target)
    found = [*dict.fromkeys((*found, *candidates(smallest, target)[0]))]
    sizes = [weight_bytes(variant, plain, operands) for variant in found]
    if len({*sizes}) < 2:
        return [_Form(sizes[0], sizes[0], 0.0, 0)]
    costs = [cost(variant, plain, target, operands) for variant in found]
    return [
        _Form(size, size, *((known.instructions, known.scratch) if known else (_UNKNOWN, 0)))
        for size, known in zip(sizes, costs, strict=True)
    ]


def _fastest(forms: Sequence[_Form], limit: int) -> _Form:
    """Within a limit, or else of the small ones."""
    most = max(limit, small([form.bytes for form in forms]))
    return min((form for form in forms if form.bytes <= most), key=lambda form: form.instructions)

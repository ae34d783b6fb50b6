"""Control flow: If takes or selects a branch, Scan is unrolled; so is Loop, or it stays one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto

from edgekit.converters.onnx import file
from edgekit.converters.onnx.recurrent_loops import recurrent_loop, unchanged
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.onnx.shape import unsqueeze
from edgekit.converters.semantics.while_loop import MAX_UNROLLED, undone, while_loop
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import OneSidedBranch
from edgekit.core.ops.logic import And, Less

if TYPE_CHECKING:
    from edgekit.converters.onnx.reader import OnnxImporter

_ENDLESS = 1 << 31  # iterations
# Codes of errors that a branch makes whose shapes contradict each other.
_INVALID = ("E0401", "E0403")


def If(
    condition: Tensor, *, then_branch: GraphProto, else_branch: GraphProto, importer: OnnxImporter
) -> list[Tensor]:
    if condition.data is not None:
        branches = {"then_branch": then_branch, "else_branch": else_branch}
        name = "then_branch" if scalar(condition, "the condition of If") else "else_branch"
        return _taken(branches, name, importer)
    # Nothing has side effects: compute both branches, and select.
    made = {
        "then": _attempt(then_branch, "then", importer),
        "else": _attempt(else_branch, "else", importer),
    }
    results = [branch for branch in made.values() if not isinstance(branch, EdgeKitError)]
    scalars = [name for name in condition.ancestors if condition.builder.type(name).size == 1]
    if not results:
        raise _no_branch(made, scalars)
    if len(results) == 1:
        origin = importer.builder.origin
        importer.bindings.one_sided.append(OneSidedBranch(origin, scalars[0] if scalars else ""))
        return results[0]
    pairs = list(zip(*results, strict=True))
    if not all(isinstance(a, Tensor) and isinstance(b, Tensor) and a.type == b.type for a, b in pairs):
        condition.constant("the shape of a result of If")
    chosen = condition.reshape()
    return [where(chosen, a, b) for a, b in pairs]


def _taken(branches: Mapping[str, GraphProto], name: str, importer: OnnxImporter) -> list[Tensor]:
    """What a branch computes. Where --const chooses one without valid shapes and the other one has them, the
    error says so."""
    try:
        return importer.subgraph(branches[name], ())
    except EdgeKitError as error:
        if error.code not in _INVALID or importer.nested or not importer.constants:
            raise
        (other,) = branches.keys() - {name}
        try:
            importer.subgraph(branches[other], ())
        except EdgeKitError:
            raise error from None
        builder = importer.builder
        shapes = " and ".join(f"{x} {builder.type(x)}" for x in importer.inputs)
        message = f"--const chooses {name}, which does not fit {shapes}; {other} does"
        constants = " ".join(f"--const {quote(f'{x}=N')}" for x in importer.constants)
        hint = f"choose {other} by {constants}"
        if sizes := importer.bindings.options():
            hint += f", or bind what fits {name}: {' '.join(sizes)}"
        raise EdgeKitError("E0103", message, hint=hint, also=[replace(error, hint="")]) from error


def _attempt(branch: GraphProto, name: str, importer: OnnxImporter) -> list[Tensor] | EdgeKitError:
    """What a branch computes; an error where its shapes are not valid, of which nothing stays behind."""
    builder = importer.builder
    before = len(builder.nodes), set(builder.values)
    try:
        return importer.subgraph(branch, (), name)
    except EdgeKitError as error:
        if error.code not in _INVALID:
            raise
        undone(builder, *before)
        return error


def _no_branch(made: Mapping[str, list[Tensor] | EdgeKitError], scalars: Sequence[str]) -> EdgeKitError:
    """The error for an If of which no branch has valid shapes: that of each branch."""
    first, *others = (error for error in made.values() if isinstance(error, EdgeKitError))
    first.also.extend(others)
    if scalars:
        options = " ".join(f"--const {quote(f'{name}=N')}" for name in scalars)
        first.hint = f"choose a branch by {options}, and check the shapes of the other inputs"
    return first


def Loop(
    count: Tensor | None, go_on: Tensor | None, *carried: Tensor, body: GraphProto, importer: OnnxImporter
) -> list[Tensor]:
    bounds = [x for x in (count, go_on) if x is not None]
    if open := [x for x in bounds if x.data is None]:
        return _kept(count, go_on, carried, body, importer, open[0].ancestors)
    builder = importer.builder
    before = len(builder.nodes), set(builder.values), importer.unrolled
    trips = inf if count is None else int(scalar(count, "the number of iterations of Loop"))
    proceed = go_on is None or bool(scalar(go_on, "the condition of Loop"))
    if proceed and (layer := recurrent_loop(trips, carried, body, importer)):
        return layer
    state = list(carried)
    stacks: list[list[Tensor]] = [[] for _ in body.output[1 + len(state) :]]
    step = 0
    while proceed and step < trips:
        start = importer.const(np.array(step, np.int64), "step")
        again = importer.const(np.array(True), "go_on")
        condition, *results = importer.subgraph(body, (start, again, *state), str(step))
        is_long = len(builder.nodes) - before[0] > MAX_UNROLLED and not stacks
        if is_long or condition.data is None:
            inputs = condition.ancestors
            undone(builder, *before[:2])
            importer.unrolled = before[2]
            return _kept(count, go_on, carried, body, importer, inputs)
        state = results[: len(state)]
        for stack, result in zip(stacks, results[len(state) :], strict=True):
            stack.append(result)
        proceed = bool(scalar(condition, "the end of Loop"))
        step += 1
    outputs = body.output[1 + len(state) :]
    return state + [_stacked(s, o, importer) for s, o in zip(stacks, outputs, strict=True)]


def _kept(
    count: Tensor | None,
    go_on: Tensor | None,
    carried: Sequence[Tensor],
    body: GraphProto,
    importer: OnnxImporter,
    inputs: Sequence[str],
) -> list[Tensor]:
    """A loop of which data decide the end, or that is long."""
    if len(body.output) > 1 + len(carried):
        name = body.output[1 + len(carried)].name
        raise EdgeKitError(
            "E0301",
            f"how often Loop runs, and stacks {name}, depends on the input {', '.join(inputs)}",
            hint="fix that by --const, or let the loop carry a tensor of its final shape",
            inputs=tuple(inputs),
        )
    if not all(isinstance(x, Tensor) for x in carried):
        raise EdgeKitError("E0205", "Loop carries a sequence, and data decide how often it runs")
    true = importer.const(np.array(True), "go_on")
    first = importer.const(np.array(0, np.int64), "step")
    limit = None
    if count is not None and count.data is not None:
        trips = max(0, int(scalar(count, "the number of iterations of Loop")))
        limit = trips if trips < _ENDLESS else None

    def is_within(step: Tensor, condition: Tensor) -> Tensor:
        """Is this step one of `count`?"""
        if count is None or count.data is not None:
            return condition.reshape()
        return condition.reshape().apply(And(), step.apply(Less(), count.reshape()))

    def iteration(values: Sequence[Tensor]) -> list[Tensor]:
        condition, *results = importer.subgraph(body, (values[1], true, *values[2:]), "body")
        step = values[1] + first.new(np.array(1, np.int64))
        return [is_within(step, condition), step, *results]

    same = {i + 2 for i in unchanged(body)}
    start = [is_within(first, go_on or true), first, *carried]
    most = importer.bindings.max_iterations
    results = while_loop(start, iteration, unchanged=same, private={1}, limit=limit, most=most, inputs=inputs)
    return results[2:]


def Scan(
    *inputs: Tensor,
    body: GraphProto,
    num_scan_inputs: int,
    scan_input_axes: tuple[int, ...] = (),
    scan_input_directions: tuple[int, ...] = (),
    scan_output_axes: tuple[int, ...] = (),
    scan_output_directions: tuple[int, ...] = (),
    directions: tuple[int, ...] = (),
    opset: int,
    importer: OnnxImporter,
) -> list[Tensor]:
    if opset < 9:
        return _batched_scan(inputs, body, num_scan_inputs, directions, importer)
    axes = scan_input_axes or (0,) * num_scan_inputs
    backwards = scan_input_directions or (0,) * num_scan_inputs
    state = list(inputs[: len(inputs) - num_scan_inputs])
    sources = [(x, x.axis(a), b) for x, a, b in zip(inputs[len(state) :], axes, backwards, strict=True)]
    lengths = {x.shape[axis] for x, axis, _ in sources}
    if len(lengths) != 1:
        raise EdgeKitError("E0401", f"Scan over {sorted(lengths)} steps at once")
    length = lengths.pop()
    stacks: list[list[Tensor]] = [[] for _ in body.output[len(state) :]]
    for step in range(length):
        cells = [_cell(x, axis, length - 1 - step if back else step) for x, axis, back in sources]
        results = importer.subgraph(body, (*state, *cells), str(step))
        state = results[: len(state)]
        for stack, result in zip(stacks, results[len(state) :], strict=True):
            stack.append(result)
    out_axes = scan_output_axes or (0,) * len(stacks)
    out_backwards = scan_output_directions or (0,) * len(stacks)
    outputs = body.output[len(state) :]
    return state + [
        _stacked(s[::-1] if back else s, o, importer, axis)
        for s, o, axis, back in zip(stacks, outputs, out_axes, out_backwards, strict=True)
    ]


def _batched_scan(
    inputs: Sequence[Tensor | None],
    body: GraphProto,
    num_scan_inputs: int,
    directions: tuple[int, ...],
    importer: OnnxImporter,
) -> list[Tensor]:
    """Scan of opset 8: every operand has a batch dimension in front, and the steps come second."""
    lengths, *operands = inputs
    if lengths is not None:
        raise EdgeKitError("E0205", "Scan over sequences of different lengths is not supported")
    tensors = [x for x in operands if x is not None]
    runs = [
        Scan(
            *(_cell(x, 0, b) for x in tensors),
            body=body,
            num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
            opset=9,
            importer=importer,
        )
        for b in range(tensors[0].shape[0])
    ]
    return [concat([unsqueeze(y, [0]) for y in ys], 0) for ys in zip(*runs, strict=True)]


def _cell(x: Tensor, axis: int, at: int) -> Tensor:
    """x at one position of an axis, which vanishes."""
    return part(x, axis, at, 1).reshape(*x.shape[:axis], *x.shape[axis + 1 :])


def _stacked(parts: Sequence[Tensor], output: object, importer: OnnxImporter, axis: int = 0) -> Tensor:
    """The parts along a new axis; none at all have the type that the body declares."""
    if not parts:
        type = file.input_type(output, None)  # type: ignore[arg-type]  # a ValueInfoProto
        return importer.const(np.zeros((0, *type.shape), type.dtype.numpy), "nothing")
    axis = axis + parts[0].rank + 1 if axis < 0 else axis
    pieces = [unsqueeze(x, [axis]) for x in parts]
    return concat(pieces, axis) if len(pieces) > 1 else pieces[0]

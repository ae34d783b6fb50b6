"""Branches and loops of TensorFlow, whose functions run on what may be tensors, variables or lists."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgekit.converters.semantics.control_flow import branch, loop
from edgekit.converters.semantics.recurrent_loops import recognised
from edgekit.converters.semantics.while_loop import undone
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.attributes import FunctionName
from edgekit.converters.tensorflow.graph import Function, Node, Reference
from edgekit.converters.tensorflow.tensor_list import EmptyList
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Equal, Not
from edgekit.core.types import DType

if TYPE_CHECKING:
    from edgekit.converters.tensorflow.importer import Frame, Importer


@dataclass(frozen=True)
class Dead:
    """What a branch that is not taken computes."""


DEAD = Dead()


def switch(frame: Frame, node: Node) -> Mapping[str, Any]:
    """Branches of TensorFlow 1: its first operand goes one of two ways, which a constant decides."""
    x, condition = (frame.value(r) for r in node.operands)
    if DEAD in (x, condition):
        return {"output_false": DEAD, "output_true": DEAD}
    hint = "--const NAME=0 or 1 decides it, such as whether a net is trained"
    chosen = bool(condition.constant("which branch is taken", hint).any())
    return {"output_false": DEAD if chosen else x, "output_true": x if chosen else DEAD}


def merge(frame: Frame, node: Node) -> Mapping[str, Any]:
    """Where branches of TensorFlow 1 meet: the one that was taken goes on."""
    found = [(i, x) for i, x in enumerate(map(frame.value, node.operands)) if x is not DEAD]
    if not found:
        return {"output": DEAD, "value_index": DEAD}
    index, x = found[0]
    return {"output": x, "value_index": x.new(np.array(index, np.int32))}


def conditional(importer: Importer, frame: Frame, node: Node) -> Sequence[Any]:
    """If: the first operand chooses."""
    condition, *operands = (frame.value(r) for r in node.operands)
    yes, no = (_function(node, key) for key in ("then_branch", "else_branch"))
    if condition.dtype is not DType.BOOL:
        condition = condition.apply(Equal(), 0).apply(Not())

    def run(name: str) -> Sequence[Any]:
        return importer.call(name, operands, frame.depth + 1)

    return _chosen(importer, condition, lambda: run(yes), lambda: run(no))


def case(importer: Importer, frame: Frame, node: Node) -> Sequence[Any]:
    """Case: the first operand is the number of a function; the last one is taken for any other number."""
    index, *operands = (frame.value(r) for r in node.operands)
    given = node.attributes.get("branches", ())
    names = [one.name for one in given if isinstance(one, FunctionName)]
    if not names:
        raise EdgeKitError("E0401", "Case has no branches")

    def run(i: int) -> Sequence[Any]:
        return importer.call(names[i], operands, frame.depth + 1)

    def from_(i: int) -> Sequence[Any]:
        if i == len(names) - 1:
            return run(i)
        return _chosen(importer, index.apply(Equal(), i), lambda: run(i), lambda: from_(i + 1))

    return from_(0)


def _chosen(
    importer: Importer,
    condition: Tensor,
    yes: Callable[[], Sequence[Any]],
    no: Callable[[], Sequence[Any]],
) -> Sequence[Any]:
    if condition.data is not None:
        return yes() if condition.data.any() else no()
    with _unassigned(importer):
        return branch(condition, lambda _: _tensors(yes()), lambda _: _tensors(no()), ())


def while_loop(importer: Importer, frame: Frame, node: Node) -> Sequence[Any]:
    """While: what is no tensor has to stay as it is; lists are tensors once something is in them."""
    condition, body = (_function(node, key) for key in ("cond", "body"))
    return _looped(
        importer,
        [frame.value(r) for r in node.operands],
        lambda values: importer.call(condition, values, frame.depth + 1),
        lambda values: importer.call(body, values, frame.depth + 1),
        _unchanged(importer.function(body)),
    )


def frame_loop(importer: Importer, frame: Frame, node: Node) -> Any:
    """Exit: a loop of TensorFlow 1, whose other results are known then, too."""
    found = frame.loops[node.name]
    enters = [*found.enters, *found.fixed]
    fixed = [enter.name for enter in found.fixed]
    count = len(found.enters)

    def run(values: Sequence[Any], results: Sequence[Reference], places: Sequence[str]) -> tuple[Any, ...]:
        """Results for what the loop carries; Merge and Switch have two, of which one is read."""
        given = [{"output_false": x, "output_true": x} for x in values[:count]]
        inner = importer.nested(frame)
        inner.computed |= {name: (x,) for name, x in zip(fixed, values[count:], strict=True)}
        inner.computed |= dict(zip(places, given, strict=True))
        importer.run(inner, [r.node for r in results])
        return tuple(inner.value(r) for r in results)

    made = _looped(
        importer,
        [frame.value(next(enter.operands)) for enter in enters],
        lambda values: run(values, [found.condition], found.merges),
        lambda values: (*run(values, found.following, found.switches), *values[count:]),
        range(count, len(enters)),
    )
    frame.computed |= {name: (made[i],) for name, i in found.exits.items()}
    return [made[found.exits[node.name]]]


def _looped(
    importer: Importer,
    operands: Sequence[Any],
    condition: Callable[[Sequence[Any]], tuple[Any, ...]],
    body: Callable[[Sequence[Any]], tuple[Any, ...]],
    unchanged: Collection[int],
) -> Sequence[Any]:
    """What a loop carries in the end."""
    with _unassigned(importer):
        operands = _filled(importer, operands, body)
        fixed = {i: x for i, x in enumerate(operands) if not isinstance(x, Tensor)}

        def iteration(values: Sequence[Tensor]) -> list[Tensor]:
            made = body(_joined(values, fixed, len(operands)))
            if len(made) != len(operands) or any(made[i] != x for i, x in fixed.items()):
                raise EdgeKitError("E0205", "a loop changes what is no tensor")
            return _tensors([x for i, x in enumerate(made) if i not in fixed])

        carried = [x for x in operands if isinstance(x, Tensor)]
        places = [i for i in range(len(operands)) if i not in fixed]
        same = {places.index(i) for i in unchanged if i in places}

        def holds(values: Sequence[Tensor]) -> list[Tensor]:
            return _tensors(condition(_joined(values, fixed, len(operands))))

        made = recognised(holds, iteration, carried, same)
        if made is None:
            made = loop(holds, iteration, carried, same, importer.max_iterations)
    return _joined(made, fixed, len(operands))


def _function(node: Node, key: str) -> str:
    found = node.attributes.get(key)
    if not isinstance(found, FunctionName):
        raise EdgeKitError("E0401", f"{node.op} has no function {key}")
    return found.name


def _joined(tensors: Sequence[Tensor], fixed: Mapping[int, Any], count: int) -> list[Any]:
    given = iter(tensors)
    return [fixed[i] if i in fixed else next(given) for i in range(count)]


def _tensors(made: Sequence[Any]) -> list[Tensor]:
    if not all(isinstance(x, Tensor) for x in made):
        raise EdgeKitError("E0205", "a branch or a loop makes something else than tensors")
    return list(made)


def _filled(
    importer: Importer, operands: Sequence[Any], body: Callable[[Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """Lists whose elements have no shape yet, as tensors of zeros: one iteration tells it."""
    if not any(isinstance(x, EmptyList) for x in operands):
        return list(operands)
    builder = importer.builder
    before = len(builder.nodes), set(builder.values)
    made = body(operands)
    types = [x.type if isinstance(x, Tensor) else None for x in made]
    undone(builder, *before)
    return [
        x.zeros(builder, type.shape[1:]) if isinstance(x, EmptyList) and type is not None else x
        for x, type in zip(operands, types, strict=True)
    ]


def _unchanged(body: Function) -> Collection[int]:
    """The operands that a function returns as they are."""
    places = {name: i for i, name in enumerate(body.arguments)}
    found = set()
    for i, result in enumerate(body.results):
        name = result.node
        while name in body.nodes and body.nodes[name].op == "Identity":
            name = next(body.nodes[name].operands).node
        if places.get(name) == i:
            found.add(i)
    return found


@contextmanager
def _unassigned(importer: Importer) -> Iterator[None]:
    """Refuse assignments inside."""
    before = dict(importer.variables.written)
    yield
    if importer.variables.written != before:
        raise EdgeKitError("E0205", "variables that are assigned in branches and loops are not supported")

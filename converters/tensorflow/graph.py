"""What a GraphDef holds: nodes by name, and functions with nodes of their own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgekit.converters.file_formats.protobuf import Message
from edgekit.converters.tensorflow.attributes import FunctionName, tensor, value
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

# Ask for nothing but an order, or check what static shapes have checked.
IDLE = {"NoOp", "Assert", "CheckNumerics", "Print", "PrintV2", "DisableCopyOnRead"}
_TENSOR = 8  # the field of an attribute that is a tensor
# Change variables, or run functions that may. Functions that are called by their names have a _ in these.
_CHANGES = re.compile(r".*(Assign|_).*|Restore.*|(Stateful)?PartitionedCall|If|While|Case")
# A branch decides whether what comes after Switch runs, up to one of these.
_BRANCH_ENDS = {"Merge", "Exit"}


@dataclass(frozen=True)
class Reference:
    """An operand as a node names it: a result of a node, of one of its named results in functions, or, where
    the index is None, that a node comes first."""

    node: str
    index: int | None = 0
    result: str = ""

    @staticmethod
    def of(text: str) -> Reference:
        if text.startswith("^"):
            return Reference(text[1:], None)
        node, *place = text.split(":")
        if not all(p.isdecimal() and len(p) < 6 for p in place[-1:]) or len(place) > 2:
            raise EdgeKitError("E0401", f"{text[:80]!r} names no result of a node")
        return Reference(node, int(place[-1]) if place else 0, place[0] if len(place) > 1 else "")


@dataclass(frozen=True)
class Node:
    """One operator."""

    name: str
    op: str
    references: Sequence[Reference]
    stored: Message

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Those that computing depends on, without tensors. Names of others begin with _."""
        stored = self.stored.entries(5).items()
        return {key: value(found) for key, found in stored if key[:1] != "_" and _TENSOR not in found}

    @property
    def constant(self) -> Array | tuple[str, ...]:
        """The value of a constant, numbers or texts."""
        found = self.stored.entries(5).get("value")
        if found is None or _TENSOR not in found:
            raise EdgeKitError("E0401", "a constant has no value")
        return tensor(found.message(_TENSOR), self.name)

    @property
    def operands(self) -> Iterator[Reference]:
        return (r for r in self.references if r.index is not None)

    @property
    def functions(self) -> Iterator[str]:
        """The functions that the operator runs."""
        for given in self.attributes.values():
            for one in given if isinstance(given, tuple) else (given,):
                if isinstance(one, FunctionName):
                    yield one.name


@dataclass(frozen=True)
class Function:
    """A function: its nodes, the names of its arguments, and what each result is; `effects` name nodes that
    have to run beside these. The graph of a file is one without arguments and results."""

    name: str
    nodes: Mapping[str, Node]
    arguments: Sequence[str] = ()
    results: Sequence[Reference] = ()
    effects: Sequence[str] = ()

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise EdgeKitError("E0401", f"there is no node {name[:80]!r}", self._where)
        return self.nodes[name]

    def depends_on(self, node: Node) -> list[str]:
        """The nodes that one needs, also for the order of effects."""
        references = [r for r in node.references if r.index is not None or r.node in self._effective]
        if node.op in IDLE - {"CheckNumerics"}:
            return [r.node for r in references if r.index is None]
        return [r.node for r in references]

    @cached_property
    def _effective(self) -> set[str]:
        """Nodes that others may have to wait for: those that change something, those that a branch decides
        about, and all that wait for them."""
        readers: dict[str, list[Node]] = {}
        for node in self.nodes.values():
            for reference in node.references:
                readers.setdefault(reference.node, []).append(node)
        nodes = self.nodes.values()
        changed = _after((node.name for node in nodes if _CHANGES.fullmatch(node.op)), readers, set())
        return changed | _after((node.name for node in nodes if node.op == "Switch"), readers, _BRANCH_ENDS)

    @property
    def _where(self) -> str:
        return f"function {self.name}" if self.name else ""


def nodes_of(stored: Iterable[Message]) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for one in stored:
        name = one.text(1)
        if not name or name in found:
            raise EdgeKitError(
                "E0401", f"the name {name[:80]!r} of a node is empty or not its own", one.where
            )
        op = one.text(2).removeprefix("_")  # which what TensorFlow's optimizer makes begins with
        found[name] = Node(name, op, [Reference.of(text) for text in one.texts(3)], one)
    return found


def function(stored: Message) -> Function:
    """A FunctionDef."""
    signature = stored.message(1)
    returned = {entry.text(1): entry.text(2) for entry in stored.messages(4)}
    names = [argument.text(1) for argument in signature.messages(3)]
    if missing := [name for name in names if name not in returned]:
        raise EdgeKitError("E0401", f"result {missing[0]} is returned by nothing", signature.text(1))
    return Function(
        signature.text(1),
        nodes_of(stored.messages(3)),
        [argument.text(1) for argument in signature.messages(2)],
        [Reference.of(returned[name]) for name in names],
        [entry.text(2) for entry in stored.messages(6)],
    )


def graph(stored: Message) -> tuple[Function, Mapping[str, Message]]:
    """A GraphDef: the graph itself, and its functions as they are stored, by name."""
    functions = stored.message(2).messages(1)
    return Function("", nodes_of(stored.messages(1))), {f.message(1).text(1): f for f in functions}


def _after(names: Iterable[str], readers: Mapping[str, Sequence[Node]], ends: Collection[str]) -> set[str]:
    """These nodes, and all that read them, up to some operators."""
    queue = list(names)
    found = set(queue)
    while queue:
        following = {n.name for n in readers.get(queue.pop(), ()) if n.op not in ends} - found
        found |= following
        queue += following
    return found


def reachable(function: Function, wanted: Iterable[str]) -> Iterator[Node]:
    """The nodes that these depend on, themselves included."""
    seen: set[str] = set(function.arguments)
    queue = list(wanted)[::-1]
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        node = function.node(name)
        yield node
        queue += function.depends_on(node)[::-1]

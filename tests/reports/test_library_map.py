"""The map of a library: edges follow the data through memory, and parts of flash add up to its size."""

import numpy as np
import pytest
from support.nets import Net
from support.tools import ROOT, require, require_module

from edgekit import Graph, api
from edgekit.codegen.library_map import LibraryMap, library_map
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import State
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Type, Value

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"


def mapped(graph: Graph, ports: str = "caller") -> LibraryMap:
    return library_map(compile_graph(graph, target.load("host"), ports), None, {}, None)


def ways(found: LibraryMap) -> set[tuple[str, str]]:
    names = [
        *(port.name for port in found.entries),
        *(layer.results[0].partition("#")[0] for layer in found.layers),
        *(f"{port.name}!" for port in found.exits),
    ]
    return {(names[edge.source], names[edge.target]) for edge in found.edges}


@pytest.mark.parametrize("ports", ["caller", "arena"])
def test_edges_go_through_views_and_joins(ports: str) -> None:
    net = Net()
    x = net.x(2, 6)
    a = net(Neg(), x, name="a")
    b = net(Add(), a, np.float32(1), name="b")
    view = net(Reshape((6, 2)), a, name="view")
    c = net(Add(), view, np.ones((6, 2), np.float32), name="c")
    joined = net(Concat(0), b, net(Reshape((2, 6)), c), name="joined")
    d = net(Neg(), joined, name="d")
    found = ways(mapped(net.done(d), ports))
    assert ("x", "a") in found
    assert ("a", "c") in found
    assert {("b", "d"), ("c", "d")} <= found or {("b", "joined"), ("c", "joined")} <= found
    assert not any("view" in way for way in found)
    assert ("d", "d!") in found


def test_copies_fill_parts_of_what_is_joined() -> None:
    net = Net()
    x = net.x(4, 3)
    a, b = net(Neg(), x, name="a"), net(Add(), x, np.float32(2), name="b")
    joined = net(Concat(1), a, b, name="joined")  # the last axis: both are copied, interleaved
    found = mapped(net.done(net(Neg(), joined, name="y")))
    last = len(found.entries) + len(found.layers) - 1
    assert sum(edge.target == last for edge in found.edges) == 2


def test_states_are_entries_and_exits() -> None:
    net = Net()
    x, memory = net.x(4), net.input("memory", Type(DType.F32, (4,)))
    kept = net(Add(), x, memory, name="kept")
    graph = net.graph(
        "net",
        [x],
        [net(Neg(), kept, name="y")],
        None,
        [State("memory", kept, Value(Type(DType.F32, (4,)), np.zeros(4, np.float32)))],
    )
    found = ways(mapped(graph))
    assert {("memory", "kept"), ("kept", "memory!"), ("x", "kept"), ("y", "y!")} <= found


@pytest.mark.parametrize("name", ["host", "cortex-m4", "wasm32-simd"])
def test_parts_of_flash_add_up_to_what_an_estimate_says(name: str) -> None:
    require("gcc")
    require_module("ziglang")
    found = api.estimate(DIGITS, target=name)
    assert found.map is not None
    parts = found.map.flash
    assert sum(part.bytes for part in parts) == found.flash_bytes
    assert sum(part.bytes for part in parts if part.kind == "code") == found.code_bytes
    assert sum(part.bytes for part in parts if part.kind == "weights") == found.weight_bytes
    assert all(part.bytes > 0 for part in parts)
    of_layers = {part.layer for part in parts if part.kind == "code"}
    assert (len(of_layers) > 4) == (name != "wasm32-simd")  # whose object files name no functions

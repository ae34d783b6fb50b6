"""States in generated C: a struct of the caller's, started by reset, updated in place where that is safe."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.generated import STRICT, compiled
from support.nets import kinds
from support.stateful import Remembering, accumulator, random_graph, samples
from support.tools import ROOT, require

from edgekit import build, run
from edgekit.codegen.compilation import build as library
from edgekit.codegen.compilation import library_objects, toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.verify import verify as verify_compiled
from edgekit.core import ek_file, simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.ops.scatter import Scatter
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType
from edgekit.onnx_backend import compile_programs

HOST = target.load("host")
SEEDS = 60
STEPS = 5


def swapped() -> Graph:
    """Two states that change places, both also seen from outside."""
    net = Remembering()
    a, b = net.state("a", np.full(2, 1, np.int32)), net.state("b", np.full(2, 2, np.int32))
    y = net(Add(), a, net.x(2), name="y")
    return net.remembering([y], {a: b, b: a}, "swapped")


def delay() -> Graph:
    """y is what x was two runs before."""
    net = Remembering()
    first, second = (net.state(name, np.zeros(2, np.int32)) for name in ("first", "second"))
    x = net.x(2)
    y = net(Neg(), second, name="y")
    return net.remembering([y], {first: x, second: first}, "delay")


def read_late() -> Graph:
    """The old content is read after the new one is there."""
    net = Remembering()
    s = net.state("s", np.zeros(2, np.int32))
    total = net(Add(), s, net.x(2), name="total")
    return net.remembering([net(Add(), net(Neg(), total), s, name="y")], {s: total}, "read_late")


def starts(dtype: DType) -> Graph:
    """Contents that differ from the start, of any type."""
    net = Remembering(dtype)
    start = np.array([1, 0, 1]).astype(dtype.numpy)
    s, t = net.state("s", start), net.state("t", start[:1])
    x = net.x(3)
    return net.remembering([s], {s: x, t: t}, f"starts_{dtype.value}")


def cache() -> Graph:
    """s[:, at] = x, y = -s: two tokens at a time, in two heads"""
    net = Remembering(DType.S32)
    s, x = net.state("s", np.zeros((2, 6, 3), np.int32)), net.x(2, 2, 3)
    at = net.x(1, 2, 1, name="at")
    written = net(Scatter(1), s, at, x)
    return net.remembering([net(Neg(), written, name="y")], {s: written}, "cache")


GRAPHS = [
    accumulator(),
    cache(),
    swapped(),
    delay(),
    read_late(),
    *(starts(d) for d in (DType.BOOL, DType.U8, DType.BF16, DType.F16, DType.S64, DType.F64)),
    *(random_graph(seed) for seed in range(SEEDS)),
]


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_c_goes_on_as_the_simulator_does(optimize: Optimize, tmp_path: Path) -> None:
    """The arena is filled with other bytes before every run."""
    programs = {graph.name: compile_graph(simplify(graph), HOST) for graph in GRAPHS}
    driver, errors = compile_programs(list(programs.values()), tmp_path, optimize)
    assert not errors, next(iter(errors.values()))
    for graph in GRAPHS:
        steps = samples(graph, STEPS)
        expected = list(simulate.run_each(graph, steps))
        found = list(driver.run_each(programs[graph.name], steps))
        for right, outputs in zip(expected, found, strict=True):
            for name in graph.outputs:
                assert outputs[name].tobytes() == right[name].tobytes(), graph.name


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_passes_keep_states(graph: Graph, tmp_path: Path) -> None:
    after = simplify(graph)
    verify(after)
    assert [s.input for s in after.states] == [s.input for s in graph.states]
    steps = samples(graph, STEPS)
    for right, found in zip(simulate.run_each(graph, steps), simulate.run_each(after, steps), strict=True):
        for name in graph.outputs:
            assert found[name].tobytes() == right[name].tobytes()
    ek_file.save(after, tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek") == after


def test_states_are_updated_in_place_where_nobody_reads_them_any_more() -> None:
    text = render(compile_graph(accumulator(), HOST), "size")["accumulator.c"].decode()
    assert "accumulator_add(state->s, x, state->s)" in text
    assert compile_graph(accumulator(), HOST).arena.size == 0
    text = render(compile_graph(cache(), HOST), "size")["cache.c"].decode()
    assert "(state->s, at, x, state->s);" in text
    assert compile_graph(cache(), HOST).arena.size == 0
    late = render(compile_graph(read_late(), HOST), "size")["read_late.c"].decode()
    assert "state->s, x, state->s" not in late


def test_a_graph_without_states_has_no_struct() -> None:
    net = Remembering()
    files = render(compile_graph(net.done(net(Neg(), net.x(2))), HOST), "size")
    assert not any(b"state" in files[name] for name in ("net.h", "net.c"))


USER = """
#include "accumulator.h"
#include <stdio.h>
int main(void)
{
    static struct accumulator_state left, right;
    const float x[3] = {1, 1, 1};
    float y[3];
    accumulator_reset(&left);
    accumulator_reset(&right);
    for (int i = 0; i < 3; i++)
        accumulator_run(x, y, &left, 0);
    accumulator_run(x, y, &right, 0);
    printf("%g %g ", (double)y[0], (double)y[2]);
    accumulator_run(x, y, &left, 0);
    printf("%g %g %d", (double)y[0], (double)y[2], sizeof left == ACCUMULATOR_STATE_SIZE);
    return 0;
}
"""


def test_streams_are_independent(tmp_path: Path) -> None:
    report = build(accumulator(), tmp_path / "library", verify=False)
    assert report.state_bytes == 12
    (tmp_path / "user.c").write_text(USER)
    sources = ["user.c", "library/accumulator.c", "library/accumulator_weights.c"]
    compiled(tmp_path, "cc", "-std=c99", "-Ilibrary", *sources, "-o", "user")
    done = subprocess.run([tmp_path / "user"], capture_output=True, text=True, check=True)
    assert done.stdout == "-1 -3 -4 -6 1"


@pytest.mark.parametrize("dtype", [DType.F64, DType.S64, DType.S8])
def test_the_struct_has_the_size_that_is_stated(dtype: DType, tmp_path: Path) -> None:
    net = Remembering(DType.S8)
    a, b = net.state("a", np.zeros(3, np.int8)), net.state("b", np.zeros(1, dtype.numpy))
    c = net.state("c", np.zeros((0, 2), np.int16))
    graph = net.remembering([net(Neg(), net.x(3), name="y")], {a: a, b: b, c: c})
    library.write(render(compile_graph(graph, HOST), "size"), tmp_path)
    (tmp_path / "size.c").write_text(
        '#include "net.h"\nchar ok[sizeof(struct net_state) == NET_STATE_SIZE ? 1 : -1];\n'
    )
    compiled(tmp_path, "cc", "-std=c99", "-I.", "-c", "size.c")


@pytest.mark.parametrize(
    ("file", "good", "bad", "words"),
    [
        ("accumulator.c", "state->s[i] = ", "state->s[i] = 1 + ", "differs from the simulator"),
        ("accumulator.c", "add(state->s, x, state->s)", "add(x, x, state->s)", "differs from the simulator"),
        ("accumulator.c", "(void)arena;", "state->s[3] = 1;", "wrote outside"),
    ],
    ids=["start", "update", "border"],
)
def test_verification_sees_wrong_states(file: str, good: str, bad: str, words: str, tmp_path: Path) -> None:
    require("cc")
    program = compile_graph(accumulator(), HOST)
    files = library.generate(program, "size")
    text = files[file].decode()
    assert good in text
    library.write(files | {file: text.replace(good, bad, 1).encode()}, tmp_path)
    compiler = toolchain.find(HOST)
    sources = library_objects.library_sources(files)
    driver = Driver([program], sources, tmp_path, compiler, ["-w"])
    with pytest.raises(EdgeKitError, match=words):
        verify_compiled(program, driver, compiler, sources, samples(program.graph, 3))


def test_the_self_test_goes_through_several_steps(tmp_path: Path) -> None:
    """A run that forgets is right in the first step alone."""
    program = compile_graph(accumulator(), HOST)
    files = library.generate(program, "size")
    body = files["accumulator.c"].decode()
    forgetful = body.replace("    (void)arena;\n", "    (void)arena;\n    accumulator_reset(state);\n")
    assert forgetful != body
    main = (
        '#include "accumulator.h"\nint accumulator_selftest(void *arena);\n'
        "int main(void) { return accumulator_selftest(0); }\n"
    )
    for text, code in ((body, 0), (forgetful, 1)):
        library.write(files | {"accumulator.c": text.encode(), "main.c": main.encode()}, tmp_path)
        names = [name for name in files if name.endswith(".c")]
        compiled(tmp_path, "cc", "-std=c99", "-I.", *names, "main.c", "-o", "test")
        assert subprocess.run([tmp_path / "test"], check=False).returncode == code


def test_samples_are_the_steps_of_one_stream() -> None:
    x = np.ones((3, 3), np.float32)
    expected = -(np.arange(3) + np.arange(1, 4)[:, None])
    assert np.array_equal(run(accumulator(), x)["y"], expected)
    require("cc")
    assert np.array_equal(run(accumulator(), x, target="host")["y"], expected)


def test_nodes_that_only_a_state_needs_stay() -> None:
    net = Remembering()
    s = net.state("s", np.zeros(2, np.int32))
    x = net.x(2)
    graph = net.remembering([net(Neg(), x, name="y")], {s: net(Add(), s, x, name="more")})
    assert kinds(simplify(graph)) == kinds(graph)


def test_the_example_of_the_page_compiles(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```c\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    library.write(render(compile_graph(accumulator().with_name("kws"), HOST), "size"), tmp_path)
    (tmp_path / "user.c").write_text(text + "void listen(const float *x, float *y, int is_first);\n")
    for language in (("cc", "-std=c99"), ("c++", "-x", "c++")):
        compiled(tmp_path, *language, "-Wall", "-Wextra", "-Werror", "-I.", "-c", "user.c")


def test_the_text_is_what_was_reviewed(golden: Callable[[str, str], None]) -> None:
    files = library.generate(compile_graph(accumulator(), HOST), "size")
    for name in ("accumulator.h", "accumulator.c", "accumulator_selftest.c"):
        golden(name, files[name].decode())


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_states_may_have_any_name(optimize: Optimize, tmp_path: Path) -> None:
    net = Remembering(DType.F32)
    names = [
        "state",
        "arena",
        "ram",
        "int",
        "class",
        "x",
        "y",
        "i",
        "step",
        "net_state",
        "net_reset",
        "*/",
        "",
    ]
    states = [net.state(name or "empty", np.zeros(2, np.float32)) for name in names]
    x = net.x(2, name="x_t")
    following = {s: net(Add(), s, x) for s in states}
    program = compile_graph(net.remembering([net(Neg(), states[0], name="y_t")], following), HOST)
    assert len({memo.c for memo in program.states}) == len(names)
    files = library.generate(program, optimize)
    library.write(files, tmp_path)
    sources = ["net.c", "net_weights.c", "net_selftest.c"]
    for language in (("gcc", "-std=c99"), ("g++", "-x", "c++", "-std=c++11")):
        compiled(tmp_path, *language, *STRICT, "-I.", "-fsyntax-only", *sources)

"""The run function as readers meet it: one commented call per layer, named pointers, a table of the arena."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.tools import ROOT, require_shared

from edgekit import api
from edgekit.codegen.printing.pointers import arena_lines
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx import reader as onnx
from edgekit.converters.tflite import reader as tflite
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

DIGITS = ROOT / "examples" / "digits"
BOTH = pytest.mark.parametrize("optimize", ["size", "speed"])
CALL = re.compile(r"^ +\w+\((?:[^;]|\n)*\);$", re.MULTILINE)
STEP = re.compile(r"^ +/\* (\d+) .*\*/$", re.MULTILINE)
DECLARED = re.compile(
    r"^ +(?:const )?(\w+) \*const (\w+) = EK_(?:AT|VIEW)\((\w+), arena, (\d+)\);$", re.MULTILINE
)
STRUCT = re.compile(r"^static const struct \w+ \w+ = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
TAG = re.compile(r"^\W*@(?:for|when|pack|rule|fold|scratch|order|also|apart|as)\b", re.MULTILINE)
HEAD = re.compile(r"^(?:EK_|static)[\w *]*\([^{};]*\)", re.MULTILINE)
ROW = re.compile(r"^ \* +([\d,]+) +([\d,]+) +(\d+|before) +(\d+|after)   (\w+|\(scratch of \w+\))")


def long_names() -> Graph:
    """Sums whose tensors have the names that TFLite gives to merged layers."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (4,)))
    for i in range(12):
        b.origin = f"functional_1/block_{i}/" + "very_long_name_of_a_layer_" * 6
        c = b.const(np.full(4, i, np.float32), hint=f"functional_1/weights_{i};" + "w" * 90)
        (x,) = b.add(Add(), x, c, names=[f"functional_1/activation_{i}/Relu;functional_1/batch" + "n" * 90])
    return b.graph("long_names", ["x"], [x])


@pytest.fixture(
    scope="module",
    params=["digits", "digits int8", "keywords", "kws_ref_model", "long names"],
)
def program(request: pytest.FixtureRequest) -> Program:
    name = request.param
    if name == "digits int8":
        graph, _ = api.quantize_model(
            api.convert(DIGITS / "digits.onnx"), DIGITS / "calib.npz", calibrate="minmax"
        )
        return compile_graph(graph, target.load("cortex-m4"))
    if name == "kws_ref_model":
        graph = tflite.convert(require_shared("models/mlperf_tiny") / f"{name}.tflite")
        return compile_graph(simplify(graph), target.load("cortex-m4"))
    if name == "long names":
        return compile_graph(long_names(), target.load("host"))
    graph = onnx.convert(ROOT / "examples" / name / f"{name}.onnx")
    return compile_graph(simplify(graph), target.load("host"))


def text(program: Program, optimize: Optimize) -> str:
    return render(program, optimize)[f"{program.name}.c"].decode()


def run_function(text: str, name: str) -> str:
    return text[text.index(f"void {name}_run(") :].partition("\n}\n")[0].partition("\n{\n")[2]


@BOTH
def test_each_layer_is_one_commented_call(program: Program, optimize: Optimize) -> None:
    body = run_function(text(program, optimize), program.name)
    assert [int(number) for number in STEP.findall(body)] == [*range(1, len(program.lines) + 1)]
    steps = re.split(STEP, body)[2::2]
    assert [len(CALL.findall(step)) for step in steps] == [1] * len(program.lines)


@BOTH
def test_calls_name_tensors_and_hold_no_casts(program: Program, optimize: Optimize) -> None:
    body = run_function(text(program, optimize), program.name)
    for call in CALL.findall(body):
        assert "*)" not in call
        assert "EK_AT" not in call
        assert "arena" not in call


@BOTH
def test_lines_fit_a_page(program: Program, optimize: Optimize) -> None:
    assert [line for line in text(program, optimize).splitlines() if len(line) > 110] == []


@BOTH
def test_parameters_of_a_layer_take_few_lines(program: Program, optimize: Optimize) -> None:
    for struct in re.findall(
        r"^static const struct \w+ \w+ = \{\n(.*?)^\};", text(program, optimize), re.M | re.S
    ):
        assert struct.count("\n") <= 6, struct  # with the names of up to 24 fields


def table(text: str) -> list[tuple[int, int, int, int, str]]:
    """Offset, bytes, first and last step, name of each row."""
    head = text[: text.index("*/")]
    rows = [match.groups() for line in head.splitlines() if (match := ROW.match(line))]
    last = 1 << 30
    return [
        (
            int(offset.replace(",", "")),
            int(size.replace(",", "")),
            0 if start == "before" else int(start),
            last if end == "after" else int(end),
            name,
        )
        for offset, size, start, end, name in rows
    ]


@pytest.mark.parametrize("ports", ["caller", "arena"])
def test_the_table_is_the_plan(program: Program, ports: str) -> None:
    made = compile_graph(program.graph, program.target, "arena" if ports == "arena" else "caller")
    source = text(made, "size")
    rows = table(source)
    assert max((offset + size for offset, size, *_ in rows), default=0) == made.arena.size
    assert {offset for offset, *_ in rows} >= set(made.arena.offsets.values())
    declared = {name: int(offset) for _, name, _, offset in DECLARED.findall(source)}
    named = {name: offset for offset, *_, name in rows if not name.startswith("(")}
    assert {name: offset for name, offset in declared.items() if not name.startswith("scratch")} == named
    scratch = {offset for offset, *_, name in rows if name.startswith("(")}
    assert {offset for name, offset in declared.items() if name.startswith("scratch")} == scratch
    assert len(scratch) <= sum(bool(line.call.scratch) for line in made.lines)


def test_what_is_live_at_once_lies_apart_or_in_place(program: Program) -> None:
    """Two rows may share bytes in the one step in which a layer reads the first and writes the second."""
    for one, other in combinations(table(text(program, "size")), 2):
        meet = one[0] < other[0] + other[1] and other[0] < one[0] + one[1]
        first, last = max(one[2], other[2]), min(one[3], other[3])
        assert not meet or first >= last, (one, other)
        if meet and first == last:
            assert {one[2], other[2]} & {one[3], other[3]}, (one, other)
            assert "(" not in one[4] + other[4], (one, other)


def test_text_of_the_table_says_who_holds_ports_before_and_after_a_run(program: Program) -> None:
    rows = [replace(row, steps=(0, len(program.lines) + 1)) for row in program.arena_rows[:1]]
    for line in [*arena_lines(rows, len(program.lines))][1:]:
        assert re.search(r" before +after ", line)


def test_pointers_are_declared_before_use_and_once(program: Program) -> None:
    body = run_function(text(program, "size"), program.name)
    names = [name for _, name, _, _ in DECLARED.findall(body)]
    assert len(set(names)) == len(names)
    code = re.sub(r"/\*.*?\*/", "", body)
    for name in names:
        assert name not in {port.c for port in (*program.inputs, *program.outputs)}
        first = re.search(rf"\b{name}\b", code)
        assert first is not None
        assert code.startswith(f"{name} = EK_AT(", first.start())


@BOTH
def test_kernels_show_no_tags_and_heads_of_functions_fit_a_page(program: Program, optimize: Optimize) -> None:
    for name, data in render(program, optimize).items():
        if name.startswith("edgekit/"):
            source = data.decode()
            assert TAG.findall(source) == [], name
            for head in HEAD.findall(source):
                assert max(map(len, head.splitlines())) <= 110, head


def test_constants_say_what_they_are_and_how_they_lie(program: Program) -> None:
    text = render(program, "size")[f"{program.name}_weights.h"].decode()
    for constant in program.constants:
        found = re.search(rf"/\* (.*) \*/\nextern const (\w+) {constant.c}\[(\d+)\];", text)
        assert found is not None
        assert str(constant.type) in found[1]
        assert found[1].endswith(f", layout {constant.layout}") == bool(constant.layout)
        assert (found[2], int(found[3])) == (constant.dtype.c, constant.data.size or 1)

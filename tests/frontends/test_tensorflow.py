"""Graphs of TensorFlow compute what it computed: small nets that it wrote, with its outputs beside them."""

import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.caffe_files import part
from support.exports import SAMPLES
from support.recorded import names, unpacked
from support.tensorflow_files import constant, define, function, graph, node, placeholder

import edgekit
from edgekit.converters import read
from edgekit.converters.file_formats import protobuf
from edgekit.converters.frontend import handlers
from edgekit.converters.tensorflow import graph as graph_def
from edgekit.converters.tensorflow import ops
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify

RECORDED = SAMPLES.parent / "recorded" / "tensorflow.zip"
X = placeholder("x", (2, 3))


def written(folder: Path, content: bytes) -> Path:
    (folder / "net.pb").write_bytes(content)
    return folder / "net.pb"


def computed(model: Graph, *xs: object) -> list[object]:
    given = dict(zip(model.inputs, (np.asarray(x, np.float32) for x in xs), strict=True))
    return [y.tolist() for y in simulate.run(model, given).values()]


@pytest.mark.parametrize("name", names(RECORDED))
def test_net_computes_what_tensorflow_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def test_nets_hold_most_operators() -> None:
    """What no net has is an older form, or another name, of something that one has."""
    found: set[str] = set()
    with zipfile.ZipFile(RECORDED) as stored:
        for name in stored.namelist():
            if name.endswith(".pb"):
                model = protobuf.message(stored.read(name), name)
                is_saved = name.endswith("saved_model.pb")
                top, functions = graph_def.graph(model.message(2).message(2) if is_saved else model)
                bodies = [top, *(graph_def.function(f) for f in functions.values())]
                found |= {one.op for body in bodies for one in body.nodes.values()}
    known = handlers(ops)
    tested = {known[kind] for kind in found if kind in known}
    assert {name for name, handler in known.items() if handler not in tested} <= OLD


# What TensorFlow computes while it freezes a graph, or leaves out, and layers fused for TensorFlow.js.
OLD = {
    "BroadcastArgs",
    "LinSpace",
    "PreventGradient",
    "Rank",
    "ResourceGather",
    "ShapeN",
    "Size",
    "TensorListLength",
    "FusedConv2D",
    "FusedDepthwiseConv2dNative",
    "FusedMatMul",
    "Prelu",
}


def spectrum(length: bytes | None = None, *more: bytes) -> bytes:
    """RFFT of an input of 8 numbers, and what follows it."""
    given = length or constant("length", [8], "int32")
    return graph(placeholder("x", (2, 8)), given, node("z", "RFFT", ["x", "length"]), *more)


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (spectrum(), "E0204", "output z has complex numbers"),
        (spectrum(None, node("y", "Relu", ["z"])), "E0201", "Relu of complex numbers"),
        (spectrum(None, node("y", "ComplexAbs", ["x"])), "E0401", "takes complex numbers"),
        (spectrum(None, node("y", "RFFT", ["z", "length"])), "E0201", "RFFT of complex numbers"),
        (spectrum(constant("length", [7], "int32")), "E0203", "7 points"),
        (spectrum(constant("length", [14], "int32")), "E0401", "no product of 2, 3 and 5"),
        (spectrum(constant("length", [8, 8], "int32")), "E0401", "should be one number"),
        (spectrum(constant("length", [-4], "int32")), "E0203", "-4 points"),
        (spectrum(constant("length", [1 << 30], "int32")), "E0401|E0402", ""),
    ],
)
def test_complex_numbers_that_are_not_read_are_refused(
    content: bytes, code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(EdgeKitError) as caught:
        read.read(written(tmp_path, content))
    assert caught.value.code in code.split("|")
    assert words in str(caught.value)


def test_spectra_run_in_c(tmp_path: Path) -> None:
    model = unpacked(RECORDED, "spectrogram", tmp_path)
    with np.load(model.path.with_name("io.npz")) as io:
        given, expected = io["x0"], (io["y0"], io["y1"])
    made = edgekit.run(read.read(model.path), {"x0": given[None]}, target="host")
    for found, wanted in zip(made.values(), expected, strict=True):
        np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-4)


def test_functions_are_inlined_with_named_results(tmp_path: Path) -> None:
    """The third of three equal parts, by the name of the result in the function."""
    axis = constant("axis", 1, "int32")
    split = node("parts", "Split", ["axis:output:0", "a"], num_split=3)
    twice = node("y", "AddV2", ["parts:output:2", "parts:output:2"])
    body = define("double", ["a"], [axis, split, twice], {"result": "y:z:0"})
    calls = [node("once", "PartitionedCall", ["x"], f=function("double")), node("again", "double", ["x"])]
    model = read.read(written(tmp_path, graph(X, *calls, functions=[body])))
    assert model.outputs == ("once", "again")
    assert computed(model, [[1, 2, 3], [4, 5, 6]]) == [[[6], [12]]] * 2


def test_inputs_may_be_fixed(tmp_path: Path) -> None:
    """As those that say whether a net is trained."""
    nodes = [X, placeholder("training", (), "bool"), constant("zero", 0)]
    nodes.append(node("y", "SelectV2", ["training", "zero", "x"]))
    path = written(tmp_path, graph(*nodes))
    assert read.read(path).inputs == ("x", "training")
    fixed = read.read(path, constants={"training": 0.0})
    assert fixed.inputs == ("x",)
    assert computed(fixed, np.ones((2, 3))) == [[[1] * 3] * 2]
    with pytest.raises(EdgeKitError, match="no input named test"):
        read.read(path, constants={"test": 0.0})


def test_only_what_results_depend_on_is_read(tmp_path: Path) -> None:
    """Neither checks, nor what they print."""
    check = node("check", "Assert", ["bad", "bad"])
    nodes = [X, node("bad", "StringFormat"), check, node("y", "Neg", ["x", "^check"])]
    assert read.read(written(tmp_path, graph(*nodes))).outputs == ("y",)
    nodes[-1] = node("y", "Neg", ["x", "^bad"])
    assert read.read(written(tmp_path, graph(*nodes))).outputs == ("y",)


def test_one_part_of_a_split_takes_what_the_others_leave(tmp_path: Path) -> None:
    sizes, axis = constant("sizes", [1, -1], "int32"), constant("axis", 1, "int32")
    parts = node("parts", "SplitV", ["x", "sizes", "axis"], num_split=2)
    path = written(tmp_path, graph(X, sizes, axis, parts, node("y", "Neg", ["parts:1"])))
    assert computed(read.read(path), [[1, 2, 3], [4, 5, 6]]) == [[[-2, -3], [-5, -6]]]


def test_open_sizes_are_bound(tmp_path: Path) -> None:
    path = written(tmp_path, graph(placeholder("x", (None, None, 3)), node("y", "Neg", ["x"])))
    with pytest.raises(EdgeKitError, match="dynamic shape") as caught:
        read.read(path)
    assert "--shape x=1,N,3" in caught.value.hint
    assert read.read(path, shapes={"x": (2, 4, 3)}).type("y").shape == (2, 4, 3)


def test_a_graph_that_works_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that call two others each: 2^40 nodes in a file of a kilobyte."""
    bodies = []
    for i in range(40):
        calls = [node(n, f"f{i + 1}" if i < 39 else "Neg", ["a" if n == "b" else "b:0"]) for n in "bc"]
        bodies.append(define(f"f{i}", ["a"], calls, {"r": "c:0"}))
    monkeypatch.setattr("edgekit.converters.tensorflow.importer._MAX_NODES", 1000)
    with pytest.raises(EdgeKitError, match="more than 1000 nodes") as caught:
        read.read(written(tmp_path, graph(X, node("y", "f0", ["x"]), functions=bodies)))
    assert caught.value.code == "E0402"


def test_signatures_are_chosen_by_name(tmp_path: Path) -> None:
    path = unpacked(RECORDED, "two_entries", tmp_path).path
    assert read.read(path).outputs == ("hidden", "logits")
    features = read.read(path, signature="features")
    assert (features.outputs, features.type("x").shape) == (("output_0",), (2, 4))
    with pytest.raises(EdgeKitError, match="names feature, which is no signature") as caught:
        read.read(path, signature="feature")
    assert "features" in caught.value.hint


def test_a_folder_is_its_model(tmp_path: Path) -> None:
    path = unpacked(RECORDED, "exported_dense", tmp_path).path
    folder = read.read(path.parent)
    assert folder.name == "exported_dense"
    assert folder == read.read(path)


def test_variables_that_are_assigned_are_states(tmp_path: Path) -> None:
    """Twice the sum of what was there first and of all inputs so far."""
    path = unpacked(RECORDED, "states", tmp_path).path
    model = read.read(path)
    (state,) = model.states
    first = state.initial.data
    assert first is not None
    one = np.ones(3, np.float32)
    runs = list(simulate.run_each(model, [{"x": one}] * 3))
    for i, run in enumerate(runs, 1):
        np.testing.assert_allclose(run["output_0"], 2 * (first + i), rtol=1e-6)


def test_a_loop_that_data_end_needs_a_bound(tmp_path: Path) -> None:
    """Doubles what is there until it is above 9."""
    below = node("b", "Less", ["a", "nine:output:0"])
    ends = define("ends", ["a"], [constant("nine", 9), below], {"r": "b:z:0"})
    body = define("body", ["a"], [node("b", "AddV2", ["a", "a"])], {"r": "b:z:0"})
    loop = node("y", "While", ["x"], cond=function("ends"), body=function("body"))
    path = written(tmp_path, graph(placeholder("x", ()), loop, functions=[ends, body]))
    with pytest.raises(EdgeKitError, match="how often this loop runs") as caught:
        read.read(path)
    assert "--max-iterations" in caught.value.hint
    model = read.read(path, max_iterations=20)
    assert computed(model, 3.0) == [12.0]
    assert computed(model, 11.0) == [11.0]


def frame_loop(
    name: str, first: str, bound: str, body: list[bytes], result: str, more: str = "", zero: str = "zero"
) -> list[bytes]:
    """A loop of TensorFlow 1 that counts to a bound, carries one value from `first` on, and reads `more`."""

    def entered(what: str, start: str, **attributes: object) -> bytes:
        return node(f"{name}/{what}", "Enter", [start], frame_name=name, **attributes)

    def carried(what: str, start: str, following: str) -> list[bytes]:
        return [
            entered(f"{what}/enter", start),
            node(f"{name}/{what}/merge", "Merge", [f"{name}/{what}/enter", f"{name}/{what}/next"]),
            node(f"{name}/{what}", "Switch", [f"{name}/{what}/merge", f"{name}/cond"]),
            node(f"{name}/{what}/next", "NextIteration", [following]),
        ]

    return [
        *carried("i", zero, f"{name}/added"),
        *carried("x", first, result),
        entered("bound", bound, is_constant=True),
        *([entered("more", more, is_constant=True)] if more else []),
        node(f"{name}/less", "Less", [f"{name}/i/merge", f"{name}/bound"]),
        node(f"{name}/cond", "LoopCond", [f"{name}/less"]),
        node(f"{name}/one", "Const", [f"^{name}/i"], dtype=np.dtype("int32"), value=np.array(1, np.int32)),
        node(f"{name}/added", "AddV2", [f"{name}/i:1", f"{name}/one"]),
        *body,
        node(f"{name}/end", "Exit", [f"{name}/x"]),
    ]


COUNTS = [constant("zero", 0, "int32"), constant("two", 2, "int32"), constant("three", 3, "int32")]


def test_loops_of_tensorflow_1_are_unrolled(tmp_path: Path) -> None:
    """x = (x + i) * x of the input, thrice; both results are read."""
    body = [
        node("i", "Cast", ["l/i:1"], SrcT=np.dtype("int32"), DstT=np.dtype("float32")),
        node("sum", "AddV2", ["l/x:1", "i"]),
        node("product", "Mul", ["sum", "l/more"]),
    ]
    nodes = [*COUNTS, *frame_loop("l", "x", "three", body, "product", "x")]
    after = node("y", "Neg", ["l/end"]), node("count", "Exit", ["l/i"]), node("z", "Neg", ["count"])
    model = read.read(written(tmp_path, graph(placeholder("x", (2,)), *nodes, *after)))
    x = y = np.array([2.0, -1.5])
    for i in range(3):
        y = (y + i) * x
    assert computed(model, x) == [(-y).tolist(), -3]


def test_loops_of_tensorflow_1_within_loops(tmp_path: Path) -> None:
    """x doubles i + 2 times in the iteration i of two, of which the inner loop knows by what is around it."""
    twice = node("twice", "AddV2", ["inner/x:1"] * 2)
    inner = frame_loop("inner", "outer/x:1", "most", [twice], "twice", zero="outer/zero")
    body = [
        node("outer/zero", "Enter", ["zero"], frame_name="outer", is_constant=True),
        node("outer/two", "Enter", ["two"], frame_name="outer", is_constant=True),
        node("most", "AddV2", ["outer/i:1", "outer/two"]),
        *inner,
    ]
    nodes = [*COUNTS, *frame_loop("outer", "x", "two", body, "inner/end"), node("y", "Neg", ["outer/end"])]
    model = read.read(written(tmp_path, graph(placeholder("x", ()), *nodes)))
    assert computed(model, 1.0) == [-32.0]


def test_loops_of_tensorflow_1_whose_end_data_decide(tmp_path: Path) -> None:
    body = [node("twice", "AddV2", ["l/x:1", "l/x:1"])]
    nodes = frame_loop("l", "x", "n", body, "twice")
    path = written(tmp_path, graph(placeholder("x", ()), placeholder("n", (), "int32"), COUNTS[0], *nodes))
    with pytest.raises(EdgeKitError, match="how often this loop runs"):
        read.read(path)
    model = read.read(path, max_iterations=5)
    found = simulate.run(model, {"x": np.float32(3), "n": np.int32(4)})
    assert found["l/end"] == 48


def test_lists_keep_what_a_loop_puts_in(tmp_path: Path) -> None:
    """The shape of the elements is known by the first one alone."""
    nodes = [
        constant("open", [-1], "int32"),
        constant("two", 2, "int32"),
        constant("one", 1, "int32"),
        node("l", "TensorListReserve", ["open", "two"], element_dtype=np.dtype("float32")),
        node("m", "TensorListSetItem", ["l", "one", "x"]),
        node("n", "TensorListLength", ["m"]),
        node("y", "TensorListStack", ["m", "open"], num_elements=-1),
    ]
    model = read.read(written(tmp_path, graph(placeholder("x", (3,)), *nodes)))
    zeros_and_x = computed(model, [1, 2, 3])[model.outputs.index("y")]
    assert zeros_and_x == [[0, 0, 0], [1, 2, 3]]


def test_ranges_of_fake_quantization_become_scales(tmp_path: Path) -> None:
    """Those of integers that layers keep."""
    fake = node("y", "FakeQuantWithMinMaxArgs", ["x"], min=-1.0, max=1.0)
    model = read.read(written(tmp_path, graph(X, fake)))
    scales = {t.quant.scale for t in (model.type(n) for n in model.values) if t.quant is not None}
    assert scales == {(float(np.float32(2 / 255)),)}


def test_layers_are_followed_by_what_they_name(tmp_path: Path) -> None:
    """2 x + 1, then slopes of each column below zero."""
    nodes = [constant("w", np.eye(3) * 2), constant("b", [1, 1, 1]), constant("s", [0.5, 0.25, 2])]
    kinds = part(1, part(2, b"BiasAdd") + part(2, b"Prelu"))
    fused = node("y", "_FusedMatMul", ["x", "w", "b", "s"], fused_ops=kinds, num_args=2)
    model = read.read(written(tmp_path, graph(X, *nodes, fused, node("z", "Prelu", ["x", "s"]))))
    y, z = computed(model, [[-1, -1, -1], [1, 2, 3]])
    assert y == [[-0.5, -0.25, -2], [3, 5, 7]]
    assert z == [[-0.5, -0.25, -2], [1, 2, 3]]
    few = node("y", "_FusedMatMul", ["x", "w", "b"], fused_ops=kinds)
    with pytest.raises(EdgeKitError, match="too few operands"):
        read.read(written(tmp_path, graph(X, *nodes, few)))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("lstm", {"Lstm": 2}),
        ("gru", {"Gru": 2}),
        ("bidirectional", {"Lstm": 2, "Gru": 2}),
        ("exported_lstm", {"Lstm": 2}),
        ("exported_gru", {"Gru": 2}),
        ("simple_rnn", {"Rnn": 1}),
        ("gru_before", {}),
    ],
)
def test_loops_of_recurrent_layers_are_operators(name: str, kinds: dict[str, int], tmp_path: Path) -> None:
    """Those that operators compute; others are unrolled."""
    graph = simplify(read.read(unpacked(RECORDED, name, tmp_path).path))
    found = Counter(type(node.op).__name__ for node in graph.nodes)
    assert {kind: found[kind] for kind in ("Lstm", "Gru", "Rnn") if found[kind]} == kinds
    assert bool(found["ScatterND"]) == (not kinds)


@pytest.mark.parametrize("name", ["exported_lstm", "exported_gru"])
def test_recurrent_layers_take_batches(name: str, tmp_path: Path) -> None:
    path = unpacked(RECORDED, name, tmp_path).path
    single = read.read(path)
    (key,) = single.inputs
    many = read.read(path, shapes={key: (3, 5, 4)})
    assert {type(node.op).__name__ for node in many.nodes} & {"Lstm", "Gru"}
    x = np.random.default_rng(1).standard_normal((3, 5, 4)).astype(np.float32)
    (rows,) = simulate.run(many, {key: x}).values()
    each = [next(iter(simulate.run(single, {key: row[None]}).values())) for row in x]
    np.testing.assert_allclose(rows, np.concatenate(each), rtol=1e-5, atol=1e-6)


def test_loops_that_need_their_counter_are_unrolled(tmp_path: Path) -> None:
    """The sum of a row that a constant counter cuts out of x in each of two steps."""
    given = {"zero": 0, "one": 1, "two": 2, "axes": [0, 1], "size": [1, 3, 1]}
    numbers = [constant(name, value, "int32") for name, value in given.items()]
    cut = [
        node("at", "Pack", ["i", "zero:output:0", "zero:output:0"], axis=0),
        node("row", "Slice", ["x", "at:output:0", "size:output:0"]),
        node("flat", "Sum", ["row:output:0", "axes:output:0"]),
        node("sum", "AddV2", ["total", "flat:output:0"]),
        node("next", "AddV2", ["i", "one:output:0"]),
    ]
    body = define(
        "body",
        ["i", "total", "x"],
        [*numbers, *cut],
        {"a": "next:z:0", "b": "sum:z:0", "c": "x"},
    )
    ends = define(
        "ends", ["i", "total", "x"], [*numbers, node("l", "Less", ["i", "two:output:0"])], {"r": "l:z:0"}
    )
    start = [constant("i", 0, "int32"), constant("total", [0.0])]
    loop = node("w", "While", ["i", "total", "x"], cond=function("ends"), body=function("body"))
    result = node("y", "Neg", ["w:1"])
    model = read.read(
        written(tmp_path, graph(placeholder("x", (2, 3, 1)), *start, loop, result, functions=[body, ends]))
    )
    assert computed(model, np.arange(6).reshape(2, 3, 1))[model.outputs.index("y")] == [-15]


def test_branches_of_tensorflow_1_are_taken_by_constants(tmp_path: Path) -> None:
    """As nets have them that are trained and used."""
    nodes = [
        placeholder("training", (), "bool"),
        node("way", "Switch", ["x", "training"]),
        node("used", "Neg", ["way"]),
        node("trained", "Square", ["way:1"]),
        node("dropped", "Neg", ["trained"]),
        node("y", "Merge", ["used", "dropped"]),
        node("z", "AddV2", ["y", "x"]),
    ]
    path = written(tmp_path, graph(X, *nodes))
    x = [[1, 2, 3], [4, 5, 6]]
    assert computed(read.read(path, constants={"training": 0.0}), x) == [[[0] * 3] * 2]
    assert computed(read.read(path, constants={"training": 1.0}), x) == [[[0, -2, -6], [-12, -20, -30]]]
    with pytest.raises(EdgeKitError, match="which branch is taken depends on the input training") as caught:
        read.read(path)
    assert "--const" in caught.value.hint

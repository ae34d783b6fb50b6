"""StableHLO text: operators one by one in pretty and generic form, calls, open sizes, and what is refused."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.exports import SAMPLES
from support.recorded import names, unpacked

from edgekit.converters import read
from edgekit.converters.stablehlo.mlir_literals import dense, spec
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "jax.zip"
X = np.random.default_rng(4).normal(size=(2, 3, 4)).astype(np.float32)
IMAGE = np.random.default_rng(5).normal(size=(1, 4, 5, 2)).astype(np.float32)
T, V, S = "tensor<2x3x4xf32>", "tensor<2x3xf32>", "tensor<f32>"
REGION = (
    "({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.{} %a, %b : tensor<f32>\n"
    "stablehlo.return %c : tensor<f32>\n}})"
)


def graph(folder: Path, body: str, result: str, argument: str = T, more: str = "") -> Graph:
    """The simplified graph of a main that returns %y."""
    main = f"func.func public @main(%x: {argument}) -> ({result}) {{\n{body}\nreturn %y : {result}\n}}"
    path = folder / "net.mlir"
    path.write_text(f"module @net {{\n{main}\n{more}\n}}\n", encoding="utf-8")
    made = simplify(read.read(path))
    verify(made)
    return made


def computed(made: Graph, x: Array) -> Array:
    (y,) = simulate.run(made, {made.inputs[0]: x}).values()
    return y


def one(op: str, *, of: str = T, to: str = T) -> tuple[str, str]:
    return f"%y = stablehlo.{op} %x : ({of}) -> {to}", to


def reduction(op: str, start: str) -> tuple[str, str]:
    init = f"%i = stablehlo.constant dense<{start}> : {S}\n"
    pretty = f"stablehlo.reduce(%x init: %i) applies stablehlo.{op} across dimensions = [2]"
    return f"{init}%y = {pretty} : ({T}, {S}) -> {V}", V


def window(op: str, start: str, more: str, to: str) -> tuple[str, str]:
    of = "tensor<1x4x5x2xf32>"
    init = f"%i = stablehlo.constant dense<{start}> : {S}\n"
    pool = f'"stablehlo.reduce_window"(%x, %i) <{{{more}}}> {REGION.format(op)} : ({of}, {S}) -> {to}'
    return f"{init}%y = {pool}", to


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


CASES: dict[str, tuple[tuple[str, str], Callable[[Array], Array]]] = {
    "tanh": (one("tanh"), np.tanh),
    "logistic": (one("logistic"), lambda x: 1 / (1 + np.exp(-x))),
    "expm1": (one("exponential_minus_one"), np.expm1),
    "type of all": ((f"%y = stablehlo.abs %x : {T}", T), np.abs),
    "generic": ((f'%y = "stablehlo.maximum"(%x, %x) : ({T}, {T}) -> {T}', T), lambda x: x),
    "locations": ((f'%y = stablehlo.sqrt %x : {T} loc("a"("b":1:2))', T), np.sqrt),
    "transpose": (
        (f"%y = stablehlo.transpose %x, dims = [2, 0, 1] : ({T}) -> tensor<4x2x3xf32>", "tensor<4x2x3xf32>"),
        lambda x: x.transpose(2, 0, 1),
    ),
    "slice": (
        (f"%y = stablehlo.slice %x [0:1, 1:3, 0:4:2] : ({T}) -> tensor<1x2x2xf32>", "tensor<1x2x2xf32>"),
        lambda x: x[:1, 1:3, ::2],
    ),
    "generic slice": (
        (
            '%y = "stablehlo.slice"(%x) {limit_indices = dense<[1, 3, 4]> : tensor<3xi64>, start_indices ='
            f" dense<[0, 1, 0]> : tensor<3xi64>}} : ({T}) -> tensor<1x2x4xf32>",
            "tensor<1x2x4xf32>",
        ),
        lambda x: x[:1, 1:3],
    ),
    "pad": (
        (
            f"%c = stablehlo.constant dense<2.5> : {S}\n%y = stablehlo.pad %x, %c, low = [0, 1, -1],"
            f" high = [0, 0, 1], interior = [0, 1, 0] : ({T}, {S}) -> tensor<2x6x4xf32>",
            "tensor<2x6x4xf32>",
        ),
        lambda x: np.insert(
            np.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 1)), constant_values=2.5), [0, 1, 2], 2.5, 1
        ),
    ),
    "reverse": ((f"%y = stablehlo.reverse %x, dims = [0, 2] : {T}", T), lambda x: x[::-1, :, ::-1]),
    "iota": (
        (f"%i = stablehlo.iota dim = 1 : {T}\n%y = stablehlo.add %x, %i : {T}", T),
        lambda x: x + np.arange(3, dtype=np.float32)[:, None],
    ),
    "broadcast that turns": (
        (
            "%c = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>\n"
            f"%b = stablehlo.broadcast_in_dim %c, dims = [1, 0] : (tensor<3x2xf32>) -> {T}\n"
            f"%y = stablehlo.multiply %x, %b : {T}",
            T,
        ),
        lambda x: x * np.array([[1, 3, 5], [2, 4, 6]], np.float32)[..., None],
    ),
    "select": (
        (
            f"%c = stablehlo.constant dense<0.0> : {T}\n"
            f"%p = stablehlo.compare GT, %x, %c, FLOAT : ({T}, {T}) -> tensor<2x3x4xi1>\n"
            f"%y = stablehlo.select %p, %x, %c : tensor<2x3x4xi1>, {T}",
            T,
        ),
        lambda x: np.maximum(x, 0),
    ),
    "generic compare": (
        (
            '%y = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction LT>}>'
            f" : ({T}, {T}) -> tensor<2x3x4xi1>",
            "tensor<2x3x4xi1>",
        ),
        lambda x: x < x,
    ),
    "sum": (reduction("add", "0.0"), lambda x: x.sum(2)),
    "sum from three": (reduction("add", "3.0"), lambda x: x.sum(2) + 3),
    "minimum": (reduction("minimum", "0x7F800000"), lambda x: x.min(2)),
    "product": (reduction("multiply", "1.0"), lambda x: x.prod(2)),
    "generic reduce": (
        (
            f"%i = stablehlo.constant dense<0xFF800000> : {S}\n"
            f'%y = "stablehlo.reduce"(%x, %i) ({REGION.format("maximum")[1:-1]})'
            f" {{dimensions = dense<2> : tensor<1xi64>}} : ({T}, {S}) -> {V}",
            V,
        ),
        lambda x: x.max(2),
    ),
    "dot_general": (
        (
            f"%y = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2],"
            f" precision = [DEFAULT, DEFAULT] : ({T}, {T}) -> tensor<2x3x3xf32>",
            "tensor<2x3x3xf32>",
        ),
        lambda x: x @ x.transpose(0, 2, 1),
    ),
    "take": (
        (
            "%i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>\n"
            '%y = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2],'
            " collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes ="
            f" array<i64: 2, 1, 4>}}> : ({T}, tensor<2x1xi32>) -> tensor<2x2x4xf32>",
            "tensor<2x2x4xf32>",
        ),
        lambda x: x[:, [2, 0]],
    ),
    "batch norm": (
        (
            "%c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
            '%y = "stablehlo.batch_norm_inference"(%x, %c, %c, %c, %c) <{epsilon = 5.0e-1 : f32,'
            f" feature_index = 1 : i64}}> : ({T}{', tensor<3xf32>' * 4}) -> {T}",
            T,
        ),
        lambda x: (x - (c := np.array([[1], [2], [3]], np.float32))) / np.sqrt(c + 0.5) * c + c,
    ),
}


@pytest.mark.parametrize("name", names(RECORDED))
def test_function_computes_what_jax_did(name: str, tmp_path: Path) -> None:
    """Loops, branches, and elements by index."""
    unpacked(RECORDED, name, tmp_path).compare()


def test_loops_of_constant_length_are_laid_out(tmp_path: Path) -> None:
    path = unpacked(RECORDED, "counted", tmp_path).path
    made = simplify(read.read(path))
    assert not {type(node.op).__name__ for node in made.nodes} - {"Mul", "Add"}


@pytest.mark.parametrize("name", CASES)
def test_operator_computes_what_numpy_does(name: str, tmp_path: Path) -> None:
    (body, result), expected = CASES[name]
    x = np.abs(X) if name == "locations" else X
    np.testing.assert_allclose(computed(graph(tmp_path, body, result), x), expected(x), rtol=1e-5, atol=1e-6)


HALF = "tensor<1x2x2x2xf32>"
PAIRS = "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>"


def test_windows_are_poolings(tmp_path: Path) -> None:
    cells = IMAGE[:, :, :4].reshape(1, 2, 2, 2, 2, 2)
    for op, start, best in (
        ("maximum", "0xFF800000", cells.max((2, 4))),
        ("minimum", "0x7F800000", cells.min((2, 4))),
    ):
        made = graph(tmp_path, *window(op, start, PAIRS, HALF), "tensor<1x4x5x2xf32>")
        np.testing.assert_array_equal(computed(made, IMAGE), best)
    body, _ = window("add", "0.0", PAIRS, HALF)
    four = f"%f = stablehlo.constant dense<4.0> : {HALF}\n%y = stablehlo.divide %z, %f : {HALF}"
    made = graph(tmp_path, body.replace("%y =", "%z =") + "\n" + four, HALF, "tensor<1x4x5x2xf32>")
    assert [str(node.op.kind) for node in made.nodes] == ["mean"]  # type: ignore[attr-defined]  # a pooling
    np.testing.assert_allclose(computed(made, IMAGE), cells.mean((2, 4)), rtol=1e-5)


def test_softmax_in_a_function_is_one_operator(tmp_path: Path) -> None:
    more = f"""func.func private @softmax(%x: {T}) -> {T} {{
    %l = stablehlo.constant dense<0xFF800000> : {S}
    %o = stablehlo.constant dense<0.0> : {S}
    %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [2] : ({T}, {S}) -> {V}
    %k = stablehlo.broadcast_in_dim %m, dims = [0, 1] : ({V}) -> tensor<2x3x1xf32>
    %b = stablehlo.broadcast_in_dim %k, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> {T}
    %d = stablehlo.subtract %x, %b : {T}
    %e = stablehlo.exponential %d : {T}
    %s = stablehlo.reduce(%e init: %o) applies stablehlo.add across dimensions = [2] : ({T}, {S}) -> {V}
    %r = stablehlo.broadcast_in_dim %s, dims = [0, 1] : ({V}) -> tensor<2x3x1xf32>
    %t = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> {T}
    %q = stablehlo.divide %e, %t : {T}
    return %q : {T}
    }}"""
    made = graph(tmp_path, f"%y = call @softmax(%x) : ({T}) -> {T}", T, more=more)
    assert [type(node.op).__name__ for node in made.nodes] == ["Softmax"]
    np.testing.assert_allclose(computed(made, X), softmax(X), rtol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_in_other_orders(transposed: bool, tmp_path: Path) -> None:
    """Against sums over the window; cells of a transposed one stand two apart."""
    w = np.random.default_rng(6).normal(size=(2, 2, 2, 3)).astype(np.float32)  # H W I O
    cells = IMAGE
    if transposed:
        cells = np.zeros((1, 7, 9, 2), np.float32)
        cells[:, ::2, ::2] = IMAGE
    cells = np.pad(cells, ((0, 0), (1, 1), (0, 1), (0, 0)))
    height, width = cells.shape[1] - 1, cells.shape[2] - 1
    right = sum(cells[:, i : i + height, j : j + width] @ w[i, j] for i in range(2) for j in range(2))
    to = f"tensor<3x1x{height}x{width}xf32>"
    dilate = ", lhs_dilate = [2, 2]" if transposed else ""
    body = (
        f'%w = stablehlo.constant dense<"0x{w.tobytes().hex()}"> : tensor<2x2x2x3xf32>\n'
        "%y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[f, b, 0, 1], window ="
        f" {{pad = [[1, 1], [0, 1]]{dilate}}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}"
        f" : (tensor<1x4x5x2xf32>, tensor<2x2x2x3xf32>) -> {to}"
    )
    made = graph(tmp_path, body, to, "tensor<1x4x5x2xf32>")
    np.testing.assert_allclose(computed(made, IMAGE), right.transpose(3, 0, 1, 2), rtol=1e-4, atol=1e-5)


def test_open_sizes_are_bound() -> None:
    path = SAMPLES / "jax" / "net_dyn.mlir"
    with np.load(SAMPLES / "jax" / "io.npz") as io:
        x, y = io["x"], io["y"]
    made = read.read(path, shapes={"x": (3, 16, 16, 3)})
    np.testing.assert_allclose(computed(made, np.repeat(x, 3, 0)), np.repeat(y, 3, 0), atol=1e-5)
    with pytest.raises(EdgeKitError, match="does not fit input x"):
        read.read(path, shapes={"x": (1, 8, 16, 3)})


def test_all_unsupported_operators_are_named(tmp_path: Path) -> None:
    body = f"%z = stablehlo.cbrt %x : {T}\n%y = stablehlo.custom_call @lapack(%z) : ({T}) -> {T}"
    with pytest.raises(EdgeKitError) as caught:
        graph(tmp_path, body, T)
    assert caught.value.code == "E0201"
    assert "cbrt" in str(caught.value)
    assert "custom_call @lapack" in str(caught.value)
    assert "jax2onnx" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "type", "right"),
    [
        ("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi32>", [[1, -2], [3, 4]]),
        ("dense<true>", "tensor<3xi1>", [True] * 3),
        ('dense<"0x05">', "tensor<3xi1>", [True, False, True]),
        ("dense<>", "tensor<0x2xf32>", np.zeros((0, 2))),
        ("dense<0x7FC0>", "tensor<bf16>", np.nan),
        ('dense<"0x00000040">', "tensor<2xf32>", [2.0, 2.0]),
        ("dense<[1.5, 0xFF800000]>", "tensor<2xf32>", [1.5, -np.inf]),
    ],
)
def test_literals(text: str, type: str, right: object) -> None:
    found = dense(text, spec(type))
    assert found.dtype == spec(type).dtype.numpy
    np.testing.assert_array_equal(found.astype(np.float64), np.asarray(right, np.float64))


CELLS: dict[str, Callable[[Array], Array]] = {
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_even": np.rint,
    "exponential_minus_one": np.expm1,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "log_plus_one": lambda x: np.log1p(np.abs(x)),
    "log": lambda x: np.log(np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
    "square": np.square,
    "negate": np.negative,
    "abs": np.abs,
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "exponential": np.exp,
    "optimization_barrier": lambda x: x,
    "erf": np.vectorize(math.erf, otypes=[np.float32]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float32]),
}


@pytest.mark.parametrize("op", CELLS)
def test_functions_of_single_cells(op: str, tmp_path: Path) -> None:
    body = f"%a = stablehlo.abs %x : {T}\n" if op in ("log", "log_plus_one", "rsqrt", "sqrt") else ""
    dialect = "chlo" if op in ("erf", "erfc", "square") else "stablehlo"
    x = 3 * X
    made = graph(tmp_path, f"{body}%y = {dialect}.{op} %{'a' if body else 'x'} : {T}", T)
    np.testing.assert_allclose(computed(made, x), CELLS[op](x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("is_inverted", [False, True])
def test_which_cells_are_finite(is_inverted: bool, tmp_path: Path) -> None:
    to = T.replace("f32", "i1")
    body = f"%{'p' if is_inverted else 'y'} = stablehlo.is_finite %x : ({T}) -> {to}\n"
    body += f"%y = stablehlo.not %p : {to}" if is_inverted else ""
    x = X.copy()
    x[0, 0] = -np.inf, np.inf, np.nan, np.finfo(np.float32).max
    found = computed(graph(tmp_path, body, to), x)
    np.testing.assert_array_equal(found, np.isfinite(x) ^ is_inverted)


OF_TWO: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "power": ("f32", lambda a, b: np.power(np.abs(a), b)),
    "maximum": ("f32", np.maximum),
    "minimum": ("f32", np.minimum),
    "add": ("f32", np.add),
    "subtract": ("f32", np.subtract),
    "multiply": ("f32", np.multiply),
    "divide": ("f32", np.divide),
    "remainder": ("f32", np.fmod),
    "or": ("i32", np.bitwise_or),
    "xor": ("i32", np.bitwise_xor),
    "and": ("i32", np.bitwise_and),
}


@pytest.mark.parametrize("op", OF_TWO)
def test_functions_of_pairs_of_cells(op: str, tmp_path: Path) -> None:
    element, function = OF_TWO[op]
    kind = "tensor<2x3xf32>" if element == "f32" else "tensor<2x3xi32>"
    other = np.array([[1.5, 0.25, -2.0], [-1.0, 0.5, 3.0]] if element == "f32" else [[1, 6, -3], [12, 0, 5]])
    first = np.array([[0.5, 2.0, 1.0], [-1.5, -0.25, 4.0]], np.float32) * (1 if element == "f32" else 4)
    text = str(other.tolist())
    before = f"%a = stablehlo.abs %x : {kind}\n" if op == "power" else ""
    body = f"%c = stablehlo.constant dense<{text}> : {kind}\n{before}"
    made = graph(tmp_path, f"{body}%y = stablehlo.{op} %{'a' if before else 'x'}, %c : {kind}", kind, kind)
    x = first if element == "f32" else first.astype(np.int32)
    found = computed(made, x)
    expected = function(x, other.astype(x.dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_maximum_with_constants_that_are_lowest_in_places(tmp_path: Path) -> None:
    lowest = "0xFF800000"
    body = (
        f"%c = stablehlo.constant dense<[{lowest}, 0.5, {lowest}, -0.25]> : tensor<4xf32>\n"
        f"%b = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<4xf32>) -> {T}\n"
        f"%y = stablehlo.maximum %b, %x : {T}"
    )
    found = computed(graph(tmp_path, body, T), X)
    np.testing.assert_array_equal(found, np.maximum(X, np.float32([-np.inf, 0.5, -np.inf, -0.25])))


@pytest.mark.parametrize(("count", "is_absurd"), [(0, True), (1000, False), (1001, True)])
def test_an_operator_has_a_thousand_results_at_most(count: int, is_absurd: bool, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError) as caught:
        graph(tmp_path, f"%y:{count} = stablehlo.abs %x : {T}", T)
    assert (f"{count} results are absurd" in str(caught.value)) is is_absurd


def test_products_of_the_last_with_the_first_dimension(tmp_path: Path) -> None:
    weights = np.arange(20, dtype=np.float32).reshape(4, 5)
    matrix = f"%c = stablehlo.constant dense<{weights.tolist()}> : tensor<4x5xf32>\n"
    body = f"{matrix}%y = stablehlo.dot %x, %c : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>"
    made = graph(tmp_path, body, "tensor<3x5xf32>", "tensor<3x4xf32>")
    np.testing.assert_allclose(computed(made, X[0]), X[0] @ weights, rtol=1e-5)
    vector = "%c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
    body = f"{vector}%y = stablehlo.dot %x, %c : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>"
    made = graph(tmp_path, body, "tensor<3xf32>", "tensor<3x4xf32>")
    np.testing.assert_allclose(computed(made, X[0]), X[0] @ np.arange(1.0, 5), rtol=1e-5)


DILATED = "window_dimensions = array<i64: 1, 2, 2, 1>, base_dilations = array<i64: 1, 2, 1, 1>"
BEYOND = (
    "%c = stablehlo.constant dense<0> : tensor<i32>\n"
    "%y = stablehlo.dynamic_slice %x, %c, %c, %c, %c, sizes = [1, 5, 5, 2] : "
    "(tensor<1x4x5x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x5x5x2xf32>"
)


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (window("maximum", "0.0", DILATED, "tensor<1x6x4x2xf32>"), "E0205", "base_dilations"),
        ((BEYOND, "tensor<1x5x5x2xf32>"), "E0401", "dynamic_slice"),
    ],
    ids=["dilated image", "slice beyond"],
)
def test_what_windows_and_slices_cannot_be_is_refused(
    call: tuple[str, str], code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(EdgeKitError, match=words) as caught:
        graph(tmp_path, *call, argument="tensor<1x4x5x2xf32>")
    assert caught.value.code == code


def test_slices_by_constants(tmp_path: Path) -> None:
    bounds = ("[0, 1, 0]", "[2, 3, 4]", "[1, 1, 2]")
    kind = "tensor<3xi32>"
    names = [f"%c{i} = stablehlo.constant dense<{text}> : {kind}" for i, text in enumerate(bounds)]
    call = f'%y = "stablehlo.real_dynamic_slice"(%x, %c0, %c1, %c2) : ({T}, {kind}, {kind}, {kind})'
    made = graph(tmp_path, "\n".join([*names, f"{call} -> tensor<2x2x2xf32>"]), "tensor<2x2x2xf32>")
    np.testing.assert_array_equal(computed(made, X), X[:, 1:3, ::2])

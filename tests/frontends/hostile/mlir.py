"""StableHLO texts made to do harm: absurd constants, calls without end, types and attributes that lie."""

from collections.abc import Callable
from pathlib import Path

from support.hostile_files import Case, file


def net(body: str, more: str = "", type: str = "tensor<4xf32>") -> Callable[[Path], Path]:
    """A module whose main has one input %arg0, and other functions."""
    main = f"func.func public @main(%arg0: {type}) -> ({type}) {{\n{body}\n}}\n"
    return file("net.mlir", f"module @net {{\n{main}{more}}}\n")


def doubling(n: int) -> str:
    """Functions that each call the one before twice."""
    one = (
        "func.func private @f{i}(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        "{body}\nreturn %z : tensor<4xf32>\n}}\n"
    )
    last = one.format(i=0, body="%z = stablehlo.negate %x : tensor<4xf32>")
    twice = (
        "%y = call @f{j}(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "%z = call @f{j}(%y) : (tensor<4xf32>) -> tensor<4xf32>"
    )
    return last + "".join(one.format(i=i, body=twice.format(j=i - 1)) for i in range(1, n))


RETURN = "return %0 : tensor<4xf32>"
CALL = "%0 = call @{}(%arg0) : (tensor<4xf32>) -> tensor<4xf32>\n" + RETURN
ITSELF = "func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {\n" + CALL.format("f") + "\n}\n"
CONSTANT = "%0 = stablehlo.constant dense<{}> : tensor<{}>\n" + RETURN


def chosen(kind: str, parts: int, type: str) -> str:
    """A choice between so many parts, by a constant."""
    part = "{\nstablehlo.return %arg0 : tensor<4xf32>\n}"
    regions = f" ({', '.join([part] * parts)})" if parts else ""
    constant = f"%c = stablehlo.constant dense<{'true' if 'i1' in type else '0'}> : {type}"
    return f'{constant}\n%0 = "stablehlo.{kind}"(%c){regions} : ({type}) -> tensor<4xf32>\n{RETURN}'


TRUE = "%c = stablehlo.constant dense<true> : tensor<i1>"
LESS = "%c = stablehlo.compare LT, %s, %s, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>"
LOOP = (
    "%r = stablehlo.slice %arg0 [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
    "%s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>\n"
    "%0 = stablehlo.while(%i = %arg0) : tensor<4xf32>\ncond {{\n{ends}\n"
    "stablehlo.return %c : tensor<i1>\n}} do {{\nstablehlo.return %i : tensor<4xf32>\n}}\n" + RETURN
)
EXTREME = (
    "%i = stablehlo.iota dim = 0 : tensor<4xi32>\n%s = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "%z = stablehlo.constant dense<0> : tensor<i32>\n"
    "%1:2 = stablehlo.reduce(%arg0 init: %s), (%i init: %z) across dimensions = [0] :"
    " (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)\n"
    "reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {\n"
    "%e = stablehlo.add %a, %b : tensor<f32>\n"
    "stablehlo.return %e, %d : tensor<f32>, tensor<i32>\n}\n"
    "%0 = stablehlo.broadcast_in_dim %1#0, dims = [] : (tensor<f32>) -> tensor<4xf32>\n" + RETURN
)

CASES = {
    "function that calls itself": Case("E0402", "", net(CALL.format("f"), ITSELF)),
    "calls that double": Case("E0402", "more than", net(CALL.format("f39"), doubling(40))),
    "loop without end": Case("E0402", "more than", net(LOOP.format(ends=TRUE))),
    "loop that the input ends": Case("E0301", "how often a loop runs", net(LOOP.format(ends=LESS))),
    "extreme by another region": Case("E0205", "by such a region", net(EXTREME)),
    "three parts of two": Case("E0401", "if has 3 parts", net(chosen("if", 3, "tensor<i1>"))),
    "choice of nothing": Case("E0401", "case has 0 parts", net(chosen("case", 0, "tensor<i32>"))),
    "choice by several": Case("E0401", "2 parts for", net(chosen("case", 2, "tensor<2xi32>"))),
    "call of nothing": Case("E0401", "no function g", net(CALL.format("g"))),
    "splat of a petabyte": Case("E0402", "absurd", net(CONSTANT.format("0.0", "1000000x1000000xf32"))),
    "splat of a gigabyte": Case("E0402", "constant", net(CONSTANT.format("0.0", "100000000xf64"))),
    "bytes that lack": Case("E0401", "takes 16 bytes", net(CONSTANT.format('"0x0000803F0000"', "4xf32"))),
    "bytes that are none": Case("E0401", "hexadecimal", net(CONSTANT.format('"0xZZ"', "4xf32"))),
    "elements that lack": Case("E0401", "3 elements", net(CONSTANT.format("[1.0, 2.0, 3.0]", "4xf32"))),
    "elements nested otherwise": Case(
        "E0401", "4 elements", net(CONSTANT.format("[[1.0, 2.0, 3.0], 4.0]", "2x2xf32"))
    ),
    "resource": Case(
        "E0205", "resources", net("%0 = stablehlo.constant dense_resource<w> : tensor<4xf32>\n" + RETURN)
    ),
    "text in brackets without end": Case("E0402|E0401", "", net("%0 = stablehlo.x a = " + "[" * 100_000)),
    "a quote that never ends": Case("E0401", "", net('%0 = stablehlo.constant dense<"0x00')),
    "value of the future": Case(
        "E0401", "%1 is computed by nothing", net("%0 = stablehlo.negate %1 : tensor<4xf32>\n" + RETURN)
    ),
    "type that lies": Case(
        "E0401",
        "the file says",
        net("%0 = stablehlo.negate %arg0 : tensor<5xf32>\nreturn %0 : tensor<5xf32>"),
    ),
    "broadcast of a petabyte": Case(
        "E0401",
        "broadcast",
        net(
            "%0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>)"
            " -> tensor<1000000000x4xf32>\nreturn %0 : tensor<1000000000x4xf32>"
        ),
    ),
    "numbers that are complex": Case(
        "E0205",
        "complex",
        net("return %arg0 : tensor<4xcomplex<f32>>", type="tensor<4xcomplex<f32>>"),
    ),
    "code of others": Case(
        "E0201",
        "custom_call @xla_python_cpu_callback",
        net(
            '%0 = stablehlo.custom_call @xla_python_cpu_callback(%arg0) {backend_config = "140703"} :'
            " (tensor<4xf32>) -> tensor<4xf32>\n" + RETURN
        ),
    ),
    "module without main": Case("E0401", "no function main", file("net.mlir", "module @net {\n}\n")),
}

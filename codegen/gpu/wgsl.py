"""Kernels as WGSL: a module for each kernel, whose constants are overrides that a pipeline brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from edgekit.codegen.gpu.ast import Expr, GpuKernel, Kind
from edgekit.codegen.gpu.dialect import Dialect, used

# What the language lacks. High words of products come from products of halves.
_HELPERS = {
    ("mulhi", "u32"): """\
fn ek_mulhi_{n}(a: {u}, b: {u}) -> {u} {{
    let low = {u}(65535u);
    let half = {u}(16u);
    let middle = (a >> half) * (b & low) + (((a & low) * (b & low)) >> half);
    let other = (a & low) * (b >> half) + (middle & low);
    return (a >> half) * (b >> half) + (middle >> half) + (other >> half);
}}
""",
    ("mulhi", "i32"): """\
fn ek_mulhi_{n}(a: {i}, b: {i}) -> {i} {{
    let unsigned = bitcast<{i}>(ek_mulhi_{un}(bitcast<{u}>(a), bitcast<{u}>(b)));
    return unsigned - ((a >> {u}(31u)) & b) - ((b >> {u}(31u)) & a);
}}
""",
}
_HELPERS["half", "f32"] = """\
fn ek_half(word: u32, i: i32) -> f32 {{
    return unpack2x16float(word >> (u32(i) * 16u)).x;
}}
"""
_HELPERS["half4", "f32"] = """\
fn ek_half4(a: u32, b: u32) -> vec4<f32> {{
    return vec4<f32>(unpack2x16float(a), unpack2x16float(b));
}}
"""
_HELPERS["halves", "u32"] = """\
fn ek_halves(a: f32, b: f32) -> u32 {{
    return pack2x16float(vec2<f32>(a, b));
}}
"""
# A number that no compiler joins with others, as the language allows, to fuse a product with a sum or to
# cancel what rounding left: it cannot know that `nothing` is 0.
_APART = {
    "f32": """\
fn ek_apart_f32(x: f32, nothing: u32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) ^ nothing);
}
""",
    "f32x4": """\
fn ek_apart_f32x4(x: vec4<f32>, nothing: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) ^ vec4<u32>(nothing));
}
""",
}
_NOTHING = "    let ek_nothing: u32 = ek_group.z >> 31u;"
# Products of four bytes each, without and with the language feature packed_4x8_integer_dot_product.
DOT4 = (
    """\
fn ek_dot4(a: u32, b: u32, total: i32) -> i32 {
    let x = vec4<i32>(vec4<u32>(a << 24u, a << 16u, a << 8u, a)) >> vec4<u32>(24u);
    let y = vec4<i32>(vec4<u32>(b << 24u, b << 16u, b << 8u, b)) >> vec4<u32>(24u);
    let p = x * y;
    return total + p.x + p.y + p.z + p.w;
}
""",
    """\
requires packed_4x8_integer_dot_product;
fn ek_dot4(a: u32, b: u32, total: i32) -> i32 {
    return total + dot4I8Packed(a, b);
}
""",
)


class Wgsl(Dialect):
    functions: ClassVar[dict[str, str]] = {
        "min": "min",
        "max": "max",
        "clz": "countLeadingZeros",
        "sqrt": "sqrt",
        "floor": "floor",
        "abs": "abs",
        "round": "round",
        "dot4": "ek_dot4",
        "half": "ek_half({0}, {1})",
        "half4": "ek_half4({0}, {1})",
        "halves": "ek_halves",
    }

    def expr(self, e: Expr) -> str:
        if e.op == "uniform":
            return f"workgroupUniformLoad(&{e.text}[{self.expr(e.args[0])}])"
        return super().expr(e)

    def type(self, kind: Kind) -> str:
        return f"vec4<{kind.scalar}>" if kind.lanes == 4 else kind.scalar

    def literal(self, e: Expr) -> str:
        if e.kind.scalar == "i32":
            return f"i32({e.text})" if e.text.startswith("-") else e.text
        text = e.text.replace("3.40282347e+38", "3.4028234663852886e+38")  # the largest, not rounded up
        return text + {"f32": "f", "u32": "u", "bool": ""}[e.kind.scalar]

    def convert(self, kind: Kind, x: Expr) -> str:
        return f"{self.type(kind)}({self.expr(x)})"

    def bits(self, kind: Kind, x: Expr) -> str:
        return f"bitcast<{self.type(kind)}>({self.expr(x)})"

    def vector(self, kind: Kind, parts: Sequence[str]) -> str:
        return f"{self.type(kind)}({', '.join(parts)})"

    def select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        return f"select({self.expr(no)}, {self.expr(yes)}, {self.expr(condition)})"

    def define(self, name: str, value: Expr, changes: bool) -> str:
        return f"{'var' if changes else 'let'} {name}: {self.type(value.kind)} = {self.expr(value)}"

    def counter(self, name: str, start: str) -> str:
        return f"var {name}: i32 = {start}"

    def barrier(self) -> str:
        return "workgroupBarrier()"

    def at(self, name: str, index: str) -> str:
        return f"{name}[{name}_at + {index}]"

    def function(self, name: str, kind: Kind, args: Sequence[str]) -> str:
        if name == "mulhi":
            return f"ek_mulhi_{_short(kind)}({', '.join(args)})"
        return super().function(name, kind, args)


class ExactWgsl(Wgsl):
    """Sums and products are rounded one by one."""

    def binary(self, op: str, a: Expr, b: Expr) -> str:
        text = super().binary(op, a, b)
        return f"ek_apart_{_short(a.kind)}({text}, ek_nothing)" if _is_rounded(op, a.kind) else text


def _is_rounded(op: str, kind: Kind) -> bool:
    return op in ("+", "-", "*") and kind.scalar == "f32"


def _short(kind: Kind) -> str:
    return kind.scalar + ("x4" if kind.lanes == 4 else "")


_WGSL, _EXACT = Wgsl(), ExactWgsl()


def module(kernel: GpuKernel, *, has_dot4: bool = False) -> str:
    """The module of a kernel, with the entry point `main`; `has_dot4` for engines that have the language
    feature packed_4x8_integer_dot_product. Buffers are bindings 0, 1, ... of group 0, all read_write; the
    overrides are the constants, and <buffer>_at, the element of the binding that is the buffer's first."""
    dot4 = [DOT4[has_dot4]] * takes_dot4(kernel)  # in front: it may begin with a directive
    return "\n".join([*dot4, *functions(kernel), body(kernel)])


def body(kernel: GpuKernel) -> str:
    """The module without the functions that the language lacks."""
    parts = []
    for i, b in enumerate(kernel.buffers):
        parts.append(
            f"@group(0) @binding({i}) var<storage, read_write> {b.name}: array<{_WGSL.type(b.kind)}>;"
        )
    parts += [f"override {b.start}: i32 = 0;" for b in kernel.buffers]
    parts += [f"override {c.text}: {_WGSL.type(c.kind)};" for c in kernel.constants]
    parts += [f"var<workgroup> {s.name}: array<{_WGSL.type(s.kind)}, {s.size}>;" for s in kernel.shared]
    parts += [
        f"@compute @workgroup_size({kernel.group})",
        "fn main(@builtin(workgroup_id) ek_group: vec3<u32>, @builtin(num_workgroups) ek_groups: vec3<u32>,",
        "        @builtin(local_invocation_index) ek_within: u32) {",
        "    let group_number: i32 = i32(ek_group.y * ek_groups.x + ek_group.x);",
        "    let within: i32 = i32(ek_within);",
        f"    let item: i32 = group_number * {kernel.group} + within;",
        *[_NOTHING][: kernel.is_exact],
        *(_EXACT if kernel.is_exact else _WGSL).lines(kernel.body),
        "}",
    ]
    return "\n".join(parts) + "\n"


def takes_dot4(kernel: GpuKernel) -> bool:
    """Does it need one of DOT4?"""
    return any(op == "dot4" for op, _ in used(kernel))


def functions(kernel: GpuKernel) -> list[str]:
    """What the language lacks and the kernel uses, but for products of bytes."""
    wanted: dict[tuple[str, Kind], None] = {}
    for op, kind in sorted(used(kernel), key=str):
        if op == "mulhi" and kind.scalar == "i32":
            wanted[op, Kind("u32", kind.lanes)] = None
        if (op, kind.scalar) in _HELPERS:
            wanted[op, kind] = None
    rounded = {_short(kind) for op, kind in used(kernel) if _is_rounded(op, kind)}
    texts = [text for name, text in _APART.items() if kernel.is_exact and name in rounded]
    for op, kind in wanted:
        words = {"n": _short(kind), "un": _short(Kind("u32", kind.lanes))}
        words |= {"u": _WGSL.type(Kind("u32", kind.lanes)), "i": _WGSL.type(Kind("i32", kind.lanes))}
        texts.append(_HELPERS[op, kind.scalar].format(**words))
    return texts

"""Formulas of elementwise operators: what C means by them, and what is refused."""

import pytest

from edgekit.core.formula import Cast, Formula, FormulaError, Function, Number, Operand, Operation, parse


def written(formula: Formula) -> str:
    """In C, with all brackets."""
    match formula:
        case Number(text, _) | Operand(text):
            return text
        case Cast(ctype, inner):
            return f"({ctype}){written(inner)}"
        case Function(name, operands):
            return f"{name}({', '.join(map(written, operands))})"
        case Operation("?:", (condition, yes, no)):
            return f"({written(condition)} ? {written(yes)} : {written(no)})"
        case Operation(sign, (one,)):
            return f"({sign}{written(one)})"
        case Operation(sign, (left, right)):
            return f"({written(left)} {sign} {written(right)})"
    raise AssertionError(formula)


@pytest.mark.parametrize(
    ("text", "brackets"),
    [
        ("a - b - c", "((a - b) - c)"),
        ("a / b * c + a * 2.5e-3f", "(((a / b) * c) + (a * 2.5e-3))"),
        ("a < 0 ? 0 : a + 3 > 6 ? 6 : a", "((a < 0) ? 0 : (((a + 3) > 6) ? 6 : a))"),
        ("a > b || a != a && !c", "((a > b) || ((a != a) && (!c)))"),
        ("a | b ^ c & a == b", "(a | (b ^ (c & (a == b))))"),
        ("-a * -(b + 1)", "((-a) * (-(b + 1)))"),
        ("(float)a * ek_fmax_f32(a, -b)", "((float)a * ek_fmax_f32(a, (-b)))"),
        ("(int32_t)(0u - (uint32_t)a)", "(int32_t)(0 - (uint32_t)a)"),
        ("~a", "(~a)"),
    ],
)
def test_operators_bind_as_in_c(text: str, brackets: str) -> None:
    assert written(parse(text)) == brackets


@pytest.mark.parametrize(
    "text",
    ["", "a +", "a b", "(a", "ek_exp_f32(a", "a ? b", "a $ b", "a[0]", "* a", "ek_f(", "a : b"],
)
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text)

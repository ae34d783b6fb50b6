"""What kernel files say of themselves is read strictly: a word that means nothing is an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from edgekit.codegen.cost.cost_features import work_of
from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.expressions import ExpressionError, conjuncts, expression
from edgekit.codegen.kernels.kernel_files import Variant, all_variants, read, variants_of
from edgekit.codegen.kernels.kernel_rows import KernelFileError
from edgekit.core.ops import Arg, Call
from edgekit.core.types import DType, Type, Value

CODE = '#include "edgekit/contracts/dense_int.h"\n\nEK_KERNEL void EK_FN(const EK_X *x)\n{\n}\n'


def written(folder: Path, *comments: str, code: str = CODE) -> tuple[Variant, ...]:
    path = folder / "dsp" / "dense_int.c"
    path.parent.mkdir()
    path.write_text("".join(f"/* {comment} */\n" for comment in comments) + code)
    return read(path)


def counted(variant: Variant, call: Call) -> Mapping[str, float]:
    """What a kernel counts of its own."""
    done = work_of(call, {}, variant.counts)
    return {name: done[name] for name in variant.counts}


def test_a_head_is_sentences_and_tags(tmp_path: Path) -> None:
    (found,) = written(
        tmp_path,
        "Dense layer of int8,\n * for all inputs.\n * @for X=s8 W=s8\n * @rule e e_wide=e\n"
        " * @when inputs % 4 == 0 and (rows == 1 or outputs > 8 and rows < 3)\n * @when acc_bits < 30\n"
        " * @pack w: O/8! o8 I\n * @fold b: -128 w\n * @scratch 4 * inputs\n * @scratch + 8\n"
        " * @order rows 8\n * @apart\n * @split outputs/16\n * @split rows/2 * inputs >= 8\n * @split never",
    )
    assert (found.isa, found.stem, found.kernels, found.name) == ("dsp", "dense_int", ("dense_int",), "")
    assert found.types == {"X": "s8", "W": "s8"}
    assert found.rules == {"e": "e", "e_wide": "e"}
    assert [part.text for part in found.conditions] == [
        "inputs % 4 == 0",
        "rows == 1 or outputs > 8 and rows < 3",
        "acc_bits < 30",
    ]
    assert found.pack == {"w": "O/8! o8 I"}
    assert found.fold == {"b": (-128, "w")}
    assert found.scratch
    assert found.scratch.text == "4 * inputs + 8"
    assert (found.order, found.apart) == ("rows 8", True)
    limits = [(s.axis, s.block and s.block.text, s.least and s.least.text) for s in found.split]
    assert limits == [("outputs", "16", None), ("rows", "2 * inputs", "8"), ("never", None, None)]
    assert found.source() == "/* Dense layer of int8,\n * for all inputs. */\n" + CODE


def test_one_text_serves_several_kernels(tmp_path: Path) -> None:
    code = CODE.replace("{\n", "{\n    ek_dot_rows(EK_DOT_SIZE, EK_RULE(dot), EK_MATH_T(dot)(0));\n")
    first, second = written(
        tmp_path,
        "One.\n * @pack w: O I\n * @pack b: O\n * @scratch 16\n * @order rows 8",
        "Another.\n * @as mve/dense_int.wide dot=mmla\n * @when rows > 1\n * @pack w: O/8! I o8",
        code=code,
    )
    assert (second.isa, second.stem, second.name) == ("mve", "dense_int.wide", "wide")
    assert first.is_own
    assert not second.is_own
    assert second.pack == {"w": "O/8! I o8", "b": "O"}
    assert second.scratch == first.scratch
    assert (second.order, first.conditions) == ("rows 8", ())
    changed = code.replace("ek_dot_", "ek_mmla_").replace("EK_DOT_", "EK_MMLA_").replace("(dot)", "(mmla)")
    assert second.source() == "/* Another. */\n" + changed


def test_a_row_says_only_how_it_differs(tmp_path: Path) -> None:
    first, second, third = written(
        tmp_path,
        "One.\n * @for X=s8 W=s8 @rule e @when rows > 1 and inputs > 8 @pack w: O I\n"
        " * @pack b: O @fold b: -128 w @scratch 16 @order rows 8 @apart @split never @work calls 2\n"
        " * @count pairs: rows // 2\n"
        " * @as mve/dense_int W=s4 dot=mmla @when outputs == 1 @pack b: O/8! o8\n"
        " * @as mve/dense_int.wide sum=sums like mve/dense_int @without when inputs > 8, apart\n"
        " * @scratch 8 @rule tfl",
    )
    assert first.words == second.words == third.words == "/* One. */"
    assert second.types == {"X": "s8", "W": "s4"}
    assert second.rules == first.rules
    assert [part.text for part in second.conditions] == ["rows > 1", "inputs > 8", "outputs == 1"]
    assert second.pack == {"w": "O I", "b": "O/8! o8"}
    assert second.fold == first.fold
    assert (second.order, second.apart, second.split, second.scratch) == (
        "rows 8",
        True,
        first.split,
        first.scratch,
    )
    assert second.counts == first.counts
    assert (first.kinds, second.kinds) == (("calls",), ())
    assert third.types == second.types
    assert third.changes == {"dot": "mmla", "sum": "sums"}
    assert [part.text for part in third.conditions] == ["rows > 1", "outputs == 1"]
    assert (third.apart, third.rules, third.scratch and third.scratch.text) == (False, {"tfl": "tfl"}, "8")


def test_a_condition_with_commas_is_taken_away_by_its_text(tmp_path: Path) -> None:
    head = "One.\n * @when max(rows, 2) > max(1, (inputs)) and outputs > 1 and inputs > 8\n * @order rows 8"
    row = "@as mve/dense_int @without when max(rows, 2) > max(1, (inputs)), when inputs > 8, order"
    _, found = written(tmp_path, f"{head}\n * {row}")
    assert ([part.text for part in found.conditions], found.order) == (["outputs > 1"], "")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("@as mve/dense_int like mve/dense_int.wide", "no kernel mve/dense_int.wide stands before it"),
        ("@as mve/dense_int @without order", "dsp/dense_int has no order"),
        ("@as mve/dense_int @without when inputs > 9", "dsp/dense_int has no when inputs > 9"),
        ("@as dsp/dense_int", "dsp/dense_int is named twice"),
        ("@as mve/dense_int Q=s8", "Q is no type of the contract"),
        ("@as mve/conv2d_int", "inputs is no parameter of the contract"),
        ("@as mve/dense_int @scratch 8 @apart @apart", "said twice"),
    ],
)
def test_a_row_differs_from_what_there_is(row: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFileError) as error:
        written(tmp_path, f"One.\n * @when inputs > 8\n * {row}")
    assert words in str(error.value)


def test_kernels_that_are_alike_share_a_comment(tmp_path: Path) -> None:
    of_all = "Of others.\n * @as mve/dense_int, neon/dense_int.wide dot=mmla\n * @when rows > 1"
    _, second, third = written(tmp_path, "One.\n * @when rows > 2", of_all)
    assert (second.file, third.file) == ("mve/dense_int", "neon/dense_int.wide")
    assert (second.changes, third.changes) == ({}, {"dot": "mmla"})
    assert [part.text for part in second.conditions] == ["rows > 2", "rows > 1"]
    assert second.conditions == third.conditions
    assert second.words == third.words


def test_kinds_of_work_are_counted_by_those_above_as_each_kernel_counts_them(tmp_path: Path) -> None:
    one = "One.\n * @count tiles: (rows\n * @count tiles: + 2) // 3\n * @count tile rows: 3 * tiles"
    other = "Other.\n * @as mve/dense_int\n * @count tiles: (rows + 7) // 8\n * @count ends: tiles * 8 - rows"
    first, second = written(tmp_path, one, other)
    layer = Call("dense_int", {}, (Arg("y", Value(Type(DType.S8, (10,)))),), {"rows": 10})
    assert counted(first, layer) == {"tiles": 4, "tile rows": 12}
    assert counted(second, layer) == {"tiles": 2, "tile rows": 6, "ends": 6}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("@count tiles: rovs // 3", "rovs is no parameter of the contract and no fact, is it rows?"),
        ("@count tiles: tiles + 1", "tiles is no parameter of the contract and no fact"),
        ("@count ends: tiles @count tiles: rows", "tiles is no parameter of the contract and no fact"),
        ("@work calls, a, b, c, d, e, f, g, h", "more than 8 kinds of work"),
        ("@whn inputs == 1", "no such tag, is it @when?"),
        ("@when inputs ==", "is no expression"),
        ("@when imputs == 1", "imputs is no parameter of the contract and no fact, is it inputs?"),
        ("@when print(inputs)", "print is no function of conditions"),
        ("@when [r for r in rows]", "is more than conditions and sizes may say"),
        ("@when", "is not as kernel_files.py describes"),
        ("@scratch 4 * imputs", "is it inputs?"),
        ("@pack w: O : s8 x{imputs}", "is it inputs?"),
        ("@pack v: O", "v is no operand: x, w, b, m, e, y"),
        ("@pack w O", "is not as"),
        ("@fold b: w", "is not as"),
        ("@for Q=s8", "Q is no type of the contract: S, W, X, Y"),
        ("@rule tlf", "tlf is no rule: no header has ek_requantize_tlf"),
        ("@rule tfl=tfl_donw", "no header has ek_requantize_tfl_donw_..."),
        ("@order row 8", "is not as"),
        ("@order rows {4 * imputs}", "is it inputs?"),
        ("@apart from others", "is not as"),
        ("@order rows 8\n * @order rows 8", "said twice"),
        ("@for X=s8\n * @for X=s16", "X is said twice"),
        ("@for X=s8\n * and more of it", "a sentence behind tags"),
    ],
)
def test_what_means_nothing_is_an_error(line: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFileError) as error:
        written(tmp_path, f"Dense layer.\n * {line}")
    place = 2 + line.count("\n")
    assert str(error.value).startswith(f"kernels/dsp/dense_int.c:{place}: ")
    assert words in str(error.value)


@pytest.mark.parametrize(
    "sentence",
    [
        "for all outputs at a time, and",
        "when weights are few.",
        "like the others: see rows.h.",
        "order is that of the graph",
        "scratch holds (at least) a row, as",
        "rule of thumb",
        "apart from the last",
    ],
)
def test_sentences_may_begin_with_the_words_of_tags(sentence: str, tmp_path: Path) -> None:
    (found,) = written(tmp_path, f"Dense layer\n * {sentence} this.")
    assert not found.conditions
    assert sentence in found.words


def test_tags_stand_at_the_head(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match=r"dense_int\.c:5: @when stands behind the head"):
        written(
            tmp_path, "Dense layer.", code=CODE.replace("EK_KERNEL", "\n/* @when rows == 1 */\nEK_KERNEL")
        )


@pytest.mark.parametrize(
    ("comments", "words"),
    [
        ([], "no comment says what this kernel is"),
        (["@when inputs > 8"], "no sentence says what this kernel is"),
        (["One.", "Another.\n * @when inputs > 8"], "a kernel of the same code begins with @as"),
        (["One.", "@when rows > 1\n * @as mve/dense_int"], "a kernel of the same code begins with @as"),
    ],
)
def test_files_without_words_are_errors(comments: Sequence[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match=words):
        written(tmp_path, *comments)


def test_a_kernel_has_a_contract(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match=r"no contract include/edgekit/contracts/dense_float\.h"):
        written(tmp_path, "One.\n * @as mve/dense_float", code=CODE.partition("\n")[2])


def test_optional_text_is_for_operands_that_there_are() -> None:
    """EK_IF_R of an operand that no contract has would go without a word."""
    texts = [contracts.header(name) for name in contracts.headers()]
    operands = {name for text in texts if "EK_FN(" in text for name in contracts.operands(text)}
    used = {name for v in all_variants() for name in re.findall(r"\bEK_IF_(\w+)\(", v.source())}
    assert used
    assert {name.lower() for name in used} <= operands
    assert used == {*re.findall(r"#define EK_IF_(\w+)\(", contracts.header("generic.h"))}


def test_the_order_may_depend_on_the_sizes_of_a_layer(tmp_path: Path) -> None:
    (found,) = written(tmp_path, "Dense layer.\n * @order rows {max(8, 96 // rows)} 2")
    layer = Call("dense_int", {}, (), {"rows": 3})
    assert (found.order, found.order_of(layer)) == ("rows {max(8, 96 // rows)} 2", "rows 32 2")
    assert found.order_of(replace(layer, params={"rows": 48})) == "rows 8 2"


def test_an_and_in_brackets_parts_nothing() -> None:
    assert [part.text for part in conjuncts("a and (b and c or d) and (e and f)")] == [
        "a",
        "b and c or d",
        "e and f",
    ]
    assert expression("max(a, b[2]) // -zero_blocks(8, 4)").names == {"a", "b"}
    with pytest.raises(ExpressionError):
        expression("().__class__")


def test_users_get_no_tags() -> None:
    assert not [v.stem for v in all_variants() if " @" in v.source().partition("*/")[0]]


def test_kernels_are_found_without_parsing_the_other_files() -> None:
    """variants_of parses files by what they name: it must see every set and contract that a kernel is for."""
    for variant in all_variants():
        for kernel in variant.kernels:
            assert variant in variants_of(variant.isa, kernel)

"""What kernel files say of themselves is read strictly: a word that means nothing is an error."""

from dataclasses import replace
from pathlib import Path

import pytest

from edgekit.codegen.kernels.expressions import ExpressionError, conjuncts, expression
from edgekit.codegen.kernels.kernel_files import KernelFileError, Variant, all_variants, read, variants_of
from edgekit.core.ops import Call

CODE = '#include "edgekit/contracts/dense_int.h"\n\nEK_KERNEL void EK_FN(const EK_X *x)\n{\n}\n'


def written(folder: Path, *comments: str, code: str = CODE) -> tuple[Variant, ...]:
    path = folder / "dsp" / "dense_int.c"
    path.parent.mkdir()
    path.write_text("".join(f"/* {comment} */\n" for comment in comments) + code)
    return read(path)


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
    assert (second.order, first.conditions) == ("", ())
    changed = code.replace("ek_dot_", "ek_mmla_").replace("EK_DOT_", "EK_MMLA_").replace("(dot)", "(mmla)")
    assert second.source() == "/* Another. */\n" + changed


def test_kernels_that_are_alike_share_a_comment(tmp_path: Path) -> None:
    of_all = "Of others.\n * @as mve/dense_int, neon/dense_int.wide dot=mmla\n * @when rows > 1"
    _, second, third = written(tmp_path, "One.\n * @when rows > 2", of_all)
    assert (second.file, third.file) == ("mve/dense_int", "neon/dense_int.wide")
    assert (second.changes, third.changes) == ({}, {"dot": "mmla"})
    assert second.conditions == third.conditions
    assert second.words == third.words


@pytest.mark.parametrize(
    ("line", "words"),
    [
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
        ("@as mve/dense_int", "this kernel is named by its file"),
        ("@order rows 8\n * @order rows 8", "said twice"),
        ("@for X=s8\n * @for X=s16", "X is said twice"),
        ("@for X=s8\n * and more of it", "a sentence behind tags"),
        ("when inputs == 1", "tags begin with @: write `@when inputs == 1`"),
        ("for X=s8 W=s8", "tags begin with @: write `@for X=s8 W=s8`"),
        ("like mve/dense_int.c dot=mmla", "code of another file: a comment in that one, @as <set>/<name>"),
        ("apart", "write `@apart`"),
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


def test_files_without_words_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match="no comment says"):
        written(tmp_path)


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

"""A tokenizer.json is data: what is damaged, absurd or not known is refused with a reason."""

import copy
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.tokenizer import parse, read_tokenizer
from edgekit.core.errors import EdgeKitError
from edgekit.core.text import unicode_classes
from edgekit.core.text.characters import Kind, bounds, kind
from edgekit.core.text.tokenizer import Tokenizer

Json = Any
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
BPE: Json = {
    "added_tokens": [
        {"id": 5, "content": "<s>", "special": True, "normalized": False, "lstrip": False, "rstrip": False}
    ],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Lowercase"},
            {"type": "Strip", "strip_left": True, "strip_right": False},
            {"type": "Replace", "pattern": {"String": "#"}, "content": "b"},
            {"type": "Prepend", "prepend": "a"},
        ],
    },
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": True},
        ],
    },
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}},
    },
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
    "model": {
        "type": "BPE",
        "dropout": None,
        "unk_token": "?",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "_": 4},
        "merges": ["a b"],
    },
}
UNIGRAM: Json = {
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["ab", -2.0], ["b", -3]]}
}


def read(file: Json) -> Tokenizer:
    return parse(Record.of(file, "tokenizer.json"))


def test_the_files_that_are_damaged_below_are_fine() -> None:
    assert read(BPE).encode(" ab#?") == [5, 1, 3, 2, 0]
    assert read(BPE).decode([5, 4, 3, 4, 1]) == "ab a"
    assert read(UNIGRAM).encode("abxyb") == [2, 0, 3]


def refused(file: Json, code: str, *words: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        read(file)
    assert caught.value.code == code, caught.value
    assert all(word in str(caught.value) for word in words), str(caught.value)


def changed(file: Json, *path: str | int, to: Json) -> Json:
    made = copy.deepcopy(file)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return made


NORMALIZERS, SPLITS, DECODERS = (
    ("normalizer", "normalizers"),
    ("pre_tokenizer", "pretokenizers"),
    ("decoder", "decoders"),
)


@pytest.mark.parametrize(
    ("path", "to", "code", "word"),
    [
        (("model", "type"), "WordPiece", "E0205", "WordPiece"),
        (("model", "dropout"), 0.1, "E0203", "random"),
        (("model", "end_of_word_suffix"), "</w>", "E0203", "end_of_word_suffix"),
        (("model", "continuing_subword_prefix"), "##", "E0203", "continuing_subword_prefix"),
        (("model", "unk_token"), "nothing", "E0401", "nothing"),
        (("model", "byte_fallback"), True, "E0401", "<0x00>"),
        (("model", "vocab", "b"), -1, "E0402", "-1"),
        (("model", "vocab", "b"), 1 << 40, "E0402", "absurd"),
        (("model", "vocab", "b"), 1, "E0401", "same id"),
        (("model", "vocab", "b"), "2", "E0401", "an integer"),
        (("model", "vocab", "\ud800"), 7, "E0401", "surrogate"),
        (("model", "vocab", "a" * 5000), 7, "E0401", "4096"),
        (("model", "merges"), ["a b c"], "E0401", "no pair"),
        (("model", "merges"), [["a", "c"]], "E0401", "c is no token"),
        (("model", "merges"), ["b a"], "E0401", "merge"),
        (("model", "merges"), [["a", 1]], "E0401", "text"),
        (("model",), None, "E0401", "model"),
        ((*NORMALIZERS, 0, "type"), "NFKC", "E0205", "NFKC"),
        ((*NORMALIZERS, 3, "pattern"), {"Regex": "a+"}, "E0203", "plain text"),
        ((*NORMALIZERS, 3, "pattern"), {"String": ""}, "E0203", "plain text"),
        ((*NORMALIZERS, 3, "content"), "a" * 100, "E0401", "64 times longer"),
        ((*NORMALIZERS, 4, "prepend"), "a" * 5000, "E0401", "4096"),
        ((*NORMALIZERS, 4, "prepend"), "\ud800", "E0401", "surrogate"),
        (("normalizer", "normalizers"), [{"type": "NFC"}] * 100, "E0402", "64"),
        ((*SPLITS, 0, "type"), "Whitespace", "E0205", "Whitespace"),
        (
            (*SPLITS, 0),
            {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"},
            "E0203",
            "GPT-2",
        ),
        (
            (*SPLITS, 0),
            {"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated"},
            "E0203",
            "Qwen",
        ),
        ((*SPLITS, 0), {"type": "ByteLevel"}, "E0205", "behind ByteLevel"),
        ((*SPLITS, 1, "replacement"), "__", "E0401", "2 characters"),
        ((*SPLITS, 1, "prepend_scheme"), "last", "E0203", "last"),
        ((*SPLITS, 1, "add_prefix_space"), False, "E0401", "contradicts"),
        (("post_processor", "type"), "BertProcessing", "E0205", "BertProcessing"),
        (("post_processor", "single"), [], "E0401", "template"),
        (("post_processor", "special_tokens", "<s>", "ids"), [77], "E0401", "token 77"),
        (("post_processor", "special_tokens"), {}, "E0401", "<s>"),
        ((*DECODERS, 1, "type"), "CTC", "E0205", "CTC"),
        ((*DECODERS, 0, "content"), "-", "E0203", "space"),
        ((*DECODERS, 3, "stop"), 1, "E0203", "strips"),
        ((*DECODERS, 3, "start"), 1 << 60, "E0401", "decoder"),
        ((*DECODERS, 0), {"type": "Fuse"}, "E0205", "Fuse"),
        (("added_tokens", 0, "single_word"), True, "E0203", "single_word"),
        (("added_tokens", 0, "content"), "a", "E0401", "vocabulary"),
        (("added_tokens", 0, "id"), 1, "E0401", "of another"),
        (("added_tokens", 0, "id"), 1 << 33, "E0401", "beyond"),
    ],
)
def test_what_would_change_tokens_is_refused(
    path: tuple[str | int, ...], to: Json, code: str, word: str
) -> None:
    refused(changed(BPE, *path, to=to), code, word)


@pytest.mark.parametrize(
    ("path", "to", "code", "word"),
    [
        (("model", "unk_id"), None, "E0401", "unk_id"),
        (("model", "unk_id"), 9, "E0401", "9"),
        (("model", "byte_fallback"), True, "E0401", "<0x00>"),
        (("model", "vocab", 1), ["a"], "E0401", "score"),
        (("model", "vocab", 1, 1), float("nan"), "E0401", "finite"),
        (("model", "vocab", 1, 1), None, "E0401", "a number"),
        (("pre_tokenizer",), {"type": "ByteLevel"}, "E0205", "Unigram of bytes"),
    ],
)
def test_unigrams_are_checked(path: tuple[str | int, ...], to: Json, code: str, word: str) -> None:
    refused(changed(UNIGRAM, *path, to=to), code, word)


def test_nested_sequences_are_read_and_endless_ones_refused() -> None:
    nested: Json = {"type": "NFC"}
    for _ in range(20):
        nested = {"type": "Sequence", "normalizers": [nested]}
    assert len(read(changed(BPE, "normalizer", to=nested)).normalizers) == 1
    for _ in range(80):
        nested = {"type": "Sequence", "normalizers": [nested]}
    refused(changed(BPE, "normalizer", to=nested), "E0402", "normalizer")


def places(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place in a JSON value, but for the root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@pytest.mark.parametrize("file", [BPE, UNIGRAM], ids=["bpe", "unigram"])
def test_any_value_in_any_place_is_read_or_refused(file: Json) -> None:
    strange: list[Json] = [None, True, -1, 1 << 70, 1e400, "", "\ud800", "Sequence", [], {}, [[]], {"": 0}]
    accepted = 0
    for path in places(file):
        for value in strange:
            try:
                tokenizer = read(changed(file, *path, to=value))
            except EdgeKitError:
                continue
            accepted += 1
            tokenizer.decode(tokenizer.encode("ab <s> \u00e9"))
    assert accepted >= 10


def test_nothing_is_read_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "other.json").write_text(json.dumps(UNIGRAM))
    with pytest.raises(EdgeKitError, match="is missing"):
        read_tokenizer(folder)
    (folder / "tokenizer.json").symlink_to("../other.json")
    with pytest.raises(EdgeKitError, match="is a link"):
        read_tokenizer(folder)
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").write_bytes((tmp_path / "other.json").read_bytes()[:-3])
    with pytest.raises(EdgeKitError, match="not valid JSON"):
        read_tokenizer(folder)
    (folder / "tokenizer.json").write_text(json.dumps(UNIGRAM))
    assert read_tokenizer(folder).encode("ab") == [2]


def test_halves_of_characters_are_no_text() -> None:
    with pytest.raises(EdgeKitError, match="character 1 of the text"):
        read(UNIGRAM).encode("a\ud800")


def test_classes_are_those_of_python_where_both_know_the_character() -> None:
    assert unicode_classes.VERSION == "16.0.0"
    known = {code for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn"}
    for table, initial in ((unicode_classes.LETTERS, "L"), (unicode_classes.NUMBERS, "N")):
        edges = bounds(table)
        ours = {
            code for begin, end in zip(edges[::2], edges[1::2], strict=True) for code in range(begin, end)
        }
        assert ours & known == {code for code in known if unicodedata.category(chr(code))[0] == initial}
        assert all(kind(chr(code)) in (Kind.LETTER, Kind.NUMBER) for code in edges[::2])
        assert all(kind(chr(code)) is not kind(chr(code - 1)) for code in edges)


def test_long_repeats_are_merged_from_the_left() -> None:
    """A run of 40,000 characters: work that grew with its square would take minutes."""
    assert read(BPE).encode("ab" * 20_000)[2:] == [1] + [3] * 20_000

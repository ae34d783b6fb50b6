"""Tokenizers give the tokens, and the text, that the package `tokenizers` gives."""

import json
import random
import unicodedata
import zlib

import pytest
from support.tokenizers import KINDS, strings, tokenizer_json
from support.tools import require_module

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.tokenizer import parse
from edgekit.core.text.normalizers import Nfc
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.unigram import Unigram

COUNT = 200


def read(text: str) -> Tokenizer:
    return parse(Record.of(json.loads(text), "tokenizer.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_the_package(kind: str) -> None:
    text = tokenizer_json(kind)
    ours, theirs = read(text), require_module("tokenizers").Tokenizer.from_str(text)
    for string in strings(zlib.crc32(kind.encode()), COUNT):
        for special in (True, False):
            expected = theirs.encode(string, add_special_tokens=special).ids
            assert ours.encode(string, special=special) == expected, repr(string)


@pytest.mark.parametrize("kind", ["unigram", "unigram_first", "unigram_bytes"])
def test_scores_are_those_that_the_package_holds(kind: str) -> None:
    """Its reader of JSON rounds twice, and a last bit decides between two orders of the same tokens."""
    text = tokenizer_json(kind)
    held = json.loads(require_module("tokenizers").Tokenizer.from_str(text).to_str())["model"]["vocab"]
    model = read(text).model
    assert isinstance(model, Unigram)
    assert list(zip(model.tokens, model.scores, strict=True)) == [tuple(pair) for pair in held]
    exact = [score for _, score in json.loads(text)["model"]["vocab"]]
    assert list(model.scores) != exact


@pytest.mark.parametrize("kind", KINDS)
def test_text_of_any_tokens_is_that_of_the_package(kind: str) -> None:
    text = tokenizer_json(kind)
    ours, theirs = read(text), require_module("tokenizers").Tokenizer.from_str(text)
    rng = random.Random(kind)
    for string in strings(zlib.crc32(kind.encode()) + 1, COUNT // 2):
        ids = ours.encode(string)
        drawn = [rng.randrange(len(ours.tokens) + 2) for _ in range(rng.randint(0, 12))]
        for some in (ids, drawn, ids + drawn):
            for special in (True, False):
                expected = theirs.decode(some, skip_special_tokens=not special)
                assert ours.decode(some, special=special) == expected, some


@pytest.mark.parametrize("kind", KINDS)
def test_streams_give_the_text_piece_by_piece(kind: str) -> None:
    tokenizer = read(tokenizer_json(kind))
    for string in strings(zlib.crc32(kind.encode()) + 2, COUNT // 3):
        ids = tokenizer.encode(string)
        stream = tokenizer.stream()
        pieces = [*map(stream.push, ids), stream.end()]
        assert "".join(pieces) == tokenizer.decode(ids)
        assert not any("\ufffd" in piece for piece in pieces) or "\ufffd" in string


def test_nfc_is_that_of_the_package() -> None:
    """On letters with marks, decomposed or not, and on marks that its Unicode does not know."""
    nfc, ours = require_module("tokenizers").normalizers.NFC(), Nfc()
    characters = [chr(code) for code in range(0x110000)]
    named = [ch for ch in characters if unicodedata.decomposition(ch)[:1] not in ("", "<")]
    parts = [*named, *"".join(unicodedata.normalize("NFD", ch) for ch in named)]
    parts += [ch for ch in characters if unicodedata.combining(ch)]
    rng = random.Random(1)
    for _ in range(5000):
        text = "".join(rng.choices(parts, k=rng.randint(1, 8)))
        assert ours(text) == nfc.normalize_str(text), ascii(text)

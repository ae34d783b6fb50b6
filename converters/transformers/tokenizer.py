"""tokenizer.json of Hugging Face -> Tokenizer; what would change tokens and is not known is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.frontend import reading
from edgekit.converters.transformers import tokenizer_steps as steps
from edgekit.core.errors import EdgeKitError
from edgekit.core.text.added_tokens import AddedToken
from edgekit.core.text.bpe import BYTE_TOKENS, Bpe
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.unigram import Unigram

FILE = "tokenizer.json"
_MAX_FILE = 1 << 26
_MAX_TOKENS = 1 << 20
_MAX_LENGTH = 1 << 12  # characters of a token
_MAX_ADDED = 1 << 20  # characters of all added tokens
_MODELS = ("BPE", "Unigram")


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder."""
    with reading(folder.name):
        raw = files.read_beside(folder / FILE, FILE, "the tokenizer", _MAX_FILE)
        return parse(Record.of(files.parse_json(raw, FILE), FILE))


def parse(file: Record) -> Tokenizer:
    byte_level, splits = steps.pretokenizers(file)
    tokenizer = Tokenizer(
        model=_model(file.record("model"), byte_level),
        normalizers=steps.normalizers(file),
        pretokenizers=splits,
        decoding=steps.decoding(file),
    )
    tokenizer = replace(tokenizer, added=_added_tokens(file, tokenizer))
    prefix, suffix = steps.surroundings(file)
    if unknown := [one for one in (*prefix, *suffix) if one not in tokenizer.tokens]:
        raise EdgeKitError("E0401", f"the post_processor adds token {unknown[0]}, which is not there", FILE)
    return replace(tokenizer, prefix=prefix, suffix=suffix)


def _model(record: Record, byte_level: bool) -> Bpe | Unigram:
    # Old files do not say which it is.
    kind = record.text("type", "BPE" if "merges" in record else "")
    if kind not in _MODELS:
        message = f"tokenizers of type {kind or 'unknown':.60} are not read"
        hint = f"{' and '.join(_MODELS)} are read; {steps.BY_HAND}"
        raise EdgeKitError("E0205", message, record.where, hint)
    model = _bpe(record, byte_level) if kind == "BPE" else _unigram(record)
    if kind == "Unigram" and byte_level:
        raise EdgeKitError("E0205", "Unigram of bytes is not read", record.where, steps.BY_HAND)
    if model.byte_fallback and (missing := set(BYTE_TOKENS) - model.vocabulary.keys()):
        message = f"byte_fallback needs tokens of all bytes, {min(missing)} is not there"
        raise EdgeKitError("E0401", message, record.where)
    return model


def _bpe(record: Record, byte_level: bool) -> Bpe:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if record.text(key, ""):
            raise EdgeKitError("E0203", f"{key} is not supported", record.where, steps.BY_HAND)
    if record.number("dropout", 0.0):
        raise EdgeKitError("E0203", "dropout makes tokens random", record.where, "set it to null")
    tokens = _by_id(record.record("vocab"))
    ids = {token: i for i, token in enumerate(tokens) if token}
    unknown = record.text("unk_token") if "unk_token" in record else None
    if unknown is not None and unknown not in ids:
        raise EdgeKitError("E0401", f"unk_token {unknown:.60} is no token", record.where)
    return Bpe(
        tokens=tokens,
        merges=tuple(_merges(record, ids)),
        byte_level=byte_level,
        byte_fallback=record.flag("byte_fallback", False),
        unknown=None if unknown is None else ids[unknown],
        fuse_unknown=record.flag("fuse_unk", False),
        whole_words=record.flag("ignore_merges", False),
    )


def _by_id(vocabulary: Record) -> tuple[str, ...]:
    """The tokens in the order of their ids, "" where there is none."""
    ids: dict[int, str] = {}
    for token, value in vocabulary.fields.items():
        i = checked(value, int, f"{token:.60} in {vocabulary.where}")
        if not 0 <= i < _MAX_TOKENS:
            raise EdgeKitError("E0402", f"token {token:.60} has the absurd id {i}", vocabulary.where)
        if i in ids:
            message = f"{ids[i]:.60} and {token:.60} have the same id {i}"
            raise EdgeKitError("E0401", message, vocabulary.where)
        ids[i] = _text(token, vocabulary.where)
    return tuple(ids.get(i, "") for i in range(max(ids, default=-1) + 1))


def _merges(record: Record, ids: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Pairs of tokens, as "a b" or ["a", "b"]. What they make is a token, too."""
    for i, item in enumerate(record.items("merges")):
        where = f"merges[{i}] of {record.where}"
        pair: Sequence[Any] = item.split(" ") if isinstance(item, str) else checked(item, list, where)
        if len(pair) != 2:
            raise EdgeKitError("E0401", f"{where} is no pair of tokens")
        a, b = (checked(one, str, where) for one in pair)
        for one in (a, b, a + b):
            if one not in ids:
                raise EdgeKitError("E0401", f"{one:.60} is no token", where)
        yield ids[a], ids[b]


def _unigram(record: Record) -> Unigram:
    tokens, scores = [], []
    for i, item in enumerate(record.items("vocab")):
        where = f"vocab[{i}] of {record.where}"
        pair = checked(item, list, where)
        if len(pair) != 2:
            raise EdgeKitError("E0401", f"{where} is no token with its score")
        tokens.append(_text(checked(pair[0], str, where), where))
        scores.append(float(checked(pair[1], float, where)))
        if not math.isfinite(scores[-1]):
            raise EdgeKitError("E0401", f"the score of {tokens[-1]:.60} is {scores[-1]}", where)
    if len(tokens) > _MAX_TOKENS:
        raise EdgeKitError("E0402", f"{len(tokens)} tokens are absurd", record.where)
    unknown = record.integer("unk_id")
    if not 0 <= unknown < len(tokens):
        raise EdgeKitError("E0401", f"unk_id {unknown} is no token", record.where)
    return Unigram(tuple(tokens), tuple(scores), unknown, record.flag("byte_fallback", False))


def _added_tokens(file: Record, tokenizer: Tokenizer) -> tuple[AddedToken, ...]:
    found = tuple(_added(one) for one in file.records("added_tokens")) if "added_tokens" in file else ()
    if sum(len(one.text) for one in found) > _MAX_ADDED:
        raise EdgeKitError("E0402", "the added tokens are absurdly long", file.where)
    ids = dict(enumerate(tokenizer.model.tokens))
    for one in found:
        own = tokenizer.model.vocabulary.get(one.text, one.id)
        if own != one.id or ids.get(one.id) not in ("", one.text, None):
            message = f"the added token {one.text:.60} has the id {one.id}, which contradicts the vocabulary"
            raise EdgeKitError("E0401", message, file.where)
        ids[one.id] = one.text
    return found


def _added(record: Record) -> AddedToken:
    i, text = record.integer("id"), _text(record.text("content"), record.where)
    if not 0 <= i < _MAX_TOKENS:
        raise EdgeKitError("E0402", f"token {text:.60} has the absurd id {i}", record.where)
    if record.flag("single_word", False):
        message = f"single_word of {text:.60} is not supported"
        raise EdgeKitError("E0203", message, record.where, steps.BY_HAND)
    return AddedToken(
        id=i,
        text=text,
        special=record.flag("special", False),
        normalized=record.flag("normalized", True),
        left=record.flag("lstrip", False),
        right=record.flag("rstrip", False),
    )


def _text(token: str, where: str) -> str:
    """A token of bounded length that UTF-8 can hold."""
    if len(token) > _MAX_LENGTH:
        raise EdgeKitError("E0402", f"a token of {len(token)} characters is absurd", where)
    try:
        token.encode()
    except UnicodeEncodeError:
        raise EdgeKitError("E0401", "a token holds half of a surrogate pair", where) from None
    return token

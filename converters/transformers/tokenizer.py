"""tokenizer.json of Hugging Face -> Tokenizer; what would change tokens and is not known is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from edgekit.converters import files
from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.frontend import reading
from edgekit.converters.transformers import tokenizer_steps as steps
from edgekit.core.errors import EdgeKitError
from edgekit.core.text.added_tokens import AddedToken
from edgekit.core.text.bpe import Bpe
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.unigram import Unigram
from edgekit.core.text.wellformed import MAX_TOKENS, faults

FILE = "tokenizer.json"
_MAX_FILE = 1 << 26
_MODELS = ("BPE", "Unigram")


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder."""
    with reading(folder.name):
        raw = files.read_beside(folder / FILE, FILE, "the tokenizer", _MAX_FILE)
        return parse(Record.of(files.parse_json(raw, FILE), FILE))


def parse(file: Record) -> Tokenizer:
    byte_level, splits = steps.pretokenizers(file)
    prefix, suffix = steps.surroundings(file)
    tokenizer = Tokenizer(
        model=_model(file.record("model"), byte_level),
        added=tuple(map(_added, file.records("added_tokens"))) if "added_tokens" in file else (),
        normalizers=steps.normalizers(file),
        pretokenizers=splits,
        decoding=steps.decoding(file),
        prefix=prefix,
        suffix=suffix,
    )
    if fault := next(faults(tokenizer), None):
        raise EdgeKitError("E0401", fault, file.where)
    return tokenizer


def _model(record: Record, byte_level: bool) -> Bpe | Unigram:
    # Old files do not say which it is.
    kind = record.text("type", "BPE" if "merges" in record else "")
    if kind not in _MODELS:
        message = f"tokenizers of type {kind or 'unknown':.60} are not read"
        hint = f"{' and '.join(_MODELS)} are read; {steps.BY_HAND}"
        raise EdgeKitError("E0205", message, record.where, hint)
    if kind == "Unigram" and byte_level:
        raise EdgeKitError("E0205", "Unigram of bytes is not read", record.where, steps.BY_HAND)
    return _bpe(record, byte_level) if kind == "BPE" else _unigram(record)


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
        if not 0 <= i < MAX_TOKENS:
            raise EdgeKitError("E0402", f"token {token:.60} has the absurd id {i}", vocabulary.where)
        if i in ids:
            message = f"{ids[i]:.60} and {token:.60} have the same id {i}"
            raise EdgeKitError("E0401", message, vocabulary.where)
        ids[i] = token
    return tuple(ids.get(i, "") for i in range(max(ids, default=-1) + 1))


def _merges(record: Record, ids: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Pairs of tokens, as "a b" or ["a", "b"]."""
    for i, item in enumerate(record.items("merges")):
        where = f"merges[{i}] of {record.where}"
        pair: Sequence[Any] = item.split(" ") if isinstance(item, str) else checked(item, list, where)
        if len(pair) != 2:
            raise EdgeKitError("E0401", f"{where} is no pair of tokens")
        a, b = (checked(one, str, where) for one in pair)
        for one in (a, b):
            if one not in ids:
                raise EdgeKitError("E0401", f"{one:.60} is no token", where)
        yield ids[a], ids[b]


def _as_rust_reads(score: float) -> float:
    """A number as the package `tokenizers` has it: its reader of JSON (serde_json) rounds the digits, then
    their quotient by a power of 10. Where two orders of tokens are equally probable, the last bit decides."""
    if not math.isfinite(score):
        return score
    sign, digits, exponent = Decimal(repr(score)).as_tuple()
    whole, power = float(int("".join(map(str, digits)))), float(f"1e{abs(int(exponent))}")
    size = whole / power if int(exponent) < 0 else whole * power
    return -size if sign else size


def _unigram(record: Record) -> Unigram:
    tokens, scores = [], []
    for i, item in enumerate(record.items("vocab")):
        where = f"vocab[{i}] of {record.where}"
        pair = checked(item, list, where)
        if len(pair) != 2:
            raise EdgeKitError("E0401", f"{where} is no token with its score")
        tokens.append(checked(pair[0], str, where))
        scores.append(_as_rust_reads(float(checked(pair[1], float, where))))
    return Unigram(
        tuple(tokens), tuple(scores), record.integer("unk_id"), record.flag("byte_fallback", False)
    )


def _added(record: Record) -> AddedToken:
    text = record.text("content")
    if record.flag("single_word", False):
        message = f"single_word of {text:.60} is not supported"
        raise EdgeKitError("E0203", message, record.where, steps.BY_HAND)
    return AddedToken(
        id=record.integer("id"),
        text=text,
        special=record.flag("special", False),
        normalized=record.flag("normalized", True),
        left=record.flag("lstrip", False),
        right=record.flag("rstrip", False),
    )

"""Tokenizers as records of .ek files, and back: `Tokenizer` in ek.fbs."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

from edgekit.core import attributes
from edgekit.core.flatbuffer import Record
from edgekit.core.reasons import DamageError
from edgekit.core.text.bpe import Bpe
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.wellformed import faults


def tokenizer_record(tokenizer: Tokenizer) -> Record:
    model = tokenizer.model
    many: Record = {"tokens": "".join(model.tokens), "lengths": [len(token) for token in model.tokens]}
    if isinstance(model, Bpe):
        many["merges"] = [i for pair in model.merges for i in pair]
        bare: Tokenizer = replace(tokenizer, model=replace(model, tokens=(), merges=()))
    else:
        many["scores"] = model.scores
        bare = replace(tokenizer, model=replace(model, tokens=(), scores=()))
    return {"settings": attributes.encode_fields(bare), **many}


def tokenizer_of(record: Record) -> Tokenizer:
    """The tokenizer that a record describes; ValueError where it is none."""
    bare: Tokenizer = attributes.decode_fields(Tokenizer, record["settings"])
    text, ends = record["tokens"], [0, *accumulate(record["lengths"])]
    if ends[-1] != len(text):
        raise DamageError(f"the tokens have {len(text)} characters, not {ends[-1]}")
    tokens = tuple(text[begin:end] for begin, end in pairwise(ends))
    merges, scores = record["merges"], record["scores"]
    if isinstance(bare.model, Bpe):
        pairs = tuple(zip(merges[::2], merges[1::2], strict=True))
        tokenizer = replace(bare, model=replace(bare.model, tokens=tokens, merges=pairs))
    else:
        tokenizer = replace(bare, model=replace(bare.model, tokens=tokens, scores=scores))
    if fault := next(faults(tokenizer), None):
        raise DamageError(f"its tokenizer is none: {fault}")
    return tokenizer

"""Rules that every tokenizer keeps, so that no text makes it fail or grow without bound."""

from __future__ import annotations

import math
from collections.abc import Iterator

from edgekit.core.text.bpe import BYTE_TOKENS, Bpe
from edgekit.core.text.normalizers import Prepend, Replace
from edgekit.core.text.pretokenizers import Metaspace, Words
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.unigram import Unigram

MAX_TOKENS = 1 << 20
MAX_LENGTH = 1 << 12  # characters of a token, or of what a step puts into text
MAX_ADDED = 1 << 20  # characters of all added tokens
MAX_STEPS = 64
_MAX_GROWTH = 64  # times that steps make a text longer


def faults(tokenizer: Tokenizer) -> Iterator[str]:
    """What is wrong with a tokenizer, in a clause each."""
    model = tokenizer.model
    if len(model.tokens) > MAX_TOKENS or any(not 0 <= one.id < MAX_TOKENS for one in tokenizer.added):
        yield f"ids of tokens are beyond {MAX_TOKENS}"
        return
    yield from _texts(tokenizer)
    yield from _bpe(model) if isinstance(model, Bpe) else _unigram(model)
    if model.byte_fallback and (missing := set(BYTE_TOKENS) - model.vocabulary.keys()):
        yield f"byte_fallback needs tokens of all bytes, {min(missing)} is not there"
    yield from _added(tokenizer)
    yield from _steps(tokenizer)
    known = set(tokenizer.model.vocabulary.values()) | {one.id for one in tokenizer.added}
    around = (*tokenizer.prefix, *tokenizer.suffix)
    if unknown := [one for one in (*around, *tokenizer.stop) if one not in known]:
        yield f"token {unknown[0]}, around texts or at their end, is not there"
    if len(around) + len(tokenizer.stop) > MAX_STEPS:
        yield "there are too many tokens around texts or at their end"


def _texts(tokenizer: Tokenizer) -> Iterator[str]:
    texts = [*tokenizer.model.tokens, *(one.text for one in tokenizer.added)]
    for step in tokenizer.normalizers:
        texts += [step.content] if isinstance(step, Prepend) else []
        texts += [step.old, step.new] if isinstance(step, Replace) else []
    if any(len(text) > MAX_LENGTH for text in texts):
        yield f"a text of more than {MAX_LENGTH} characters is absurd"
    if any(not text.isascii() and any("\ud800" <= ch <= "\udfff" for ch in text) for text in texts):
        yield "a text holds half of a surrogate pair"


def _bpe(model: Bpe) -> Iterator[str]:
    tokens, vocabulary = model.tokens, model.vocabulary
    for a, b in model.merges:
        if not (0 <= a < len(tokens) and 0 <= b < len(tokens)) or tokens[a] + tokens[b] not in vocabulary:
            yield "a merge does not make a token of two others"
            return
    if model.unknown is not None and not _is_token(model, model.unknown):
        yield f"the unknown token {model.unknown} is not there"


def _unigram(model: Unigram) -> Iterator[str]:
    if len(model.scores) != len(model.tokens):
        yield f"there are {len(model.scores)} scores of {len(model.tokens)} tokens"
    if not all(map(math.isfinite, model.scores)):
        yield "a score is not finite"
    if not _is_token(model, model.unknown):
        yield f"the unknown token {model.unknown} is not there"


def _is_token(model: Bpe | Unigram, i: int) -> bool:
    return 0 <= i < len(model.tokens) and bool(model.tokens[i])


def _added(tokenizer: Tokenizer) -> Iterator[str]:
    model = tokenizer.model
    if sum(len(one.text) for one in tokenizer.added) > MAX_ADDED:
        yield "the added tokens are absurdly long"
    texts: dict[int, str] = {}
    for one in tokenizer.added:
        own = model.tokens[one.id] if one.id < len(model.tokens) else ""
        if own not in ("", one.text) or texts.setdefault(one.id, one.text) != one.text:
            yield f"the added token {one.text:.60} has the id {one.id} of another"
        if model.vocabulary.get(one.text, one.id) != one.id:
            yield f"the added token {one.text:.60} has the id {one.id}, and another in the vocabulary"


def _steps(tokenizer: Tokenizer) -> Iterator[str]:
    growth = 1.0
    for step in tokenizer.normalizers:
        if isinstance(step, Replace):
            growth *= max(1.0, len(step.new) / len(step.old)) if step.old else math.inf
    if growth > _MAX_GROWTH:
        yield f"replacements make a text more than {_MAX_GROWTH} times longer"
    if len(tokenizer.normalizers) > MAX_STEPS or len(tokenizer.pretokenizers) > MAX_STEPS:
        yield f"there are more than {MAX_STEPS} steps"
    for split in tokenizer.pretokenizers:
        if isinstance(split, Metaspace) and len(split.replacement) != 1:
            yield f"spaces become {len(split.replacement)} characters, not one"
        if isinstance(split, Words) and split.digits < 0:
            yield f"pieces have {split.digits} digits"
    decoding = tokenizer.decoding
    if len(decoding.space) > 1 or len(decoding.between) > 1 or not 0 <= decoding.strip <= MAX_LENGTH:
        yield "the decoder has no sane settings"

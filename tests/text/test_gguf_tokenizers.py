"""Tokenizers of GGUF files give the tokens of the tokenizer.json that they were made of."""

import json
import random
import zlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.gguf_files import Typed, decoder, file
from support.tokenizers import strings, tokenizer_json
from support.tools import require_module

from edgekit import convert
from edgekit.converters.gguf.tokenizer import PRETOKENIZERS
from edgekit.core.text.bpe import BYTE_TOKENS, Bpe
from edgekit.core.text.tokenizer import Tokenizer

COUNT = 200
BYTE_LEVEL = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen2": "qwen2", "smollm": "smollm"}
# Names that files have for ways to split text, and a tokenizer that splits it so, where need be without
# its normalizer, or merging words that are tokens.
ALIKE = {
    "gpt2": "phi-2 mpt olmo exaone4 gigachat jais trillion a.x-4.0 mellum granite-docling",
    "smollm": "starcoder refact command-r codeshell exaone minerva-7b mellum2",
    "llama3": "llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2",
    "merged llama3": "dbrx smaug-bpe glm4 chatglm-bpe",
    "plain qwen2": "deepseek-r1-qwen stablelm2 hunyuan megrez kormo f2llmv2 solar-open grok-2",
}
NAMES = {pre: kind for kind, names in ALIKE.items() for pre in names.split()}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def simple(kind: str) -> Any:
    """Without what GGUF has no place for: white space of added tokens, and those in normalized text."""
    made = json.loads(tokenizer_json(kind))
    for token in made["added_tokens"]:
        token |= {"lstrip": False, "rstrip": False, "normalized": False}
    if kind == "gpt2":
        made["pre_tokenizer"]["add_prefix_space"] = False
    return made


def settings_of(made: Any, pre: str) -> dict[str, Any]:
    added = {token["id"]: token for token in made["added_tokens"]}
    tokens = {i: token for token, i in made["model"]["vocab"].items()}
    tokens |= {i: token["content"] for i, token in added.items()}
    assert sorted(tokens) == list(range(len(tokens)))
    kinds = [
        (CONTROL if added[i]["special"] else USER_DEFINED) if i in added else NORMAL
        for i in range(len(tokens))
    ]
    return keyed(
        model="gpt2",
        pre=pre,
        tokens=[tokens[i] for i in range(len(tokens))],
        token_type=[Typed(kind, "i4") for kind in kinds],
        merges=[" ".join(pair) for pair in made["model"]["merges"]],
        add_bos_token=True,
        bos_token_id=made["model"]["vocab"]["<s>"],
        eos_token_id=made["model"]["vocab"]["</s>"],
    )


def keyed(**settings: Any) -> dict[str, Any]:
    return {f"tokenizer.ggml.{key}": value for key, value in settings.items()}


def read(settings: Mapping[str, Any], where: Path) -> Tokenizer | None:
    own, tensors = decoder()
    return convert(file(where, {**own, **settings}, tensors)).tokenizer


@pytest.mark.parametrize("kind", BYTE_LEVEL)
def test_tokens_are_those_of_the_package(kind: str, tmp_path: Path) -> None:
    made = simple(kind)
    ours = read(settings_of(made, BYTE_LEVEL[kind]), tmp_path)
    assert ours is not None
    theirs = require_module("tokenizers").Tokenizer.from_str(json.dumps(made))
    for string in strings(zlib.crc32(kind.encode()), COUNT):
        ids = theirs.encode(string).ids
        assert ours.encode(string) == ids, repr(string)
        assert ours.decode(ids) == theirs.decode(ids)
    assert ours.stop == (made["model"]["vocab"]["</s>"],)


@pytest.mark.parametrize("pre", NAMES)
def test_names_of_other_models_stand_for_the_same_ways(pre: str, tmp_path: Path) -> None:
    change, _, kind = NAMES[pre].rpartition(" ")
    made = simple(kind)
    if change == "merged":
        made["model"]["ignore_merges"] = False
    elif change == "plain":
        made["normalizer"] = None
    ours = read(settings_of(made, pre), tmp_path)
    assert ours is not None
    theirs = require_module("tokenizers").Tokenizer.from_str(json.dumps(made))
    for string in strings(zlib.crc32(pre.encode()), COUNT // 10):
        assert ours.encode(string) == theirs.encode(string).ids, repr(string)


def test_every_name_is_tried() -> None:
    assert {*NAMES, *BYTE_LEVEL.values()} == set(PRETOKENIZERS)


def sentencepiece() -> tuple[list[str], list[float], list[int]]:
    """Tokens, scores and kinds of a file whose tokens are learnt pair by pair."""
    vocabulary = json.loads(tokenizer_json("llama2"))["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    kinds = [
        UNKNOWN
        if token == "<unk>"
        else CONTROL
        if token in ("<s>", "</s>")
        else BYTE
        if token in BYTE_TOKENS
        else NORMAL
        for token in tokens
    ]
    return tokens, [0.0 if kind != NORMAL else -float(i) for i, kind in enumerate(kinds)], kinds


def by_scores(text: str, tokens: list[str], scores: list[float]) -> list[int]:
    """The neighbours whose token has the highest score are merged first, the leftmost of equal ones."""
    ids = {token: i for i, token in enumerate(tokens)}
    pieces = list("▁" + text.replace(" ", "▁"))
    while pairs := [(-scores[ids[a + b]], at) for at, (a, b) in enumerate(pairwise(pieces)) if a + b in ids]:
        _, at = min(pairs)
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
    found: list[int] = []
    for piece in pieces:
        found += [ids[piece]] if piece in ids else [ids[BYTE_TOKENS[byte]] for byte in piece.encode()]
    return found


def test_scores_of_sentencepiece_are_merges(tmp_path: Path) -> None:
    tokens, scores, kinds = sentencepiece()
    ours = read(
        keyed(
            model="llama",
            tokens=tokens,
            scores=scores,
            token_type=[Typed(kind, "i4") for kind in kinds],
            bos_token_id=1,
        ),
        tmp_path,
    )
    assert ours is not None
    rng = random.Random(1)
    for string in strings(7, COUNT):
        text = string.replace("▁", "_")
        if any(token in text for token in ("<unk>", "<s>", "</s>", "<0x")) or not text:
            continue
        text = text[: rng.randint(1, 60)]
        ids = by_scores(text, tokens, scores)
        assert ours.encode(text) == [1, *ids], repr(text)
        assert ours.decode(ids) == text


def test_files_without_a_tokenizer_that_is_read_have_none(tmp_path: Path) -> None:
    assert read({}, tmp_path) is None
    assert read(keyed(model="no_vocab"), tmp_path) is None
    assert read(keyed(model="bert"), tmp_path) is None
    assert read(keyed(model="gpt2", pre="default", tokens=["a"], merges=[]), tmp_path) is None


def test_tokens_without_use_are_none(tmp_path: Path) -> None:
    """Places that are reserved have some text."""
    ours = read(
        keyed(
            model="gpt2",
            pre="llama-bpe",
            tokens=["a", "b", "ab", "[PAD3]"],
            token_type=[Typed(kind, "i4") for kind in (1, 1, 1, 5)],
            merges=["a b"],
        ),
        tmp_path,
    )
    assert ours is not None
    assert isinstance(ours.model, Bpe)
    assert ours.model.tokens == ("a", "b", "ab")
    assert ours.encode("ab") == [2]

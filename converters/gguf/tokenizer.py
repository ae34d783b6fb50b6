"""The tokenizer in the settings of a GGUF file, as the tokenizer.json that it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgekit.converters.file_formats.json_record import Record, checked
from edgekit.converters.transformers import tokenizer as json_tokenizer
from edgekit.converters.transformers import tokenizer_steps as steps
from edgekit.core.errors import EdgeKitError
from edgekit.core.text.tokenizer import Tokenizer
from edgekit.core.text.wellformed import MAX_TOKENS

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_MAX_PIECE = 512  # characters of a token that merges are looked for in
_UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 2, 3, 4, 5  # kinds of tokens
Json = dict[str, Any]


def _split(pattern: str) -> Json:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _byte_level(use_regex: bool) -> Json:
    return {"type": "ByteLevel", "add_prefix_space": False, "use_regex": use_regex}


def _in_words(pattern: str) -> list[Json]:
    return [_split(pattern), _byte_level(False)]


# tokenizer.ggml.pre: files name the model for which llama.cpp first had a way to split text, or one alike.
_LIKE_GPT2 = (
    *("gpt-2", "phi-2", "mpt", "olmo", "exaone4", "gigachat", "jais", "trillion", "a.x-4.0", "mellum"),
    "granite-docling",
)
_LIKE_SMOLLM = (
    *("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"),
    "mellum2",
)
_LIKE_LLAMA3 = ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2")
_LIKE_GPT4 = ("dbrx", "smaug-bpe", "glm4", "chatglm-bpe")
_LIKE_QWEN2 = (
    *("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "megrez", "kormo", "f2llmv2", "solar-open"),
    "grok-2",
)
_WAYS: Mapping[tuple[str, ...], list[Json]] = {
    _LIKE_GPT2: [_byte_level(True)],
    _LIKE_SMOLLM: [{"type": "Digits", "individual_digits": True}, _byte_level(True)],
    _LIKE_LLAMA3 + _LIKE_GPT4: _in_words(steps.LLAMA3),
    _LIKE_QWEN2: _in_words(steps.QWEN2),
}
PRETOKENIZERS = {name: way for names, way in _WAYS.items() for name in names}
_NFC = ("qwen2",)
# Words that are tokens are not merged, and texts begin with a token of its own, unless the file says
# otherwise.
_WHOLE_WORDS = _BEGINS = _LIKE_LLAMA3


def read(settings: Record) -> Tokenizer | None:
    """The tokenizer; None where the file has none."""
    kind = settings.text("tokenizer.ggml.model", "none")
    if kind in ("none", "no_vocab"):
        return None
    makers = {"gpt2": _bpe, "llama": _sentencepiece}
    if kind not in makers:
        raise EdgeKitError(
            "E0205", f"tokenizers of type {kind:.40} are not read", settings.where, steps.BY_HAND
        )
    tokens = [checked(t, str, f"tokens of {settings.where}") for t in settings.items(_key("tokens"))]
    if len(tokens) > MAX_TOKENS:
        raise EdgeKitError("E0402", f"{len(tokens)} tokens are absurd", settings.where)
    kinds = settings.integers(_key("token_type"), [1] * len(tokens))
    if len(kinds) != len(tokens):
        raise EdgeKitError("E0401", f"{len(kinds)} kinds of {len(tokens)} tokens", settings.where)
    made = makers[kind](settings, tokens, kinds) | {
        "added_tokens": [
            {"id": i, "content": token, "special": kind != _USER_DEFINED, "normalized": False}
            for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
            if kind in (_UNKNOWN, _CONTROL, _USER_DEFINED) and token
        ],
        "post_processor": _surroundings(settings, tokens),
    }
    return json_tokenizer.parse(Record(made, f"the tokenizer of {settings.where}"))


def _key(name: str) -> str:
    return f"tokenizer.ggml.{name}"


def _vocabulary(tokens: list[str], kinds: list[int]) -> dict[str, int]:
    """Ids that are free have some text, too."""
    return {token: i for i, token in enumerate(tokens) if kinds[i] != _UNUSED and token}


def _bpe(settings: Record, tokens: list[str], kinds: list[int]) -> Json:
    pre = settings.text(_key("pre"), "default")
    if pre not in PRETOKENIZERS:
        message = f"text is split in the way {pre:.40}, which is not known"
        hint = f"those of GPT-2, GPT-4, Llama 3, Qwen 2 and SmolLM are; {steps.BY_HAND}"
        raise EdgeKitError("E0203", message, settings.where, hint)
    return {
        "model": {
            "type": "BPE",
            "vocab": _vocabulary(tokens, kinds),
            "merges": settings.items(_key("merges")),
            "ignore_merges": pre in _WHOLE_WORDS,
        },
        "normalizer": {"type": "NFC"} if pre in _NFC else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": PRETOKENIZERS[pre]},
        "decoder": {"type": "ByteLevel"},
    }


def _sentencepiece(settings: Record, tokens: list[str], kinds: list[int]) -> Json:
    """Its files have scores of tokens in the place of merges."""
    vocabulary = _vocabulary(tokens, kinds)
    scores = settings.items(_key("scores"))
    if len(scores) != len(tokens):
        raise EdgeKitError("E0401", f"{len(scores)} scores of {len(tokens)} tokens", settings.where)
    prefix = settings.flag(_key("add_space_prefix"), True)
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    unknown = next((token for token, kind in zip(tokens, kinds, strict=True) if kind == _UNKNOWN), None)
    return {
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": [pair for _, pair in sorted(_merges(vocabulary, scores), key=lambda m: m[0])],
            "unk_token": unknown,
            "fuse_unk": True,
            "byte_fallback": "<0x00>" in vocabulary,
        },
        "normalizer": {
            "type": "Sequence",
            "normalizers": [*([{"type": "Prepend", "prepend": _SPACE}] if prefix else []), spaces],
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []),
            ],
        },
    }


def _merges(
    vocabulary: Mapping[str, int], scores: list[Any]
) -> Iterator[tuple[tuple[float, int, int], list[str]]]:
    """Each pair of tokens that makes a token, with its rank: high scores, then long parts, come first."""
    for token, i in vocabulary.items():
        if len(token) > _MAX_PIECE:
            raise EdgeKitError("E0402", f"a token of {len(token)} characters is absurd")
        score = float(checked(scores[i], float, "a score"))
        for at in range(1, len(token)):
            if token[:at] in vocabulary and token[at:] in vocabulary:
                yield (-score, -at, at - len(token)), [token[:at], token[at:]]


def _surroundings(settings: Record, tokens: list[str]) -> Json | None:
    """The tokens that begin and end a text."""
    is_bpe = settings.text(_key("model")) == "gpt2"
    begins = settings.text(_key("pre"), "") in _BEGINS if is_bpe else True
    found: list[Json] = [{"Sequence": {"id": "A"}}]
    special: Json = {}
    for end, default in (("bos", begins), ("eos", False)):
        if settings.flag(_key(f"add_{end}_token"), default) and _key(f"{end}_token_id") in settings:
            i = settings.integer(_key(f"{end}_token_id"))
            special[end] = {"ids": [i]}
            found.insert(0 if end == "bos" else len(found), {"SpecialToken": {"id": end}})
    return {"type": "TemplateProcessing", "single": found, "special_tokens": special} if special else None

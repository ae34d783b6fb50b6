"""Tokenizers trained on small texts by the package `tokenizers`, and strings to try them on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from support.tools import ROOT, require_module

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CASES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3, QWEN2, NUMBERS = (_CASES + digits + _REST for digits in (r"\p{N}{1,3}", r"\p{N}", r"\p{N}+"))
GPT4 = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_SCRIPTS = (
    "Grüße aus Köln, naïve façade. Привет, мир! Ξένος κόσμος. 你好,世界。 こんにちは世界 안녕하세요 "
    "नमस्ते दुनिया "
    "مرحبا بالعالم שלום สวัสดี 🎉👍🏽 👩‍👩‍👧 1234 ½ ² ٣٤٥ don't I'LL we've it's DON'T ▁\t\r\n  \n\n "
)

Setup = Callable[[Any, Any], None]  # the package, and a tokenizer whose steps are to be set


def _byte_level(*patterns: str) -> Setup:
    """Split by regular expressions, then bytes."""

    def setup(hf: Any, made: Any) -> None:
        steps = hf.pre_tokenizers
        splits = [steps.Split(hf.Regex(pattern), "isolated") for pattern in patterns]
        made.pre_tokenizer = steps.Sequence(
            [*splits, steps.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        made.decoder = hf.decoders.ByteLevel()

    return setup


def _gpt2(hf: Any, made: Any) -> None:
    made.pre_tokenizer, made.decoder = hf.pre_tokenizers.ByteLevel(), hf.decoders.ByteLevel()
    made.post_processor = hf.processors.ByteLevel(trim_offsets=False)


def _qwen2(hf: Any, made: Any) -> None:
    _byte_level(QWEN2)(hf, made)
    made.normalizer = hf.normalizers.NFC()


def _smollm(hf: Any, made: Any) -> None:
    steps = hf.pre_tokenizers
    made.pre_tokenizer = steps.Sequence(
        [steps.Digits(individual_digits=True), steps.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = hf.decoders.ByteLevel()


def _llama2(hf: Any, made: Any) -> None:
    made.normalizer = hf.normalizers.Sequence([hf.normalizers.Prepend("▁"), hf.normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = hf.pre_tokenizers.Metaspace()  # of training alone: no token has a space within
    made.decoder = _sentence_piece_decoder(hf)


def _mistral(hf: Any, made: Any) -> None:
    made.pre_tokenizer = hf.pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    made.decoder = _sentence_piece_decoder(hf)


def _always(hf: Any, made: Any) -> None:
    made.normalizer = hf.normalizers.Sequence([hf.normalizers.Strip(), hf.normalizers.Lowercase()])
    made.pre_tokenizer, made.decoder = hf.pre_tokenizers.Metaspace(), hf.decoders.Metaspace()


def _first(hf: Any, made: Any) -> None:
    made.normalizer = hf.normalizers.Strip(right=False)
    made.pre_tokenizer = hf.pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = hf.decoders.Metaspace(prepend_scheme="first")


def _bare(hf: Any, made: Any) -> None:
    made.pre_tokenizer = hf.pre_tokenizers.Sequence(
        [hf.pre_tokenizers.Digits(), hf.pre_tokenizers.Metaspace(prepend_scheme="never")]
    )


def _sentence_piece_decoder(hf: Any) -> Any:
    d = hf.decoders
    return d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])


def _begins(hf: Any, made: Any) -> None:
    """A token in front of each text, behind the others that the file has."""
    begin = made.token_to_id("<s>")
    template = hf.processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", begin)])
    made.post_processor = hf.processors.Sequence([hf.processors.ByteLevel(trim_offsets=False), template])


# By name: the model, its steps, and changes of the file that training has no setting for.
KINDS: Mapping[str, tuple[str, Setup, dict[str, Any]]] = {
    "gpt2": ("bytes", _gpt2, {}),
    "llama3": ("bytes", _byte_level(LLAMA3), {"ignore_merges": True}),
    "qwen2": ("bytes", _qwen2, {}),
    "smollm": ("bytes", _smollm, {}),
    "gpt4": ("bytes", _byte_level(GPT4), {}),
    "numbers": ("bytes", _byte_level(NUMBERS, GPT2), {}),
    "llama2": ("fallback", _llama2, {"byte_fallback": True, "fuse_unk": True}),
    "mistral": ("fallback", _mistral, {"byte_fallback": True, "ignore_merges": True}),
    "characters": ("fallback", _bare, {}),
    "fused": ("fallback", _first, {"fuse_unk": True}),
    "unigram": ("unigram", _always, {}),
    "unigram_first": ("unigram", _first, {}),
    "unigram_bytes": ("unigram", _bare, {"byte_fallback": True}),
}


@cache
def tokenizer_json(kind: str) -> str:
    """What the package writes of a tokenizer that it has trained."""
    hf = require_module("tokenizers")
    model, setup, changes = KINDS[kind]
    special = ["<unk>", "<s>", "</s>"]
    if model == "unigram":
        made = hf.Tokenizer(hf.models.Unigram())
        trainer = hf.trainers.UnigramTrainer(
            vocab_size=900, special_tokens=[*special, *_BYTES], unk_token="<unk>", show_progress=False
        )
    else:
        made = hf.Tokenizer(hf.models.BPE(unk_token=None if model == "bytes" else "<unk>"))
        alphabet = hf.pre_tokenizers.ByteLevel.alphabet() if model == "bytes" else []
        trainer = hf.trainers.BpeTrainer(
            vocab_size=800,
            special_tokens=special if model == "bytes" else [*special, *_BYTES],
            initial_alphabet=alphabet,
            limit_alphabet=300,
            show_progress=False,
        )
    setup(hf, made)
    made.train_from_iterator(_corpus(), trainer)
    made.add_tokens(
        [
            hf.AddedToken("<tool>", normalized=False, lstrip=True),
            hf.AddedToken("<tool>s", normalized=False, rstrip=True),
            hf.AddedToken("Kernel", normalized=True),
            hf.AddedToken("Ä x", normalized=True, lstrip=True, rstrip=True),
        ]
    )
    _begins(hf, made)
    file = json.loads(made.to_str())
    file["model"] |= changes
    if kind == "llama2":
        file["pre_tokenizer"] = None
    if model != "bytes":  # byte tokens are special for training alone
        file["added_tokens"] = [one for one in file["added_tokens"] if one["content"] not in _BYTES]
    return json.dumps(file)


def _corpus() -> tuple[str, ...]:
    """Text that is at hand: pages of the documentation, and some of many scripts."""
    pages = [ROOT / "docs" / f"{name}.md" for name in ("quantization", "states", "kernels")]
    return (*(page.read_text(encoding="utf-8") for page in pages), *[_SCRIPTS] * 20)


_ODD = (
    *"\t\n\r \x1c\x85\xa0\u2003\u3000\u200b\ufeff\u0301\u017f▁Ġ'İΣ",
    *("<s>", "</s>", "<unk>", "<tool>", "<tool>s", "<0x41>", "Kernel", "Ä x", "A\u0308 x"),
    *("'s", "'LL", "\r\n", "e\u0301", "\uac00\u11a8", "ΑΣ"),
)
_RANGES = (
    (0x20, 0x7F),
    (0x80, 0x250),
    (0x300, 0x2000),
    (0x2000, 0xD800),
    (0xE000, 0x10000),
    (0x1F300, 0x1FB00),
)


def strings(seed: int, count: int) -> Iterator[str]:
    """Text of all kinds: words, scripts, any characters, repeats, tokens in text, odd spaces, numbers."""
    rng = random.Random(seed)
    words = " ".join(_corpus()).split(" ")

    def part() -> str:
        match rng.randrange(6):
            case 0:
                return " ".join(rng.choices(words, k=rng.randint(1, 6)))
            case 1:
                start = rng.randrange(len(_SCRIPTS))
                return _SCRIPTS[start : start + rng.randint(1, 12)]
            case 2:
                low, high = rng.choice(_RANGES)
                return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 8)))
            case 3:
                return str(rng.choice([rng.choice(_ODD), "a", "ab", "0", " ", "🎉"])) * rng.choice(
                    [2, 3, 9, 40]
                )
            case 4:
                return "".join(rng.choices(_ODD, k=rng.randint(1, 4)))
        return str(rng.randrange(10 ** rng.randint(1, 12)))

    for _ in range(count):
        yield "".join(part() for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8])))

"""GGUF files made to do harm: counts, sizes and places that lie, and parts that are elsewhere."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from support.gguf_files import Blocks, Typed, blocks_of, decoder, file, plain, split, written
from support.hostile_files import Case

Make = Callable[[Path], Path]
EMBEDDING, NORM = "token_embd.weight", "output_norm.weight"
U64 = (1 << 64) - 1


def settings(changes: dict[str, Any], without: str = "") -> Make:
    def make(where: Path) -> Path:
        own, tensors = decoder()
        own.pop(without, None)
        return file(where, {**own, **changes}, tensors)

    return make


def tensors(changes: dict[str, Blocks], without: str = "") -> Make:
    def make(where: Path) -> Path:
        own, given = decoder()
        given.pop(without, None)
        return file(where, own, {**given, **changes})

    return make


def raw(content: bytes) -> Make:
    def make(where: Path) -> Path:
        (where / "net.gguf").write_bytes(content)
        return where / "net.gguf"

    return make


def changed(change: Callable[[bytearray], object]) -> Make:
    """The bytes of a file after something was done to them in place."""
    content = bytearray(written(*decoder()))
    change(content)
    return raw(bytes(content))


def entry(name: str, at: int, value: bytes) -> Make:
    """What describes a tensor, from the end of its name on."""

    def change(content: bytearray) -> None:
        start = content.index(name.encode()) + len(name) + at
        content[start : start + len(value)] = value

    return changed(change)


def part(change: Callable[[Path], object]) -> Make:
    """A model in three files, after something was done to the second."""

    def make(where: Path) -> Path:
        first = split(where, *decoder())
        change(where / "net-00002-of-00003.gguf")
        return first

    return make


def linked(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to(path.with_name("other"))


def renamed(name: str) -> Make:
    return lambda where: split(where, *decoder()).rename(where / name)


def twice(path: Path) -> None:
    path.write_bytes(path.with_name("net-00003-of-00003.gguf").read_bytes())


def tokens(**changes: Any) -> Make:
    own = {"model": "gpt2", "pre": "llama-bpe", "tokens": ["a", "b", "ab"], "merges": ["a b"]} | changes
    return settings({f"tokenizer.ggml.{key}": value for key, value in own.items()})


HEAD = written(*decoder())[:24]
CASES = {
    "magic alone": Case("E0401", "ends in the midst", raw(b"GGUF")),
    "half of a file": Case("E0401", "there are", raw(written(*decoder())[:-100])),
    "settings without end": Case(
        "E0402", "settings are absurd", raw(HEAD[:16] + struct.pack("<Q", U64) + HEAD[24:])
    ),
    "tensors without end": Case(
        "E0402", "tensors are absurd", raw(HEAD[:8] + struct.pack("<Q", 1 << 40) + HEAD[16:])
    ),
    "name without end": Case("E0402", "a name of", raw(HEAD + struct.pack("<Q", U64))),
    "text without end": Case(
        "E0401", "ends in the midst", raw(HEAD + struct.pack("<Q1sIQ", 1, b"a", 8, 1 << 62))
    ),
    "text of no characters": Case(
        "E0401", "is not UTF-8", raw(HEAD + struct.pack("<Q1sIQ2s", 1, b"a", 8, 2, b"\xff\xfe"))
    ),
    "setting of no type": Case("E0401", "unknown type 99", raw(HEAD + struct.pack("<Q1sI", 1, b"a", 99))),
    "array without end": Case(
        "E0402", "items of a", raw(HEAD + struct.pack("<Q1sIIQ", 1, b"a", 9, 0, 1 << 60))
    ),
    "array of arrays": Case(
        "E0205", "arrays in an array", raw(HEAD + struct.pack("<Q1sIIQ", 1, b"a", 9, 9, 1))
    ),
    "version of tomorrow": Case("E0205", "version 4", raw(b"GGUF" + struct.pack("<I", 4) + HEAD[8:])),
    "version of 2023": Case("E0205", "version 1", raw(b"GGUF" + struct.pack("<I", 1) + HEAD[8:])),
    "other byte order": Case("E0205", "big-endian", raw(b"GGUF" + struct.pack(">I", 3) + HEAD[8:])),
    "alignment of 0": Case("E0401", "no power of two", settings({"general.alignment": 0})),
    "alignment of 24": Case("E0401", "no power of two", settings({"general.alignment": 24})),
    "alignment of gigabytes": Case("E0401", "no power of two", settings({"general.alignment": 1 << 31})),
    "alignment in words": Case("E0401", "should be an integer", settings({"general.alignment": "32"})),
    "rank without end": Case("E0402", "dimensions are absurd", entry(NORM, 0, struct.pack("<I", 1 << 31))),
    "dimension without end": Case("E0402", "is absurd", entry(NORM, 4, struct.pack("<Q", U64))),
    "product without end": Case(
        "E0402", "is absurd", entry(EMBEDDING, 4, struct.pack("<QQ", 1 << 32, 1 << 32))
    ),
    "dimension of 0": Case("E0401|E0402", "", entry(NORM, 4, struct.pack("<Q", 0))),
    "type of grids": Case("E0204", "IQ2_XXS", entry(EMBEDDING, 20, struct.pack("<I", 16))),
    "type of no name": Case("E0204", "77 is not read", entry(EMBEDDING, 20, struct.pack("<I", 77))),
    "rows that are no blocks": Case("E0401", "in blocks of 32", entry(EMBEDDING, 20, struct.pack("<I", 8))),
    "place beyond the file": Case("E0401", "there are", entry(NORM, 16, struct.pack("<Q", 1 << 40))),
    "place that is not aligned": Case(
        "E0401", "no multiple of 32", entry(NORM, 16, struct.pack("<Q", 1 << 40 | 8))
    ),
    "two tensors in one place": Case("E0401", "within another tensor", entry(NORM, 16, bytes(8))),
    "two tensors of one name": Case(
        "E0401", "is there twice", raw(written(*decoder()).replace(b"blk.0.ffn_up", b"blk.1.ffn_up"))
    ),
    "no architecture": Case("E0401", "has no general.architecture", settings({}, "general.architecture")),
    "another architecture": Case("E0205", "mamba", settings({"general.architecture": "mamba"})),
    "experts of another architecture": Case(
        "E0205", "architecture grok", settings({"general.architecture": "grok"})
    ),
    "experts of which none is chosen": Case(
        "E0401", "no num_experts_per_tok", settings({"llama.expert_count": 8})
    ),
    "experts without tensors": Case(
        "E0401", "gate", settings({"llama.expert_count": 8, "llama.expert_used_count": 2})
    ),
    "heads that turn in part": Case("E0205", "turn in part", settings({"llama.rope.dimension_count": 2})),
    "scaling that is not known": Case("E0203", "yarn", settings({"llama.rope.scaling.type": "yarn"})),
    "no layers": Case("E0401", "has no num_hidden_layers", settings({}, "llama.block_count")),
    "layers without end": Case("E0402", "layers are absurd", settings({"llama.block_count": 1 << 31})),
    "more layers than there are": Case("E0401", "have no tensor", settings({"llama.block_count": 3})),
    "fewer layers than there are": Case("E0205", "has no place for", settings({"llama.block_count": 1})),
    "heads of nothing": Case(
        "E0401", "num_attention_heads is 0", settings({"llama.attention.head_count": 0})
    ),
    "heads by layer": Case("E0401", "should be an integer", settings({"llama.attention.head_count": [4, 2]})),
    "width of another model": Case("E0401", "configuration says", settings({"llama.embedding_length": 24})),
    "tensor that is missing": Case("E0401", "no tensor model.norm.weight", tensors({}, NORM)),
    "tensor too many": Case("E0205", "no place for: other", tensors({"other": blocks_of("Q8_0", (32,))})),
    "factors of another head": Case(
        "E0401", "factors", tensors({"rope_freqs.weight": plain(np.ones(7, np.float32))})
    ),
    "factors of nothing": Case(
        "E0401", "factors", tensors({"rope_freqs.weight": plain(np.zeros(2, np.float32))})
    ),
    "part that is missing": Case("E0104", "is missing", part(Path.unlink)),
    "part that is a link": Case("E0404", "is a link", part(linked)),
    "part that is another": Case("E0401", "says that it is file 3 of 3", part(twice)),
    "part of another name": Case("E0103", "another name", renamed("net.gguf")),
    "part of more": Case("E0103", "another name", renamed("net-00001-of-00004.gguf")),
    "parts without end": Case("E0103|E0402", "", settings({"split.count": Typed(1 << 40, "u8")})),
    "merge of no tokens": Case("E0401", "is no token", tokens(merges=["a c"])),
    "kinds of fewer tokens": Case("E0401", "kinds of", tokens(token_type=[Typed(1, "i4")])),
    "tokens that are numbers": Case("E0401", "should be text", tokens(tokens=[1, 2])),
    "end that is no token": Case("E0401", "is not there", tokens(add_bos_token=True, bos_token_id=9)),
    "merge into no token": Case("E0401", "does not make a token", tokens(tokens=["a", "b"])),
    "scores of fewer tokens": Case("E0401", "scores of", tokens(model="llama", scores=[1.0])),
    "token of a page": Case("E0402", "is absurd", tokens(model="llama", tokens=["a" * 9999], scores=[1.0])),
}

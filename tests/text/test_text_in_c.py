"""Tokenizers and samplers in C give the tokens and the text of Python, within their memory."""

import json
import random
import shutil
import struct
import subprocess
import unicodedata
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.generated import STRICT, compiled
from support.tokenizers import strings, tokenizer_json
from support.tools import ROOT, require

from edgekit.codegen.printing.render import environment
from edgekit.codegen.text.render import render
from edgekit.codegen.text.tables import Tables
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.tokenizer import parse
from edgekit.core.text.composition import composition
from edgekit.core.text.normalizers import Prepend, Replace
from edgekit.core.text.sampler import Sampler
from edgekit.core.text.tokenizer import Tokenizer

KINDS = (
    *("gpt2", "llama3", "qwen2", "smollm", "gpt4", "numbers", "llama2", "mistral", "characters", "fused"),
    *("unigram", "unigram_first", "unigram_bytes"),
)
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COUNT = 150


def read(kind: str) -> Tokenizer:
    """A tokenizer of the kind, without what C does not have."""
    made = parse(Record.of(json.loads(tokenizer_json(kind)), "tokenizer.json"))
    if not Tables(made).unsupported:
        return made
    kept = tuple(step for step in made.normalizers if isinstance(step, Prepend | Replace))
    added = tuple(one for one in made.added if not kept or not one.normalized)
    return replace(made, normalizers=kept, added=added)


def program(tokenizer: Tokenizer, folder: Path, big_endian: bool = False) -> list[str]:
    """The command that runs the driver."""
    files = render(tokenizer, "net", environment())
    assert files, Tables(tokenizer).unsupported
    for name, text in files.items():
        (folder / name).write_text(text)
    shutil.copy(ROOT / "tests/support/text_driver.c", folder)
    units = ["text_driver.c", *(name for name in files if name.endswith(".c"))]
    compiler = "s390x-linux-gnu-gcc" if big_endian else "gcc"
    flags = ["-static"] if big_endian else SANITIZED
    compiled(folder, compiler, "-std=c99", *STRICT, *flags, "-o", "driver", *units)
    return [*[require("qemu-s390x")] * big_endian, str(folder / "driver")]


def answers(driver: list[str], mode: str, records: list[bytes]) -> bytes:
    done = subprocess.run([*driver, mode], input=b"".join(records), capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:].decode()
    return done.stdout


def text_record(text: bytes, room: int = 0) -> bytes:
    return struct.pack("<II", len(text), room) + text


class Reader:
    """What the driver writes of texts."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        self.at += 4
        return int.from_bytes(self.data[self.at - 4 : self.at], "little", signed=True)

    def tokens(self) -> tuple[int, list[int], list[str]]:
        """The count, and the tokens and pieces of text; the last piece is the end's."""
        count, ids, pieces = self.number(), [], []
        for _ in range(count + 1):
            ids.append(self.number())
            size = self.number()
            pieces.append(self.data[self.at : self.at + size].decode())
            self.at += size
        return count, ids[:-1], pieces


@pytest.mark.parametrize(
    ("kind", "big_endian"),
    [*((kind, False) for kind in KINDS), *((kind, True) for kind in ("qwen2", "llama2", "unigram_bytes"))],
)
def test_tokens_and_text_are_those_of_python(kind: str, big_endian: bool, tmp_path: Path) -> None:
    tokenizer = read(kind)
    driver = program(tokenizer, tmp_path, big_endian)
    texts = [*strings(zlib.crc32(kind.encode()) + 9, COUNT), "", " ", "a" * 300, "\u2581" * 9]
    found = Reader(answers(driver, "tokens", [text_record(text.encode()) for text in texts]))
    for text in texts:
        count, ids, pieces = found.tokens()
        assert ids == tokenizer.encode(text), repr(text)
        assert count == len(ids)
        stream = tokenizer.stream()
        assert pieces == [*map(stream.push, ids), stream.end()], repr(text)
    assert found.at == len(found.data)


def test_text_is_composed_as_in_python(tmp_path: Path) -> None:
    """All characters that have parts, whole and in parts, and marks in any order behind any letters."""
    tokenizer, rng = read("qwen2"), random.Random(5)
    data = composition()
    wholes = [chr(code) for code in data.parts] + [chr(code) for code in range(0xAC00, 0xD7A4, 97)]
    marks = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    ends = [*wholes, *marks, *map(chr, range(0x1100, 0x1200)), *"aeu\u0915\u09c7"]
    texts = ["x".join(wholes[i : i + 64]) for i in range(0, len(wholes), 64)]
    texts += [unicodedata.normalize("NFD", text) for text in texts]
    texts += ["".join(rng.choices(ends, k=rng.randint(1, 12))) for _ in range(600)]
    texts += ["e" + "".join(rng.choices(marks[:40], k=rng.randint(1, 5))) for _ in range(200)]
    driver = program(tokenizer, tmp_path)
    found = Reader(answers(driver, "tokens", [text_record(text.encode()) for text in texts]))
    for text in texts:
        assert found.tokens()[1] == tokenizer.encode(text), ascii(text)


@pytest.mark.parametrize("kind", ["llama3", "qwen2", "llama2", "unigram_bytes"])
def test_room_is_never_exceeded(kind: str, tmp_path: Path) -> None:
    tokenizer = read(kind)
    driver = program(tokenizer, tmp_path)
    cases = [(text.encode(), room) for room, text in enumerate(strings(3, 60), 1)]
    found = Reader(answers(driver, "tokens", [text_record(text, room) for text, room in cases]))
    refused = 0
    for text, room in cases:
        count, ids, _ = found.tokens()
        if count == -1:
            refused += 1
        else:
            assert count <= room
            assert ids == tokenizer.encode(text.decode())
    assert 5 < refused < 60


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    driver = program(read("llama3"), tmp_path)
    wrong = [b"\xff", b"a\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
    wrong.append(b"\xf0\x80\x80\x80")
    for text in wrong:
        with pytest.raises(UnicodeDecodeError):
            text.decode()
    found = Reader(answers(driver, "tokens", [text_record(text) for text in wrong]))
    assert [found.tokens()[0] for _ in wrong] == [-2] * len(wrong)


@pytest.mark.parametrize("big_endian", [False, True])
def test_samplers_draw_the_tokens_of_python(big_endian: bool, tmp_path: Path) -> None:
    driver = program(read("llama3"), tmp_path, big_endian)
    rng = np.random.default_rng(1)
    records, expected = [], []
    for i in range(400):
        words = int(rng.integers(1, 300))
        logits = (rng.standard_normal(words) * rng.choice([0.01, 1, 5, 3000])).astype(np.float32)
        if i % 3 == 0:
            logits = np.round(logits)  # many are equal
        if i % 7 == 0:
            logits[rng.integers(words)] = rng.choice([np.nan, np.inf, -np.inf, 3e38])
        sampler = Sampler(
            temperature=float(rng.choice([0, 0.01, 0.3, 1, 1.7, 100])),
            top_k=int(rng.choice([0, 1, 5, 40, 1000])),
            top_p=float(rng.choice([1, 0.95, 0.5, 0.001])),
            seed=int(rng.integers(1 << 63)) * 2 + 1,
            repetition_penalty=float(rng.choice([1, 1.3, 0.7])),
        )
        text = rng.integers(-1, words + 1, rng.integers(0, 20)).astype(np.int32)
        expected.append(sampler.next(logits, text.tolist(), i))
        fixed = [int(x * 65536 + 0.5) for x in (sampler.temperature, sampler.top_p)]
        seed = sampler.seed.to_bytes(8, "little")
        head = struct.pack("<IIIf", fixed[0], sampler.top_k, fixed[1], sampler.repetition_penalty)
        counts = struct.pack("<III", i, len(text), words)
        records.append(head + seed + counts + text.tobytes() + logits.tobytes())
    found = np.frombuffer(answers(driver, "sample", records), "<i4")
    assert found.tolist() == expected
    assert len(set(expected)) > 50


def test_the_files_are_c_plus_plus_and_clean_for_clang(tmp_path: Path) -> None:
    for kind in ("smollm", "qwen2", "llama2", "unigram_bytes"):
        folder = tmp_path / kind
        folder.mkdir()
        for name, text in render(read(kind), "net", environment()).items():
            (folder / name).write_text(text)
        for unit in ("net_tokenizer.c", "net_sampler.c"):
            require("clang")
            compiled(folder, "clang", "-std=c99", *STRICT, "-fsyntax-only", unit)
            compiled(folder, "g++", "-std=c++11", *STRICT, "-x", "c++", "-fsyntax-only", unit)

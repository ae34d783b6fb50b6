"""The examples of docs/entries.md give what the page shows; --entry says what it cannot read."""

import ctypes
import doctest
import itertools
import re
import shlex
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from support import tiny_tokenizer
from support.command_line import CommandLine
from support.generated import C99, STRICT, compiled
from support.language_models import folder as model_folder
from support.tools import ROOT

import edgekit
from edgekit.core.simulate import Session

ENCODER_DECODERS = ROOT / "tests" / "frontends" / "recorded" / "encoder_decoders.zip"
SEQ2SEQ = ENCODER_DECODERS.with_name("seq2seq.zip")
PAGE = (ROOT / "docs" / "entries.md").read_text(encoding="utf-8")


@pytest.fixture
def tiny_llama(folder: Path) -> Path:
    (folder / "tiny-llama").mkdir()
    made = model_folder()(folder / "tiny-llama")
    tiny_tokenizer.write(made)
    return made


def built_as_the_page_says(cli: CommandLine, folder: Path, library: str) -> ctypes.CDLL:
    """The library of the command of the page that writes it, with the C behind this command."""
    block = rf"^```console\n\$ ([^\n]* -o {library})\n(.*?)^```$.*?^```c\n(.*?)^```$"
    ((line, expected, code),) = re.findall(block, PAGE, re.MULTILINE | re.DOTALL)
    answer = cli(*shlex.split(line)[1:])
    said = answer.out + answer.err
    assert doctest.OutputChecker().check_output(expected, said, doctest.ELLIPSIS), said
    (folder / library / "user.c").write_text(code)
    units = [p.name for p in sorted(Path(library).glob("*.c")) if "selftest" not in p.name]
    units = [unit for unit in units if not unit.endswith(("_tokenizer.c", "_sampler.c"))]
    flags = [*C99, *STRICT, "-Wno-missing-prototypes", "-O1", "-shared", "-fPIC", "-I."]
    compiled(folder / library, "cc", *flags, "-o", "user.so", *units, "-lm")
    return ctypes.CDLL(str(folder / library / "user.so"))


def test_the_page_shows_what_build_says_and_how_c_reads_a_prompt(
    cli: CommandLine, tiny_llama: Path, folder: Path
) -> None:
    user = built_as_the_page_says(cli, folder, "library")
    session = Session(edgekit.convert("tiny-llama", dims={"positions": 16}))
    tokens, logits = np.arange(1, 12, dtype=np.int32), np.zeros(40, np.float32)
    user.begin_text(ctypes.c_void_p(tokens.ctypes.data), len(tokens), ctypes.c_void_p(logits.ctypes.data))
    for at, token in enumerate(tokens):
        step = session.run({"token": np.array([token]), "position": np.array([at], np.int32)})
    np.testing.assert_allclose(logits, step["logits"][0], rtol=1e-4, atol=1e-5)


def test_the_page_shows_the_encoder_of_a_folder(cli: CommandLine, folder: Path) -> None:
    """The C of the page writes the text of transformers."""
    with ZipFile(SEQ2SEQ) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith("t5/")])
    (folder / "t5").rename(folder / "tiny-t5")
    user = built_as_the_page_says(cli, folder, "t5-library")
    with np.load(folder / "tiny-t5" / "io.npz") as io:
        source, length, expected = io["source"], int(io["length"][0]), io["text"]
    text = np.zeros(len(expected), np.int32)
    user.answer(ctypes.c_void_p(source.ctypes.data), length, ctypes.c_void_p(text.ctypes.data), len(text))
    assert text.tolist() == expected.tolist()


def test_the_page_shows_an_encoder_and_a_decoder_as_two_files(cli: CommandLine, folder: Path) -> None:
    with ZipFile(ENCODER_DECODERS) as archive:
        for half in ("encode", "decode"):
            (folder / f"{half}.pt2").write_bytes(archive.read(f"bart/{half}.pt2"))
    user = built_as_the_page_says(cli, folder, "bart-library")
    source, text = np.arange(2, 10), np.zeros(9, np.int64)
    user.answer(
        ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(text.ctypes.data), ctypes.c_int64(len(text))
    )
    (memory,) = edgekit.run("encode.pt2", {"input_ids": source[None]}).values()
    session = Session(edgekit.convert("decode.pt2"))
    for at, (token, following) in enumerate(itertools.pairwise(text)):
        step = {"decoder_input_ids": np.array([[token]]), "cache_position": np.array([at])}
        (logits,) = session.run(step | {"encoder_hidden_states": memory}).values()
        assert logits.argmax() == following
    assert len({*text[1:]}) > 1


def test_quantized_files_are_entries_with_one_set_of_integers(cli: CommandLine, tiny_llama: Path) -> None:
    how = ["--dtype", "int8", "--activations", "dynamic", "--name", "net"]
    for tokens in (1, 4):
        cli.ok("quantize", "tiny-llama", "--dim", f"tokens={tokens}", *how, "-o", f"net{tokens}.ek")
    found = cli.ok(
        "build", "net1.ek", "--entry", "prefill=net4.ek", "-t", "cortex-m7", "--no-verify", "--json"
    ).json
    (entry,) = found["entries"]
    assert (entry["name"], entry["added_weights"], entry["repeated_weights"]) == ("prefill", 16, {})
    assert found["arena_bytes"] == entry["arena_bytes"]


PREFILL = ("tiny-llama", "--dim", "positions=16", "--entry", "prefill:tokens=4:logits=1")


def test_estimate_says_what_build_does(cli: CommandLine, tiny_llama: Path) -> None:
    made = cli.ok("build", *PREFILL, "-o", "out", "--no-verify", "--json").json
    found = cli.ok("estimate", *PREFILL, "--json").json
    for figure in ("entries", "weight_bytes", "arena_bytes", "code_bytes", "constant_bytes", "stack_bytes"):
        assert found[figure] == made[figure], figure
    alone = cli.ok("estimate", *PREFILL[:3], "--json").json
    assert found["weight_bytes"] == alone["weight_bytes"] + 16  # the positions of four tokens
    assert found["arena_bytes"] > alone["arena_bytes"]
    assert "entry" in cli.ok("estimate", *PREFILL).out


def test_verify_compares_each_entry(cli: CommandLine, tiny_llama: Path) -> None:
    found = cli.ok("verify", *PREFILL, "--json").json
    assert [output["name"] for output in found["outputs"]] == ["logits", "prefill.logits"]


def test_bench_measures_each_entry(cli: CommandLine, tiny_llama: Path) -> None:
    """By instructions, which are those that libraries of their own take."""
    how = ("-t", "cortex-m7", "--json")
    found = cli.ok("bench", *PREFILL, *how).json
    alone = cli.ok("bench", *PREFILL[:3], *how).json
    prefill = cli.ok("bench", *PREFILL[:3], "--dim", "tokens=4", "--dim", "logits=1", *how).json
    (entry,) = found["entries"]
    assert found["instructions"] == alone["instructions"]
    figures = ("instructions", "macs", "entries")
    assert [entry[name] for name in figures] == [prefill[name] for name in figures]
    assert entry["name"] == "prefill"


def test_bench_shows_each_entry_with_its_layers(cli: CommandLine, tiny_llama: Path) -> None:
    shown = cli.ok("bench", *PREFILL, "--layers").out
    main, _, prefill = shown.partition("\nentry prefill\n")
    for part in (main, prefill):
        assert "time" in part
        assert part.count("ns a MAC") == 1


@pytest.mark.parametrize("command", ["estimate", "verify", "bench"])
def test_each_command_reads_entries_as_build_does(cli: CommandLine, tiny_llama: Path, command: str) -> None:
    answer = cli(command, "tiny-llama", "--entry", "a:tokens=4:positions=8")
    assert answer.code == 2
    assert "entries share states" in answer.err
    assert "bind the same dimensions for both" in answer.err


def test_run_reads_the_prompt_by_prefill(cli: CommandLine, tiny_llama: Path) -> None:
    text = ["run", "tiny-llama", "--dim", "positions=32", "--text", "once upon a time", "--tokens", "9"]
    plain = cli.ok(*text).out
    assert cli.ok(*text, "--entry", "prefill:tokens=3:logits=1").out == plain
    assert cli.ok(*text, "--entry", "prefill:tokens=16").out == plain  # no full run
    assert cli.ok(*text, "--dim", "tokens=2", "--entry", "prefill:tokens=3").out == plain


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (["prefill"], "E0103 --entry prefill says nothing\nhint: --entry prefill:tokens=16"),
        (["prefill:"], "--entry prefill: says nothing"),
        (["prefill=", "a:tokens=2"], "--entry prefill= says nothing"),
        (["a:tokens=2", "a:tokens=4"], "--entry names a twice"),
        (["a:tokens"], "--dim tokens says nothing"),
        (["a:tokens=-1"], "--dim tokens"),
        (["a:signature=b:signature=c"], "--entry binds signature twice"),
        (["a:signature="], "--entry signature= says nothing"),
        (["a:token=4"], "token"),
        (["a:tokens=4:logits=5"], "logits of the last 5   tiny-llama\nhint: --dim logits=1, up to 4"),
        (["a=there.ek"], "there.ek"),
        (["pre-fill:tokens=2"], "'pre-fill' is no name for an entry"),
        (["a:tokens=4:positions=8"], "entries share states"),
    ],
)
def test_mistakes_are_explained(cli: CommandLine, tiny_llama: Path, entry: list[str], words: str) -> None:
    answer = cli("build", "tiny-llama", "-o", "out", *(word for one in entry for word in ("--entry", one)))
    assert answer.code in (2, 3, 4), answer.err
    assert words in answer.err
    assert not Path("out").exists()


def test_run_takes_prefill_with_text_alone(cli: CommandLine, tiny_llama: Path) -> None:
    for options in (
        ["--text", "a", "--entry", "decode:tokens=2"],
        ["-d", "x.npz", "--entry", "prefill:tokens=2"],
    ):
        answer = cli("run", "tiny-llama", *options)
        assert answer.code == 2
        assert "run takes one --entry, prefill, with --text" in answer.err


def test_a_prefill_of_another_model_is_refused(cli: CommandLine, tiny_llama: Path) -> None:
    cli.ok("convert", "tiny-llama", "--dim", "positions=8", "-o", "short.ek")
    answer = cli("run", "tiny-llama", "--text", "a", "--entry", "prefill=short.ek")
    assert answer.code == 2
    assert "is no prefill of this decoder" in answer.err

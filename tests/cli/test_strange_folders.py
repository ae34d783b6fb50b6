"""Folders and settings of strangers: links, pipes, devices, endless brackets and numbers lead nowhere."""

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.crashes import in_child
from support.tools import require_module

import edgekit
from edgekit import EdgeKitError, settings
from edgekit.codegen.compilation import publish, toolchain
from edgekit.core import files, target
from edgekit.core.builder import Builder
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.types import DType, Type
from edgekit.tuning.journal import Journal

BRACKETS, DIGITS = "[" * 200_000, "9" * 5000
PLANTED: dict[str, Callable[[Path], object]] = {
    "device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "link": lambda path: path.symlink_to("elsewhere"),
    "brackets": lambda path: path.write_text('{"sha256": ' + BRACKETS),
    "digits": lambda path: path.write_text('{"sha256": ' + DIGITS + "}"),
    "folder": Path.mkdir,
    "no JSON": lambda path: path.write_bytes(b"\xff\0"),
    "much": lambda path: path.write_bytes(b" " * (1 << 25)),
}


def ended(work: Callable[[], object]) -> int:
    """The exit code of a process that may take so much time and memory."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + (1 << 30), has + (1 << 30)))
        signal.alarm(20)  # what waits takes no processor time
        work()

    return in_child(limited)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("place", [publish.MANIFEST, ".edgekit-commit/journal.json", ".x.edgekit-tmp"])
def test_an_output_folder_may_hold_anything(place: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / place).parent.mkdir(parents=True)
    PLANTED[name](folder / place)

    def work() -> None:
        publish.publish({"net.c": b"int x;", publish.MANIFEST: b"{}"}, folder, force=True)

    code = ended(work)
    is_in_the_way = name == "folder" and place == publish.MANIFEST
    assert code == (3 if is_in_the_way else 0)
    assert is_in_the_way or (folder / "net.c").read_bytes() == b"int x;"


def test_a_manifest_lists_nothing_behind_links(tmp_path: Path) -> None:
    """What it lists may be replaced: a link out of the folder is not what a build wrote."""
    out, other = tmp_path / "out", tmp_path / "other"
    publish.publish({"net.c": b"1", publish.MANIFEST: b"{}"}, other)
    out.mkdir()
    (out / "sub").symlink_to(other)
    digest = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    (out / publish.MANIFEST).write_text(json.dumps({"sha256": {"sub/net.c": digest}}))
    with pytest.raises(EdgeKitError, match="E0109"):
        publish.publish({"sub/net.c": b"2"}, out)
    assert (other / "net.c").read_bytes() == b"1"


@pytest.mark.parametrize(
    "words", [("convert", "digits.onnx"), ("quantize", "digits.onnx", "--data", "calib.npz")]
)
def test_nothing_is_written_through_a_link_that_nobody_named(
    cli: CommandLine, folder: Path, words: tuple[str, ...]
) -> None:
    secret = folder.parent / "secret"
    secret.write_text("mine")
    for name in ("digits.ek", "digits_int8.ek"):
        Path(name).unlink(missing_ok=True)
        Path(name).symlink_to(secret)
    answer = cli(*words)
    assert answer.code == 2
    assert "E0105" in answer.err
    assert "is a link" in answer.err
    assert secret.read_text() == "mine"


def test_a_build_follows_no_link_that_nobody_named(cli: CommandLine, folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    Path("digits").symlink_to(other)
    answer = cli("build", "digits.ek")
    assert "E0105 digits is a link" in answer.err
    assert list(other.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        '[build]\nclasses = "../secret"',
        '[build]\ndata = "../secret.npz"',
        '[quantize]\ndata = "/secret.npz"',
        '[build]\nentry = ["more=../secret.ek"]',
        '[build]\ntarget = "../secret.toml"',
        '[build]\nclasses = "link"',
        '[quantize]\nlabels = "../secret.npy"',
    ],
)
def test_settings_of_the_folder_read_nothing_outside(cli: CommandLine, folder: Path, text: str) -> None:
    Path("link").symlink_to(folder.parent / "secret")
    Path(settings.FILE).write_text(text)
    answer = cli("inspect", "digits.ek")
    assert answer.code == 2
    assert "outside of this folder" in answer.err
    assert "hint: edgekit --trust" in answer.err
    assert cli("--trust", "inspect", "digits.ek").code == 0


@pytest.mark.parametrize(
    "text", ["x = " + BRACKETS, f"x = {DIGITS}", "x = \0", "\xff", " " * (1 << 21), "[build]\n" * 2]
)
def test_settings_and_targets_end_in_a_sentence(cli: CommandLine, text: str) -> None:
    for name, words in (
        (settings.FILE, ("inspect", "digits.ek")),
        ("mine.toml", ("inspect", "digits.ek", "-t", "mine.toml")),
    ):
        Path(name).write_bytes(text.encode("latin-1"))
        answer = cli(*words)
        assert answer.code in (2, 4), (name, answer.err)
        assert "E7001" not in answer.err
        Path(name).unlink()


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)], ids=["pipe", "device"]
)
def test_a_target_file_is_a_regular_file(make: Callable[[str], object], folder: Path) -> None:
    make("mine.toml")
    with pytest.raises(EdgeKitError, match=r"E0104|E0106"):
        target.load("mine.toml")
    with pytest.raises(EdgeKitError, match="not a regular file"):
        files.read(Path("mine.toml"), 100)


@pytest.mark.parametrize(
    "line",
    [
        'compilers = [""]',
        "compilers = []",
        "cores = 1000000000",
        "cores = -1",
        "cores = 0",
        "part_macs = 0",
        "channels = 0",
        "channels = 1000000000",
        f'clock = "{DIGITS}"',
        f'memory = {{ ram = "{DIGITS}K" }}',
        "clock = -5",
        "cycles_per_instruction = 5e-324",
        'runner = " "',
        """runner = "wine '" """,
        """emulator = "'" """,
    ],
)
def test_a_target_has_numbers_that_can_be(line: str) -> None:
    with pytest.raises(EdgeKitError, match="E0106 target mine: "):
        target.parse("mine", f'base = "host"\n{line}')


@pytest.mark.parametrize(
    "text", [DIGITS, f"{DIGITS}K", "9" * 16, f"{'9' * 308}M", f"{'9' * 308}s", "1e400", "nan"]
)
def test_numbers_in_text_have_an_end(text: str) -> None:
    """As a setting of a folder has them: ram = "9999..."."""
    for reader in (settings.decibels, settings.instructions, settings.share):
        with pytest.raises(EdgeKitError, match="E0103"):
            reader(text)
    for named in (settings.size, settings.count):
        with pytest.raises(EdgeKitError, match="E0103 --ram"):
            named(text, "--ram")


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_limit_of_time_is_a_time(seconds: float) -> None:
    with pytest.raises(EdgeKitError, match="E0103 seconds is"):
        edgekit.Limits(seconds=seconds)


@pytest.mark.parametrize("runner", [" ", "wine '"])
def test_a_runner_is_a_command(cli: CommandLine, runner: str) -> None:
    answer = cli("verify", "digits.ek", "--runner", runner)
    assert answer.code == 2
    assert "E0103 the runner " in answer.err


def test_the_targets_of_edgekit_can_be() -> None:
    for name in target.names():
        assert target.parse("mine", f'base = "{name}"').name == "mine"


def test_models_without_weights_can_be_compared_on_a_page(cli: CommandLine, tmp_path: Path) -> None:
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (4,)))
    graph = builder.graph("net", [x], [builder.one(Sigmoid(), x)])
    for name in ("a.ek", "b.ek"):
        edgekit.save(graph, tmp_path / name)
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 4), np.float32))
    page = tmp_path / "page.html"
    cli.ok("diff", tmp_path / "a.ek", tmp_path / "b.ek", "--data", tmp_path / "x.npz", "--report", page)
    assert "0 B to 0 B" in page.read_text()


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"]
)
@pytest.mark.parametrize(
    "name",
    [
        "x.onnx",
        "x.tflite",
        "x.keras",
        "x.pt2",
        "x.gguf",
        "x.ek",
        "x.json",
        "x.mlir",
        "x.ort",
        "x.prototxt",
        "x",
    ],
)
def test_a_model_is_a_regular_file(make: Callable[[Path], object], name: str, tmp_path: Path) -> None:
    make(tmp_path / name)

    def work() -> None:
        with pytest.raises(EdgeKitError, match="E0104"):
            edgekit.convert(tmp_path / name)

    assert ended(work) == 0


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"]
)
@pytest.mark.parametrize("name", ["given.npz", "given.npy", "samples/given.npz"])
def test_samples_are_in_regular_files(
    cli: CommandLine, make: Callable[[Path], object], name: str, folder: Path
) -> None:
    Path("samples").mkdir()
    make(Path(name))

    def work() -> None:
        answer = cli("quantize", "digits.onnx", "--data", "samples" if "/" in name else name)
        assert "E0104" in answer.err or "E0404" in answer.err, answer.err

    assert ended(work) == 0


def test_links_to_samples_are_followed_where_they_are_named(cli: CommandLine, folder: Path) -> None:
    """In a folder, whoever made it made the link."""
    Path("samples").mkdir()
    Path("samples/link.npz").symlink_to(folder / "calib.npz")
    cli.ok("run", "digits.ek", "--data", "samples/link.npz")
    answer = cli("quantize", "digits.onnx", "--data", "samples")
    assert "E0404 samples/link.npz is a link" in answer.err


@pytest.mark.parametrize("target", ["secret", "/dev/zero", "nothing"])
def test_a_search_goes_on_from_no_link(target: str, tmp_path: Path) -> None:
    """What it appends would go where the link leads."""
    (tmp_path / "secret").write_text("mine\n")
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "journal.jsonl"
    path.symlink_to(tmp_path / target)
    with pytest.raises(EdgeKitError, match="E0404"):
        Journal(path, "this")
    assert (tmp_path / "secret").read_text() == "mine\n"
    assert not (tmp_path / "nothing").exists()


def test_a_compiler_is_not_taken_from_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    require_module("ziglang")
    (tmp_path / "ziglang").mkdir()
    for name in ("__init__.py", "zig"):
        (tmp_path / "ziglang" / name).write_text("#!/bin/sh\necho clang\n" if name == "zig" else "")
        (tmp_path / "ziglang" / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # as python -m does
    found = toolchain.find(target.load("wasm32-simd"))
    assert not Path(found.argv[0]).is_relative_to(tmp_path)

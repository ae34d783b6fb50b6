"""Model formats are found, not listed: a reader is a file, and content decides which one reads."""

import inspect
import sys
from pathlib import Path

import pytest
from support.command_line import CommandLine

from edgekit import converters
from edgekit.converters import read

READERS = list(read.readers())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
def test_readers_keep_to_the_protocol(reader: read.Reader, tmp_path: Path) -> None:
    assert all(suffix[0] == "." and suffix == suffix.lower() for suffix in reader.SUFFIXES)
    parameters = inspect.signature(reader.convert).parameters
    assert {"shapes", "name"} <= parameters.keys()
    for head in (b"", b"\0", b"nonsense", bytes(range(256))):
        assert not reader.sniff(tmp_path / "file.unknown", head)


def test_the_reader_named_as_the_suffix_is_asked_first() -> None:
    for reader in READERS:
        suffix = "." + reader.__name__.rpartition("from_")[2]
        assert next(read.readers(suffix)) is reader
        assert suffix in reader.SUFFIXES


@pytest.fixture
def dream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front end that only adds a file."""
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "from_dream.py").write_text(
        '''"""Dream files: a line with the size of the input."""

from edgekit.builder import Builder
from edgekit.ir import DType, Type
from edgekit.ops.arithmetic import Add

FORMAT = "Dream"
SUFFIXES = (".dream",)


def sniff(path, head):
    return head.startswith(b"DREAM")


def convert(model, *, shapes=None, name=""):
    b = Builder()
    x = b.input("x", Type(DType.F32, (int(model.read_text().split()[1]),)))
    return b.graph(name or model.stem, [x], [b.one(Add(), x, x, name="y")])
'''
    )
    monkeypatch.setattr(converters, "__path__", [*converters.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "edgekit.converters.from_dream", raising=False)


@pytest.mark.parametrize("name", ["net.dream", "net.onnx", "net"])
def test_a_new_format_is_a_new_file(dream: None, cli: CommandLine, name: str) -> None:
    Path(name).write_text("DREAM 7")
    assert cli.ok("inspect", name, "--json").json["inputs"]["x"]["shape"] == [7]
    assert "Dream (.dream)" in cli("inspect", "x.npz").err

"""Model formats are found, not listed: a reader is a file, and content decides which one reads."""

import ast
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.sources import parsed

import edgekit
from edgekit import converters
from edgekit.converters import read
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.quantize import Quantize
from edgekit.core.types import DType, Quant, Type

READERS = list(read.readers())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
def test_readers_keep_to_the_protocol(reader: read.Reader, tmp_path: Path) -> None:
    assert all(suffix[0] == "." and suffix == suffix.lower() for suffix in reader.SUFFIXES)
    parameters = inspect.signature(reader.convert).parameters
    assert {"shapes", "name"} <= parameters.keys()
    for head in (b"", b"\0", b"nonsense", bytes(range(256))):
        assert not reader.sniff(tmp_path / "file.unknown", head)


def test_the_readers_of_the_suffix_are_asked_first() -> None:
    for suffix in {suffix for reader in READERS for suffix in reader.SUFFIXES}:
        wanted = [suffix in reader.SUFFIXES for reader in read.readers(suffix)]
        assert len(wanted) == len(READERS)
        assert wanted == sorted(wanted, reverse=True)


def with_scale(scale: float) -> Graph:
    """A network of integers, whose result stands for reals by this scale."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (4,)))
    (y,) = b.add(Quantize(), x, names=("y",), quant=Quant((scale,), (0,)))
    return b.graph("net", [x], [y])


def twice() -> Graph:
    """Two results of the same name."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (4,)))
    y = b.one(Add(), x, x, name="y")
    return b.graph("net", [x], [y, y])


ILL_FORMED: Mapping[str, tuple[str, Callable[[], Graph]]] = {
    "a scale of 0": ("y has the scale 0.0", lambda: with_scale(0.0)),
    "a negative scale": ("y has the scale -1.0", lambda: with_scale(-1.0)),
    "a scale that is not a number": ("y has the scale nan", lambda: with_scale(np.nan)),
    "an endless scale": ("y has the scale inf", lambda: with_scale(np.inf)),
    "one output twice": ("output y is there twice", twice),
}


@pytest.mark.parametrize("what", ILL_FORMED)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.FORMAT)
def test_no_reader_gives_a_graph_that_breaks_the_rules(
    reader: read.Reader, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a file makes a reader do: the graph is checked before anything else sees it."""
    words, make = ILL_FORMED[what]
    monkeypatch.setattr(reader, "sniff", lambda path, head: True)
    monkeypatch.setattr(reader, "convert", lambda path, **options: make())
    path = tmp_path / f"net{reader.SUFFIXES[0]}"
    path.write_bytes(b"anything")
    with pytest.raises(EdgeKitError, match=words) as refused:
        edgekit.convert(path)
    assert refused.value.code == "E0401"
    assert refused.value.hint


def _holds(reader: read.Reader) -> tuple[str, ...]:
    """The formats whose models are in files of this one, too."""
    folder = sys.modules[reader.__name__.rpartition(".")[0]]
    return getattr(folder, "HOLDS", ())


def test_the_tool_reaches_readers_through_that_check_alone() -> None:
    """But for handlers of ONNX that go on with their own importer, other containers of the models of a format
    (HOLDS), and the interface for onnx's suite, whose models are no files."""
    package = Path(edgekit.__file__).parent
    stages = [link.resolve() for link in package.iterdir() if link.is_symlink()]
    names = {reader.__name__ for reader in READERS}
    own = {
        "converters/onnx/ops/control_flow.py",
        "converters/onnx/ops/sequences.py",
        "converters/onnx/recurrent_loops.py",
        "edgekit/onnx_backend.py",
    }
    holds = {f"converters/{r.__name__.split('.')[-2]}/reader.py": r for r in READERS if _holds(r)}
    found = set()
    for path, tree in parsed((p for folder in (package, *stages) for p in folder.rglob("*.py")), "reader"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                module = getattr(node, "module", None) or ""
                words = {name for alias in node.names for name in (alias.name, f"{module}.{alias.name}")}
                if {module, *words} & names:
                    found.add(path.relative_to(package.parent).as_posix())
    assert own <= found <= own | holds.keys()
    assert "converters/mediapipe/reader.py" in found & holds.keys()


@pytest.fixture
def dream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A front end that only adds a folder."""
    folder = tmp_path / "more" / "dream"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('FORMAT = "Dream"\nSUFFIXES = (".dream",)\n')
    (folder / "reader.py").write_text(
        '''"""Dream files: a line with the size of the input."""

from edgekit.core.builder import Builder
from edgekit.core.types import DType, Type
from edgekit.converters.dream import FORMAT, SUFFIXES
from edgekit.core.ops.arithmetic import Add


def sniff(path, head):
    return head.startswith(b"DREAM")


def convert(model, *, shapes=None, dims=None, name=""):
    b = Builder()
    x = b.input("x", Type(DType.F32, (int(model.read_text().split()[1]),)))
    return b.graph(name or model.stem, [x], [b.one(Add(), x, x, name="y")])
'''
    )
    monkeypatch.setattr(converters, "__path__", [*converters.__path__, str(folder.parent)])
    for name in ("dream", "dream.reader"):
        monkeypatch.delitem(sys.modules, f"edgekit.converters.{name}", raising=False)


@pytest.mark.parametrize("name", ["net.dream", "net.onnx", "net"])
def test_a_new_format_is_a_new_folder(dream: None, cli: CommandLine, name: str) -> None:
    Path(name).write_text("DREAM 7")
    assert cli.ok("inspect", name, "--json").json["inputs"]["x"]["shape"] == [7]
    assert "Dream (.dream)" in cli("inspect", "x.npz").err

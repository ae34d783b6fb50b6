"""The schema means to flatc, which defines the format, what it means to EdgeKit."""

import json
import subprocess
from pathlib import Path

from support.ek_files import forge, sections, thawed
from support.tools import ROOT, require

from edgekit.core import ek_file, flatbuffer
from edgekit.core.ir import Graph


def flatc(folder: Path, *arguments: str) -> None:
    subprocess.run([require("flatc"), "-o", folder, *arguments], check=True, capture_output=True, text=True)


def test_flatc_reads_what_save_writes(path: Path) -> None:
    structure = path.with_name("structure.bin")
    structure.write_bytes(sections(path)[0])
    flatc(
        path.parent,
        "--json",
        "--strict-json",
        "--raw-binary",
        str(ROOT / "edgekit/core/ek.fbs"),
        "--",
        str(structure),
    )
    seen = json.loads(structure.with_suffix(".json").read_text())
    assert seen["name"] == "net"
    assert [node["op"] for node in seen["nodes"]] == ["Dense", "Reshape"]
    assert seen["nodes"][1]["attributes"] == [{"name": "shape", "kind": "integers", "integers": [3, 1]}]
    assert [value["name"] for value in seen["values"]] == ["x", "w", "b", "y", "z"]
    assert seen["source"]["producer"] == "test 1"


def test_load_reads_what_flatc_writes(path: Path, graph: Graph) -> None:
    """flatc lays tables out in another order, and leaves defaults out."""
    structure, data = sections(path)
    text = path.with_name("structure.json")
    record = thawed(flatbuffer.read(ek_file.schema(), structure))
    for item in record["values"]:
        del item["quant"]
    text.write_text(json.dumps(record))
    flatc(path.parent, "--binary", str(ROOT / "edgekit/core/ek.fbs"), str(text))
    forge(path, text.with_suffix(".bin").read_bytes(), data)
    assert ek_file.load(path) == graph

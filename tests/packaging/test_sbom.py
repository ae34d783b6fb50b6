"""Bills of materials are valid CycloneDX, list every file, and are the same for the same build."""

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.nets import Net
from support.tools import require, require_module

from edgekit import build
from edgekit.core.ir import Graph, Source
from edgekit.core.ops.arithmetic import Neg

HOSTILE = 'net"},\n{"bomFormat": "x\u2028</script>\udcff\\.onnx'


SOURCE = Source("net.onnx", "ab" * 32, "onnx", "a producer")


def negated(source: Source = SOURCE) -> Graph:
    net = Net()
    graph = net.done(net(Neg(), net.x(3)))
    return replace(graph.with_name("negated"), source=source)


def bill(path: Path) -> Any:
    """The document, after the official schema found nothing to say."""
    schemas = require_module("cyclonedx.schema")
    validation = require_module("cyclonedx.validation.json")
    text = path.read_text(encoding="utf-8")
    validator = validation.JsonStrictValidator(schemas.SchemaVersion.V1_6)
    assert validator.validate_str(text) is None
    return json.loads(text)


def files_of(document: Any) -> dict[str, str]:
    """The hashes of all files that a document lists."""
    parts = list(document["components"])
    parts += [inner for part in parts for inner in part.get("components", [])]
    return {part["name"]: part["hashes"][0]["content"] for part in parts if part["type"] == "file"}


def test_a_library_has_none_unasked(tmp_path: Path) -> None:
    build(negated(), tmp_path, verify=False)
    assert not list(tmp_path.rglob("*.cdx.json"))


def test_the_bill_of_a_library_lists_every_file(tmp_path: Path) -> None:
    require("gcc")
    report = build(negated(), tmp_path, verify=False, sbom=True)
    document = bill(tmp_path / "negated.cdx.json")
    listed = json.loads((tmp_path / "edgekit.manifest.json").read_text())["sha256"]
    assert listed.pop("negated.cdx.json") == sha256((tmp_path / "negated.cdx.json").read_bytes()).hexdigest()
    assert files_of(document) == listed
    assert "negated.cdx.json" in report.files
    parts = {part["bom-ref"]: part for part in document["components"]}
    assert parts["model"]["name"] == "net.onnx"
    assert parts["model"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert parts["compiler"]["name"] == report.compiler
    kernels = parts["edgekit"]["components"]
    assert {part["name"] for part in kernels} == {name for name in listed if name.startswith("edgekit/")}
    assert all(part["licenses"] == [{"license": {"id": "Apache-2.0"}}] for part in kernels)


def test_the_same_build_has_the_same_bill(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        build(negated(), tmp_path / folder, verify=False, sbom=True)
    other = negated(Source("net.onnx", "cd" * 32))
    build(other, tmp_path / "c", verify=False, sbom=True)
    a, b, c = ((tmp_path / folder / "negated.cdx.json").read_bytes() for folder in "abc")
    assert a == b
    assert json.loads(a)["serialNumber"] != json.loads(c)["serialNumber"]
    assert str(tmp_path).encode() not in a


@pytest.mark.parametrize("digest", ["", "not a hash", "AB" * 40])
def test_a_hostile_source_stays_text(digest: str, tmp_path: Path) -> None:
    build(negated(Source(HOSTILE, digest, HOSTILE, HOSTILE)), tmp_path, verify=False, sbom=True)
    text = (tmp_path / "negated.cdx.json").read_bytes()
    assert text.isascii()
    (model,) = (part for part in json.loads(text)["components"] if part["bom-ref"] == "model")
    assert model["name"] == HOSTILE
    assert {told["value"] for told in model["properties"]} == {HOSTILE}
    assert "hashes" not in model
    assert bill(tmp_path / "negated.cdx.json")["specVersion"] == "1.6"


def test_packages_have_their_own(tmp_path: Path) -> None:
    require_module("ziglang")
    for target, kinds in {"cortex-m4": ["arduino", "zephyr"], "wasm32-simd": ["npm"]}.items():
        build(negated(), tmp_path / target, target=target, package=kinds, verify=False, sbom=True)
        manifest = json.loads((tmp_path / target / "edgekit.manifest.json").read_text())["sha256"]
        for kind in kinds:
            (path,) = (tmp_path / target / kind).rglob("*.cdx.json")
            package = path.parent
            listed = {name: (package / name).read_bytes() for name in files_of(bill(path))}
            assert {name: sha256(data).hexdigest() for name, data in listed.items()} == files_of(bill(path))
            inside = {str(p.relative_to(package)) for p in package.rglob("*") if p.is_file()}
            assert inside == {*listed, "negated.cdx.json"}
            assert str(path.relative_to(tmp_path / target)) in manifest
    published = json.loads((tmp_path / "wasm32-simd/npm/package.json").read_text())["files"]
    assert "negated.cdx.json" in published

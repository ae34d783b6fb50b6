"""Whatever names a model file holds, they stay in the comments and strings that they are written into."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.exports import SAMPLES, Export, who_reads
from support.generated import plain_selftest
from support.hostile_names import MARKER, PAYLOADS, escaped, renamed
from support.report_pages import tuned

from edgekit import EdgeKitError, api
from edgekit.codegen import packages
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.library_map import library_map
from edgekit.codegen.packages import Content, PackageRequest
from edgekit.codegen.program import compile_graph
from edgekit.comparison.difference import diff
from edgekit.core import target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, Source, State
from edgekit.core.ops.arithmetic import Add
from edgekit.core.types import DType, Type, Value
from edgekit.reports import comparison_page, library_page
from edgekit.reports.library_page import LibraryFigures, PageOptions
from edgekit.tuning import page as tuning_page

# Names of classes have no control characters, and one for each value of an output.
PRINTABLE = [payload for payload in PAYLOADS if payload.isprintable()]
CLASSES = tuple(" ".join(PRINTABLE[i::4]) for i in range(4))
READ = [path for path in sorted(SAMPLES.rglob("*")) if who_reads(path)]


def model(payloads: tuple[str, ...], remembers: bool = True) -> Graph:
    """A chain of sums whose values, layers, states, file and producer are called like that."""
    builder = Builder()
    four = Type(DType.F32, (4,))
    x = given = builder.input(f"{payloads[0]} input", four)
    outputs = []
    for i, payload in enumerate(payloads):
        builder.origin = f"{payload} layer"
        c = builder.const(np.arange(4, dtype=np.float32) + i, hint=f"{payload} weights")
        (x,) = builder.add(Add(), x, c, names=[f"{payload} value {i}"])
        outputs.append(x)
    states = ()
    if remembers:
        memory = builder.input(f"{payloads[0]} memory", four)
        (kept,) = builder.add(Add(), memory, x, names=[f"{payloads[0]} kept"])
        states = (State(memory, kept, Value(four, np.arange(4, dtype=np.float32))),)
    source = Source(f"{payloads[0]}.onnx", "00" * 32, "onnx", " ".join(payloads))
    return builder.graph("model", [given], outputs[::3], source, states)


def files_of(graph: Graph, name: str) -> Iterator[tuple[str, bytes]]:
    """Everything that is written for a target, packages too, but for kernels, which no name reaches."""
    chosen = target.load(name)
    program, test = compile_graph(graph, chosen), plain_selftest(graph)
    for optimize in ("size", "speed"):
        yield from generate(program, optimize, test=test).items()
    for kind in packages.kinds():
        try:
            packages.check([kind], [], chosen)
        except EdgeKitError:
            continue
        request = PackageRequest(program, "speed", "auto", False, test=test, content=Content(CLASSES))
        yield from packages.make(kind, request).files.items()


def own(files: Iterator[tuple[str, bytes]]) -> Mapping[str, bytes]:
    return {path: data for path, data in files if "edgekit/" not in path}


@pytest.mark.parametrize("name", ["host", "opencl", "cortex-m4", "esp32-c3", "wasm32-simd", "webgpu"])
def test_names_never_become_code(name: str, tmp_path: Path) -> None:
    files = own(files_of(model(PAYLOADS, remembers=name not in ("opencl", "webgpu")), name))
    assert any(MARKER.encode() in data for data in files.values())  # they are there, in comments
    assert [path for path, data in files.items() if escaped(path, data, tmp_path)] == []


def test_a_page_shows_names_as_text(tmp_path: Path) -> None:
    a = b = model(PAYLOADS, remembers=False)
    samples = [{name: np.ones(4, np.float32) for name in a.inputs}]
    found = diff(a, b, samples)
    page = comparison_page.render(found, [*PAYLOADS, b.name], PAYLOADS)
    assert MARKER in page
    assert not escaped("page.html", page.encode(), tmp_path)


def test_the_page_of_a_library_shows_names_as_text(tmp_path: Path) -> None:
    graph, chosen = model(PAYLOADS), target.load("host")
    found = library_map(compile_graph(graph, chosen), None, {}, None)
    figures = LibraryFigures(
        found, chosen, "speed", None, None, None, 0, 0, PAYLOADS[0], PAYLOADS[0], PAYLOADS
    )
    before = replace(library_page.summary(figures), name=PAYLOADS[0], layers=())
    page = library_page.render(figures, PageOptions((), before, graph, None, PAYLOADS))
    assert MARKER in page
    assert not escaped("page.html", page.encode(), tmp_path)


def test_the_page_of_a_search_shows_names_as_text(tmp_path: Path) -> None:
    for payload in PAYLOADS:
        page = tuning_page.render(replace(tuned(payload), file=payload))
        assert not escaped("page.html", page.encode(), tmp_path)


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_names_of_every_reader_stay_names(path: Path, tmp_path: Path) -> None:
    """Whatever text of a file is found in its graph is replaced by payloads there."""
    shapes = Export(path, "").shapes
    graph = api.convert(path, shapes=shapes)
    texts = {*graph.values, *(node.origin for node in graph.nodes), graph.source.producer}
    texts |= {part for text in texts for part in text.split("/")}
    names = sorted((text for text in texts if len(text) > 8), key=lambda text: (-len(text), text))
    for beside in path.parent.iterdir():
        if beside.is_file() and beside != path:
            shutil.copy(beside, tmp_path)
    hostile = renamed(path, names, tmp_path)
    try:
        changed = api.convert(hostile, shapes=shapes, name="model")
    except EdgeKitError:
        return  # refused whole
    program, test = compile_graph(changed, target.load("host")), plain_selftest(changed)
    files = own(iter(generate(program, "speed", test=test).items()))
    assert [name for name, data in files.items() if escaped(name, data, tmp_path)] == []


@pytest.mark.parametrize("payload", PAYLOADS[:12])
def test_building_runs_no_command_that_a_name_holds(
    payload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack as it was found: a name that declares system() and calls it before main()."""
    monkeypatch.chdir(tmp_path)
    ran = tmp_path / "ran"
    call = f'__attribute__((constructor)) static void f(void) {{ system("touch {ran}"); }}'
    attack = payload.replace(MARKER, f"int system(const char *); {call}")
    api.build(model((attack,)), tmp_path / "out")
    assert not ran.exists()

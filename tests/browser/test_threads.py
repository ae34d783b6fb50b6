"""npm packages for several cores: workers with shared memory, in Node and in pages that are isolated."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.node_tools import Browser
from support.npm_packages import DIGITS, in_node, package, run_script, script_page, simulated, small_digits
from support.sites import STRICT, site
from support.stateful import random_graph
from support.stateful import samples as stream
from support.tools import require_module

from edgekit import convert
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph

CORES = 3


def threaded(graph: Graph, folder: Path, target: str = "wasm32-simd") -> Path:
    """Each layer that can have parts has them, and they take no time: workers sleep and wake all the time."""
    require_module("ziglang")
    return package(graph, folder, replace(targets.load(target), part_macs=1), cores=CORES)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return threaded(small_digits(), tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def universal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return threaded(small_digits(), tmp_path_factory.mktemp("universal"), "wasm32")


# Compares runs by one thread, two and three; `array` is the type of the input.
COMPARE = """
    const models = [];
    for (const threads of [1, 2, 3]) models.push(await createModel({ threads }));
    const [one, two, three] = models;
    const x = (i) => array.from({ length: 64 }, (_, k) => Math.round(100 * Math.sin(i * k)));
    const wrong = [];
    for (let i = 0; i < 300; i++) {
      const expected = String(one.run(x(i)));
      for (const model of [two, three]) if (String(model.run(x(i))) !== expected) wrong.push(i);
    }
    two.dispose();
    if (String(three.run(x(7))) !== String(one.run(x(7)))) wrong.push("after dispose");
    const answer = String([models.length, one.threads, three.threads, ...wrong]);
"""
SAME = "3,1,3"


@pytest.mark.parametrize("graph", ["float32", "int8"])
def test_every_number_of_threads_gives_the_same_bits(graph: str, digits: Path, tmp_path: Path) -> None:
    made = digits if graph == "int8" else threaded(convert(DIGITS), tmp_path)
    array = {"float32": "Float32Array", "int8": "Int8Array"}[graph]
    assert run_script(made, f"const array = {array};{COMPARE} check(answer === '{SAME}');") == "good"


def test_integers_are_those_of_the_simulator(universal: Path) -> None:
    graph = small_digits()
    samples = [simulate.random_inputs(graph, seed) for seed in range(3)]
    assert in_node(universal, samples) == simulated(graph, samples)


def test_states_go_on_from_run_to_run(tmp_path: Path) -> None:
    graph = random_graph(0)
    steps = stream(graph, 4, 0)
    assert in_node(threaded(graph, tmp_path), steps) == simulated(graph, steps)


def test_numbers_of_threads_that_cannot_be_are_refused(digits: Path) -> None:
    script = """
        for (const threads of [0, 4, 1.5, "2"]) {
          const words = await createModel({ threads }).catch(String);
          check(words === `RangeError: digits: threads takes 1 to 3, not ${threads}`);
        }
        delete globalThis.SharedArrayBuffer;
        check((await createModel()).threads === 1);
        const words = await createModel({ threads: 2 }).catch(String);
        check(words === "Error: digits: several threads want a page that is cross-origin isolated");
    """
    assert run_script(digits, script) == "good"


IN_PAGE = f"""
    const {{ createModel }} = await import("./npm/digits.js");
    const array = Int8Array;
    {COMPARE}
    return answer;
"""
MODULES = """
    const { createModel } = await import("./npm/digits.js");
    return (await createModel()).threads;
"""
IN_WORKER = """
    const { createModelInWorker } = await import("./npm/digits.worker.js");
    const { createModel } = await import("./npm/digits.js");
    const x = Int8Array.from({ length: 64 }, (_, i) => i);
    const three = await createModelInWorker({ threads: 3 });
    const one = await createModel({ threads: 1 });
    return String(await three.run(x)) === String(one.run(x));
"""


def test_isolated_pages_have_threads(either: Browser, digits: Path, tmp_path: Path) -> None:
    with site(script_page(digits, tmp_path, IN_PAGE), policy=STRICT, isolated=True) as url:
        visit = either.visit(url)
    assert (visit.result, visit.errors) == (SAME, [])


def test_isolated_workers_have_threads(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    with site(script_page(digits, tmp_path, IN_WORKER), policy=STRICT, isolated=True) as url:
        visit = chromium.visit(url)
    assert (visit.result, visit.errors) == (True, [])


def test_other_pages_fetch_the_module_of_one_thread(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    with site(script_page(digits, tmp_path, MODULES)) as url:
        visit = chromium.visit(url)
    assert visit.result == 1
    assert [request for request in visit.requests if ".wasm" in request] == [f"{url}/npm/digits.wasm"]


def test_a_page_fetches_the_best_module_with_threads(
    chromium: Browser, universal: Path, tmp_path: Path
) -> None:
    with site(script_page(universal, tmp_path, IN_PAGE), isolated=True) as url:
        visit = chromium.visit(url)
    assert visit.result == SAME
    modules = {request.removeprefix(f"{url}/npm/digits.") for request in visit.requests if ".wasm" in request}
    alternatives = [{f"{best}.threads.wasm", f"{best}.wasm"} for best in ("relaxed", "simd")]
    assert modules in alternatives


def test_a_helper_that_is_missing(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    script = IN_PAGE.replace("return answer", "").replace("{ threads }", "{ threads: 2 }")
    folder = script_page(digits, tmp_path, script, without=["*.helper.js"])
    with site(folder, isolated=True) as url:
        words = chromium.visit(url).result
    assert words == "Error: digits: no worker for a second thread: it was not loaded"

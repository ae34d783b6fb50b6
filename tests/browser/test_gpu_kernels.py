"""Every kernel in WGSL, as Chromium compiles it: stricter than what tests of single kernels run on."""

import json
from pathlib import Path

from support.gpu_cases import every_kernel
from support.node_tools import Browser
from support.sites import site

from edgekit.codegen.gpu.wgsl import module

_SCRIPT = """
const device = await (await navigator.gpu.requestAdapter()).requestDevice();
const found = {};
for (const [name, code] of Object.entries(await (await fetch("modules.json")).json())) {
  const info = await device.createShaderModule({ code }).getCompilationInfo();
  found[name] = info.messages.map((message) => `${message.type}: ${message.message}`);
}
globalThis.result = found;
"""
_UNEVEN = """
@group(0) @binding(0) var<storage, read_write> y: array<i32>;
@compute @workgroup_size(64) fn main() { for (var i: i32 = 0; i < y[0]; i += 1) { workgroupBarrier(); } }
"""


def complaints(chromium: Browser, folder: Path, modules: dict[str, str]) -> dict[str, list[str]]:
    """Of the compiler, for each module."""
    (folder / "index.html").write_text('<!doctype html><script type="module" src="page.js"></script>')
    (folder / "page.js").write_text(_SCRIPT)
    (folder / "modules.json").write_text(json.dumps(modules))
    with site(folder) as url:
        visit = chromium.visit(url)
    assert not visit.errors
    assert visit.result.keys() == modules.keys()
    return {name: messages for name, messages in visit.result.items() if messages}


def test_every_kernel_compiles(chromium: Browser, tmp_path: Path) -> None:
    modules = {name: module(kernel) for name, kernel in every_kernel().items()}
    decoders = {"quantize_rows", "rotary", "swiglu_f32", "cached_attention_fours_s64_1_x1"}
    assert decoders < modules.keys()
    assert complaints(chromium, tmp_path, modules) == {}


def test_barriers_that_items_may_miss_are_seen(chromium: Browser, tmp_path: Path) -> None:
    """In a loop whose end comes from memory."""
    ((_, messages),) = complaints(chromium, tmp_path, {"uneven": _UNEVEN}).items()
    assert "uniform control flow" in " ".join(messages)

"""`edgekit demo`: a trained model becomes C, is compiled, checked, and reads digits it has never seen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgekit import api
from edgekit.core.distribution import data_file
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array
from edgekit.reports import comparison_page, pages, results

_DRAWN = (3, 5, 8)  # labels of the images that are shown
_INK = " .:*#"
_CALIBRATION = 64  # images
_FIRMWARE = "cortex-m4"
_BROWSER = "wasm32-simd"


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    folder: str  # empty: nothing was kept
    size: api.Report
    speed: api.Report
    ran_on: str  # the compiler of the C that recognised the images, or the simulator
    images: int
    correct: int
    quantization: api.Quantization
    int8: api.Report
    int8_correct: int
    firmware: api.Report
    instructions: int | None  # of one run on the microcontroller; None: no emulator here
    browser: api.Report | None  # None: nothing here compiles for WebAssembly


def demo(folder: Path | None, out: Callable[[str], None]) -> Demo:
    """Convert, build both ways, verify, recognise; `out` hears the story. `folder` keeps the files."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return _demo(folder, str(folder), out)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        return _demo(Path(scratch), "", out)


def _demo(folder: Path, kept: str, out: Callable[[str], None]) -> Demo:
    with np.load(data_file("digits.npz"), allow_pickle=False) as held_out:
        x, labels = held_out["x"], held_out["label"]
    out("A network that was trained to read digits, as ONNX, becomes a graph: simplified, checked.\n")
    graph = api.convert(data_file("digits.onnx"))
    api.save(graph, folder / "digits.ek")
    _tell(out, results.inspection(api.inspect(graph), verbose=False))

    out("\nThe smallest library:\n")
    size = api.build(graph, folder / "size", optimize="size")
    _tell(out, results.build(_shown(size, kept), verbose=False))
    out("\nThe fastest library, from the same kernels:\n")
    speed = api.build(graph, folder / "speed", optimize="speed")
    _tell(out, results.build(_shown(speed, kept), verbose=False))

    out("\nThis function is what runs on the device; all its memory is the caller's:\n")
    _tell(out, _run_function(folder / "speed" / "digits.c"))

    target = "host" if speed.verification else None
    ran_on = f"C, compiled with {speed.compiler}" if target else "the simulator"
    scores = next(iter(api.run(graph, x, target=target).values()))
    found = scores.reshape(len(labels), -1).argmax(axis=1)
    correct = int((found == labels).sum())
    out(f"\nImages that the network has never seen, recognised by {ran_on}:\n")
    _tell(out, list(_drawn(x, labels, found)))
    out(f"\n{correct} of {len(labels)} are right.")
    out(f"\nThe same network in int8, calibrated with {_CALIBRATION} of these images:\n")
    small, quantization = api.quantize_model(graph, x[:_CALIBRATION])
    api.save(small, folder / "digits_int8.ek")
    int8 = api.build(small, folder / "int8", optimize="size")
    _tell(out, results.build(_shown(int8, kept), verbose=False))
    int8_correct = _correct(small, x, labels, target)
    sizes = f"{results.size(size.flash_bytes)} became {results.size(int8.flash_bytes)}"
    out(f"\n{int8_correct} of {len(labels)} are right in int8, {correct} in floats; of flash, {sizes}.")
    out("\nThe same for a microcontroller, a Cortex-M4:\n")
    firmware = api.build(small, folder / _FIRMWARE, target=_FIRMWARE)
    _tell(out, results.build(_shown(firmware, kept), verbose=False))
    instructions = api.bench(small, target=_FIRMWARE).instructions if firmware.verification else None
    if instructions:
        per_mac = instructions / max(firmware.macs, 1)
        out(f"\nOne run takes {instructions:,} instructions, {per_mac:.2f} a multiplication.")
    out("\nAnd for browsers, an npm package:\n")
    browser = None
    try:
        browser = api.build(small, folder / "browser", target=_BROWSER, package=("npm",))
        _tell(out, results.build(_shown(browser, kept), verbose=False))
    except EdgeKitError as error:
        out(f"left out: {error.message}; {error.hint}")
    page = folder / "report.html"
    names = ["digits, float32", "digits, int8"]
    pages.save(page, comparison_page.render(api.diff(graph, small, x[:8]), names))
    if kept:
        out(f"\nAll of it is in {kept}. Start reading with {kept}/speed/digits.c;")
        out(f"{kept}/report.html shows what int8 does to each layer.")
    else:
        out("\n`edgekit demo -o FOLDER` keeps the files. Your own model: `edgekit build MODEL`.")
    return Demo(
        folder=kept,
        size=size,
        speed=speed,
        ran_on=ran_on,
        images=len(labels),
        correct=correct,
        quantization=quantization,
        int8=int8,
        int8_correct=int8_correct,
        firmware=firmware,
        instructions=instructions,
        browser=browser,
    )


def _correct(graph: api.Graph, x: Array, labels: Array, target: str | None) -> int:
    """How many images are recognised."""
    scores = next(iter(api.run(graph, x, target=target).values()))
    return int((scores.reshape(len(labels), -1).argmax(axis=1) == labels).sum())


def _tell(out: Callable[[str], None], lines: list[str]) -> None:
    for line in lines:
        out(f"    {line}")


def _run_function(path: Path) -> list[str]:
    """The text of the last function of a generated file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[max(i for i, line in enumerate(lines) if line.startswith("void ")) :]


def _shown(built: api.Report, kept: str) -> api.Report:
    """The report without the name of a folder that is about to vanish."""
    return built if kept else replace(built, folder=Path(built.folder).name)


def _drawn(images: Array, labels: Array, found: Array) -> Iterator[str]:
    """Some images side by side, two characters a pixel, and what was recognised."""
    indices = [int(np.flatnonzero(labels == label)[0]) for label in _DRAWN]
    levels = np.rint(images[indices, 0] * (len(_INK) - 1)).astype(int)
    for rows in levels.transpose(1, 0, 2):
        yield "   ".join("".join(_INK[level] * 2 for level in row) for row in rows).rstrip()
    width = 2 * images.shape[-1]
    yield "   ".join(f"{found[i]}".center(width) for i in indices).rstrip()

"""Verification of compiled code in which a fault was planted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from support.tools import require

from edgekit.codegen.compilation import build as library
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.verification.verify import drive, random_samples, verify
from edgekit.core import target
from edgekit.core.ir import Graph

HOST = target.load("host")


@contextmanager
def compiled_as(graph: Graph, claimed: Graph, patch: tuple[bytes, bytes] | None = None) -> Iterator[None]:
    """Verify the code of one graph as if it were that of another, after its text was patched."""
    require("gcc")
    program = fit(graph, HOST, "caller", optimize="size")
    with library.compiled(program, "size") as made:
        driver = made.driver
        if patch:
            folder = driver.executable.parent
            texts = {path: path.read_bytes() for path in folder.rglob("*.[ch]")}
            (hit,) = (path for path, text in texts.items() if patch[0] in text and path.name != "driver.c")
            hit.write_bytes(texts[hit].replace(*patch))
            compiler = toolchain.find(HOST)
            driver = drive(program, made.sources, folder, compiler, "size")
        program = replace(program, graph=claimed)
        verify(program, driver, made.compiler, made.sources, random_samples(program))
        yield

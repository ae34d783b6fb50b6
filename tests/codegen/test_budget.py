"""Libraries that do not fit into the memory of a target: nothing is written, and it is said what is large."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.tools import ROOT, require

from edgekit import EdgeKitError, build
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.errors import Exit
from edgekit.core.passes.simplify import simplify

DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
HOST = target.load("host")


def test_what_fits_to_the_byte_is_built(tmp_path: Path) -> None:
    require("gcc")
    gcc = replace(HOST, compilers=("gcc",))
    made = build(DIGITS, tmp_path / "any", target=gcc, verify=False)
    assert made.flash_bytes is not None
    assert made.stack_bytes is not None
    need = {"flash": made.flash_bytes, "ram": made.arena_bytes + made.stack_bytes}
    build(DIGITS, tmp_path / "exact", target=replace(gcc, memory=need), verify=False)
    for bank, size in need.items():
        short = replace(gcc, memory={**need, bank: size - 1})
        with pytest.raises(EdgeKitError, match=f"needs {size:,} B of {bank}") as error:
            build(DIGITS, tmp_path / bank, target=short, verify=False)
        assert (error.value.code, error.value.exit_code) == ("E0604", Exit.GATE)
        assert not (tmp_path / bank).exists()


def test_both_banks_name_what_is_large(tmp_path: Path) -> None:
    """Known before anything is compiled."""
    nowhere = replace(HOST, compilers=("no-such-compiler",), memory={"flash": 20_000, "ram": 4_000})
    with pytest.raises(EdgeKitError) as error:
        build(DIGITS, tmp_path / "out", target=nowhere)
    flash, ram = error.value, error.value.also[0]
    assert "constants 25,256" in flash.message
    assert flash.hint.startswith("the largest layers: node_")
    assert "arena 4,512" in ram.message
    assert ram.hint == "most is in use in layer node_conv2d_1: relu_1 4,096 B, relu 3,072 B"


def test_the_peak_is_where_the_arena_is_full() -> None:
    peak = compile_graph(simplify(convert(DIGITS)), HOST).peak
    assert peak is not None
    assert sum(size for _, size in peak.tensors) == 7168


def test_inputs_and_outputs_that_do_not_fit_beside_it_are_told_of(tmp_path: Path) -> None:
    """To the byte: where they are is the caller's business, so the library is written."""
    nowhere = replace(HOST, compilers=("no-such-compiler",))
    whole = build(DIGITS, tmp_path / "any", target=nowhere)
    assert not whole.warning
    for short in (0, 1):
        made = build(
            DIGITS,
            tmp_path / str(short),
            target=replace(nowhere, memory={"ram": whole.working_bytes - short}),
        )
        assert bool(made.warning) == bool(short)
    assert (
        f"take {whole.working_bytes - whole.arena_bytes:,} B beside {whole.arena_bytes:,} B" in made.warning
    )
    inside = replace(nowhere, memory={"ram": whole.working_bytes - 1})
    assert not build(DIGITS, tmp_path / "arena", target=inside, ports="arena").warning

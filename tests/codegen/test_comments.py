"""Comments of generated C name only files that lie in the library; lines of code are not long."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.every_kernel import graphs

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.kernels.support_headers import support_files
from edgekit.codegen.printing.describe import window
from edgekit.codegen.printing.render import _with_short_lines, render
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ops import Call

_FILE = re.compile(r"(?<![\"/<.\w-])[\w./]+\.(?:h|c|py|md)\b")


@pytest.mark.parametrize("target", ["cortex-m4", "x86-64-avx2"])
def test_files_that_comments_name_are_there_and_lines_are_short(target: str) -> None:
    missing, long = set(), set()
    for graph in graphs():
        program = compile_graph(graph, targets.load(target))
        kernels = {kernel.name for kernel in program.kernels}
        files = render(program, "size", "c")
        names = {path.rpartition("/")[2] for path in files}
        for path, data in files.items():
            if path.endswith((".c", ".h")) and "/" in path:
                for line in data.decode().splitlines():
                    if not line.startswith("#include"):
                        named = {name.rpartition("/")[2] for name in _FILE.findall(line)}
                        missing |= {(path, name, line) for name in named - names}
                    is_code = path[8:-2] in kernels and not line.lstrip().startswith(("*", "/*", "#"))
                    long |= {(path, line)} if is_code and len(line) > 112 else set()
    assert not missing
    assert not long


@pytest.mark.parametrize("header", [name for name in contracts.headers() if name != "generic.h"])
def test_a_header_names_files_that_it_brings_along(header: str) -> None:
    """A library has a header of an instruction set without those of others."""
    assert _named(contracts.header(header)) <= {name for name, _ in support_files([header])}


@pytest.mark.parametrize("variant", all_variants(), ids=lambda variant: variant.file)
def test_sentences_on_a_kernel_name_neither_its_contract_nor_another_kernel(variant: Variant) -> None:
    """The contract has another name in a library, and it is included right below."""
    own = {path.name for path in (contracts.HEADERS / "contracts").glob("*.h")}
    assert _named(variant.source()).isdisjoint(own | {variant.path.name for variant in all_variants()})


def _named(text: str) -> set[str]:
    return {
        name.rpartition("/")[2]
        for comment in contracts.COMMENT.findall(text)
        for name in _FILE.findall(comment)
    }


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "3x5"),
        ({"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}, "3x5"),
        ({"stride_h": 2, "stride_w": 2}, "3x5 s2"),
        ({"stride_h": 1, "stride_w": 2}, "3x5 s1x2"),
        ({"stride_h": 2, "stride_w": 1, "dilation_h": 3, "dilation_w": 1}, "3x5 s2x1 d3x1"),
    ],
)
def test_windows_are_named_by_size_strides_and_dilations(more: Mapping[str, int], text: str) -> None:
    call = Call(kernel="conv2d", types={}, args=(), params={"k_h": 3, "k_w": 5, **more})
    assert window(call) == text
    assert window(replace(call, params=more)) == ""


def test_a_macro_stays_one() -> None:
    """Its last line has no backslash, but gets some where it is broken."""
    call = f"        f({', '.join(f'argument_{i}' for i in range(12))});\n"
    lines = _with_short_lines(f"#define EK_EACH(n) \\\n    for (; n;) \\\n{call}int x;\n").splitlines()
    assert len(lines) > 4
    assert all(line.endswith("\\") for line in lines[:-2])
    assert not lines[-2].endswith("\\")
    assert max(map(len, lines)) <= 112

"""Programs are linked without the functions of the compiler first, which zig compiles for each processor."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.tools import require_module

from edgekit import EdgeKitError
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.core import target as targets

MAIN = "int main(void)\n{{\n    volatile {type} x = 3;\n    x = x * x;\n    return x == 9 ? 0 : 1;\n}}\n"


def tried(name: str, main: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Was each try to link one without them?"""
    require_module("ziglang")
    target = targets.load(name)
    plain, found = toolchain.Compiler.run, list[bool]()

    def run(self: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> str:
        found.append("-nostdlib" in arguments)
        return plain(self, arguments, folder)

    monkeypatch.setattr(toolchain.Compiler, "run", run)
    (folder / "main.c").write_text(main)
    compiler = toolchain.find(target)
    assert "zig" in compiler.name
    runner.link(target, compiler, ["-O1", *target.cflags, "-I.", "main.c", "-o", "main.exe"], folder)
    assert (folder / "main.exe").is_file()
    return found


@pytest.mark.parametrize(
    ("name", "type", "expected"),
    [
        ("cortex-m4", "float", [True]),
        ("cortex-m3", "int", [True]),
        ("cortex-m3", "float", [True, False]),  # without an FPU
        ("riscv64", "float", [True]),
    ],
)
def test_the_compilers_functions_are_linked_where_they_are_needed(
    name: str, type: str, expected: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tried(name, MAIN.format(type=type), tmp_path, monkeypatch) == expected


def test_the_fault_of_a_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EdgeKitError, match="undefined symbol: nowhere"):
        tried(
            "cortex-m4",
            "int nowhere(void);\nint main(void)\n{\n    return nowhere();\n}\n",
            tmp_path,
            monkeypatch,
        )

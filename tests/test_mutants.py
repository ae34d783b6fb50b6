"""Mutants of mutation testing: each is one change, and still a program."""

import ast
import json
from pathlib import Path
from textwrap import dedent

import pytest
from support.tools import ROOT

from benchmarks.reliability import (
    mutants,
    mutants_c,
    mutants_python,
    mutation,
    verified_mutants,
    workplace,
)
from benchmarks.reliability.kernel_users import users
from benchmarks.reliability.related_tests import Related, digest
from benchmarks.reliability.verified_mutants import Result
from benchmarks.results import table

PYTHON = '''
    """Not this text: 1 < 2."""

    LIMIT = 4


    def clipped(x, low=0.5, *, name="x", strict=False):
        """Nor this one."""
        if not strict and x < low:
            raise ValueError(f"{x + 1} is too small")
        values[0] = min(x, LIMIT)
        values.sort()
        values[1] = x[0] - low
        return np.rint(values[:len(x)]) * -x
'''
C = """
    /* Not this: a < b. */
    for (int32_t i = 0; i < n; i++) { // nor this, 3
        y[i] = x[i] >> 2;
        y[i] = n - i;
    }
"""


def changed(source: str, language: str) -> set[tuple[str, str, str]]:
    """(kind, line before, line after) of each mutant."""
    edits = mutants_python.edits if language == "python" else mutants_c.edits
    found = set()
    for edit in edits(source):
        pairs = zip(source.splitlines(), edit.apply(source).splitlines(), strict=True)
        ((before, after),) = [pair for pair in pairs if pair[0] != pair[1]]
        assert before == source.splitlines()[edit.line - 1]
        found.add((edit.kind, before.strip(), after.strip()))
    return found


def test_mutants_of_python() -> None:
    found = changed(dedent(PYTHON), "python")
    head = 'def clipped(x, low=0.5, *, name="x", strict=False):'
    assert {after for _, before, after in found if before == head} == {
        head.replace("0.5", "1.5"),
        head.replace("0.5", "0.25"),
        head.replace('"x"', "'x_'"),
        head.replace("False", "True"),
    }
    assert {(kind, after) for kind, _, after in found if "removed" in kind} == {
        ("removed call", "pass"),
        ("removed update", "pass"),
    }
    assert ("swapped operands", "values[1] = x[0] - low", "values[1] = (low - x[0])") in found
    assert ("call", "values[0] = min(x, LIMIT)", "values[0] = max(x, LIMIT)") in found
    assert ("comparison", "if not strict and x < low:", "if not strict and x <= low:") in found
    assert ("and/or", "if not strict and x < low:", "if (not strict or x < low):") in found
    assert ("dropped not", "if not strict and x < low:", "if (strict) and x < low:") in found
    assert ("branch", "if not strict and x < low:", "if False:") in found
    assert ("constant", "LIMIT = 4", "LIMIT = 3") in found
    result = "return np.rint(values[:len(x)]) * -x"
    assert ("call", result, result.replace("rint", "floor")) in found
    assert ("slice", result, result.replace("len(x)", "(len(x)) + 1")) in found
    assert ("dropped minus", result, result.replace("-x", "(x)")) in found
    assert not any("small" in before or "text" in before or "Nor" in before for _, before, _ in found)


def test_mutants_of_c() -> None:
    loop = "for (int32_t i = 0; i < n; i++) { // nor this, 3"
    shift, difference = "y[i] = x[i] >> 2;", "y[i] = n - i;"
    assert changed(dedent(C), "c") == {
        ("constant", loop, loop.replace("i = 0", "i = 1")),
        ("comparison", loop, loop.replace("i < n", "i <= n")),
        ("shift", shift, shift.replace(">>", "<<")),
        ("constant", shift, shift.replace("2", "3")),
        ("constant", shift, shift.replace("2", "1")),
        ("removed update", shift, ";"),
        ("swapped operands", difference, "y[i] = i - n;"),
        ("arithmetic", difference, "y[i] = n + i;"),
        ("removed update", difference, ";"),
    }


@pytest.mark.parametrize(
    "file", ["edgekit/core/fixed.py", "quantize/rounding/gptq.py", "converters/stablehlo/mlir_text.py"]
)
def test_mutants_are_programs(file: str) -> None:
    source = (ROOT / file).read_text(encoding="utf-8")
    edits = mutants_python.edits(source)
    assert len(edits) > 200
    texts = {edit.apply(source) for edit in edits[::7]}
    assert len(texts) == len(edits[::7])
    assert source not in texts
    for text in texts:
        ast.parse(text)


def test_every_module_of_the_areas_has_mutants_or_a_reason() -> None:
    files = {file for area in mutants.AREAS for file in mutants.modules(area, ROOT)}
    for name in ("codegen/memory/arena.py", "codegen/kernels/kernel_files.py", "converters/onnx/ops/pool.py"):
        assert ROOT / name in files
    for name in mutants.LEFT_OUT:
        assert (ROOT / name).exists(), name
        assert not any(str(file).startswith(str(ROOT / name)) for file in files)
    for folder in ("quantize", "edgekit/core/passes", "codegen", "converters"):
        for file in (ROOT / folder).rglob("*.py"):
            left = file.relative_to(ROOT).as_posix().startswith(tuple(mutants.LEFT_OUT))
            assert left or file in files, file
    assert sum(area.share for area in mutants.AREAS) == 100


def test_tests_that_go_on_as_few_do_come_first(tmp_path: Path) -> None:
    (tmp_path / "reader.py").write_text("if damaged:\n    raise Refused\nread()\n")
    tests = {
        f"tests/readers/t.py::{name}": [seconds, True, 0.0]
        for name, seconds in (("a", 1), ("b", 2), ("refused", 9))
    }
    lines = {"reader.py": {"1": [0, 1, 2], "2": [2], "3": [0, 1]}}
    record = {"tests": tests, "lines": lines, "sources": {"reader.py": digest(tmp_path / "reader.py")}}
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "t.json").write_text(json.dumps(record))
    names = [test.name for test in Related(tmp_path, tmp_path / "record").of_lines("reader.py", 1, 1)]
    assert names == ["tests/readers/t.py::refused", "tests/readers/t.py::a", "tests/readers/t.py::b"]


def test_a_record_lasts_as_lines_move(tmp_path: Path) -> None:
    """Tests of a line are those of this line before; of a new one, those of the line before it."""
    old = "def a():\n    return 1\ndef b():\n    return 2\n"
    (tmp_path / "reader.py").write_text(old)
    state = digest(tmp_path / "reader.py")
    tests = {f"tests/readers/t.py::{name}": [1.0, True, 0.0] for name in ("of_a", "of_b")}
    lines = {"reader.py": {"2": [0], "4": [1]}}
    (tmp_path / "record").mkdir()
    (tmp_path / "record" / "t.json").write_text(
        json.dumps({"tests": tests, "lines": lines, "sources": {"reader.py": state}})
    )
    (tmp_path / "record" / "other.json").write_text(json.dumps({"tests": {}, "lines": {}, "sources": {}}))
    (tmp_path / "reader.py").write_text(f"# new\n{old.replace('return 2', 'return 3')}    # more\n")

    def found(line: int) -> list[str]:
        tests = Related(tmp_path, tmp_path / "record").of_lines("reader.py", line, line)
        return [test.name.partition("::")[2] for test in tests]

    assert found(3) == ["of_a", "of_b"]  # the text that was recorded is not known
    (tmp_path / "record" / "sources").mkdir()
    (tmp_path / "record" / "sources" / state).write_text(old)
    assert [found(line) for line in (2, 3, 4, 5, 6)] == [[], ["of_a"], [], ["of_b"], ["of_b"]]


def test_users_of_a_function_of_a_header() -> None:
    lines = (ROOT / "runtime_c/include/edgekit/math/fixed.h").read_text().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "ek_leading_zeros" in text)
    found = users(ROOT, "runtime_c/include/edgekit/math/fixed.h", line + 3)
    assert {path.name for path in (ROOT / "runtime_c/kernels/ref").glob("softmax_s8*.c")} <= {
        name.rpartition("/")[2] for name in found if "/ref/" in name
    }
    assert len(found) < 20
    assert users(ROOT, "runtime_c/kernels/ref/fft.c", 40) == set()


def test_mutants_of_libraries_are_of_every_area_and_place() -> None:
    """No tensor stays where it is by accident, and each beginning of a sample has every area."""
    run = "void net_run(const float *x, void *arena)\n{\n"
    run += "    float *const a = EK_AT(float, arena, 0);\n    float *const b = EK_AT(float, arena, 64);\n}\n"
    files = {"net.c": run, "edgekit/sum.c": dedent(C), "edgekit/sum.h": dedent(C)}
    places = [edit for edit in verified_mutants.edits("net.c", run) if edit.kind == "another place"]
    assert {edit.apply(run).count("arena, 64") for edit in places} == {0, 2}
    sample = verified_mutants.drawn(files, 12, "7")
    assert sample[:6] == verified_mutants.drawn(files, 6, "7")
    assert sample != verified_mutants.drawn(files, 12, "8")
    areas = [verified_mutants.area(file) for file, _ in sample[:6]]
    assert areas == ["kernels"] * 3 + ["headers of kernels"] + ["parameters and places"] * 2


def test_faults_of_a_library_are_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = verified_mutants.Library("images int8", "host", tmp_path)
    file, right = "edgekit/maxpool2d_s8.c", "row >= p->in_h"
    at = library.sources[file].index(right)

    def verdict(wrong: str) -> str:
        edit = mutants_python.Edit("comparison", 1, at, at + len(right), wrong, (1, 1))
        return library.judge(file, edit).verdict

    assert verdict("row > p->in_h") == "refused"
    assert verdict("p->in_h <= row") == "right"
    assert verdict("row >= p->") == "not compiled"
    monkeypatch.setattr(verified_mutants, "verify", lambda *arguments: None)
    assert verdict("row > p->in_h") == "missed"
    assert verdict("p->in_h <= row") == "right"


def test_mutants_without_other_numbers_do_not_count() -> None:
    verdicts = ["refused"] * 3 + ["missed"] + ["right"] * 5 + ["not compiled"]
    results = [Result("n", "host", "kernels", "a.c", "constant", 1, "", "", verdict) for verdict in verdicts]
    assert "| kernels | 9 | 5 | 3 | 1 | 75 % |" in verified_mutants.written(results, 7)


def test_a_sample_is_added_to_those_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = workplace.Workplace(tmp_path, "tree", 5)
    monkeypatch.setattr(workplace, "commit", lambda: "abc12345")
    for i, verdict in enumerate(("killed", "slow", "survived", "untested")):
        place.keep(workplace.Result("readers", "README.md", "constant", 1, "", str(i), verdict, 3, "", 1.0))
    page = tmp_path / "page.md"
    monkeypatch.setattr(mutation, "RELIABILITY", page)
    before = [("def67890", "29", "280", "211", "0", "69")]
    header = ("commit", "seed", "mutants", "killed", "equivalent", "survived")
    page.write_text(f"<!-- reliability.mutation -->\n{table(header, [*before, ['all'] * 6])}\n\n")
    text = mutation.written([*place.results().values()], 5)
    assert "Commit abc12345, seed 5: each mutant" in text
    assert "| all | 4 | 2 | 0 | 2 | 50 % |" in text
    assert "| abc12345 | 5 | 4 | 2 | 0 | 2 |\n| all |  | 284 | 213 | 0 | 71 |" in text

"""One command counts layers with each kernel that fits, and writes what a unit of work takes."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.tools import require

from benchmarks import calibrate, kernel_layers
from benchmarks.calibration_fits import Fit
from edgekit.codegen.cost import cost_files
from edgekit.codegen.kernels import kernel_files
from edgekit.codegen.kernels.kernel_files import KERNELS, Variant, all_variants

_ONE, _OTHER = "ek_dense_s8__dsp", "ek_dense_s8_once__dsp"


def test_costs_of_a_kernel_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its rows are spoiled; those of others stay. A second fit counts nothing."""
    require("qemu-system-arm")
    true = cost_files.own("cortex-m4")["instructions"]["speed"]["kernels"]
    folder = tmp_path / "costs"
    shutil.copytree(cost_files.FOLDER, folder)
    monkeypatch.setattr(cost_files, "FOLDER", folder)
    content = cost_files.own("cortex-m4")
    for kernel in (_ONE, _OTHER):
        row = content["instructions"]["speed"]["kernels"][kernel]
        row |= {"terms": dict.fromkeys(row["terms"], 7.0), "digest": "000000"}
    cost_files.write("cortex-m4", content)
    words = ["cortex-m4", "--keep", str(tmp_path / "counts.json"), "--jobs", "1", "--seeds", "3"]
    words += ["--plans", "9", "--only", "dense", "--kernels", "^dsp/dense_int$"]
    calibrate.main(words)
    found = cost_files.own("cortex-m4")["instructions"]["speed"]["kernels"]
    assert found[_ONE]["digest"] == true[_ONE]["digest"]
    assert found[_ONE]["terms"]["padded products"] == pytest.approx(
        true[_ONE]["terms"]["padded products"], rel=0.1
    )
    assert found[_OTHER]["digest"] == "000000"  # rounds by another rule, which plan 9 has not
    assert {k: row for k, row in found.items() if k not in (_ONE, _OTHER)} == {
        k: row for k, row in true.items() if k not in (_ONE, _OTHER)
    }

    def counted(*arguments: object, **others: object) -> kernel_layers.Counts:
        raise AssertionError("counted again")

    monkeypatch.setattr(kernel_layers, "counted", counted)
    calibrate.main(words)
    assert cost_files.own("cortex-m4")["instructions"]["speed"]["kernels"] == found


def variant_in(folder: Path, file: str) -> Variant:
    """A kernel with its text in a folder."""
    (found,) = (variant for variant in all_variants() if variant.file == file)
    copy = folder / KERNELS.name / found.path.parent.name / found.path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(found.path, copy)
    return replace(found, path=copy)


def work_in(file: Path, copies: Path) -> dict[str, Mapping[str, float]]:
    """What the kernels of a file say they take: of a copy, as files are read once."""
    copy = copies / file.parent.name / file.name
    copy.parent.mkdir(parents=True)
    shutil.copy(file, copy)
    return {one.file: one.work for one in kernel_files.read(copy)}


@pytest.mark.parametrize("file", ["avx2/conv2d", "avx512/conv2d.bf16", "neon/depthwise2d_int.right_shift"])
def test_the_tag_of_one_of_several_kernels_of_a_file_is_replaced(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variant = variant_in(tmp_path, file)
    before = work_in(variant.path, tmp_path / "before")
    monkeypatch.setattr(calibrate, "all_variants", lambda: (variant,))
    terms = {"calls": 12.5, "padded products": 0.125} | {f"kind {i}": 1000.0 + i for i in range(6)}
    calibrate.write_tags({file: (file, Fit(terms, 0.0, {}))})
    after = work_in(variant.path, tmp_path / "after")
    assert after[file] == terms
    assert {name: work for name, work in after.items() if name != file} == {
        name: work for name, work in before.items() if name != file
    }
    lines = variant.path.read_text(encoding="utf-8").splitlines()
    assert max(len(line) for line in lines if "@work" in line) <= 120

"""The files of targets/costs say what was measured, in few bytes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.random_cases import same

from benchmarks.code_sizes import merged
from edgekit.codegen.cost import cost_files
from edgekit.codegen.cost.code_size import _of
from edgekit.codegen.cost.cost_files import IN_NETWORKS
from edgekit.codegen.kernels.kernel_files import all_variants

NAMES = sorted(path.stem for path in cost_files.FOLDER.glob("*.toml"))
_UNITS = ("calls", "products", "tap 4-vectors", "tap cells beside 16-vectors")
_MOST = 200_000  # bytes of all of them


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cost_files, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.parametrize("seed", same(20))
def test_what_is_written_is_read_again(seed: int, folder: Path) -> None:
    rng = np.random.default_rng(seed)

    def fit(file: str) -> dict[str, object]:
        units = list(rng.permutation(_UNITS)[: rng.integers(1, len(_UNITS) + 1)])
        made: dict[str, object] = {
            "file": file,
            "digest": "1f03ab",
            "error": 0.012,
            "terms": {str(u): rng.integers(1, 999) / 1000 for u in units},
        }
        if rng.random() < 0.5:
            made["shares"] = {str(u): (int(rng.integers(0, 50)) / 100, 0.57) for u in units}
        return made | ({IN_NETWORKS: 0.3} if rng.random() < 0.5 else {})

    def sizes(*callers: str) -> dict[str, list[float]]:
        kinds = [f"{caller} {kind}".strip() for caller in callers for kind in ("often", "once")]
        numbers = rng.permutation(500)[: len(kinds)]  # equal ones are written once
        return {
            kind: [float(n + 1), float(rng.integers(0, 3))] for kind, n in zip(kinds, numbers, strict=True)
        }

    written = {
        "compiler": 'a "quoted" one',
        "instructions": {
            "speed": {
                "networks": {"networks": 3, "factor": 1.2, "terms": {"calls": 2.5}, "error": 3.0},
                "kernels": {
                    "ek_dense_s8__dsp": fit("dsp/dense_int"),
                    "ek_dense_s8_tfl__dsp": fit("dsp/dense_int"),
                    "ek_pool2d_s8__ref": fit("ref/pool2d"),
                },
            }
        },
        "code": {
            "size": {
                "error": 0.2,
                "run": [1.5, 12.25],
                "layers": {"ek_dense_s8__dsp": {"often": [0.0, 24.0]}, "ek_pool2d_s8__ref": sizes("")},
                "functions": {
                    "ek_dense_s8__dsp": {"often": [32.0, 0.0]},
                    "ek_dense_s8_run": sizes("ek_dense_s8__dsp", "ek_dense_s8_tfl__dsp", ""),
                    "ek_largest": sizes("ek_dense_s8__dsp", "ek_largest", ""),
                },
            }
        },
    }
    cost_files.write("a", written)
    assert "dense_s8_run: ^dsp " in (folder / "a.toml").read_text()
    assert cost_files.own("a") == written


@pytest.mark.parametrize("name", NAMES)
def test_files_are_as_they_would_be_written(name: str, folder: Path) -> None:
    (path,) = (Path(cost_files.__file__).parents[2] / "targets" / "costs").glob(f"{name}.toml")
    text = path.read_text(encoding="utf-8")
    (folder / path.name).write_text(text, encoding="utf-8")
    cost_files.write(name, cost_files.own(name))
    assert (folder / path.name).read_text(encoding="utf-8") == text


def fits() -> list[tuple[str, str, dict[str, Any]]]:
    parts = [(name, part) for name in NAMES for part in cost_files.own(name).get("instructions", {}).values()]
    return [(name, kernel, fit) for name, part in parts for kernel, fit in part["kernels"].items()]


def test_costs_are_of_the_code_that_kernels_have() -> None:
    """Where this fails, calibrate these kernels again: docs/kernels.md says how, in minutes."""
    variants = {variant.file: variant for variant in all_variants()}
    stale = {
        (name, fit["file"])
        for name, _, fit in fits()
        if fit["file"] not in variants or variants[fit["file"]].digest != fit["digest"]
    }
    assert stale == set()


def test_costs_are_of_the_kinds_of_work_that_kernels_name() -> None:
    variants = {variant.file: variant for variant in all_variants()}
    others = {
        (name, kernel): kinds
        for name, kernel, fit in fits()
        if (kinds := fit["terms"].keys() - {*variants[fit["file"]].kinds})
    }
    assert others == {}


def test_all_of_them_are_small() -> None:
    assert NAMES
    assert sum((cost_files.FOLDER / f"{name}.toml").stat().st_size for name in NAMES) <= _MOST


def test_sizes_that_are_about_the_same_are_one() -> None:
    alike = {"often": [100.0, 8.0], "once": [98.0, 8.0], "ek_a often": [101.0, 8.0]}
    assert merged(alike) == {"often": [100.0, 8.0]}
    kinds = {
        "ek_a often": [100.0, 0.0],
        "ek_a once": [50.0, 0.0],
        "ek_b often": [81.0, 0.0],
        "often": [80.0, 0.0],
    }
    found = merged(kinds)
    assert found == {kind: kinds[kind] for kind in ("ek_a often", "ek_a once", "often")}
    assert all(_of(found, kind)[0] == pytest.approx(code, rel=0.03) for kind, (code, _) in kinds.items())

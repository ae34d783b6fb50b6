"""Whatever is given to a public function: it works, or an EdgeKitError refuses it, and nothing else does."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.wrong_calls import X, faults_of, small, wrong_calls

import edgekit
from edgekit import api
from edgekit.core.errors import EdgeKitError

CALLS = 2_000
SETTINGS = (api.Effort, api.Gate, api.Limits, api.Pruning, api.Settings)
FUNCTIONS = [
    f
    for name in api.__all__
    if inspect.isfunction(f := getattr(api, name)) and inspect.signature(f).parameters
]


def given(folder: Path) -> dict[str, Any]:
    """Arguments for the parameters that need them, with which functions do something in a short time."""
    edgekit.save(small(), folder / "small.ek")
    np.save(folder / "y.npy", np.arange(8) % 3)
    (folder / "log.txt").write_text("layer_8 10\nlayer_3 20\n")
    arguments = dict.fromkeys(("model", "graph", "a", "b"), small())
    return arguments | {
        "path": "y.npy",
        "log": "log.txt",
        "folder": "made",
        "text": "once",
        "inputs": X,
        "samples": X,
        "labels": np.arange(8) % 3,
        "wanted": edgekit.Pruning(ratio=0.5),
        "limits": edgekit.Limits(),
        "effort": edgekit.Effort(trials=1),
    }


def test_no_call_ends_with_anything_but_an_edgekit_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    faults, refused = faults_of(wrong_calls((*FUNCTIONS, *SETTINGS), given(tmp_path), CALLS))
    assert not faults, "\n".join(faults)
    assert refused > CALLS // 2


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda: edgekit.build(small(), optimize="fast"), "unknown optimize: fast", "size, speed"),
        (lambda: edgekit.build(small(), cores="2"), "cores is str '2'", "it takes a whole number"),
        (lambda: edgekit.build(small(), package="npm"), "package is str 'npm'", "a sequence of text"),
        (lambda: edgekit.load("a\0b"), "is no path", ""),
        (lambda: edgekit.Effort(trials=1.5), "trials is float 1.5", "it takes a whole number"),  # type: ignore[arg-type]  # wrong
        (lambda: edgekit.Gate(labels="y.npy"), "labels is str 'y.npy'", "an array or None"),  # type: ignore[arg-type]  # wrong
    ],
)
def test_an_error_names_the_argument_and_what_it_takes(
    call: Callable[[], object], message: str, hint: str
) -> None:
    with pytest.raises(EdgeKitError) as found:
        call()
    assert message in found.value.message
    assert hint in found.value.hint


def test_means_may_be_an_array() -> None:
    mean, std = np.array([0.5, 1, 2, 3], np.float32), np.array([2.0] * 4)
    arrays = edgekit.convert(small(), mean=mean, std=std)  # type: ignore[arg-type]  # an array for a list
    lists = edgekit.convert(small(), mean=mean.tolist(), std=std.tolist())
    x = np.arange(4, dtype=np.uint8)[None]
    assert np.array_equal(edgekit.run(arrays, x)["layer_3"], edgekit.run(lists, x)["layer_3"])

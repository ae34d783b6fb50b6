"""What C takes from outside, by libFuzzer under sanitizers: few inputs for a commit, far more each night.

`python -m benchmarks.reliability.fuzz_c` lets each of these fuzzers run for an hour.
"""

import subprocess
from pathlib import Path

import pytest
from support import random_cases
from support.tools import require

from benchmarks.reliability import fuzz_c
from benchmarks.reliability.fuzz_c import TOKENIZERS, fuzzed

RUNS = 2_000


def check(what: str, folder: Path) -> None:
    seeds = random_cases.fresh(1)
    found = fuzzed(what, folder, f"-runs={RUNS * len(seeds)}", 1 + seeds[0] % (1 << 31))
    assert not found.finding, found.finding
    assert found.runs >= RUNS * len(seeds)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_texts_tokens_and_logits(kind: str, tmp_path: Path) -> None:
    require("clang")
    check(kind, fuzz_c.built_text(kind, tmp_path))


def test_weights_by_pointer(tmp_path: Path) -> None:
    require("clang")
    check("weights", fuzz_c.built_weights(tmp_path))


def test_kept_kernels_of_gpus(tmp_path: Path) -> None:
    require("clang")
    check("cache", fuzz_c.built_cache(tmp_path))


def test_kept_kernels_of_an_absurd_size_are_not_read(tmp_path: Path) -> None:
    """A callback says that there are 2 GB, which are asked for in front of the first byte."""
    require("clang")
    folder = fuzz_c.built_cache(tmp_path)
    (folder / "absurd").write_bytes(bytes([0b110, 128 + 33, *range(64)]))
    run = subprocess.run(
        ["./fuzzer", "-rss_limit_mb=512", "absurd"], cwd=folder, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]


def test_inputs_and_states(tmp_path: Path) -> None:
    """Of three models, others for each commit: `fuzz_c` has all of them."""
    require("clang")
    start = random_cases.fresh(1)[0]
    programs = [*fuzz_c.models()]
    chosen = [programs[(start + k * 53) % len(programs)] for k in range(3)]
    check("models", fuzz_c.built(chosen, "size", tmp_path))


def test_a_fault_is_found(tmp_path: Path) -> None:
    """Of a check that does not ask how many bytes there are."""
    require("clang")
    folder = fuzz_c.built_weights(tmp_path)
    text = (folder / "net_weights.c").read_text()
    assert text.count("if (size <") == 2
    (folder / "net_weights.c").write_text(text.replace("if (size <", "if (0 && size <"))
    fuzz_c.compile_weights(folder)
    assert "heap-buffer-overflow" in fuzzed("weights", folder, f"-runs={RUNS}", 1).finding

"""The order of files of tests: long ones go first, so that processes end at about the same time."""

from pathlib import Path

import pytest

# What takes more than half a minute, the longest first, roughly.
LONG = (
    "onnx/test_node_suite.py",
    "second_truth/test_random_networks.py",
    "quantize/test_integers.py",
    "quantize/test_narrow_exact.py",
    "ops/test_ops.py",
    "kernels/test_orders.py",
    "kernels/test_aarch64.py",
    "kernels/test_x86_int.py",
    "test_networks.py",
    "test_mlperf_tiny_int8.py",
    "codegen/test_objects.py",
    "codegen/test_compilers.py",
    "browser/test_webgpu.py",
    "packaging/test_install.py",
    "test_repository.py",
    "codegen/test_overlap.py",
    "test_examples.py",
    "codegen/test_fuse.py",
    "frontends/test_torch.py",
    "browser/test_node.py",
    "kernels/test_x86.py",
    "kernels/test_mve.py",
    "kernels/test_dsp.py",
    "training/test_qat.py",
    "kernels/test_blocks.py",
)
_TESTS = Path(__file__).parents[1]


def long_first(items: list[pytest.Item]) -> None:
    """Sort tests by file: long ones, and then the others as they are."""
    ranks = {_TESTS / name: rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))

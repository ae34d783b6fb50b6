"""Measurements: each script makes one table of docs/performance.md; run python -m benchmarks.<name>."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # scripts use tests/support

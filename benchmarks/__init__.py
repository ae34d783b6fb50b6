"""Measurements: each script makes one table of docs/performance.md; run python -m benchmarks.<name>."""

"""Measurements: each script makes one table of docs/performance.md. Run from the root: python -m benchmarks.<name>."""

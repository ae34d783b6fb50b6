"""Operators as ATen, PyTorch's library, computes them, which other formats mean as well."""

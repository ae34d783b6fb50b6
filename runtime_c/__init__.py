"""The C kernels and their contract headers, as package data."""

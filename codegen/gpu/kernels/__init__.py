"""Kernels for graphics processors: one file of this folder for each operator, found by what it stands for."""

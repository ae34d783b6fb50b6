"""Kernels for GPUs: one file of this folder for each operator, found by what it stands for."""

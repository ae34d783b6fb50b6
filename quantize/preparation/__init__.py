"""Rewrites of float graphs that quantize better afterwards."""

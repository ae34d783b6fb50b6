"""Handlers of MindSpore's primitives, named as these: operands, then settings in the order of its API."""

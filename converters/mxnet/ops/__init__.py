"""Handlers of MXNet's operators, named as these without _ before: operands, then attributes."""

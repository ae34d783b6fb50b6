"""Handlers of StableHLO operators, by their names."""

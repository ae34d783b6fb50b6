"""MXNet models."""

FORMAT = "MXNet"
SUFFIXES = (".params", ".json")

"""MindSpore's MindIR models."""

FORMAT = "MindSpore"
SUFFIXES = (".mindir",)

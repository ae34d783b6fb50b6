"""PyTorch's exported programs."""

FORMAT = "PyTorch"
SUFFIXES = (".pt2",)

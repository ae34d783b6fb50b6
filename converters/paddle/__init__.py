"""PaddlePaddle models."""

FORMAT = "PaddlePaddle"
SUFFIXES = (".pdmodel", ".pdiparams")

"""ncnn's models: layers as text, with the weights in a file beside it."""

FORMAT = "ncnn"
SUFFIXES = (".param",)

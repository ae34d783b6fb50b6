"""Graphs of TensorFlow: SavedModels with their variables, and graphs that are frozen into one file."""

FORMAT = "TensorFlow"
SUFFIXES = (".pb", ".pbtxt")

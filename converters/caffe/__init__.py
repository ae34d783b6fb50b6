"""Caffe models."""

FORMAT = "Caffe"
SUFFIXES = (".prototxt", ".caffemodel")

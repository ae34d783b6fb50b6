"""ONNX models."""

FORMAT = "ONNX"
SUFFIXES = (".onnx",)

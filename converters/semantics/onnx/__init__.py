"""Operators as ONNX specifies them, which other formats mean as well; attributes are those of ONNX."""

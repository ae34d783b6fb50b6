"""What operators of several formats mean alike, in operators of EdgeKit.

`onnx` and `aten` are the operators that other formats define as ONNX or as PyTorch does; the folders of those
two formats have the names, attributes and defaults of their files. No module here knows a format.
"""

"""Import handlers of ONNX operators: a function an operator, named as it; CONTRIBUTING shows how."""

# Operators that other formats mean as well, in modules of the same names: see frontend.functions.
SHARED = "edgekit.converters.semantics.onnx"

"""Handlers of TensorFlow's operators, by their names: operands by position, attributes by keyword."""

# Operators that TFLite means as well, in modules of the same names: see frontend.functions.
SHARED = "edgekit.converters.semantics.tensorflow"

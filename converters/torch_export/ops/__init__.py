"""ATen's operators, in modules by family: each is a function of the operator's name."""

# Operators that other formats mean as well, in modules of the same names: see frontend.functions.
SHARED = "edgekit.converters.semantics.aten"

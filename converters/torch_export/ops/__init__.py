"""ATen's operators, in modules by family: each is a function of the operator's name."""

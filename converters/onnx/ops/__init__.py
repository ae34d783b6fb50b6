"""Import handlers of ONNX operators: a function an operator, named as it; CONTRIBUTING shows how."""

"""Import handlers of ONNX operators: a function a operator, named as it; see CONTRIBUTING for how to add one."""

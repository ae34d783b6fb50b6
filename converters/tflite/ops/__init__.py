"""Import handlers of TFLite operators: a function an operator, named as it; the layer, then the operands."""
